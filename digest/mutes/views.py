"""The page of mutes: the list, adding one after a preview of its effect, and undoing."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.http import require_POST, require_safe

from digest.days import day_of
from digest.feeds.identity import SOURCE_KEY_MAX_CHARS
from digest.feeds.selectors import subscription_of
from digest.items.own_names import items_name_sources, own_feeds, own_names, sources_to_choose
from digest.items.selectors import (
    item_for,
    items_hidden,
    items_visible,
    reader_source_titles,
    subscribed_titles,
)
from digest.models import Item, Reader
from digest.mutes.preview import feeds_hidden, mute_named, mute_preview, mutes_suggested
from digest.mutes.services import mutes_change
from digest.requests import own_path, reader_of, referrer_path
from digest.signed import UNDO_LIFETIME_S, values_read, values_sign
from ranking.config_words import mute_label
from ranking.entities import InvalidMute, Mute, TooManyMutes
from ranking.mutes import (
    ADDRESS,
    AUTHOR,
    CATEGORY,
    KINDS,
    KINDS_WITHIN,
    PHRASE,
    SOURCE,
    WORD,
    MuteFilter,
    mute_over,
    mutes_read,
)
from ranking.selectors import config_hiding

KIND_NAMES = {
    WORD: gettext_noop("A word"),
    PHRASE: gettext_noop("A phrase"),
    SOURCE: gettext_noop("A source"),
    AUTHOR: gettext_noop("An author"),
    ADDRESS: gettext_noop("Addresses"),
    CATEGORY: gettext_noop("A category"),
}
UNDO_SALT = "digest.web.muting"
ITEM_ID_CHARS = 18
# How many rows of the page below the dialog are looked through, and how many hidden ones an address names.
ROWS_MAX, HIDES_MAX = 1_000, 200


class MuteForm(forms.Form):
    """A mute, the only source that it applies to, and its last day. Empty means all sources, and for ever."""

    kind = forms.ChoiceField(
        choices=[(kind, gettext_lazy(name)) for kind, name in KIND_NAMES.items()], label=gettext_lazy("What")
    )
    value = forms.CharField(max_length=max(KINDS.values()), label=gettext_lazy("Which"), strip=True)
    within = forms.CharField(max_length=SOURCE_KEY_MAX_CHARS, required=False, label=gettext_lazy("Where"))
    until = forms.DateField(
        required=False,
        label=gettext_lazy("Until the end of"),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": gettext_lazy("Write a day as 2026-03-18.")},
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def mute(self, reader: Reader) -> Mute | None:
        """Return the mute of the form; `None` with an error of the form if it names none."""
        if not self.is_valid():
            return None
        try:
            return mute_named(reader=reader, now=timezone.now(), **self.cleaned_data)
        except InvalidMute as error:
            self.add_error("value", error.message)
        return None


@login_required
@require_safe
def mutes(request: HttpRequest) -> HttpResponse:
    """Show the mutes and the form; with `kind` and `value` a preview, with `item` the mutes that fit it."""
    reader = reader_of(request)
    if "value" in request.GET:
        return _preview(request)
    page = _page(request) | {"form": MuteForm(initial={"kind": WORD})}
    if "item" in request.GET:
        page["back"] = page["back"] or referrer_path(request)
        page["item"] = item = _item_or_404(reader, request.GET["item"])
        page["suggested"] = _suggestions(reader, item, page["back"])
        page["feed"] = subscription_of(reader_id=reader.pk, feed_id=item.feed_id) if item.feed_id else None
    return render(request, "digest/mutes.html", page | _lines(reader, page))


def _preview(request: HttpRequest) -> HttpResponse:
    reader, form = reader_of(request), MuteForm(request.GET)
    page = _page(request) | {"form": form}
    if mute := form.mute(reader):
        page["preview"] = mute_preview(reader=reader, mute=mute, now=timezone.now())
        page["feeds"] = feeds_hidden(reader=reader, mute=mute)
    return render(
        request, "digest/mutes.html", page | _lines(reader, page), status=422 if form.errors else 200
    )


def _page(request: HttpRequest) -> dict[str, Any]:
    back = own_path(request.GET.get("next", ""))
    undo = _undo_read(request.GET, reader_of(request))
    return {"undo": undo, "back": back, "hides": request.GET.get("hides", "")}


@login_required
@require_POST
def mute_add(request: HttpRequest) -> HttpResponse:
    """Store the mute of the form. Go to the list, which offers undo.

    Of the items `shown` on the page below a dialog, the list names those that the mute hides there.
    """
    reader, now = reader_of(request), timezone.now()
    form = MuteForm(request.POST)
    if mute := form.mute(reader):
        try:
            before = mutes_change(reader=reader, mute=mute, muted=True, now=now)
            hides = _rows_hidden(request, reader, mute)
            return _redirect_done(reader, mute, before, own_path(request.POST.get("next", "")), hides)
        except TooManyMutes as error:
            form.add_error(None, error.message)
    page = {"form": form, "back": own_path(request.POST.get("next", ""))}
    return render(request, "digest/mutes.html", page | _lines(reader, page), status=422)


@login_required
@require_POST
def mute_end(request: HttpRequest) -> HttpResponse:
    """End the mute of this `kind` and `value`. Go to the list, which offers undo."""
    reader, now = reader_of(request), timezone.now()
    typed = request.POST.get
    mute = Mute(typed("kind", ""), typed("value", ""), within=typed("within", ""))
    before = mutes_change(reader=reader, mute=mute, muted=False, now=now)
    return _redirect_done(reader, None, before) if before else redirect("digest:mutes")


@login_required
@require_POST
def mute_undo(request: HttpRequest) -> HttpResponse:
    """Undo a change of mutes made in the last hour."""
    reader, now = reader_of(request), timezone.now()
    undo = _undo_read(request.POST, reader)
    if undo is None:
        messages.error(request, _("That can no longer be undone. Add or remove the mute below."))
        return redirect("digest:mutes")
    try:
        mutes_change(reader=reader, mute=undo["before"] or undo["after"], muted=bool(undo["before"]), now=now)
    except TooManyMutes as error:
        messages.error(request, error.message)
    else:
        messages.success(request, undo["undone"])
    return redirect("digest:mutes")


def _rows_hidden(request: HttpRequest, reader: Reader, mute: Mute) -> list[int]:
    """Return which of the items `shown` on the reader's page the mute hides: none of those under Saved."""
    if referrer_path(request).startswith(reverse("digest:saved")):
        return []
    typed = request.POST.get("shown", "").split(",")[:ROWS_MAX]
    ids = [int(one) for one in typed if one.isascii() and one.isdigit() and len(one) <= ITEM_ID_CHARS]
    theirs = items_visible(reader_id=reader.pk).filter(pk__in=ids).values_list("pk", flat=True) if ids else []
    return sorted(items_hidden(mutes=MuteFilter([mute]), item_ids=[*theirs]))[:HIDES_MAX]


