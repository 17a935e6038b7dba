"""What rules may ask about a call: cheap facts of any call, and of a write what the database says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from advisor.guidance.entities import Facts, Situation
from advisor.guidance.situations import WRITE
from advisor.guidance.standing import THUMBS_MAX, Standing
from advisor.guidance.state import RunState
from ranking.entities import EffectiveConfig
from ranking.matching import fold, term_matches
from suggestions.entities import FIELD_OF_TYPE, LIKED_TYPES, SOURCE_WEIGHTS, Draft
from suggestions.rules import Accepted, Target, change_of, target_pinned, types_declined
from suggestions.rules import Facts as RuleFacts


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call with all that is known of it: the situation with its step, the facts, the config it meets."""

    situation: Situation
    facts: Facts
    effective: EffectiveConfig


def facts_of(
    *, situation: Situation, state: RunState, standing: Standing, calls_max: int | None
) -> CallFacts:
    """The facts about one call, by what the run knows of its reader: no query of its own.

    Without `calls_max` nothing is said of calls that are left.
    """
    effective = standing.effective
    known: dict[str, Any] = {
        "tool": situation.tool,
        "phase": situation.phase.value,
        "failed_writes": state.failed_writes,
    }
    if calls_max is not None:
        known["calls_left"] = max(0, calls_max - state.calls)
    if situation.suggestion_type:
        known["suggestion_type"] = situation.suggestion_type
        known["field"] = FIELD_OF_TYPE[situation.suggestion_type]
        known["target"] = situation.target_key
    if situation.tool != WRITE:
        return CallFacts(situation, Facts(known), effective)
    change = _change(situation, effective)
    if change is not None and change.weight is not None:
        situation = replace(situation, step=round(change.weight - effective.weight(change.target_key), 4))
        known["step"] = situation.step
    until = _of_target(known, situation, standing)
    known |= _cited(situation.arguments.get("evidence_items"))
    known |= _thumbs(situation, change.label if change else situation.target_key, standing.thumbs)
    return CallFacts(situation, Facts(known, until), effective)


def _of_target(known: dict[str, Any], situation: Situation, standing: Standing) -> datetime | None:
    """Add to `known` what stands in the way of the target; returns when a cooling one is free."""
    kind = situation.suggestion_type
    field = known.get("field", "")
    target: Target = (field, situation.target_key)
    suggested, answers = standing.suggested, standing.answers
    until = suggested.cooling.get(target)
    yes, no = answers.get(kind, (0, 0))
    named = bool(field and situation.target_key)
    known |= {
        "waiting": named and target in suggested.waiting,
        "cooling": named and until is not None and until > standing.now,
        "pinned": named and target_pinned(target, standing.effective),
        "declined": kind in types_declined(answers),
        "written": len(suggested.written),
        "written_in_field": suggested.written.count(field),
        "accepted_of_type": yes,
        "rejected_of_type": no,
    }
    # A run that has spent nothing pays for nothing: the planner's goes on where no money may be spent at all.
    if spent := standing.stamp.spent_usd:
        known["money_left_usd"] = round(settings.ADVISOR_RUN_CAP_USD - spent, 6)
    return until


def _change(situation: Situation, effective: EffectiveConfig) -> Accepted | None:
    """The change the write asks for, in the rules' own numbers; `None` where it is none."""
    given = situation.arguments
    draft = Draft(
        suggestion_type=situation.suggestion_type,
        field=str(given.get("field") or ""),
        target_key=given.get("target_key"),
        suggested_value=given.get("suggested_value"),
        evidence_urls=(),
        reason="",
    )
    source = fold(draft.target_key) if isinstance(draft.target_key, str) else ""
    change = change_of(draft, RuleFacts(effective, frozenset({source})))
    return change if isinstance(change, Accepted) else None


def _cited(items: Any) -> Mapping[str, int]:
    """How many different items are given as evidence; unknown where that is no list of such."""
    fine = isinstance(items, list) and all(isinstance(row, Mapping) for row in items)
    urls = [row.get("url") for row in items] if fine else [None]
    return {"cited": len({*urls} - {""})} if all(isinstance(url, str) for url in urls) else {}


def _thumbs(situation: Situation, label: str, newest: Sequence[tuple[bool, str, str]]) -> Mapping[str, int]:
    """How many of the newest thumbs there are, likes among them, thumbs on the target, and fitting ones.

    A thumb fits that the change can rest on: a like for more of something, a dislike for less. How many do is
    unknown where older thumbs were not read, and of a reader who gave none yet.
    """
    kind, key = situation.suggestion_type, situation.target_key
    on_target: list[bool] = []
    if key and label and FIELD_OF_TYPE.get(kind) == SOURCE_WEIGHTS:
        on_target = [useful for useful, source, _ in newest if source == key]
    elif key and label:
        on_target = [useful for useful, _, title in newest if term_matches(label, title)]
    likes = sum(useful for useful, _, _ in newest)
    counts = {"thumbs": len(newest), "likes": likes, "thumbs_on_target": len(on_target)}
    if key and label and 0 < len(newest) < THUMBS_MAX:
        counts["fitting_on_target"] = on_target.count(kind in LIKED_TYPES)
    return counts
