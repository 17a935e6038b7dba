"""A reader's request for suggestions and word on a tip, by plain forms."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from advisor.guidance.tips import tip_dismiss
from advisor.guidance.tunables import tunables
from advisor.models import Run
from advisor.presenters import status_words
from advisor.services.runs import run_request
from digest.limited import limited
from digest.limits import GENERATE
from digest.readers import reader_of
from digest.ways import way_back


@login_required
@require_POST
@limited(GENERATE)
def generate(request: HttpRequest) -> HttpResponse:
    """Ask the advisor to look now, and say how it went on the suggestions page."""
    result = run_request(reader=reader_of(request), trigger=Run.Trigger.UI, now=timezone.now())
    messages.info(request, status_words(result.status, result.suggestions_created, result.reason))
    return redirect("suggestions:list")


@login_required
@require_POST
def tip_put_away(request: HttpRequest, tip_id: int) -> HttpResponse:
    """Put a tip away, and go back to the page it stood on."""
    if not tip_dismiss(reader_id=reader_of(request).pk, tip_id=tip_id, now=timezone.now()):
        raise Http404("There is no such tip.")
    days = round(tunables().tip_dismissed_days)
    messages.success(request, f"The tip is put away for {days} {'day' if days == 1 else 'days'}.")
    return redirect(way_back(request))
