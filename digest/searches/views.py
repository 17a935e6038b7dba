"""Save a search, remove it, turn it into a topic, and undo; each goes back to the page of the search."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from digest.errors import DigestError, SearchMissing
from digest.models import Reader
from digest.requests import reader_of
from digest.searches.forms import search_asked, search_name_clean
from digest.searches.selectors import SearchAsked, search_name, search_saved
from digest.searches.services import (
    search_remove,
    search_rename,
    search_save,
    search_topic_add,
    search_topic_remove,
)
from digest.signed import UNDO_LIFETIME_S, values_read, values_sign
from digest.web.pages.search import UNDO_SALT
from ranking.entities import RankingError


@login_required
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the search that the form's fields name."""
    reader, asked = reader_of(request), search_asked(request.POST)
    try:
        search_save(reader=reader, asked=asked, now=timezone.now())
    except DigestError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("Saved. It stands in the list of your sources."))
    return redirect(asked.address)


@login_required
@require_POST
def rename(request: HttpRequest, search_id: int) -> HttpResponse:
    """Give a saved search the name in the form. An empty one brings its words back."""
    reader, name = reader_of(request), search_name_clean(request.POST.get("name", ""))
    try:
        asked = search_rename(reader=reader, search_id=search_id, name=name)
    except SearchMissing as missing:
        raise Http404(missing.message) from None
    messages.success(request, _("It stands in your list as “{name}”.").format(name=search_name(asked, {})))
    return redirect(asked.address)


@login_required
@require_POST
def remove(request: HttpRequest, search_id: int) -> HttpResponse:
    """Remove a saved search. Its page offers undo."""
    reader = reader_of(request)
    try:
        asked = search_remove(reader=reader, search_id=search_id)
    except SearchMissing as missing:
        raise Http404(missing.message) from None
    words = _("Removed from your list: {query}.").format(query=asked.name or asked.query)
    return _done(reader, asked, {"words": words, "removed": _as_dict(asked)})


@login_required
@require_POST
def topic(request: HttpRequest, search_id: int) -> HttpResponse:
    """Make the words of a saved search a topic. The next page shows the items it takes in, and offers
    undo."""
    reader, now = reader_of(request), timezone.now()
    try:
        asked = search_saved(reader_id=reader.pk, search_id=search_id)
        made = search_topic_add(reader=reader, search_id=search_id, now=now)
    except SearchMissing as missing:
        raise Http404(missing.message) from None
    except (DigestError, RankingError) as refused:
        messages.error(request, refused.message)
        return redirect(asked.address)
    if not made.added:
        messages.info(request, _("“{topic}” is one of your topics already.").format(topic=made.topic))
        return redirect(asked.address)
    words = ngettext(
        "“{topic}” is one of your topics now. It takes in {n} article of the last 30 days, which moves up.",
        "“{topic}” is one of your topics now. It takes in {n} articles of the last 30 days, which move up.",
        made.takes_in,
    ).format(topic=made.topic, n=made.takes_in)
    return _done(reader, asked, {"words": words, "topic": made.topic, "asked": _as_dict(asked)})


@login_required
@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Undo a removal, or a topic made from a search, within an hour."""
    reader, now = reader_of(request), timezone.now()
    signed = request.POST.get("done", "")
    done = values_read(salt=UNDO_SALT, reader_id=reader.pk, signed=signed, lifetime_s=UNDO_LIFETIME_S)
    if done is None:
        messages.error(request, _("That can no longer be undone."))
        return redirect("digest:search")
    asked = SearchAsked(**(done.get("removed") or done["asked"]))
    try:
        if "topic" in done:
            search_topic_remove(reader=reader, topic=done["topic"], now=now)
        else:
            search_save(reader=reader, asked=asked, now=now)
    except (DigestError, RankingError) as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("Undone. It is as it was."))
    return redirect(asked.address)


def _done(reader: Reader, asked: SearchAsked, values: dict[str, Any]) -> HttpResponse:
    signed = values_sign(salt=UNDO_SALT, reader_id=reader.pk, values=values)
    return redirect(f"{asked.address}&{urlencode({'done': signed})}")


def _as_dict(asked: SearchAsked) -> dict[str, Any]:
    return asdict(asked)
