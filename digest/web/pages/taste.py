"""The page of a reader's taste: their likes, recent changes, and the articles they named."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.daily.portrait import taste_portrait
from digest.errors import ArticleUnknown
from digest.feedback.naming import address_name, articles_named
from digest.feeds.addresses import URL_MAX_CHARS
from digest.requests import page_of, reader_of
from digest.throttling import SEARCH, rate_limited
from digest.web.pages.effects import effect_words
from ranking.taste.entities import AUTHOR, CATEGORY, SOURCE, TOPIC


@login_required
@require_safe
def taste(request: HttpRequest) -> HttpResponse:
    """Show the reader's likes in bars, the changes of this month, and the named articles, latest first."""
    return _taste_answer(request)


@login_required
@require_POST
@rate_limited(SEARCH)
def named_add(request: HttpRequest) -> HttpResponse:
    """Name the article at a pasted `address`. Show a problem beside the pasted text."""
    address = request.POST.get("address", "").replace("\0", "").strip()[:URL_MAX_CHARS]
    if not address:
        return redirect("digest:taste")
    try:
        item = address_name(reader=reader_of(request), address=address, now=timezone.now())
    except ArticleUnknown as unknown:
        return _taste_answer(request, typed=address, refused=unknown.message)
    messages.success(request, _("You asked for more like “{title}”.").format(title=item.title))
    messages.info(request, effect_words(request, more=True))
    return redirect("digest:taste")


def _taste_answer(request: HttpRequest, typed: str = "", refused: str = "") -> HttpResponse:
    reader_id = reader_of(request).pk
    named = articles_named(reader_id=reader_id, page=page_of(request))
    portrait = taste_portrait(reader_id=reader_id, now=timezone.now())
    kinds = [
        ("sources", _("Sources"), _("Source"), portrait.rows.get(SOURCE)),
        ("topics", _("Topics"), _("Topic"), portrait.rows.get(TOPIC)),
        ("categories", _("Categories"), _("Category"), portrait.rows.get(CATEGORY)),
        ("authors", _("Authors"), _("Author"), portrait.rows.get(AUTHOR)),
    ]
    page = {"named": named, "typed": typed, "refused": refused, "portrait": portrait}
    page["kinds"] = [kind for kind in kinds if kind[-1]]
    return render(request, "digest/taste.html", page, status=422 if refused else 200)
