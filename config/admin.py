"""The nights for operators: one row each, with its steps in the order in which they ran. Read-only."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from config.models import NightlyReport
from config.nights import nightly_as_dict
from ranking.readonly import ContextAdmin, ReadOnlyAdmin


@admin.register(NightlyReport)
class NightlyReportAdmin(ReadOnlyAdmin, ContextAdmin):
    """What each night did, how long it took, and what failed."""

    list_display = ("day", "status", "failed", "started_at", "finished_at", "attempts")
    list_filter = ("status",)
    ordering = ["-day"]
    date_hierarchy = "day"
    fields = ("day", "status", "attempts", "token", "lease_until", "started_at", "finished_at")

    class Media:
        css = {"all": ["operators.css"]}

    @admin.display(description="failed steps")
    def failed(self, row: NightlyReport) -> str:
        """The names of the steps that failed."""
        broken = [step["name"] for step in nightly_as_dict(row)["steps"] if step["status"] == "failed"]
        return ", ".join(broken) or "none"

    def beside(self, request: HttpRequest, row: NightlyReport | None) -> dict[str, Any]:
        """The steps, for whoever may see the night."""
        return {"night": nightly_as_dict(row) if row and self.has_view_permission(request, row) else None}
