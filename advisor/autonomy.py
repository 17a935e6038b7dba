"""The record behind the autonomy report, counted in the database: eight queries."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Sum, When

from advisor.goals import Record
from advisor.models import PanelVote
from ranking.entities import EffectiveConfig
from ranking.matching import topic_key
from ranking.selectors import config_effective_many
from suggestions.models import Outcome, Suggestion
from suggestions.values import weight_parse

# As the panel counts: two approvals of three, and no reject by trust.
APPROVALS_MIN = 2
TARGET = ("run_id", "suggestion_type", "target_key")


def autonomy_record(*, now: datetime, days: int | None = None) -> Record:
    """What reviewers voted and what became of what they passed, over the last `days` (`None`: ever)."""
    votes = PanelVote.objects.filter(at__lte=now)
    accepted = Outcome.objects.filter(
        kind=Outcome.Kind.DECISION, outcome=Outcome.Result.ACCEPTED, decided_at__lte=now
    ).exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
    if days is not None:
        since = now - timedelta(days=days)
        votes, accepted = votes.filter(at__gt=since), accepted.filter(decided_at__gt=since)
    return Record(**_voted(votes), **_corrected(accepted))


def _voted(votes: QuerySet[PanelVote]) -> dict[str, int]:
    approve, reject = PanelVote.Verdict.APPROVE, PanelVote.Verdict.REJECT
    came, trust = Q(error_code=""), Q(reviewer=PanelVote.Reviewer.TRUST)
    rounds = (
        votes.order_by()
        .values(*TARGET, "round")
        .annotate(
            approvals=Count("pk", filter=came & Q(verdict=approve)),
            vetoes=Count("pk", filter=came & trust & Q(verdict=reject)),
            trusted=Count("pk", filter=came & trust),
            came=Count("pk", filter=came),
        )
    )
    # A missing vote of trust lets nothing pass, unless rules gave one in its place.
    passed = Q(approvals__gte=APPROVALS_MIN, vetoes=0, trusted__gt=0)
    sides = rounds.annotate(sided=Case(When(passed, then=F("approvals")), default=F("came") - F("approvals")))
    sums = sides.aggregate(votes=Sum("came"), agreeing=Sum("sided"))
    return {
        "proposals": votes.order_by().values(*TARGET).distinct().count(),
        "approved": rounds.filter(passed).values(*TARGET).distinct().count(),
        "first_passed": rounds.filter(passed, round=1).count(),
        "votes": sums["votes"] or 0,
        "agreeing": sums["agreeing"] or 0,
        "missing": votes.exclude(error_code="").count(),
    }


def _corrected(accepted: QuerySet[Outcome]) -> dict[str, int]:
    later = Outcome.objects.filter(suggestion_id=OuterRef("suggestion_id"))
    reviewed = PanelVote.objects.filter(
        run_id=OuterRef("suggestion__run_id"),
        suggestion_type=OuterRef("suggestion_type"),
        target_key=OuterRef("target_key"),
    )
    rows = (
        accepted.filter(Exists(reviewed))
        .select_related("suggestion")
        .annotate(
            was_reverted=Exists(later.filter(kind=Outcome.Kind.REVERT)),
            was_harmed=Exists(later.filter(kind=Outcome.Kind.EFFECT, outcome=Outcome.Result.HARMED)),
        )
    )
    found = list(rows)
    configs = config_effective_many(reader_ids=list({row.reader_id for row in found}))
    reverted = {row.pk for row in found if row.was_reverted}
    harmed = {row.pk for row in found if row.was_harmed}
    edited = _edited_back((row for row in found if row.pk not in reverted), configs)
    return {
        "accepted": len(found),
        "reverted": len(reverted),
        "edited_back": len(edited),
        "harmed": len(harmed),
        "corrected": len(reverted | harmed | edited),
    }


def _edited_back(rows: Iterable[Outcome], configs: Mapping[UUID, EffectiveConfig]) -> set[int]:
    """The accepted changes that the reader's settings, as they stand, have gone back on."""
    return {row.pk for row in rows if _gone_back(row, configs[row.reader_id])}


def _gone_back(row: Outcome, effective: EffectiveConfig) -> bool:
    suggestion = row.suggestion
    if suggestion.field == Suggestion.Field.TOPICS:
        has = row.target_key in {topic_key(topic) for topic in effective.config.topics}
        return has is (row.suggestion_type == Suggestion.Type.REMOVE_TOPIC)
    before = weight_parse(suggestion.current_value)
    agreed = weight_parse(row.edited_value or suggestion.suggested_value)
    at = effective.config.source_weights.get(row.target_key, 1.0)
    return before is not None and agreed is not None and abs(at - before) < abs(at - agreed)