def _redirect_done(
    reader: Reader, after: Mute | None, before: Mute | None, back: str = "", hides: Sequence[int] = ()
) -> HttpResponse:
    undo = {
        "after": after.as_dict() if after else None,
        "before": before.as_dict() if before else None,
    }
    signed = values_sign(salt=UNDO_SALT, reader_id=reader.pk, values=undo)
    rows = {"hides": ",".join(map(str, hides))} if hides else {}
    query = urlencode({"done": signed} | ({"next": back} if back else {}) | rows)
    return redirect(f"{reverse('digest:mutes')}?{query}")


def _undo_read(query: Mapping[str, str], reader: Reader) -> dict[str, Any] | None:
    """Return a signed change, if it is this reader's and not too old, with words for it and for its undo."""
    signed = query.get("done", "")
    undo = values_read(salt=UNDO_SALT, reader_id=reader.pk, signed=signed, lifetime_s=UNDO_LIFETIME_S)
    if undo is None:
        return None
    after, before = (mutes_read([undo[name]])[0] if undo[name] else None for name in ("after", "before"))
    keys = _sources([one for one in (after, before) if one])
    titles = reader_source_titles(reader_id=reader.pk, keys=keys)
    words = _("Muted: {words}.") if after else _("No longer muted: {words}.")
    undone = _("Undone. Muted as before: {words}.") if before else _("Undone. Shown again: {words}.")
    return {
        "signed": signed,
        "after": after,
        "before": before,
        "words": words.format(words=_words(reader, after or before, titles)),
        "undone": undone.format(words=_words(reader, before or after, titles)),
    }


def _item_or_404(reader: Reader, typed: str) -> Item:
    item_id = int(typed) if typed.isdecimal() and len(typed) <= ITEM_ID_CHARS else 0
    if (item := item_for(reader_id=reader.pk, item_id=item_id)) is None:
        raise Http404(_("No such item among your sources."))
    items_name_sources(reader_id=reader.pk, items=[item])
    return item


def _suggestions(reader: Reader, item: Item, back: str) -> list[dict[str, str]]:
    """Return the mutes that fit an item: words and the address of each preview."""
    then = {"next": back} if back else {}
    titles = {item.source_id: item.source_name}

    def href(mute: Mute, within: str = "") -> str:
        where = {"within": within} if within else {}
        query = {"kind": mute.kind, "value": mute.value} | where | then
        return f"{reverse('digest:mutes')}?{urlencode(query)}"

    return [
        {
            "words": _words(reader, mute, titles),
            "href": href(mute),
            "here": href(mute, item.source_id) if mute.kind in KINDS_WITHIN else "",
        }
        for mute in mutes_suggested(item=item)
    ]


def _lines(reader: Reader, page: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reader's mutes as lines, expired ones last, and the form's context."""
    found, today = config_hiding(reader_id=reader.pk).mutes, day_of(timezone.now(), reader.zone)
    preview = page.get("preview")
    keys = _sources([*found, preview.mute] if preview else found)
    titles = reader_source_titles(reader_id=reader.pk, keys=keys)
    mine = own_names(reader_id=reader.pk).over(subscribed_titles(reader_id=reader.pk))
    lines: list[dict[str, Any]] = [
        {"mute": mute, "words": _words(reader, mute, titles), "over": mute_over(mute, today)}
        for mute in found
    ]
    return {
        "lines": sorted(lines, key=lambda line: bool(line["over"])),
        "today": today,
        "sources": sources_to_choose(mine),
        "preview_words": _words(reader, preview.mute, titles) if preview else "",
    }


def _sources(mutes: Sequence[Mute]) -> set[str]:
    muted = {mute.value for mute in mutes if mute.kind == SOURCE}
    return muted | {mute.within for mute in mutes if mute.within}


def _words(reader: Reader, mute: Mute | None, titles: Mapping[str, str]) -> str:
    """Return a mute in words. That of a source with several of the reader's feeds says how many it hides."""
    if mute is None:
        return ""
    feeds = [row for row in own_feeds(reader_id=reader.pk) if row.source == mute.value and not row.moved]
    if mute.kind == SOURCE and len(feeds) > 1:
        return _("everything from {source}: {n} of your feeds").format(source=mute.value, n=len(feeds))
    return mute_label(mute, titles)
