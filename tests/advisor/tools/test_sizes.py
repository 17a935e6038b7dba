"""The cost of each tool at ten, a thousand and ten thousand thumbs: tokens, queries, time.

The longest history has the density of 100,000 thumbs in 400 days, cut to the last 120 days. `tests.lab
bench.tools` measures all 100,000.
"""

import json
import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance.store import memories_sync
from advisor.result_size import BYTES_PER_TOKEN, json_bytes
from advisor.tools.registry import TOOLS, dispatch
from digest.llm.entities import ToolCall
from digest.models import Feedback
from ranking.models import RankConfig
from suggestions.models import PreferenceProfile
from suggestions.outcomes.services import profiles_update
from tests.advisor.tools.test_tools import BUDGETS, SLACK, boost, liked_urls, outcomes
from tests.support.factories import ReaderFactory
from tests.support.histories import context_for, thumbs

SIZES = (10, 1_000, 10_000)
DENSEST = 250  # thumbs a day
BOOST = {"suggestion_type": "boost_source", "target": "loved.example"}


def history(size: int, now):
    """Return a reader of that many thumbs on two to twenty sources, with up to sixty decisions behind them.

    Their config grows with them: up to 40 topics and 200 weights.
    """
    reader = ReaderFactory(username=f"reader-of-{size}")
    days = size / DENSEST if size >= SIZES[2] else 20 + size / 100
    sources = ["loved.example", *(f"s{n}.example" for n in range(1, max(2, min(20, size // 50))))]
    for n, source in enumerate(sources):
        rate = 0.9 if n == 0 else 0.1 + 0.7 * n / len(sources)
        thumbs(reader, source, size // len(sources), rate=rate, days=days, tagged=n < 2)
    outcomes(reader, min(60, size // 5), now)
    PreferenceProfile.objects.create(reader=reader, computed_at=now)
    profiles_update(reader_ids=[reader.pk], now=now)
    memories_sync(now=now)
    RankConfig.objects.create(
        reader=reader,
        version=1,
        topics=[f"topic number {n}" for n in range(min(40, size // 5))],
        source_weights={f"source-{n}.example": 1.2 for n in range(min(200, size // 5))},
    )
    return reader


def arguments_for(name: str, reader) -> dict:
    """Return a model's arguments, as large as allowed."""
    urls = liked_urls(reader, count=5)
    rated = Feedback.objects.filter(reader=reader).order_by("-at").values_list("item_id", flat=True)
    refs = [f"#{pk}" for pk in rated[:3]]
    return {
        "test_suggestion": BOOST,
        "self_critique": {"drafts": [BOOST | {"evidence": urls}] * 3},
        "compare_configs": {"changes": [BOOST]},
        "write_suggestion": boost(urls),
        "read_items": {"items": refs},
    }.get(name, {})


def measured(reader, name: str) -> tuple[float, int, float]:
    """(tokens, queries, milliseconds) of one call."""
    arguments = json.dumps(arguments_for(name, reader))
    began = time.perf_counter()
    with CaptureQueriesContext(connection) as queries:
        outcome = dispatch(context_for(reader), ToolCall("c", name, arguments))
    return (
        json_bytes(json.loads(outcome.content)) / BYTES_PER_TOKEN,
        len(queries),
        1000 * (time.perf_counter() - began),
    )


@pytest.mark.django_db
def test_tools_keep_their_budgets_and_query_counts_from_ten_thumbs_to_ten_thousand(now):
    rows = {}
    for size in SIZES:
        reader = history(size, now)
        rows[size] = {name: measured(reader, name) for name in TOOLS}
    print("\n| tool | budget | tokens at 10 / 1,000 / 10,000 | queries | ms |\n|---|---|---|---|---|")
    for name in TOOLS:
        tokens, queries, ms = zip(*(rows[size][name] for size in SIZES), strict=True)
        told = (" / ".join(f"{value:.0f}" for value in row) for row in (tokens, queries, ms))
        print(f"| `{name}` | {BUDGETS[name]} |", " | ".join(told), "|")
        assert max(tokens) <= BUDGETS[name]
        assert queries[2] <= queries[1] + SLACK, f"{name} asks more often of a longer history"
