"""The page of a reader's taste: the articles of which they asked for more."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.errors import ArticleUnknown
from digest.feedback.naming import address_name, articles_named
from digest.feeds.addresses import URL_MAX_CHARS
from digest.requests import page_of, reader_of
from digest.throttling import SEARCH, rate_limited


@login_required
@require_safe
def taste(request: HttpRequest) -> HttpResponse:
    """Show the named articles, the latest first, and a field for the address of another."""
    return _taste_answer(request)


@login_required
@require_POST
@rate_limited(SEARCH)
def named_add(request: HttpRequest) -> HttpResponse:
    """Name the article at a pasted `address`; show what is wrong beside what was pasted."""
    address = request.POST.get("address", "").replace("\0", "").strip()[:URL_MAX_CHARS]
    if not address:
        return redirect("digest:taste")
    try:
        item = address_name(reader=reader_of(request), address=address, now=timezone.now())
    except ArticleUnknown as unknown:
        return _taste_answer(request, typed=address, refused=unknown.message)
    messages.success(request, _("You will see more like “{title}”.").format(title=item.title))
    return redirect("digest:taste")


def _taste_answer(request: HttpRequest, typed: str = "", refused: str = "") -> HttpResponse:
    named = articles_named(reader_id=reader_of(request).pk, page=page_of(request))
    page = {"named": named, "typed": typed, "refused": refused}
    return render(request, "digest/taste.html", page, status=422 if refused else 200)
