"""The advisor in the admin, read-only: runs with timelines, votes, judgments, KPIs, autonomy."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from advisor.audit.autonomy import autonomy_record, goals_of
from advisor.audit.kpi_counts import kpis
from advisor.audit.kpis import sparkline, value_format
from advisor.audit.timeline import timeline_of
from advisor.models import Decision, Heartbeat, Judgment, PanelVote, Run
from advisor.review.rows import votes_table
from ranking.common.admin import ContextAdmin, OperatorAdmin, ReadOnlyAdmin, seen
from suggestions.admin import EXTRA_PANELS

# Drafts are decided in the admin of suggestions, which shows the votes too.
EXTRA_PANELS.append(votes_table)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin, ContextAdmin):
    """Runs, each with its timeline; and the pages of KPIs and autonomy over all runs."""

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
        """Add the two pages about all runs."""
        pages = [
            path("kpis/", self.admin_site.admin_view(self.kpis_view), name="advisor_kpis"),
            path("autonomy/", self.admin_site.admin_view(self.autonomy_view), name="advisor_autonomy"),
        ]
        return [*pages, *super().get_urls()]

    def beside(self, request: HttpRequest, row: Run | None) -> dict[str, Any]:
        """Return the run's timeline for users who may see the run."""
        return {"timeline": timeline_of(row) if row and self.has_view_permission(request, row) else None}

    def kpis_view(self, request: HttpRequest) -> HttpResponse:
        """Render the KPIs with thresholds, states and sparklines."""
        now = timezone.now()
        rows = [
            (kpi, sparkline(kpi.measured.course, partial(value_format, unit=kpi.watch.unit)))
            for kpi in kpis(now=now)
        ]
        return self._page(request, "kpis", "Figures to watch", {"rows": rows, "now": now})

    def autonomy_view(self, request: HttpRequest) -> HttpResponse:
        """Render the autonomy report over all time."""
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
    """Decisions of the code or an operator, with their reasons."""

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
    """Heartbeats of embedded workers, and when each scheduled job last began."""

    list_display = ("worker", "at")
    ordering = ["worker"]
