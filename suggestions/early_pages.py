"""The answer to the early change of the day."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from digest.requests import reader_of
from digest.throttling import DECIDE, rate_limited
from suggestions.proposals import Refusal
from suggestions.services.early import early_change_apply, early_change_put_off


@login_required
@require_POST
@rate_limited(DECIDE)
def early_answer(request: HttpRequest) -> HttpResponse:
    """Apply the early change of a `draft`, or with `later` put it off, and show today's page."""
    reader, now = reader_of(request), timezone.now()
    if "later" in request.POST:
        early_change_put_off(reader=reader, now=now)
        messages.info(request, _("Not today. You are asked again tomorrow at the earliest."))
        return redirect("digest:today")
    done = early_change_apply(reader=reader, signed=request.POST.get("draft", ""), now=now)
    if isinstance(done, Refusal):
        messages.error(request, done.message)
    return redirect("digest:today")
