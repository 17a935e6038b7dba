"""Guidance for operators to look at: memories, events of calls, and the figures."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from advisor.guidance.entities import why_words
from advisor.guidance.figures import UPLIFT_WINDOW, guidance_observed, uplift_report
from advisor.models import GuidanceEvent, Memory
from ranking.common.admin import OperatorAdmin, ReadOnlyAdmin, lately, recent_values
from ranking.common.charts import bars_stack

# How many colours operators.css has for the series of a chart.
COLOURS = 10


@admin.register(Memory)
class MemoryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """All that was learnt, whosever it is; rules and insights are written in lists of their own."""

    list_display = (
        *("kind", "key", "title", "reader", "suggestion_type", "confidence", "evidence"),
        *("helpful", "unhelpful", "updated_at", "retired_at"),
    )
    list_filter = (
        "kind",
        ("reader", admin.EmptyFieldListFilter),
        ("retired_at", admin.EmptyFieldListFilter),
        recent_values("suggestion_type"),
        "ceiling",
    )
    ordering = ["-updated_at", "-pk"]
    list_select_related = ("reader",)
    search_fields = ("key", "title", "text", "reader__username")


@admin.register(GuidanceEvent)
class GuidanceEventAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What each call got, or why it got nothing; and the figures over all of them."""

    list_display = (
        *("at", "level", "why", "tool", "suggestion_type", "reader", "holdout"),
        *("followed", "helpful", "ms", "error_code"),
    )
    list_filter = (lately("at"), recent_values("level"), recent_values("why"), recent_values("phase"))
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
        """Show what guidance did of late: levels and silence by day, errors, and its worth."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        now: datetime = timezone.now()
        seen, uplift = guidance_observed(now=now), uplift_report(since=now - UPLIFT_WINDOW, now=now)
        context = {
            **self.admin_site.each_context(request),
            **{"title": "Guidance", "opts": self.opts, "now": now, "seen": seen},
            **{"uplift": uplift, "uplift_days": UPLIFT_WINDOW.days},
            "courses": [
                _course("How loud guidance was", seen.levels, seen.days),
                _course(
                    "Why calls got nothing", {why_words(why): n for why, n in seen.reasons.items()}, seen.days
                ),
            ],
        }
        return TemplateResponse(request, "admin/advisor/guidance.html", context)


def _course(title: str, series: Any, days: Sequence[date]) -> dict[str, Any]:
    """Return one chart with its table: a row a day, newest first, without the days of nothing."""
    used = {name: counts for name, counts in series.items() if any(counts)}
    table = [(day, [counts[n] for counts in used.values()]) for n, day in enumerate(days)]
    names = [(name, f"series-{n % COLOURS}") for n, name in enumerate(series) if name in used]
    sums = ", ".join(f"{sum(counts)} {name}" for name, counts in used.items())
    return {
        "title": title,
        "chart": bars_stack([counts for _, counts in table], width=600, height=160) if used else None,
        "words": f"{len(days)} days: {sums}.",
        "names": names,
        "classes": [style for _, style in names],
        "rows": [row for row in reversed(table) if any(row[1])],
    }
