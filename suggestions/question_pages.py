"""The reader's answer to the question of a run, given on Today."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from digest.requests import reader_of
from digest.throttling import DECIDE, rate_limited
from suggestions.models import Question
from suggestions.proposals import Refusal
from suggestions.services.answers import question_answer


@login_required
@require_POST
@rate_limited(DECIDE)
def answer(request: HttpRequest, question_id: int) -> HttpResponse:
    """Store the `choice`, or without one that the reader would not say, and show today's page."""
    typed = request.POST.get("choice", "")
    found = get_object_or_404(Question, pk=question_id, reader=reader_of(request))
    # What is no number of an answer is refused by the service.
    choice = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 3 else -1
    done = question_answer(
        reader=reader_of(request),
        question_id=found.pk,
        choice=choice if typed else None,
        now=timezone.now(),
    )
    if isinstance(done, Refusal):
        messages.error(request, done.message)
    elif done.answer:
        messages.success(request, _("Thank you. The next suggestions take that into account."))
    return redirect("digest:today")
