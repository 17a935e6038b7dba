"""A change tried out before it is proposed: what it touches and measured, what the rules would say."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings

from digest.entities import RatedItem
from digest.selectors import feedback_source_counts
from suggestions.entities import LIKED_TYPES, REDUCE_SOURCE, SOURCE_WEIGHTS, Draft, Preview, Refusal
from suggestions.rules import Accepted, Facts, Strength, change_of, check, concerns, weigh
from suggestions.selectors.facts import facts_for
from suggestions.selectors.preview import preview_matching
from suggestions.selectors.weighing import Weighed, change_weigh
from suggestions.values import weight_bounds


@dataclass(frozen=True, slots=True)
class Trial:
    """A change and what is known of it.

    `matching` are the newest thumbs about it, `liked` of `matched` thumbs among all `looked_at` ones (for a
    topic: the newest 500), `offered` items of the last seven days. `refusal` is what the rules would answer
    to the best evidence there is, `None`: they would let it through.
    """

    change: Accepted
    weighed: Weighed
    matching: tuple[RatedItem, ...]
    liked: int
    matched: int
    looked_at: int
    offered: int
    preview: Preview
    refusal: Refusal | None


def change_try(*, reader_id: UUID, draft: Draft, now: datetime) -> Trial | Refusal:
    """Try the change of `draft`; a source without a value moves by the whole step. Writes nothing.

    A refusal means that the draft is no change at all. The number of queries does not depend on the number
    of thumbs.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    whole = with_value(draft, facts)
    change = change_of(whole, facts)
    if isinstance(change, Refusal):
        return change
    weighed = change_weigh(reader_id=reader_id, change=change, effective=facts.effective, now=now)
    matching = tuple(i for i in weighed.case.rated if _about(i, change))
    liked, matched, looked_at = _counts(reader_id, change, weighed, matching)
    preview, offered = preview_matching(
        reader_id=reader_id,
        before=facts.effective,
        after=weighed.after,
        field=change.field,
        key=change.target_key,
        label=change.label,
        now=now,
    )
    refusal = foreseen(with_best_evidence(whole, change, matching), facts, weighed, matching)
    return Trial(change, weighed, matching, liked, matched, looked_at, offered, preview, refusal)


def with_value(draft: Draft, facts: Facts) -> Draft:
    """`draft` with the largest permitted step where a source comes without a weight."""
    if draft.field != SOURCE_WEIGHTS or draft.suggested_value not in (None, ""):
        return draft
    low, high = weight_bounds(facts.effective.weight(str(draft.target_key)))
    return replace(draft, suggested_value=low if draft.suggestion_type == REDUCE_SOURCE else high)


def with_best_evidence(draft: Draft, change: Accepted, matching: tuple[RatedItem, ...]) -> Draft:
    """`draft` citing every thumb that could be cited for it."""
    liked = change.suggestion_type in LIKED_TYPES
    return replace(draft, evidence_urls=tuple(item.url for item in matching if item.useful is liked))


def foreseen(draft: Draft, facts: Facts, weighed: Weighed, rated: tuple[RatedItem, ...]) -> Refusal | None:
    """The rule that would refuse `draft` if it were written now, with `rated` as the thumbs it may cite."""
    known: Mapping[str, RatedItem] = {item.url: item for item in rated}
    verdict = check(draft, replace(facts, rated=known))
    if isinstance(verdict, Refusal):
        return verdict
    return weigh(verdict, Strength(weighed.p_overall, weighed.confidence), settings.ADVISOR_MIN_CONFIDENCE)


def _about(item: RatedItem, change: Accepted) -> bool:
    return concerns(item, change.field, change.target_key, change.label)


def _counts(
    reader_id: UUID, change: Accepted, weighed: Weighed, matching: tuple[RatedItem, ...]
) -> tuple[int, int, int]:
    """(liked, matched, looked at): all thumbs for a source, counted in SQL; the newest ones for a topic."""
    if change.field != SOURCE_WEIGHTS:
        return sum(item.useful for item in matching), len(matching), len(weighed.case.rated)
    counts = feedback_source_counts(reader_id=reader_id)
    liked, matched = counts.get(change.target_key, (0, 0))
    return liked, matched, sum(total for _, total in counts.values())
