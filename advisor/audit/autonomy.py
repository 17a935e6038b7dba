"""The autonomy report: models' votes and readers' corrections against their goals, in nine queries.

A vote of a rule says nothing about whether models may be trusted, so it counts towards no goal.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Sum, When

from advisor.models import PanelVote
from advisor.run_values import RULES_MODEL
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective_many
from suggestions.changes.weights import weight_parse
from suggestions.models import Outcome, Suggestion

APPROVALS_GOAL = 100
CORRECTED_GOAL = 0.05
AGREEMENT_GOAL = 0.80
FIRST_PASS_GOAL = 0.60
# The rule of the panel: two approvals of three, and no reject by trust.
APPROVALS_MIN = 2
NONE_REVIEWED = "no proposal reviewed yet"
PROPOSAL = ("run_id", "suggestion_type", "target_key")


BY_RULES = Q(model__startswith=RULES_MODEL)


@dataclass(frozen=True, slots=True)
class AutonomyRecord:
    """Counts of reviewers' votes and of readers' corrections.

    Models reviewed `proposals`, and rules alone `by_rules`. Of the former, `approved` passed in some round
    and `first_passed` in the first. `votes` were cast, `agreeing` of them with the panel's decision;
    `missing` never came. Of the `accepted` changes that a panel had approved, `reverted`, `edited_back`
    (nearer to the old value than to the agreed one) and `harmed` may overlap; `corrected` counts each change
    once.
    """

    proposals: int = 0
    by_rules: int = 0
    approved: int = 0
    first_passed: int = 0
    votes: int = 0
    agreeing: int = 0
    missing: int = 0
    accepted: int = 0
    reverted: int = 0
    edited_back: int = 0
    harmed: int = 0
    corrected: int = 0


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal: its value (`None` without data) and whether it is met. Its fields are in the JSON report."""

    key: str
    words: str
    target: str
    value: float | None
    shown: str
    basis: str
    met: bool


def goals_of(record: AutonomyRecord) -> list[Goal]:
    """Return the four goals for `record`. A goal without data is not met: autonomy must be earned."""
    noun = "proposal" if record.proposals == 1 else "proposals"
    none = (
        f"no model was asked: rules alone reviewed {record.by_rules:,}" if record.by_rules else NONE_REVIEWED
    )
    approvals = Goal(
        key="approvals",
        words="Proposals approved by the panel",
        target=f"{APPROVALS_GOAL} or more",
        value=float(record.approved) if record.proposals else None,
        shown=f"{record.approved:,}",
        basis=f"of {record.proposals:,} {noun}" if record.proposals else none,
        met=record.approved >= APPROVALS_GOAL,
    )
    return [
        approvals,
        _share(
            "corrected",
            "Accepted changes corrected later",
            (record.corrected, record.accepted, "accepted changes"),
            below=CORRECTED_GOAL,
        ),
        _share(
            "agreement",
            "Votes that went as the panel decided",
            (record.agreeing, record.votes, "votes"),
            above=AGREEMENT_GOAL,
        ),
        _share(
            "first_pass",
            "Proposals approved in their first round",
            (record.first_passed, record.proposals, "proposals"),
            above=FIRST_PASS_GOAL,
        ),
    ]


def report_of(record: AutonomyRecord, *, days: int | None) -> dict[str, Any]:
    """Return the report as `autonomy_report --json` prints it; `days` is its period, `None` for all time."""
    goals = goals_of(record)
    return {
        "days": days,
        "goals": [asdict(goal) for goal in goals],
        "met": all(goal.met for goal in goals),
        "record": asdict(record),
    }


def _share(
    key: str,
    text: str,
    counts: tuple[int, int, str],
    *,
    below: float | None = None,
    above: float | None = None,
) -> Goal:
    part, whole, of = counts
    target = f"below {below:.0%}" if below is not None else f"above {above:.0%}"
    if not whole:
        return Goal(key, text, target, None, "no data yet", f"no {of} by a model yet", False)
    value = part / whole
    met = value < below if below is not None else value > (above or 0.0)
    return Goal(key, text, target, round(value, 4), f"{value:.1%}", f"{part:,} of {whole:,} {of}", met)


