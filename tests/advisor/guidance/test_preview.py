"""A preview shows exactly the effect that a rule would have had on past calls, and quickly."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.guidance.situations import Level
from advisor.guidance.store import PREVIEW_MAX, curated_preview
from advisor.guidance.wording import Kind
from advisor.models import GuidanceEvent, Memory
from tests.conftest import NOW

FEW = {"fact": "thumbs_on_target", "op": "lt", "value": 20}
RULE = dict(
    kind=Kind.RULE,
    title="Few thumbs",
    text="Leave a source alone that has fewer than 20 thumbs, because so few say little.",
    valid_from=NOW,
    suggestion_type="reduce_source",
    confidence=0.8,
    polarity=-1,
    ceiling=Level.BLOCK,
    data={"when": FEW, "written": FEW},
)


def rule(**changed) -> Memory:
    return Memory(**RULE | changed)


def event(reader, at, thumbs=5, **more):
    fields = {"n": 1, "tool": "write_suggestion", "phase": "write", "suggestion_type": "reduce_source"}
    fields |= {"target_key": "gazette.example", "level": "whisper", "why": "told"}
    fields |= {"facts": {"thumbs_on_target": thumbs}}
    return GuidanceEvent(reader=reader, at=at, **fields | more)


def stored(*events):
    GuidanceEvent.objects.bulk_create(events)


@pytest.mark.django_db
def test_a_rule_is_counted_where_its_condition_held(ada, now):
    hits = [event(ada, now - timedelta(minutes=n), thumbs=n) for n in range(10)]
    stored(*hits, event(ada, now, thumbs=20), event(ada, now, facts={}))
    assert curated_preview(rule(), now=now) == "10 of the last 12 calls"


@pytest.mark.django_db
def test_an_insight_touches_calls_of_its_type_and_no_others(ada, now):
    stored(event(ada, now), event(ada, now, suggestion_type="add_topic"))
    insight = rule(kind=Kind.INSIGHT, data={}, ceiling=Level.NOTE, tool="write_suggestion", phase="write")
    assert curated_preview(insight, now=now) == "1 of the last 2 calls"


@pytest.mark.django_db
def test_only_calls_of_thirty_days_count_and_no_starts(ada, now):
    stored(event(ada, now - timedelta(days=30)), event(ada, now, n=0), event(ada, now + timedelta(seconds=1)))
    assert curated_preview(rule(), now=now) == "0 of the last 0 calls"


@pytest.mark.django_db
def test_of_very_many_calls_the_newest_are_looked_at_in_one_query(ada, now):
    stored(*(event(ada, now - timedelta(seconds=n)) for n in range(PREVIEW_MAX + 5)))
    with CaptureQueriesContext(connection) as queries:
        seen = curated_preview(rule(), now=now)
    assert len(queries) == 1 and seen == "5000 of the last 5,000 calls"
