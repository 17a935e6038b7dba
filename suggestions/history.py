"""What became of earlier suggestions, as a reader sees it: answers, effects, what may be undone."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator

from ranking.body import body_effective
from suggestions import presenters
from suggestions.models import Outcome, Suggestion
from suggestions.selectors.decided import suggestions_settled, undo_open

PAGE_SIZE = 30


@dataclass(frozen=True, slots=True)
class Decided:
    """One suggestion that was answered, or ran out.

    `change` says from where to where, `until` when one put off comes back, `said` is the reader's own
    reason, `undo` the word on the button that takes the answer back ("": it cannot be).
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


def history_page(*, reader_id: UUID, number: object, now: datetime) -> dict[str, Any]:
    """One page of thirty settled suggestions, newest first; three queries. Any `number` finds a page."""
    page = Paginator(suggestions_settled(reader_id=reader_id), PAGE_SIZE).get_page(str(number or 1))
    return {"page": page, "rows": decided_rows(page.object_list, now=now)}


def decided_rows(suggestions: Iterable[Suggestion], *, now: datetime) -> list[Decided]:
    """`suggestions`, outcomes prefetched, in words."""
    return [_decided(suggestion, now) for suggestion in suggestions]


def _decided(suggestion: Suggestion, now: datetime) -> Decided:
    outcomes = {row.kind: row for row in suggestion.outcomes.all()}
    decision, effect = outcomes.get(Outcome.Kind.DECISION), outcomes.get(Outcome.Kind.EFFECT)
    status = presenters.settled_status(
        suggestion.status,
        reverted=Outcome.Kind.REVERT in outcomes,
        never=bool(decision and decision.user_reason == presenters.NEVER),
    )
    accepted = suggestion.status == Suggestion.Status.ACCEPTED
    said = decision.user_reason if decision and decision.user_reason != presenters.NEVER else ""
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
        undo=presenters.UNDO.get(suggestion.status, "") if undo_open(suggestion, now) else "",
    )


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