def autonomy_record(*, now: datetime, days: int | None = None) -> AutonomyRecord:
    """Count votes and the fate of approved proposals over the last `days` (`None`: all time)."""
    votes = PanelVote.objects.filter(at__lte=now)
    accepted = Outcome.objects.filter(
        kind=Outcome.Kind.DECISION, outcome=Outcome.Result.ACCEPTED, decided_at__lte=now
    ).exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
    if days is not None:
        since = now - timedelta(days=days)
        votes, accepted = votes.filter(at__gt=since), accepted.filter(decided_at__gt=since)
    ruled = PanelVote.objects.filter(BY_RULES, **{name: OuterRef(name) for name in PROPOSAL})
    by_rules = votes.filter(BY_RULES).order_by().values(*PROPOSAL).distinct().count()
    counts = _votes_count(votes.filter(~Exists(ruled)))
    return AutonomyRecord(**counts, by_rules=by_rules, **_corrections_count(accepted))


def _votes_count(votes: QuerySet[PanelVote]) -> dict[str, int]:
    approve, reject = PanelVote.Verdict.APPROVE, PanelVote.Verdict.REJECT
    came, trust = Q(error_code=""), Q(reviewer=PanelVote.Reviewer.TRUST)
    rounds = (
        votes.order_by()
        .values(*PROPOSAL, "round")
        .annotate(
            approvals=Count("pk", filter=came & Q(verdict=approve)),
            vetoes=Count("pk", filter=came & trust & Q(verdict=reject)),
            trusted=Count("pk", filter=came & trust),
            came=Count("pk", filter=came),
        )
    )
    # Without a vote of trust nothing passes.
    passed = Q(approvals__gte=APPROVALS_MIN, vetoes=0, trusted__gt=0)
    sides = rounds.annotate(
        majority=Case(When(passed, then=F("approvals")), default=F("came") - F("approvals"))
    )
    sums = sides.aggregate(votes=Sum("came"), agreeing=Sum("majority"))
    return {
        "proposals": votes.order_by().values(*PROPOSAL).distinct().count(),
        "approved": rounds.filter(passed).values(*PROPOSAL).distinct().count(),
        "first_passed": rounds.filter(passed, round=1).count(),
        "votes": sums["votes"] or 0,
        "agreeing": sums["agreeing"] or 0,
        "missing": votes.exclude(error_code="").count(),
    }


def _corrections_count(accepted: QuerySet[Outcome]) -> dict[str, int]:
    later = Outcome.objects.filter(suggestion_id=OuterRef("suggestion_id"))
    reviewed = PanelVote.objects.filter(
        run_id=OuterRef("suggestion__run_id"),
        suggestion_type=OuterRef("suggestion_type"),
        target_key=OuterRef("target_key"),
    )
    rows = (
        accepted.filter(Exists(reviewed), ~Exists(reviewed.filter(BY_RULES)))
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
    edited = {
        row.pk for row in found if row.pk not in reverted and _is_edited_back(row, configs[row.reader_id])
    }
    return {
        "accepted": len(found),
        "reverted": len(reverted),
        "edited_back": len(edited),
        "harmed": len(harmed),
        "corrected": len(reverted | harmed | edited),
    }


def _is_edited_back(row: Outcome, effective: EffectiveConfig) -> bool:
    """Whether the reader's current settings undo an accepted change."""
    suggestion = row.suggestion
    change = suggestion.change
    if not change.kind.weighs:
        return change.state_in(effective) == change.before
    before = weight_parse(suggestion.current_value)
    agreed = weight_parse(row.edited_value or suggestion.suggested_value)
    weight = effective.config.source_weights.get(row.target_key, 1.0)
    return before is not None and agreed is not None and abs(weight - before) < abs(weight - agreed)
