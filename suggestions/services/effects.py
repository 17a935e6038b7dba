"""The outcome check: two weeks after a change was accepted, did it help?

What "helped" means, and how it is told from chance: `suggestions.effects`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from suggestions.effects import HARMED, HELPED, UNCLEAR, Effect, effect_measure
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.selectors.windows import cases_of, decisions_due
from suggestions.services.outcomes import Ending, outcome_draft, profiles_update

log = structlog.get_logger(__name__)
BATCH = 50
Progress = Callable[[int, int], None]
Judged = tuple[Outcome, Effect]


def effects_check(*, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
    """Judge every accepted change of two weeks ago or more that was not judged, or put back, before.

    Returns `{"due", "checked", "helped", "harmed", "unclear", "effects": [{"suggestion_id", "reader_id",
    "suggestion_type", "outcome", "reason", "p_helped"}]}`. Each batch of 50 costs a fixed number of queries
    and is a transaction of its own; a second run, or one beside it, finds only what is left. `progress` gets
    (done, due).
    """
    due = decisions_due(now=now)
    rows: list[dict[str, Any]] = []
    for start in range(0, len(due), BATCH):
        cases = cases_of(decision_ids=due[start : start + BATCH])
        judged = [(row, effect_measure(case, seed=row.suggestion_id)) for row, case in cases]
        rows += [_row(decision, effect) for decision, effect in _store(judged, now)]
        if progress:
            progress(min(start + BATCH, len(due)), len(due))
    found = Counter(row["outcome"] for row in rows)
    counts = {verdict: found[verdict] for verdict in (HELPED, HARMED, UNCLEAR)}
    log.info("effects_checked", due=len(due), checked=len(rows), **counts)
    return {"due": len(due), "checked": len(rows), **counts, "effects": rows}


@transaction.atomic
def _store(judged: Sequence[Judged], now: datetime) -> list[Judged]:
    """Append the effects that still fit and let the profiles learn; nine queries.

    Suggestions are held before profiles, as a revert holds them: what it put back meanwhile gets no effect,
    and what another check judged meanwhile no second one.
    """
    ids = [decision.suggestion_id for decision, _ in judged]
    held = Suggestion.objects.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk")
    suggestions = {row.pk: row for row in held}
    readers = sorted({row.reader_id for row in suggestions.values()})
    list(PreferenceProfile.objects.select_for_update().filter(reader_id__in=readers).order_by("pk"))
    kinds = [Outcome.Kind.EFFECT, Outcome.Kind.REVERT]
    followed = set(
        Outcome.objects.filter(suggestion_id__in=ids, kind__in=kinds).values_list("suggestion_id", flat=True)
    )
    fresh = [pair for pair in judged if pair[0].suggestion_id not in followed]
    Outcome.objects.bulk_create(
        outcome_draft(
            suggestion=suggestions[decision.suggestion_id], ending=_ending(effect), evidence=(), now=now
        )
        for decision, effect in fresh
    )
    profiles_update(reader_ids=readers, now=now)
    return fresh


def _ending(effect: Effect) -> Ending:
    return Ending(effect.verdict, before={}, kind=Outcome.Kind.EFFECT, measured=effect.measured)


def _row(decision: Outcome, effect: Effect) -> dict[str, Any]:
    return {
        "suggestion_id": decision.suggestion_id,
        "reader_id": str(decision.reader_id),
        "suggestion_type": decision.suggestion_type,
        "outcome": effect.verdict,
        "reason": effect.measured["reason"],
        "p_helped": effect.measured.get("p_helped"),
    }
