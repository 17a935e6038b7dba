"""Suggestions and their outcomes by maker: models, the planner, assistants."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, Value, When

from advisor.models import Run
from advisor.run_values import PLANNER_LABEL, PLANNER_MODEL
from suggestions.models import Outcome, Suggestion

MODEL, PLANNER, ASSISTANT = "a model", "the planner", "an assistant"
_Status, _Result = Suggestion.Status, Outcome.Result


@dataclass(frozen=True, slots=True)
class MakerRow:
    """Counts of the suggestions of one maker. Of those `accepted`, some were checked two weeks later.

    `withdrawn` counts those that a reader's check by headlines took back.
    """

    maker: str
    made: int
    accepted: int
    rejected: int
    expired: int
    withdrawn: int
    helped: int
    unclear: int
    harmed: int


def makers_compared(*, now: datetime) -> list[MakerRow]:
    """Return a row for each maker that made suggestions for readers to see; one query."""
    runs = Run.objects.filter(pk=OuterRef("run_id"))
    planned = Q(model=PLANNER_MODEL) | Q(meta__finished_by=PLANNER_LABEL)
    maker = Case(
        When(Exists(runs.filter(trigger=Run.Trigger.MCP)), then=Value(ASSISTANT)),
        When(Exists(runs.filter(planned)), then=Value(PLANNER)),
        default=Value(MODEL),
        output_field=CharField(),
    )

    def effects(result: str) -> Count:
        found = Q(outcomes__kind=Outcome.Kind.EFFECT, outcomes__outcome=result)
        return Count("pk", filter=found, distinct=True)

    rows = (
        Suggestion.objects.filter(Exists(runs), created_at__lte=now)
        .exclude(status__in=[*Suggestion.UNSEEN, _Status.TAKEN_BACK])
        .order_by()
        .values(maker=maker)
        .annotate(
            made=Count("pk", distinct=True),
            accepted=Count("pk", filter=Q(status=_Status.ACCEPTED), distinct=True),
            rejected=Count("pk", filter=Q(status=_Status.REJECTED), distinct=True),
            expired=Count("pk", filter=Q(status=_Status.EXPIRED), distinct=True),
            withdrawn=Count("pk", filter=Q(status=_Status.WITHDRAWN), distinct=True),
            helped=effects(_Result.HELPED),
            unclear=effects(_Result.UNCLEAR),
            harmed=effects(_Result.HARMED),
        )
    )
    return [MakerRow(**row) for row in sorted(rows, key=lambda row: (-row["made"], row["maker"]))]
