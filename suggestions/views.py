"""The suggestions page, and a person's answers to what stands on it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from digest.limited import limited
from digest.limits import DECIDE
from digest.readers import reader_of
from suggestions.entities import Refusal, Resolved
from suggestions.history import history_page
from suggestions.pages import cards_page
from suggestions.presenters import ALL_DONE, DONE, error_words, number_of, refusal_words
from suggestions.services import resolve
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.undo import suggestion_undo
from suggestions.teaching import answer_kind, teaching_of

VERBS = {
    "reject": resolve.suggestion_reject,
    "snooze": resolve.suggestion_snooze,
    "never": resolve.suggestion_never,
    "revert": resolve.suggestion_revert,
    "undo": suggestion_undo,
}


@login_required
@require_safe
def suggestion_list(request: HttpRequest) -> HttpResponse:
    """What is proposed, with its evidence, and what was decided lately."""
    now = timezone.now()
    suggestions_sweep(now=now, reader_id=reader_of(request).pk)
    return render(request, "suggestions/list.html", cards_page(reader_id=reader_of(request).pk, now=now))


@login_required
@require_safe
def history(request: HttpRequest) -> HttpResponse:
    """Every suggestion that was answered or ran out, what it changed and whether that helped."""
    now = timezone.now()
    suggestions_sweep(now=now, reader_id=reader_of(request).pk)
    found = history_page(reader_id=reader_of(request).pk, number=request.GET.get("page"), now=now)
    return render(request, "suggestions/history.html", found)


@login_required
@require_POST
@limited(DECIDE)
def decide(request: HttpRequest, suggestion_id: int, verb: str) -> HttpResponse:
    """Answer one suggestion by `verb`; a suggestion of somebody else does not exist here."""
    outcome = _accept(request, suggestion_id) if verb == "accept" else _answer(request, suggestion_id, verb)
    if isinstance(outcome, Refusal) and outcome.code == "not_found":
        raise Http404(outcome.message)
    _tell(request, verb, outcome)
    return redirect(_page_of(request))


def _page_of(request: HttpRequest) -> str:
    """The page the answer was given on: the list, or the same page of the history."""
    if request.POST.get("next") != "history":
        return reverse("suggestions:list")
    number = request.POST.get("page", "")
    wanted = f"?page={number}" if number.isascii() and number.isdigit() and number != "1" else ""
    return f"{reverse('suggestions:history')}{wanted}"


def _accept(request: HttpRequest, suggestion_id: int) -> Resolved | Refusal:
    typed = _own_value(request)
    value = number_of(typed) if typed else None
    if typed and value is None:
        return Refusal("invalid_weight", f"“{typed}” is not a number.")
    return resolve.suggestion_accept(
        reader_id=reader_of(request).pk, suggestion_id=suggestion_id, now=timezone.now(), value=value
    )


def _own_value(request: HttpRequest) -> str:
    """The amount a reader typed; "" where the form came as it was filled in, with the proposed one."""
    typed = request.POST.get("value", "").strip()
    return "" if typed == request.POST.get("proposed") else typed


def _answer(request: HttpRequest, suggestion_id: int, verb: str) -> Resolved | Refusal:
    if verb not in VERBS:
        raise Http404(f"There is no “{verb}”.")
    extra = {"user_reason": request.POST.get("user_reason", "").strip()} if verb == "reject" else {}
    return VERBS[verb](
        reader_id=reader_of(request).pk, suggestion_id=suggestion_id, now=timezone.now(), **extra
    )


def _tell(request: HttpRequest, verb: str, outcome: Resolved | Refusal) -> None:
    if isinstance(outcome, Refusal):
        messages.error(request, refusal_words(outcome.code, outcome.message))
        return
    said = {"user_reason": request.POST.get("user_reason", ""), "value": _own_value(request)}
    kind = answer_kind(verb, said, outcome.status)
    done = DONE[kind if kind in DONE else verb]
    messages.success(request, " ".join(filter(None, (f"{done}.", outcome.note, teaching_of(kind)))))


@login_required
@require_POST
@limited(DECIDE)
def accept_all(request: HttpRequest) -> HttpResponse:
    """Accept whatever is pending, each on its own; what could not be applied is named."""
    outcomes = resolve.suggestions_accept_all(reader_id=reader_of(request).pk, now=timezone.now())
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    for outcome in refused:
        messages.error(request, f"{outcome.target}: {error_words(outcome.code)}")
    if outcomes and not refused:
        messages.success(request, f"{ALL_DONE} {teaching_of('accept')}")
    return redirect("suggestions:list")
