"""A call of guidance's benchmark: its arguments, the words in it, and the reader's state. Pure."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.evaluation.guidance_entities import WRITE
from advisor.evaluation.guidance_facts import facets
from advisor.guidance.phases import phase_of
from suggestions.entities import FIELD_OF_TYPE

Rng = np.random.Generator
REPAIRS = 0.15
# What agents write as the reason of a change; none of it is anything a memory says.
REASONS = (
    "You liked most of what appeared there over the last seven weeks.",
    "Your thumbs differ from your usual rate by a wide margin.",
    "Eleven of twelve rated articles got a thumb up.",
    "Nearly all recent ratings point in one direction.",
    "The test on thumbs kept apart showed a small gain.",
    "Several of the rated stories were given the same tag.",
)
STEP = {"boost_source": 0.2, "reduce_source": -0.2}
# A weight that no memory speaks for.
STEP_ASIDE = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """Who calls which tool about what."""

    reader: int
    domain: str
    tool: str
    suggestion_type: str
    target: str
    facet: int


def call_of(rng: Rng, cell: Cell, value: str, *, settled: bool) -> dict[str, Any]:
    """The fields of a query that are the call itself.

    `value` is the weight that what is known speaks for: a settled call asks for it, any other for another.
    """
    failed = 2 if cell.tool == WRITE and rng.random() < REPAIRS else 0
    asks = facets()[cell.facet].ask if cell.facet >= 0 else ""
    reason = f"{asks.capitalize()}. " if asks else ""
    reason += REASONS[int(rng.integers(len(REASONS)))] if cell.suggestion_type else ""
    step = STEP.get(cell.suggestion_type)
    if step is not None and value:
        step = round(float(value) - 1 if settled else step + STEP_ASIDE, 2)
    return {
        "tool": cell.tool,
        "phase": phase_of(cell.tool, failed),
        "suggestion_type": cell.suggestion_type,
        "target": cell.target,
        "step": step,
        "words": f"{cell.target} {reason}".strip(),
        "arguments": _arguments(cell, reason.strip(), step),
    }


def _arguments(cell: Cell, reason: str, step: float | None) -> dict[str, Any]:
    if not cell.suggestion_type:
        return {"query": f"{cell.target} {reason}".strip()}
    change: dict[str, Any] = {"suggestion_type": cell.suggestion_type, "target": cell.target}
    if cell.tool == WRITE:
        value = cell.target if step is None else f"{1 + step:g}"
        field = FIELD_OF_TYPE[cell.suggestion_type]
        change |= {"field": field, "suggested_value": value, "reason": reason}
    return change


def settings_of(rng: Rng, cell: Cell, *, settled: bool) -> dict[str, Any]:
    """The reader's settings; `settled`: what the call asks for is in them already."""
    topics = [f"standing topic {n}" for n in range(int(rng.integers(2, 9)))]
    weights = {f"standing{n}.example": 1.0 + n / 20 for n in range(int(rng.integers(2, 9)))}
    if cell.suggestion_type == "remove_topic" and not settled and cell.target:
        topics.append(cell.target)
    if cell.suggestion_type == "add_topic" and settled:
        topics.append(cell.target)
    return {"topics": topics, "source_weights": weights}


def facts_of(rng: Rng, cell: Cell, rule: str) -> dict[str, Any]:
    """What rules may ask; `rule` is the one that must hold, else everything stays just short of one."""
    field = FIELD_OF_TYPE.get(cell.suggestion_type, "")
    written = int(rng.integers(0, 3)) if cell.tool == WRITE else 0
    facts: dict[str, Any] = {
        "tool": cell.tool,
        "phase": str(phase_of(cell.tool, 0)),
        "suggestion_type": cell.suggestion_type,
        "field": field,
        "target": cell.target,
        "waiting": False,
        "cooling": False,
        "pinned": False,
        "declined": False,
        "written": written,
        "written_in_field": min(written, 1),
        "thumbs": int(rng.integers(20, 200)),
        "accepted_of_type": int(rng.integers(0, 4)),
        "rejected_of_type": int(rng.integers(0, 6)),
        "failed_writes": 0,
        "calls_left": int(rng.integers(2, 20)),
        "money_left_usd": round(float(rng.uniform(0.0001, 0.2)), 4),
    }
    if step := STEP.get(cell.suggestion_type):
        facts["step"] = step
    return facts | _breaking(rule)


def _breaking(rule: str) -> dict[str, Any]:
    """The facts under which a built-in rule holds."""
    broken: dict[str, dict[str, Any]] = {
        "": {},
        "duplicate_pending": {"waiting": True},
        "on_cooldown": {"cooling": True},
        "pinned": {"pinned": True},
        "type_declined": {"declined": True, "accepted_of_type": 0, "rejected_of_type": 6},
        "run_cap": {"written": 3, "written_in_field": 2},
        "money_spent": {"money_left_usd": 0.0},
    }
    return broken[rule]
