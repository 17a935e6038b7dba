"""Drafts beside the reader's whole record, for judging them before anything is written."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from digest.entities import RatedItem
from digest.selectors import feedback_source_counts, reason_tags
from suggestions.critique import Issue, Past, Record, confidence_after, critique, duplicates
from suggestions.entities import FIELD_OF_TYPE, SOURCE_WEIGHTS, Draft, Refusal
from suggestions.models import Outcome, Suggestion
from suggestions.rules import Accepted, Facts, Target, change_of, concerns
from suggestions.selectors.facts import facts_for
from suggestions.selectors.trials import foreseen, with_value
from suggestions.selectors.weighing import Weighed, change_weigh

Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Critique:
    """What is weak about one draft. `p_helpful` is `None` for one that is no change at all."""

    suggestion_type: str
    target: str
    p_helpful: float | None
    confidence: str
    issues: tuple[Issue, ...]


def drafts_critique(
    *, reader_id: UUID, run_id: UUID, drafts: Sequence[Draft], now: datetime
) -> list[Critique]:
    """A critique of each draft, in order; reads only.

    Each draft is weighed just as a write would weigh it, with as many queries; ten more for all of them.
    """
    urls = {url for draft in drafts for url in draft.evidence_urls}
    facts = facts_for(reader_id=reader_id, now=now, run_id=run_id, urls=urls)
    wanted = [with_value(draft, facts) for draft in drafts]
    changes = [change_of(draft, facts) for draft in wanted]
    real = {n: change for n, change in enumerate(changes) if isinstance(change, Accepted)}
    past = outcomes_about(reader_id=reader_id, keys={change.target_key for change in real.values()})
    doubles = duplicates({n: (c.field, c.target_key, c.label) for n, c in real.items()})
    counts = feedback_source_counts(reader_id=reader_id)
    kinds = {tag.slug: tag.kind for tag in reason_tags()}
    found = []
    for n, (draft, change) in enumerate(zip(wanted, changes, strict=True)):
        if isinstance(change, Refusal):
            found.append(_no_change(draft, change))
            continue
        weighed = change_weigh(reader_id=reader_id, change=change, effective=facts.effective, now=now)
        record = _record(draft, change, weighed, facts, counts)
        record = replace(record, past=past.get((change.field, change.target_key), ()))
        issues = [*([doubles[n]] if n in doubles else []), *critique(record, kinds, now)]
        found.append(_critique(record, weighed, issues))
    return found


def outcomes_about(*, reader_id: UUID, keys: Collection[str]) -> dict[Target, tuple[Past, ...]]:
    """What became of the reader's earlier suggestions about each of the targets; one query."""
    about = Outcome.objects.filter(reader_id=reader_id, target_key__in=keys)
    rows = about.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK).order_by("-decided_at")
    found: defaultdict[Target, list[Past]] = defaultdict(list)
    for kind, key, outcome, at in rows.values_list("suggestion_type", "target_key", "outcome", "decided_at"):
        found[FIELD_OF_TYPE[kind], key].append(Past(kind, outcome, at))
    return {target: tuple(past) for target, past in found.items()}


def _no_change(draft: Draft, refusal: Refusal) -> Critique:
    issue = Issue("would_be_refused", refusal.message, rule=refusal.code)
    return Critique(draft.suggestion_type, refusal.target, None, "low", (issue,))


def _critique(record: Record, weighed: Weighed, issues: Sequence[Issue]) -> Critique:
    confidence = confidence_after(record.confidence, issues)
    return Critique(record.suggestion_type, record.target_key, weighed.p_helpful, confidence, tuple(issues))


def _record(draft: Draft, change: Accepted, weighed: Weighed, facts: Facts, counts: Counts) -> Record:
    cited = tuple(facts.rated[url] for url in dict.fromkeys(draft.evidence_urls) if url in facts.rated)
    about = tuple(
        item for item in weighed.case.rated if concerns(item, change.field, change.target_key, change.label)
    )
    liked, rated, all_liked, all_rated = _counts(change, about, weighed.case.rated, counts)
    return Record(
        suggestion_type=change.suggestion_type,
        field=change.field,
        target_key=change.target_key,
        label=change.label,
        cited=cited,
        about=about,
        liked=liked,
        rated=rated,
        all_liked=all_liked,
        all_rated=all_rated,
        gain=weighed.forecast.gain,
        confidence=weighed.confidence,
        refusal=foreseen(draft, facts, weighed, cited),
    )


def _counts(
    change: Accepted, about: Sequence[RatedItem], newest: Sequence[RatedItem], counts: Counts
) -> tuple[int, int, int, int]:
    """(liked, rated) on the target and in all: every thumb for a source, the newest ones for a topic."""
    if change.field != SOURCE_WEIGHTS:
        return sum(i.useful for i in about), len(about), sum(i.useful for i in newest), len(newest)
    liked, rated = counts.get(change.target_key, (0, 0))
    return liked, rated, sum(pair[0] for pair in counts.values()), sum(pair[1] for pair in counts.values())
