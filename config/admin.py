"""Show nightly runs in the admin with their steps, and release a run from its worker."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from config.jobs.lease import (
    REASON_CHARS,
    NightNotLeased,
    night_is_leased,
    night_release,
    night_retry_at,
    nightly_as_dict,
)
from config.jobs.night_words import step_state, step_words
from config.models import NightlyReport
from ranking.common.admin import ContextAdmin, ReadOnlyAdmin

MAY_RELEASE = "tidings.change_nightlyreport"
RELEASED = "Released. A worker continues the nightly run within a minute."


class ReleaseForm(forms.Form):
    """The reason for a release."""

    reason = forms.CharField(max_length=REASON_CHARS, help_text="Stored with the decisions.")


@admin.register(NightlyReport)
class NightlyReportAdmin(ReadOnlyAdmin, ContextAdmin):
    """Nightly runs, with the results and failures of their steps."""

    list_display = ("day", "status", "failed", "started_at", "finished_at", "attempts")
    list_filter = ("status",)
    ordering = ["-day"]
    date_hierarchy = "day"
    fields = ("day", "status", "attempts", "lease_until", "started_at", "finished_at")

    @admin.display(description="failed steps")
    def failed(self, row: NightlyReport) -> str:
        """Return the names of the failed steps."""
        states = {
            step["name"]: step_state(step["name"], step["status"], step.get("counts") or {})
            for step in nightly_as_dict(row)["steps"]
        }
        words = {"failed": "{}", "none read": "{} (no feed was read)"}
        return (
            ", ".join(words[state].format(name) for name, state in states.items() if state in words) or "none"
        )

    def row_context(self, request: HttpRequest, row: NightlyReport | None) -> dict[str, Any]:
        """Return the steps of the run, and whether this user may release it now."""
        if row is None or not self.has_view_permission(request, row):
            return {"night": None}
        releasable = night_is_leased(row, timezone.now()) and request.user.has_perm(MAY_RELEASE)
        night = nightly_as_dict(row)
        steps = [
            {
                **step,
                "words": step_words(step["name"], counts := step.get("counts") or {}),
                "state": step_state(step["name"], step["status"], counts),
            }
            for step in night["steps"]
        ]
        return {"night": {**night, "steps": steps}, "retry_at": night_retry_at(row), "releasable": releasable}

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the page that releases a run."""
        release = self.admin_site.admin_view(self.release_view)
        return [
            path("<int:night_id>/release/", release, name="tidings_nightlyreport_release"),
            *super().get_urls(),
        ]

    def release_view(self, request: HttpRequest, night_id: int) -> HttpResponse:
        """Ask for a reason (GET), or release the run (POST)."""
        if not request.user.has_perm(MAY_RELEASE):
            raise PermissionDenied
        row = NightlyReport.objects.filter(pk=night_id).first()
        if row is None:
            raise Http404("There is no such nightly run.")
        back = reverse("admin:tidings_nightlyreport_change", args=[row.pk])
        form = ReleaseForm(request.POST or None)
        if form.is_valid():
            reason, actor = form.cleaned_data["reason"], request.user.get_username()
            try:
                night_release(day=row.day, reason=reason, actor=actor, now=timezone.now())
            except NightNotLeased as error:
                messages.error(request, str(error))
            else:
                self.log_change(request, row, f"Released: {reason}")
                messages.success(request, RELEASED)
            return redirect(back)
        context: dict[str, Any] = self.admin_site.each_context(request) | {
            "title": f"Release the {row}?",
            "opts": self.opts,
            "row": row,
            "back": back,
            "form": form,
        }
        page = "admin/tidings/nightlyreport/release.html"
        return render(request, page, context, status=422 if form.errors else 200)
