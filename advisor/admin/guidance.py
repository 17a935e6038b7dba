"""Guidance for operators to look at: memories, what was told to each call, packets, and the figures."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from advisor.guidance.charts import stacked
from advisor.guidance.entities import Level, Phase, Why
from advisor.guidance.gathering import summary_of
from advisor.guidance.observability import guidance_observed
from advisor.memory.uplift import Difference
from advisor.models import GuidanceEvent, GuidancePacket, Memory
from advisor.services.guidance_credit import UpliftReport
from advisor.services.guidance_days import UPLIFT_WINDOW, uplift_latest
from ranking.readonly import OperatorAdmin, ReadOnlyAdmin, lately, seen

# How many colours operators.css has for the series of a chart.
COLOURS = 10


class _Fixed(admin.SimpleListFilter):
    """A filter over the words a column may hold: the table is not asked which of them occur."""

    values: tuple[str, ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The words there may be."""
        return [(value, value.replace("_", " ")) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows with the chosen word."""
        return queryset.filter(**{str(self.parameter_name): self.value()}) if self.value() else queryset


class LevelFilter(_Fixed):
    """By how loudly it was told."""

    title, parameter_name, values = "level", "level", tuple(level.value for level in Level)


class WhyFilter(_Fixed):
    """By why it was told, or not."""

    title, parameter_name, values = "why", "why", tuple(why.value for why in Why)


class PhaseFilter(_Fixed):
    """By what the run was doing."""

    title, parameter_name, values = "phase", "phase", tuple(phase.value for phase in Phase)


class StateFilter(admin.SimpleListFilter):
    """Packets by whether they may be told again."""

    title, parameter_name = "state", "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The three states."""
        return [("ready", "ready"), ("stale", "stale"), ("invalid", "invalid")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The packets in the chosen state."""
        fresh = Q(expires_at__gt=timezone.now())
        states = {"ready": fresh & Q(invalid_at=None), "stale": ~fresh & Q(invalid_at=None)}
        states["invalid"] = ~Q(invalid_at=None)
        return queryset.filter(states[self.value() or ""]) if self.value() in states else queryset


class ForceFilter(admin.SimpleListFilter):
    """Memories by whether runs may be told them."""

    title, parameter_name = "in force", "force"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """In force or not."""
        return [("yes", "yes"), ("no", "no: expired, superseded or retired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The memories chosen."""
        live = Q(retired_at=None, superseded_by=None) & (
            Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        )
        return {"yes": queryset.filter(live), "no": queryset.exclude(live)}.get(self.value() or "", queryset)


class SharedFilter(admin.SimpleListFilter):
    """Memories by whose they are."""

    title, parameter_name = "whose", "shared"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Shared, or one reader's."""
        return [("yes", "shared"), ("no", "a reader's own")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The memories chosen."""
        wanted = {"yes": Q(reader=None), "no": ~Q(reader=None)}.get(self.value() or "")
        return queryset.filter(wanted) if wanted else queryset


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
    """What guidance said to each call, or why it said nothing; and the figures over all of them."""

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
        """The admin's own addresses, and that of the figures."""
        page = path("figures/", self.admin_site.admin_view(self.figures_view), name="advisor_guidance")
        return [page, *super().get_urls()]

    def figures_view(self, request: HttpRequest) -> HttpResponse:
        """What guidance did of late: levels and silence by day, stages, errors, and what it was good for."""
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
            "summary": summary_of(seen),
            "uplift": _uplift(uplift),
            "uplift_until": uplift.until,
            "uplift_days": UPLIFT_WINDOW.days,
            "courses": [
                _course("What calls were told", seen.levels, seen.days, "calls that were told something"),
                _course("Why calls were told nothing", seen.reasons, seen.days, "calls told nothing"),
            ],
        }
        return TemplateResponse(request, "admin/advisor/guidance.html", context)


@admin.register(GuidancePacket)
class GuidancePacketAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What was found for a situation and may be told again."""

    list_display = (
        *("made_at", "reader", "tool", "phase", "suggestion_type", "target_key", "uses"),
        *("expires_at", "invalid_at", "invalid_why"),
    )
    list_filter = (StateFilter, PhaseFilter)
    ordering = ["-made_at", "-pk"]
    list_select_related = ("reader",)
    search_fields = ("=reader__username", "=key", "=target_key")


def _uplift(report: UpliftReport) -> list[tuple[str, Difference]]:
    """The two figures that guidance is worth its while by."""
    return [("Suggestions accepted", report.accepted), ("Writes that failed", report.failed_writes)]


def _course(title: str, series: Any, days: Any, what: str) -> dict[str, Any]:
    """One chart with its table: a row a day, newest first, without the days of nothing."""
    used = {name: counts for name, counts in series.items() if any(counts)}
    rows = [(day, [counts[n] for counts in used.values()]) for n, day in enumerate(days)]
    rows = [row for row in reversed(rows) if any(row[1])]
    chart = stacked(used, what) if used else None
    names = [(name, f"series-{n % COLOURS}") for n, name in enumerate(series) if name in used]
    return {"title": title, "chart": chart, "names": names, "rows": rows}
