"""Fifty pieces of advice that somebody labelled, through our blend and gate: most useful ones are heard, and
little noise.

They come with a relevance and a confidence instead of a call and a history: each is taken as a memory of
today that three outcomes bear out. They are about coding, so they can only tell whether our judgement of
texts carries over.
"""

import json
from pathlib import Path

import pytest
from django.conf import settings

from advisor.guidance.admission import ADMITTED, admit, quality_of_text
from advisor.guidance.ranking import RANK_MIN, level_of, score_memory
from advisor.guidance.situations import LOUDNESS, Level
from advisor.guidance.wording import Kind
from advisor.models import Memory
from tests.advisor.guidance.memories import NOW, NOW_S, TUNED, call

pytestmark = pytest.mark.data
KINDS = {
    "eidos": Kind.PATTERN,
    "replay": Kind.REPLAY,
    "chip": Kind.INSIGHT,
    "cognitive": Kind.PEER,
    "bank": Kind.BANK,
}
# Useful items and noise above the gate of the published engine, after it was tuned on these very items.
USEFUL, NOISE = 23, 7


def heard(item: dict) -> bool:
    kind = KINDS[item["source"]]
    memory = Memory(pk=1, kind=kind, title="Of note", text=item["text"], tool=item["tool"], evidence=3)
    why, (_, unified) = admit(memory, now=NOW), quality_of_text(memory)
    memory.title, memory.valid_from = item["case_id"], NOW
    memory.unified, memory.confidence = unified, item["confidence"]
    scored = score_memory(memory, item["context_match"], now=NOW)
    level = level_of(scored, [scored], call(tool=item["tool"]), TUNED, NOW_S)
    floors = scored.score >= RANK_MIN and scored.relevance >= TUNED.relevance_min
    return why == ADMITTED and floors and LOUDNESS.index(level) >= LOUDNESS.index(Level.NOTE)


@pytest.fixture(scope="module")
def items() -> list[tuple[bool, bool]]:
    """Return whether each item is useful by its label, and whether it is heard."""
    path = Path(settings.TIDINGS_DATA) / "spark-advisory" / "advisory_ground_truth.json"
    return [(item["useful"], heard(item)) for item in json.loads(path.read_text("utf-8"))["cases"]]


def counts(items: list[tuple[bool, bool]]) -> tuple[int, int]:
    """Useful ones and noise that are heard."""
    return sum(useful and told for useful, told in items), sum(told and not useful for useful, told in items)


def test_all_useful_items_are_heard_and_less_noise_than_with_the_tuned_gate(items) -> None:
    useful, noise = counts(items)
    assert len(items) == 50 and useful == USEFUL
    assert noise < NOISE
