"""Views of the suggestions page, its history and previews, and of the forms that answer a suggestion."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from digest.requests import reader_of
from digest.throttling import DECIDE, rate_limited
from suggestions.entities import Refusal, Resolved
from suggestions.explain import (
    ALL_DONE,
    DONE,
    answer_kind,
    error_words,
    number_of,
    refusal_words,
    teaching_of,
)
from suggestions.models import Suggestion
from suggestions.pages import cards_page, history_page, preview_page
from suggestions.selectors import suggestion_for
from suggestions.services import resolve
from suggestions.services.lifecycle import suggestions_sweep

VERBS: dict[str, Callable[..., Resolved | Refusal]] = {
    "accept": resolve.suggestion_accept,
    "reject": resolve.suggestion_reject,
    "snooze": resolve.suggestion_snooze,
    "never": resolve.suggestion_never,
    "revert": resolve.suggestion_revert,
    "undo": resolve.suggestion_undo,
}


@login_required
@require_safe
def suggestion_list(request: HttpRequest) -> HttpResponse:
    """Show the pending suggestions with their evidence, and the latest decisions."""
    now = timezone.now()
    suggestions_sweep(now=now, reader_id=reader_of(request).pk)
    return render(request, "suggestions/list.html", cards_page(reader_id=reader_of(request).pk, now=now))


@login_required
@require_safe
def history(request: HttpRequest) -> HttpResponse:
    """Show every settled suggestion, its change and its effect."""
    now = timezone.now()
    suggestions_sweep(now=now, reader_id=reader_of(request).pk)
    page = history_page(reader_id=reader_of(request).pk, number=request.GET.get("page"), now=now)
    return render(request, "suggestions/history.html", page)


@login_required
@require_safe
def preview(request: HttpRequest, suggestion_id: int) -> HttpResponse:
    """Show today's digest as it is and as it would be; a settled suggestion leads to the history."""
    reader, now = reader_of(request), timezone.now()
    suggestions_sweep(now=now, reader_id=reader.pk)
    suggestion = suggestion_for(reader_id=reader.pk, suggestion_id=suggestion_id)
    if suggestion is None:
        raise Http404("There is no such suggestion of yours.")
    if suggestion.status != Suggestion.Status.PENDING:
        return redirect("suggestions:history")
    return render(request, "suggestions/preview.html", preview_page(suggestion=suggestion, now=now))


@login_required
@require_POST
@rate_limited(DECIDE)
def decide(request: HttpRequest, suggestion_id: int, verb: str) -> HttpResponse:
    """Answer one suggestion by `verb`; raises `Http404` for a suggestion of somebody else."""
    if verb not in VERBS:
        raise Http404(f"There is no “{verb}”.")
    # The form comes filled in with the proposed value: only another one is the reader's own choice.
    typed = request.POST.get("value", "").strip()
    typed = "" if typed == request.POST.get("proposed") else typed
    reason = request.POST.get("user_reason", "").strip()
    value = number_of(typed)
    extra: dict[str, Any] = {"user_reason": reason} if verb == "reject" else {}
    if verb == "accept" and typed:
        extra = {"value": value}
    outcome: Resolved | Refusal
    if verb == "accept" and typed and value is None:
        outcome = Refusal("invalid_weight", f"“{typed}” is not a number.")
    else:
        reader_id = reader_of(request).pk
        outcome = VERBS[verb](reader_id=reader_id, suggestion_id=suggestion_id, now=timezone.now(), **extra)
    if isinstance(outcome, Refusal):
        if outcome.code == "not_found":
            raise Http404(outcome.message)
        messages.error(request, refusal_words(outcome.code, outcome.message))
    else:
        kind = answer_kind(verb, {"user_reason": reason, "value": typed}, outcome.status)
        done = DONE[kind if kind in DONE else verb]
        messages.success(request, " ".join(filter(None, (f"{done}.", outcome.note, teaching_of(kind)))))
    return redirect(_next_page(request))


def _next_page(request: HttpRequest) -> str:
    """Return the page of the answer: the list, or the same page of the history."""
    if request.POST.get("next") != "history":
        return reverse("suggestions:list")
    number = request.POST.get("page", "")
    query = f"?page={number}" if number.isascii() and number.isdigit() and number != "1" else ""
    return f"{reverse('suggestions:history')}{query}"


@login_required
@require_POST
@rate_limited(DECIDE)
def accept_all(request: HttpRequest) -> HttpResponse:
    """Accept every pending suggestion, each on its own, and name the refused ones."""
    outcomes = resolve.suggestions_accept_all(reader_id=reader_of(request).pk, now=timezone.now())
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    for outcome in refused:
        messages.error(request, f"{outcome.target}: {error_words(outcome.code)}")
    if outcomes and not refused:
        messages.success(request, f"{ALL_DONE} {teaching_of('accept')}")
    return redirect("suggestions:list")
