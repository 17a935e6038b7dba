"""The advisor for operators: runs as timelines, what reviewers said, figures, autonomy. Read-only."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from advisor.autonomy import autonomy_record
from advisor.goals import goals_of
from advisor.health import kpis
from advisor.kpis import figure
from advisor.models import Decision, Heartbeat, Judgment, PanelVote, Run
from advisor.review.shown import votes_shown
from advisor.sparkline import sparkline
from advisor.timeline import timeline_of
from ranking.readonly import ContextAdmin, OperatorAdmin, ReadOnlyAdmin, seen
from suggestions.admin import BESIDE

# Operators decide about drafts in the room below, with the votes beside them.
BESIDE.append(votes_shown)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin, ContextAdmin):
    """Runs, each with everything on record about it from first to last; and what all of them add up to."""

    list_display = (
        "created_at",
        "reader",
        "trigger",
        "status",
        "stop_reason",
        "turns",
        "tool_calls",
        "model",
        "cost_usd",
    )
    list_filter = ("status", "trigger", seen("stop_reason"))
    ordering = ["-created_at"]
    list_select_related = ("reader",)
    search_fields = ("=id", "reader__username")
    fields = (
        *("reader", "day", "trigger", "status", "stop_reason", "message", "model", "turns", "tool_calls"),
        *("input_tokens", "output_tokens", "cost_usd", "meta", "summary", "attempt", "fence", "lease_until"),
        *("created_at", "started_at", "finished_at"),
    )

    class Media:
        css = {"all": ["operators.css"]}

    def get_urls(self) -> list[URLPattern]:
        """The admin's own addresses, and those of the two pages about all runs."""
        pages = [
            path("kpis/", self.admin_site.admin_view(self.kpis_view), name="advisor_kpis"),
            path("autonomy/", self.admin_site.admin_view(self.autonomy_view), name="advisor_autonomy"),
        ]
        return [*pages, *super().get_urls()]

    def beside(self, request: HttpRequest, row: Run | None) -> dict[str, Any]:
        """The run's timeline, for whoever may see the run."""
        return {"timeline": timeline_of(row) if row and self.has_view_permission(request, row) else None}

    def kpis_view(self, request: HttpRequest) -> HttpResponse:
        """The watched figures, each with its threshold, its state and its course."""
        now = timezone.now()
        rows = [
            (kpi, sparkline(kpi.measured.course, partial(figure, unit=kpi.watch.unit)))
            for kpi in kpis(now=now)
        ]
        return self._page(request, "kpis", "Figures to watch", {"rows": rows, "now": now})

    def autonomy_view(self, request: HttpRequest) -> HttpResponse:
        """The autonomy report over everything on record."""
        record = autonomy_record(now=timezone.now())
        goals = goals_of(record)
        context = {"record": record, "goals": goals, "met": sum(goal.met for goal in goals)}
        return self._page(request, "autonomy", "Autonomy report", context)

    def _page(self, request: HttpRequest, name: str, title: str, context: dict[str, Any]) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        base = self.admin_site.each_context(request) | {"title": title, "opts": self.opts}
        return TemplateResponse(request, f"admin/advisor/{name}.html", base | context)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What the machinery decided, and why."""

    list_display = ("at", "actor", "action", "reader", "reason")
    list_filter = (seen("actor"), seen("action"))
    ordering = ["-pk"]
    list_select_related = ("reader",)
    search_fields = ("=run__id", "reader__username", "reason")


@admin.register(PanelVote)
class PanelVoteAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Every vote of every reviewer."""

    list_display = (
        "at",
        "reviewer",
        "verdict",
        "suggestion_type",
        "target_key",
        "round",
        "model",
        "cost_usd",
    )
    list_filter = ("reviewer", "verdict", seen("suggestion_type", "type"))
    ordering = ["-pk"]
    search_fields = ("=run__id", "target_key")


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Every round of the reflector."""

    list_display = (
        "at",
        "suggestion_type",
        "target_key",
        "round",
        "helps",
        "accepts",
        "flipped",
        "p_helpful",
    )
    list_filter = ("helps", "accepts", "flipped", seen("round"))
    ordering = ["-pk"]
    search_fields = ("=run__id", "target_key")


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The last sign of life of each embedded worker, and when it last began each job."""

    list_display = ("worker", "at")
    ordering = ["worker"]
