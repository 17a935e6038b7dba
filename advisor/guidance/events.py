"""Events: one row a call, credited with readers' answers and deleted after their time.

A memory is credited by what the reader made of the suggestion that its run wrote about the same change: a no,
or a change taken back, at once; a yes 14 days after it. Advice is borne out by such a yes, a caution by a no.
A suggestion that was never written, or never answered, leaves the credit as it is. Whether the run did as
advised (`followed`) counts for nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, When

from advisor.guidance.figures import CONTROL, SHOWN
from advisor.models import GuidanceEvent, Memory, Run
from ranking.common.rows import retention_start, rows_delete
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.profile import ACCEPTED, REJECTED

log = structlog.get_logger(__name__)
SETTLED_AFTER = timedelta(days=14)
# What has no answer by then gets none: suggestions wait 14 days, a put-off one a little longer.
LOOKED_BACK = timedelta(days=90)
RUNS_AT_ONCE = 200
REVERTED, WITHHELD, UNANSWERED, OPEN = "reverted", "withheld", "unanswered", ""
WAITING = (Suggestion.Status.PENDING, Suggestion.Status.SNOOZED, Suggestion.Status.DRAFT)
CHANGE = ("reader_id", "run_id", "suggestion_type", "target_key")


class Fate(NamedTuple):
    """What became of a suggestion: `decision` is its outcome, empty while it waits; `waits` whether an answer
    may still come."""

    decision: str
    decided_at: datetime | None = None
    reverted_at: datetime | None = None
    waits: bool = False


def guidance_credit(*, now: datetime) -> dict[str, int]:
    """Credit memories with what readers made of the suggestions they were about; safe to repeat.

    Returns how many `events` got an outcome, and how many times memories were borne out (`helpful`) or not
    (`unhelpful`). Open events are locked, so that each counts once; eight queries or so for each 200 runs.
    """
    totals = Counter(events=0, helpful=0, unhelpful=0)
    runs = list(_open(now).order_by("run_id").values_list("run_id", flat=True).distinct())
    for start in range(0, len(runs), RUNS_AT_ONCE):
        with transaction.atomic():
            totals.update(_credit(runs[start : start + RUNS_AT_ONCE], now))
    log.info("guidance_credited", **totals)
    return dict(totals)


def outcome_of(fates: Sequence[Fate], *, run_over: bool, now: datetime) -> str:
    """Return what became of the suggestions about one change: the newest answer, `OPEN` for none yet."""
    if not fates:
        return WITHHELD if run_over else OPEN
    answered = [fate for fate in fates if fate.decision in (ACCEPTED, REJECTED)]
    if not answered:
        return OPEN if any(fate.waits for fate in fates) else UNANSWERED
    last = max(answered, key=lambda fate: (fate.decided_at or now, fate.decision))
    if last.decision == REJECTED:
        return REJECTED
    if last.reverted_at is not None:
        return REVERTED
    settled = last.decided_at is not None and now - last.decided_at >= SETTLED_AFTER
    return ACCEPTED if settled else OPEN


def borne_out(polarity: int, outcome: str) -> bool | None:
    """Return whether the reader's answer bears out a memory of that polarity; `None` for no answer."""
    return (outcome == ACCEPTED) is (polarity >= 0) if outcome in (ACCEPTED, REJECTED, REVERTED) else None


def guidance_prune(*, now: datetime) -> int:
    """Delete events older than the days that `guidance` in `KEEP_DAYS` gives them; how many."""
    since = retention_start("guidance", now)
    return rows_delete(GuidanceEvent.objects.all(), at="at", before=since) if since else 0


def _open(now: datetime) -> QuerySet[GuidanceEvent]:
    """Return the emissions about a change that have no outcome yet."""
    rows = GuidanceEvent.objects.filter(SHOWN | CONTROL, helpful=None, outcome="", at__gt=now - LOOKED_BACK)
    return rows.exclude(Q(suggestion_type="") | Q(target_key="") | Q(run=None))


def _credit(runs: Sequence[UUID], now: datetime) -> dict[str, int]:
    """Settle the open events of these runs by the answers so far, and credit each memory once a change."""
    changes: defaultdict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    events = _open(now).filter(run_id__in=runs).select_for_update().order_by("pk")
    for event in events.values("pk", "emitted_ids", "holdout", *CHANGE):
        changes[tuple(event[name] for name in CHANGE)].append(event)
    fates = _fates(runs)
    over = set(Run.objects.filter(pk__in=runs, finished_at__isnull=False).values_list("pk", flat=True))
    used = {pk for own in changes.values() for event in own for pk in event["emitted_ids"]}
    polarity = dict(Memory.objects.filter(pk__in=used).values_list("pk", "polarity"))
    settled: defaultdict[tuple[str, bool | None, bool | None], list[int]] = defaultdict(list)
    gains = {"helpful": Counter[int](), "unhelpful": Counter[int]()}
    for change, own in changes.items():
        outcome = outcome_of(fates.get(change, ()), run_over=change[1] in over, now=now)
        credited: set[int] = set()
        for event in own if outcome != OPEN else ():
            known = [] if event["holdout"] else [pk for pk in event["emitted_ids"] if pk in polarity]
            first = polarity[known[0]] if known else 0
            helpful = borne_out(first, outcome) if known else None
            followed = (outcome != WITHHELD) is (first > 0) if first else None
            settled[outcome, helpful, followed].append(event["pk"])
            credited.update(known)
        for pk in credited:
            if (good := borne_out(polarity[pk], outcome)) is not None:
                gains["helpful" if good else "unhelpful"][pk] += 1
    for (outcome, helpful, followed), ids in settled.items():
        found = {"outcome": outcome, "helpful": helpful, "followed": followed}
        GuidanceEvent.objects.filter(pk__in=ids).update(**found)
    more: dict[str, Any] = {}
    for name, counts in gains.items():
        cases = (When(pk=pk, then=count) for pk, count in counts.items())
        more[name] = F(name) + Case(*cases, default=0, output_field=IntegerField())
    Memory.objects.filter(pk__in=[pk for counts in gains.values() for pk in counts]).update(**more)
    return {name: counts.total() for name, counts in gains.items()} | {
        "events": sum(map(len, settled.values()))
    }


def _fates(runs: Sequence[UUID]) -> Mapping[tuple[Any, ...], Sequence[Fate]]:
    """Return what became of each suggestion of these runs that was not taken back at once; one query."""
    own = Outcome.objects.filter(suggestion=OuterRef("pk"))
    decisions, reverts = own.filter(kind=Outcome.Kind.DECISION), own.filter(kind=Outcome.Kind.REVERT)
    unseen = (Suggestion.Status.TAKEN_BACK, Suggestion.Status.DISCARDED)
    rows = Suggestion.objects.filter(run_id__in=runs).exclude(status__in=unseen)
    rows = rows.annotate(
        decision=Subquery(decisions.values("outcome")[:1]),
        decided_at=Subquery(decisions.values("decided_at")[:1]),
        reverted_at=Subquery(reverts.values("decided_at")[:1]),
    )
    fates: defaultdict[tuple[Any, ...], list[Fate]] = defaultdict(list)
    columns = ("status", "decision", "decided_at", "reverted_at")
    for *change, status, decision, at, reverted_at in rows.order_by("pk").values_list(*CHANGE, *columns):
        fates[tuple(change)].append(Fate(decision or "", at, reverted_at, status in WAITING))
    return fates
