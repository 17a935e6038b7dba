"""The 50 labelled advice items of the published engine, scored by its formula and by ours. Pure.

23 are useful, 27 noise; each has its tool, source, text, confidence and how well it matches the call. They
are about coding, so that all they can tell of ours is whether its judgement of texts carries over.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from advisor.guidance.distilling import Draft, distil
from advisor.guidance.entities import Kind, Remembered
from advisor.guidance.figures import Tunables
from advisor.guidance.ranking import scored_from

# The published engine's sources as those of ours that stand for them.
KIND_OF_SOURCE = {
    "cognitive": Kind.BANK,
    "eidos": Kind.PATTERN,
    "bank": Kind.BANK,
    "chip": Kind.INSIGHT,
    "replay": Kind.REPLAY,
}
# Its floors for notes, early and late, and the noise it reports above each. Its scorer of texts is not part
# of the data; ours stands in for it, so that the counts here are not quite those.
SEED_GATES = {0.42: 13, 0.48: 7}
FILE = "advisory_ground_truth.json"


@dataclass(frozen=True, slots=True)
class Item:
    """One labelled item: the score of the published formula, of ours, and whether ours lets it in at all."""

    useful: bool
    published: float
    ours: float
    admitted: bool


def items_read(folder: Path, *, tunables: Tunables, now: datetime) -> list[Item]:
    """The items below `folder`. Raises `OSError` where the file is not there."""
    cases = json.loads((folder / FILE).read_text("utf-8"))["cases"]
    return [_item(case, tunables, now) for case in cases]


def rows_labelled(items: Sequence[Item], tunables: Tunables) -> list[dict[str, Any]]:
    """How many of each sort pass: by the published formula at both of its floors, by ours as it is.

    Beside ours, the floor fitted on all items but one and asked about that one, item by item.
    """
    rows = [
        _row(f"labelled: published at {gate:g}", [(item.useful, item.published >= gate) for item in items])
        | {"reported_noise": noise}
        for gate, noise in SEED_GATES.items()
    ]
    own = [(item.useful, item.admitted and item.ours >= tunables.note_min) for item in items]
    left_out = [
        (item.useful, item.admitted and item.ours >= _floor([*items[:n], *items[n + 1 :]]))
        for n, item in enumerate(items)
    ]
    return [*rows, _row("labelled: ours", own), _row("labelled: ours, floor fitted on the others", left_out)]


def _item(case: dict[str, Any], tunables: Tunables, now: datetime) -> Item:
    kind = KIND_OF_SOURCE[case["source"]]
    draft = Draft(kind, "", case["text"], now, tool=case["tool"], confidence=case["confidence"])
    admission = distil(draft, now=now, known=())
    memory = Remembered(
        0, kind, "", case["text"], now, unified=admission.unified, confidence=case["confidence"]
    )
    match = float(case["context_match"])
    published, ours = (
        scored_from(memory, match, now=now, tunables=tunables, profile=profile).score
        for profile in ("seed", "ours")
    )
    return Item(bool(case["useful"]), published, ours, admission.admitted)


def _floor(items: Sequence[Item]) -> float:
    """The highest floor that loses no useful item that is let in."""
    return min(item.ours for item in items if item.useful and item.admitted)


def _row(name: str, passed: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    useful = sum(told for is_useful, told in passed if is_useful)
    noise = sum(told for is_useful, told in passed if not is_useful)
    return {"name": name, "items": len(passed), "useful": useful, "noise": noise}
