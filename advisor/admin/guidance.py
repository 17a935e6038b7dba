"""Guidance for operators to look at: memories, events of calls, packets, and the figures."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from advisor.guidance.audit import guidance_observed
from advisor.guidance.daily import UPLIFT_WINDOW, uplift_latest
from advisor.guidance.entities import Level, Phase, Why
from advisor.models import GuidanceEvent, GuidancePacket, Memory
from ranking.common.admin import OperatorAdmin, ReadOnlyAdmin, lately, seen
from ranking.common.charts import bars_stack

# How many colours operators.css has for the series of a chart.
COLOURS = 10


def _choice(
    name: str, label: str, words: Mapping[str, Callable[[datetime], Q] | None]
) -> type[admin.SimpleListFilter]:
    """Return a filter over the words there may be: the table is not asked which of them occur.

    Each has its condition, given the time of day; `None` stands for the column's own value.
    """

    class ChoiceFilter(admin.SimpleListFilter):
        title, parameter_name = label, name

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(word, word.replace("_", " ")) for word in words]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            word = self.value() or ""
            if word not in words:
                return queryset
            condition = words[word]
            return queryset.filter(condition(timezone.now()) if condition else Q(**{name: word}))

    return ChoiceFilter


def _live(now: datetime) -> Q:
    return Q(retired_at=None, superseded_by=None) & (Q(expires_at=None) | Q(expires_at__gt=now))


LevelFilter = _choice("level", "level", dict.fromkeys((level.value for level in Level), None))
WhyFilter = _choice("why", "why", dict.fromkeys((why.value for why in Why), None))
PhaseFilter = _choice("phase", "phase", dict.fromkeys((phase.value for phase in Phase), None))
SharedFilter = _choice(
    "shared", "whose", {"yes": lambda _: Q(reader=None), "no": lambda _: Q(reader__isnull=False)}
)
# Memories by whether runs may use them, and packets by whether they may be used again.
ForceFilter = _choice("force", "in force", {"yes": _live, "no": lambda now: ~_live(now)})
StateFilter = _choice(
    "state",
    "state",
    {
        "ready": lambda now: Q(expires_at__gt=now, invalid_at=None),
        "stale": lambda now: Q(expires_at__lte=now, invalid_at=None),
        "invalid": lambda _: Q(invalid_at__isnull=False),
    },
)


@admin.register(Memory)
class MemoryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """All that was learnt, whosever it is; rules and insights are written in lists of their own."""

    list_display = (
        *("kind", "key", "title", "reader", "suggestion_type", "confidence", "evidence"),
        *("helpful", "unhelpful", "updated_at", "retired_at"),
    )
    list_filter = ("kind", ForceFilter, SharedFilter, seen("suggestion_type", "type"), "ceiling")
    ordering = ["-updated_at", "-pk"]
    list_select_related = ("reader",)
    search_fields = ("key", "title", "text", "reader__username")


@admin.register(GuidanceEvent)
class GuidanceEventAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What each call got, or why it got nothing; and the figures over all of them."""

    list_display = (
        *("at", "level", "why", "tool", "suggestion_type", "reader", "held_out"),
        *("followed", "helpful", "ms", "error_code"),
    )
    list_filter = (lately("at"), LevelFilter, WhyFilter, PhaseFilter, "held_out")
    ordering = ["-at", "-pk"]
    list_select_related = ("reader",)
    raw_id_fields = ("run", "reader")
    search_fields = ("=run__id", "=reader__username", "=rule")
    search_help_text = "A run's id, a reader's name, or a rule's id; each in full."

    class Media:
        css = {"all": ["operators.css"]}

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's own addresses, and that of the figures."""
        page = path("figures/", self.admin_site.admin_view(self.figures_view), name="advisor_guidance")
        return [page, *super().get_urls()]

    def figures_view(self, request: HttpRequest) -> HttpResponse:
        """Show what guidance did of late: levels and silence by day, stages, errors, and its worth."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = timezone.now()
        seen, uplift = guidance_observed(now=now), uplift_latest(now=now)
        context = {
            **self.admin_site.each_context(request),
            "title": "Guidance",
            "opts": self.opts,
            "now": now,
            "seen": seen,
            "uplift": [
                ("Suggestions accepted", uplift.accepted),
                ("Writes that failed", uplift.failed_writes),
            ],
            "uplift_until": uplift.until,
            "uplift_days": UPLIFT_WINDOW.days,
            "courses": [
                _course("How loud guidance was", seen.levels, seen.days),
                _course("Why calls got nothing", seen.reasons, seen.days),
            ],
        }
        return TemplateResponse(request, "admin/advisor/guidance.html", context)


@admin.register(GuidancePacket)
class GuidancePacketAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What was ranked for a situation and may be used again."""

    list_display = (
        *("made_at", "reader", "tool", "phase", "suggestion_type", "target_key", "uses"),
        *("expires_at", "invalid_at", "invalid_why"),
    )
    list_filter = (StateFilter, PhaseFilter)
    ordering = ["-made_at", "-pk"]
    list_select_related = ("reader",)
    search_fields = ("=reader__username", "=key", "=target_key")


def _course(title: str, series: Any, days: Sequence[date]) -> dict[str, Any]:
    """Return one chart with its table: a row a day, newest first, without the days of nothing."""
    used = {name: counts for name, counts in series.items() if any(counts)}
    table = [(day, [counts[n] for counts in used.values()]) for n, day in enumerate(days)]
    names = [(name, f"series-{n % COLOURS}") for n, name in enumerate(series) if name in used]
    chart = bars_stack([counts for _, counts in table], width=600, height=160) if used else None
    sums = ", ".join(f"{sum(counts)} {name}" for name, counts in used.items())
    rows = [row for row in reversed(table) if any(row[1])]
    return {
        "title": title,
        "chart": chart,
        "words": f"{len(days)} days: {sums}.",
        "names": names,
        "classes": [style for _, style in names],
        "rows": rows,
    }
