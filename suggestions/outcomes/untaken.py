"""The road not taken: refused, expired and withdrawn proposals, judged as if they had been accepted.

The thumbs of the two weeks after the answer tell how the target was liked since. The digests of these weeks
are ordered once as they were stored and once with the change. Then the arithmetic is that of accepted changes
(`suggestions.outcomes.effects`). The result is a record for the reader and for operators. Nothing is learned
from it, and a reader's no stays a no.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db.models import Count, Exists, OuterRef, QuerySet

from ranking.common.isolation import isolate_batches
from ranking.language import gettext as _
from ranking.language import ngettext
from suggestions.models import Outcome, Suggestion, UntakenVerdict
from suggestions.outcomes.check import WINDOW, cases_of
from suggestions.outcomes.effects import effect_measure
from suggestions.proposals import HARMED, HELPED, UNCLEAR

log = structlog.get_logger(__name__)
Kind, Result, Status = Outcome.Kind, Outcome.Result, Suggestion.Status
BATCH = 50
# A record needs this many clear verdicts, and shows this many of the last changes.
CLEAR_MIN, LAST = 10, 10
CLEAR = (HELPED, HARMED)
# Statuses and outcomes share these names.
UNTAKEN = (str(Status.REJECTED), str(Status.EXPIRED), str(Status.WITHDRAWN))


@dataclass(frozen=True, slots=True)
class Record:
    """The results of a reader's suggestions: the last ten accepted by verdict, and the clear refused ones.

    `refused_right` counts the refused ones that would have done harm.
    """

    helped: int
    harmed: int
    unclear: int
    refused: int
    refused_right: int

    @property
    def words(self) -> str:
        """Return the record in two sentences; the second only if a no was right."""
        made = _("My last {n}: {helped} helped, {harmed} harmed, {unclear} unclear.")
        parts = [made.format(n=self.helped + self.harmed + self.unclear, helped=self.helped,
                             harmed=self.harmed, unclear=self.unclear)]  # fmt: skip
        if self.refused_right:
            refused = ngettext(
                "Of {n} that you said no to, you were right once.",
                "Of {n} that you said no to, you were right {right} times.",
                self.refused_right,
            )
            parts.append(refused.format(n=self.refused, right=self.refused_right))
        return " ".join(parts)


def untaken_due(*, now: datetime) -> QuerySet[Outcome]:
    """Return refusals, expiries and withdrawals from two weeks ago or more that are not judged yet, oldest
    first.

    Undone answers are left out. So are words to hide and the order of the page, because digests without the
    change tell nothing about them.
    """
    judged = UntakenVerdict.objects.filter(suggestion=OuterRef("suggestion"))
    rows = Outcome.objects.filter(kind=Kind.DECISION, outcome__in=UNTAKEN)
    rows = rows.filter(suggestion__status__in=UNTAKEN, decided_at__lte=now - WINDOW)
    judgeable = rows.filter(suggestion__field__in=("topics", "source_weights"))
    return judgeable.filter(~Exists(judged)).order_by("decided_at", "pk")


def untaken_check(*, now: datetime) -> dict[str, int]:
    """Judge the due ones, in batches of 50 with a fixed number of queries each. Return counts by verdict."""
    due = dict(untaken_due(now=now).values_list("pk", "reader_id"))

    def check(some: Sequence[int]) -> list[str]:
        cases = cases_of(decision_ids=some, taken=False)
        found = [(decision, effect_measure(case, seed=decision.suggestion_id)) for decision, case in cases]
        UntakenVerdict.objects.bulk_create(
            (
                UntakenVerdict(
                    suggestion_id=decision.suggestion_id,
                    reader_id=decision.reader_id,
                    verdict=effect.verdict,
                    measured=effect.measured,
                    judged_at=now,
                )
                for decision, effect in found
            ),
            ignore_conflicts=True,  # a check beside this one judged it
        )
        return [effect.verdict for _, effect in found]

    verdicts: Counter[str] = Counter()
    for found in isolate_batches(list(due), check, event="untaken_check_failed", size=BATCH, key_of=due.get):
        verdicts.update(found)
    counts = {verdict: verdicts[verdict] for verdict in (HELPED, HARMED, UNCLEAR)}
    log.info("untaken_checked", due=len(due), **counts)
    return counts


def record_for(*, reader_id: UUID) -> Record | None:
    """Return how the reader's suggestions turned out; `None` below ten clear verdicts. Two queries."""
    effects = Outcome.objects.filter(reader_id=reader_id, kind=Kind.EFFECT).order_by("-decided_at", "-pk")
    accepted = list(effects.values_list("outcome", flat=True))
    untaken = UntakenVerdict.objects.filter(reader_id=reader_id, verdict__in=CLEAR)
    answered = list(untaken.values_list("verdict", "suggestion__status"))
    if sum(verdict in CLEAR for verdict in accepted) + len(answered) < CLEAR_MIN:
        return None
    last = Counter(accepted[:LAST])
    refused = [verdict for verdict, status in answered if status == Status.REJECTED]
    return Record(last[HELPED], last[HARMED], last[UNCLEAR], len(refused), refused.count(HARMED))


def records_by_kind() -> list[dict[str, Any]]:
    """Return verdicts by kind of change, accepted and untaken, for operators; two queries."""
    counted: Counter[tuple[str, str, str]] = Counter()
    effects = Outcome.objects.filter(kind=Kind.EFFECT).order_by().values_list("suggestion_type", "outcome")
    for kind, verdict, count in effects.annotate(Count("pk")):
        counted[kind, "accepted", verdict] = count
    untaken = UntakenVerdict.objects.order_by().values_list(
        "suggestion__suggestion_type", "suggestion__status", "verdict"
    )
    for kind, status, verdict, count in untaken.annotate(Count("pk")):
        counted[kind, status, verdict] = count
    groups = sorted({key[:2] for key in counted})
    return [
        {"kind": kind, "answer": answer, **{v: counted[kind, answer, v] for v in (HELPED, HARMED, UNCLEAR)}}
        for kind, answer in groups
    ]
