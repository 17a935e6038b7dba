"""The page that checks a suggestion by headlines, one at a time and without their source."""

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

# An answer in words. `None`: the headline was skipped.
ANSWERS = {"yes": True, "no": False, "skip": None}
# The name of a headline's answer is this and the item's id.
FIELD = "item-"
Typed = dict[int, bool | None]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(DECIDE)
def check(request: HttpRequest, suggestion_id: int) -> HttpResponse:
    """Show the next headline that checks a suggestion, or store the answers and move it.

    If too many were skipped, these are asked again. Raises `Http404` for a suggestion of somebody else.
    """
    reader, now = reader_of(request), timezone.now()
    typed = answers_typed(request)
    answers = {pk: useful for pk, useful in typed.items() if useful is not None}
    refused = ""
    if request.method == "POST":
        done = suggestion_check(
            reader=reader,
            suggestion_id=suggestion_id,
            answers=answers,
            skipped=typed.keys() - answers.keys(),
            now=now,
        )
        if not isinstance(done, Refusal):
            return _show_result(request, suggestion_id)
        if done.code not in ("too_few_answers", "undecided"):
            return _refusal_page(request, done)
        refused = done.message
        typed = dict(answers) if refused else typed
    found = suggestion_check_begin(reader=reader, suggestion_id=suggestion_id, now=now)
    if isinstance(found, Refusal):
        return _refusal_page(request, found)
    return render(request, "suggestions/check.html", check_page(found, typed, refused))


def check_page(found: Check, typed: Typed, refused: str) -> dict[str, object]:
    """Return the context of the page. `typed` are the answers given so far.

    It names neither the suggestion nor its target: whoever knows these is not blind.
    """
    words = {useful: word for word, useful in ANSWERS.items()}
    coming = [one for one in found.headlines if one.item_id not in typed]
    return {
        "headline": coming[0] if coming else found.headlines[-1],
        "number": len(typed) + 1,
        "most": len(typed) + max(1, len(coming)),
        "given": [(f"{FIELD}{pk}", words[useful]) for pk, useful in typed.items()],
        "refused": refused,
    }


def answers_typed(request: HttpRequest) -> Typed:
    """Return the answers of the form by item id. Invalid ones are left out."""
    found: Typed = {}
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
