"""Fifty pieces of advice that somebody labelled: all useful ones are told, hardly any noise.

They come with a relevance and a confidence instead of a call and a history, and say nothing about outcomes:
each is taken as a memory of today that three outcomes bear out, and goes through admission, floors and gate.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from advisor.guidance.distilling import distil
from advisor.guidance.entities import LOUDNESS, Kind, Level, Remembered
from advisor.guidance.gate import level_of
from advisor.guidance.ranking import scored_from
from tests.advisor.guidance.memories import NOW, NOW_S, TUNED, call
from tests.advisor.guidance.test_distilling import bare

pytestmark = pytest.mark.data
# The sources of ours that stand on the same tier as theirs, or next to it.
KINDS = {
    "eidos": Kind.PATTERN,
    "replay": Kind.REPLAY,
    "chip": Kind.INSIGHT,
    "cognitive": Kind.PEER,
    "bank": Kind.BANK,
}
# Useful items and noise above the gate of the published engine, after it was tuned on these very items; at
# the gate it had before, 13 were noise.
USEFUL, NOISE = 23, 7


@dataclass(frozen=True)
class Told:
    """One item: whether it is useful by its label, and whether it is told."""

    useful: bool
    told: bool


def told_of(item: dict[str, Any]) -> Told:
    """What becomes of one item, by the public functions alone."""
    kind = KINDS[item["source"]]
    admission = distil(bare(item["text"], kind=kind, tool=item["tool"], evidence=3), now=NOW, known=())
    memory = Remembered(
        id=1,
        kind=kind,
        title=item["case_id"],
        text=item["text"],
        valid_from=NOW,
        tool=item["tool"],
        unified=admission.unified,
        confidence=item["confidence"],
        evidence=3,
    )
    scored = scored_from(memory, item["context_match"], now=NOW, tunables=TUNED)
    level = level_of(scored, [scored], call(tool=item["tool"]), TUNED, NOW_S)
    passes = scored.score >= TUNED.rank_min and scored.relevance >= TUNED.relevance_min
    loud = LOUDNESS.index(level) >= LOUDNESS.index(Level.NOTE)
    return Told(item["useful"], admission.admitted and passes and loud)


@pytest.fixture(scope="module")
def items() -> Iterator[list[Told]]:
    path = Path(settings.TIDINGS_DATA) / "spark-advisory" / "advisory_ground_truth.json"
    yield [told_of(item) for item in json.loads(path.read_text("utf-8"))["cases"]]


def passed(items: list[Told]) -> tuple[int, int]:
    """Useful ones and noise that pass."""
    return sum(item.useful and item.told for item in items), sum(
        item.told and not item.useful for item in items
    )


def test_all_useful_items_are_told_and_less_noise_than_the_tuned_gate_lets_through(items: list[Told]) -> None:
    useful, noise = passed(items)
    assert len(items) == 50
    assert useful == USEFUL
    assert noise < NOISE


@pytest.mark.parametrize("half", [0, 1])
def test_either_half_alone_says_the_same(items: list[Told], half: int) -> None:
    own = items[half::2]
    useful, noise = passed(own)
    assert useful == sum(item.useful for item in own)
    assert noise <= 2
