"""The answers to the early change of the day, and the offer to order the page by one's ratings."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.requests import reader_of
from digest.throttling import DECIDE, rate_limited
from ranking.selectors import config_effective
from ranking.taste.entities import TasteLevel
from suggestions.proposals import Refusal
from suggestions.services.early import early_change_apply, early_change_put_off
from suggestions.services.ordering import order_accept, order_offer_asked


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


@login_required
@require_safe
def order(request: HttpRequest) -> HttpResponse:
    """Show what would move if the reader's thumbs and named articles ordered their page, and offer that."""
    reader = reader_of(request)
    offer = order_offer_asked(reader=reader, now=timezone.now())
    is_ordered = config_effective(reader_id=reader.pk).config.taste is not TasteLevel.OFF
    return render(request, "suggestions/order.html", {"offer": offer, "is_ordered": is_ordered})


@login_required
@require_POST
@rate_limited(DECIDE)
def order_by_answers(request: HttpRequest) -> HttpResponse:
    """Let the reader's thumbs order their page from the settings' `version` on, and show today's page."""
    reader, typed = reader_of(request), request.POST.get("version", "")
    version = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else -1
    done = order_accept(reader=reader, version=version, now=timezone.now())
    if isinstance(done, Refusal):
        messages.error(request, done.message)
    else:
        messages.success(request, _("Your ratings order your page now. You can undo it under Settings."))
    return redirect("digest:today")
