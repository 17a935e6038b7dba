"""A reader's request for suggestions, by a plain form."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from advisor.models import Run
from advisor.presenters import status_words
from advisor.services.runs import run_request
from digest.readers import reader_of


@login_required
@require_POST
def generate(request: HttpRequest) -> HttpResponse:
    """Ask the advisor to look now, and say how it went on the suggestions page."""
    result = run_request(reader=reader_of(request), trigger=Run.Trigger.UI, now=timezone.now())
    messages.info(request, status_words(result.status, result.suggestions_created, result.reason))
    return redirect("suggestions:list")
