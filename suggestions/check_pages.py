"""The page that checks a suggestion by headlines without their source."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from digest.requests import reader_of
from digest.throttling import DECIDE, rate_limited
from suggestions import sentences
from suggestions.planner.checking import HEADLINES
from suggestions.proposals import Refusal
from suggestions.selectors import suggestion_for
from suggestions.services.checks import Check, suggestion_check, suggestion_check_begin

ANSWERS = {"yes": True, "no": False}
# The name of a headline's answer is this and the item's id.
FIELD = "item-"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(DECIDE)
def check(request: HttpRequest, suggestion_id: int) -> HttpResponse:
    """Show the headlines that check a suggestion, or store the answers and move it.

    Answers that are too few stay on the page. Raises `Http404` for a suggestion of somebody else.
    """
    reader, now = reader_of(request), timezone.now()
    answers = answers_typed(request)
    refused = ""
    if request.method == "POST":
        done = suggestion_check(reader=reader, suggestion_id=suggestion_id, answers=answers, now=now)
        if not isinstance(done, Refusal):
            return _show_result(request, suggestion_id)
        if done.code != "too_few_answers":
            return _refusal_page(request, done)
        refused = done.message
    found = suggestion_check_begin(reader=reader, suggestion_id=suggestion_id, now=now)
    if isinstance(found, Refusal):
        return _refusal_page(request, found)
    return render(request, "suggestions/check.html", check_page(found, answers, refused))


def check_page(found: Check, answers: dict[int, bool], refused: str) -> dict[str, object]:
    """Return the context of the page. `answers` are those given so far, by item id."""
    row = found.suggestion
    return {
        "suggestion": row,
        "headline": sentences.headline(row.suggestion_type, row.label),
        "headlines": [(one, answers.get(one.item_id)) for one in found.headlines],
        "refused": refused,
    }


def answers_typed(request: HttpRequest) -> dict[int, bool]:
    """Return the answers of the form by item id. Skipped headlines and invalid answers are left out."""
    found: dict[int, bool] = {}
    for name, value in list(request.POST.items())[: 2 * HEADLINES]:
        number = name.removeprefix(FIELD)
        if name.startswith(FIELD) and value in ANSWERS and number.isascii() and number.isdigit():
            found[int(number[:18])] = ANSWERS[value]
    return found


def _show_result(request: HttpRequest, suggestion_id: int) -> HttpResponse:
    row = suggestion_for(reader_id=reader_of(request).pk, suggestion_id=suggestion_id)
    if row is not None:
        withdrawn = row.status == row.Status.WITHDRAWN
        of_source = row.change.kind.of_source
        words = sentences.checked_words(
            row.checked or {}, label=row.label, of_source=of_source, withdrawn=withdrawn
        )
        messages.success(request, words)
    return redirect("suggestions:list")


def _refusal_page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    if refusal.code == "not_found":
        raise Http404(refusal.message)
    messages.info(request, refusal.message)
    return redirect("suggestions:list")
