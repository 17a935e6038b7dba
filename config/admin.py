"""The nights for operators: one row each, with its steps in the order in which they ran.

The one thing to do here is to release a night from a worker that holds it.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from config.models import NightlyReport
from config.nightly_lease import REASON_CHARS, NotHeld, night_release
from config.nights import night_held, night_retry_at, nightly_as_dict
from ranking.readonly import ContextAdmin, ReadOnlyAdmin

MAY_RELEASE = "tidings.change_nightlyreport"
RELEASED = "Released. A worker goes on with the night within a minute."


class ReleaseForm(forms.Form):
    """Why a night is taken from its worker."""

    reason = forms.CharField(
        max_length=REASON_CHARS, help_text="Kept among the decisions, for later readers."
    )


@admin.register(NightlyReport)
class NightlyReportAdmin(ReadOnlyAdmin, ContextAdmin):
    """What each night did, how long it took, and what failed."""

    list_display = ("day", "status", "failed", "started_at", "finished_at", "attempts")
    list_filter = ("status",)
    ordering = ["-day"]
    date_hierarchy = "day"
    fields = ("day", "status", "attempts", "token", "lease_until", "started_at", "finished_at")

    @admin.display(description="failed steps")
    def failed(self, row: NightlyReport) -> str:
        """The names of the steps that failed."""
        broken = [step["name"] for step in nightly_as_dict(row)["steps"] if step["status"] == "failed"]
        return ", ".join(broken) or "none"

    def beside(self, request: HttpRequest, row: NightlyReport | None) -> dict[str, Any]:
        """The steps, for whoever may see the night, and whether it may be released."""
        if row is None or not self.has_view_permission(request, row):
            return {"night": None}
        held = night_held(row, timezone.now()) and request.user.has_perm(MAY_RELEASE)
        return {"night": nightly_as_dict(row), "retry_at": night_retry_at(row), "held": held}

    def get_urls(self) -> list[URLPattern]:
        """The admin's own addresses, and the page on which a night is released."""
        release = self.admin_site.admin_view(self.release_view)
        return [
            path("<int:night_id>/release/", release, name="tidings_nightlyreport_release"),
            *super().get_urls(),
        ]

    def release_view(self, request: HttpRequest, night_id: int) -> HttpResponse:
        """GET: ask why. POST: take the night from whoever holds it."""
        if not request.user.has_perm(MAY_RELEASE):
            raise PermissionDenied
        row = NightlyReport.objects.filter(pk=night_id).first()
        if row is None:
            raise Http404("There is no such night.")
        back = reverse("admin:tidings_nightlyreport_change", args=[row.pk])
        form = ReleaseForm(request.POST or None)
        if form.is_valid():
            self._release(request, row, form.cleaned_data["reason"])
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

    def _release(self, request: HttpRequest, row: NightlyReport, reason: str) -> None:
        try:
            night_release(day=row.day, reason=reason, actor=request.user.get_username(), now=timezone.now())
        except NotHeld as error:
            messages.error(request, str(error))
            return
        self.log_change(request, row, f"Released: {reason}")
        messages.success(request, RELEASED)
