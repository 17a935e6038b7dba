"""What became of earlier suggestions, as a reader sees it: answers, effects, what may be undone."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator

from ranking.body import body_effective
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective
from suggestions import presenters
from suggestions.models import Outcome, Suggestion
from suggestions.selectors.decided import suggestion_forgotten, suggestion_undo_open, suggestions_settled
from suggestions.standing import undone_since

PAGE_SIZE = 30
REVERT = presenters.UNDO["accepted"]


@dataclass(frozen=True, slots=True)
class Decided:
    """One suggestion that was answered, or ran out.

    `change` says from where to where, `until` when one put off comes back, `said` is the reader's own
    reason, `undo` the word on the button that takes the answer back ("": it cannot be). `again` says that it
    is a copy of one whose answer was taken back, `over` that the settings no longer hold what was agreed.
    """

    suggestion: Suggestion
    headline: str
    status: str
    at: datetime | None
    until: datetime | None
    change: str
    said: str
    effect: str
    harmed: bool
    undo: str
    again: str = ""
    over: str = ""


def history_page(*, reader_id: UUID, number: object, now: datetime) -> dict[str, Any]:
    """One page of thirty settled suggestions, newest first; five queries. Any `number` finds a page."""
    effective = config_effective(reader_id=reader_id)
    page = Paginator(suggestions_settled(reader_id=reader_id), PAGE_SIZE).get_page(str(number or 1))
    return {"page": page, "rows": decided_rows(page.object_list, effective=effective, now=now)}


def decided_rows(
    suggestions: Iterable[Suggestion], *, effective: EffectiveConfig, now: datetime
) -> list[Decided]:
    """`suggestions`, outcomes prefetched, in words; `effective` are the reader's settings of now."""
    return [_decided(suggestion, effective, now) for suggestion in suggestions]


def _decided(suggestion: Suggestion, effective: EffectiveConfig, now: datetime) -> Decided:
    outcomes = {row.kind: row for row in suggestion.outcomes.all()}
    decision, effect = outcomes.get(Outcome.Kind.DECISION), outcomes.get(Outcome.Kind.EFFECT)
    status = presenters.settled_status(
        suggestion.status,
        decided=decision.outcome if decision else "",
        reverted=Outcome.Kind.REVERT in outcomes,
        never=bool(decision and decision.user_reason == presenters.NEVER),
    )
    accepted = suggestion.status == Suggestion.Status.ACCEPTED
    said = decision.user_reason if decision and decision.user_reason != presenters.NEVER else ""
    undo = _undo(suggestion, now)
    over = undo == REVERT and undone_since(suggestion, decision, effective)
    return Decided(
        suggestion=suggestion,
        headline=presenters.headline(suggestion.suggestion_type, suggestion.label),
        status=status,
        at=suggestion.resolved_at or (decision.decided_at if decision else None),
        change=_change(suggestion, decision) if accepted else "",
        until=suggestion.snoozed_until if suggestion.status == Suggestion.Status.SNOOZED else None,
        said=said,
        effect=presenters.effect_words(effect.outcome, effect.measured) if effect else "",
        harmed=bool(effect and effect.outcome == Outcome.Result.HARMED),
        undo="" if over else undo,
        again=presenters.CAME_BACK if _came_back(suggestion) else "",
        over=presenters.NOT_IN_FORCE if over else "",
    )


def _undo(suggestion: Suggestion, now: datetime) -> str:
    if not suggestion_undo_open(suggestion=suggestion, now=now):
        return ""
    if suggestion_forgotten(suggestion=suggestion, now=now):
        return presenters.UNDO_AT_ONCE
    return presenters.UNDO.get(suggestion.status, "")


def _came_back(suggestion: Suggestion) -> bool:
    return any(note in presenters.BROUGHT_BACK.values() for note in suggestion.validation_notes)


def _change(suggestion: Suggestion, decision: Outcome | None) -> str:
    """The weight as it was and as agreed, the reader's own value where they chose one; "" for topics.

    As it was when they agreed: it may have been learned since the suggestion was made. Where the settings of
    that day are archived, as it was when the suggestion was made.
    """
    if suggestion.field != Suggestion.Field.SOURCE_WEIGHTS:
        return ""
    body = decision.config_before if decision else {}
    before = body_effective(body).weight(suggestion.target_key) if body else suggestion.current_value
    after = (decision.edited_value if decision else "") or suggestion.suggested_value
    chosen = ", your own choice" if decision and decision.edited_value else ""
    return f"{presenters.weight_phrase(before)} → {presenters.weight_phrase(after)}{chosen}"
