"""The article on the page of an item: HTML, pictures and players; and the view that hands out pictures."""

from dataclasses import dataclass, replace
from functools import partial
from typing import cast
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.articles.favicons import favicon_get
from digest.articles.full_text import ShownText, full_text_can, full_text_get, full_text_of
from digest.articles.pictures import Picture, inside_allowed, picture_get, picture_href
from digest.articles.render import Mode, article_render, pictures_in, pictures_render
from digest.errors import DigestError, FullTextMissing, PicturesBusy
from digest.feeds.bodies import content_of
from digest.feeds.body_html import html_is_cut
from digest.feeds.entities import FETCH_PROBLEMS, Enclosure
from digest.feeds.sanitise import clean_text, one_line, text_is_cut
from digest.items.selectors import item_for
from digest.models import Item, Reader
from digest.requests import reader_of
from digest.throttling import FULL_TEXT, PICTURES, rate_limited, without_turn
from ranking.language import stored_text

# Of the name of a file.
NAME_MAX_CHARS = 80
# Changed pictures mostly have new addresses. Ours are signed, so a cache holds only this reader's pictures.
PICTURE_CACHE = "private, max-age=86400"
FAILURE_CACHE = "private, max-age=300"
# Its address changes with it.
FAVICON_CACHE = "private, max-age=2592000, immutable"
# A picture that is opened by itself is a document. This policy keeps it from doing anything.
PICTURE_POLICY = "default-src 'none'; sandbox"


@dataclass(frozen=True, slots=True)
class Player:
    """A sound, film or file: `kind` is "audio", "video" or another. If `plays` is false it is linked."""

    kind: str
    href: str
    mime_type: str
    words: str
    plays: bool

    @property
    def name(self) -> str:
        """Return a file's name from its address, or "File" if there is none."""
        last = unquote(urlsplit(self.href).path.rpartition("/")[2])
        return one_line(clean_text(last), limit=NAME_MAX_CHARS) or _("File")


@dataclass(frozen=True, slots=True)
class Article:
    """The publisher's part of an item's page. `html` is "" if plain text is enough.

    With `full` it is the full text from the page. `can_fetch` tells whether the full text may be asked for.
    `is_cut`: the article is longer than the kept part.
    """

    html: SafeString
    lead: SafeString
    players: tuple[Player, ...]
    poster: str
    categories: tuple[str, ...]
    full: ShownText | None = None
    can_fetch: bool = False
    is_cut: bool = False

    @property
    def has_media(self) -> bool:
        """Return whether there is something to play here."""
        return any(player.plays for player in self.players)

    @property
    def without_players(self) -> "Article":
        """Return the article with links instead of players, for a page whose policy allows no playing."""
        return replace(self, players=tuple(replace(player, plays=False) for player in self.players))


def article_of(*, reader: Reader, item: Item) -> Article:
    """Return the article of an item as this reader wants it; three queries at most."""
    content, full = content_of(item=item), full_text_of(item=item)
    text = full.html if full else content.html
    mode = cast(Mode, reader.pictures)
    href = partial(picture_href, inside=inside_allowed(item=item))
    players = tuple(_player(one) for one in content.enclosures if not one.mime_type.startswith("image/"))
    is_film = any(player.kind == "video" and player.plays for player in players)
    poster = href(content.image) if is_film and content.image and mode == "shown" else ""
    enclosed = (one.url for one in content.enclosures if one.mime_type.startswith("image/"))
    shown = pictures_in(text)
    # The entry's picture stands above a text without pictures. Enclosures are no part of the text.
    first = [content.image] if content.image and not shown and not poster else []
    lead = [one for one in dict.fromkeys([*first, *enclosed]) if one not in shown]
    return Article(
        html=mark_safe(article_render(text, pictures=mode, href=href)),
        lead=mark_safe(pictures_render(lead, pictures=mode, href=href)),
        players=players,
        poster=poster,
        categories=content.categories,
        full=full,
        can_fetch=not full and full_text_can(item=item),
        is_cut=html_is_cut(text) if text else text_is_cut(item.text),
    )


def _player(one: Enclosure) -> Player:
    """Return a player. Without TLS a browser would not load a file of another site."""
    kind = one.mime_type.partition("/")[0]
    plays = one.url.startswith("https://") and kind in ("audio", "video")
    return Player(kind, one.url, one.mime_type, enclosure_words(one), plays)


def enclosure_words(one: Enclosure) -> str:
    """Return how long and how large a sound or film is, as far as its feed says: "1 h 12 min · 34 MB"."""
    words = []
    if one.duration_s:
        hours, minutes = divmod(max(round(one.duration_s / 60), 1), 60)
        words.append(
            _("{hours} h {minutes} min").format(hours=hours, minutes=minutes)
            if hours
            else _("{minutes} min").format(minutes=minutes)
        )
    if one.length_bytes and one.length_bytes >= 100_000:
        words.append(_("{max} MB").format(max=max(round(one.length_bytes / 1000000.0), 1)))
    return " · ".join(words)


@login_required
@require_POST
@rate_limited(FULL_TEXT)
def full_text(request: HttpRequest, item_id: int) -> HttpResponse:
    """Fetch the full text of an item from its page, and show it or say why there is none."""
    item = item_for(reader_id=reader_of(request).pk, item_id=item_id)
    if item is None or not settings.FULL_TEXT:
        raise Http404(_("No such item among your sources."))
    try:
        full_text_get(item=item, reader_id=reader_of(request).pk, now=timezone.now())
    except FullTextMissing as missing:
        messages.error(
            request, _("No full text. {message}").format(message=stored_text(missing.message, FETCH_PROBLEMS))
        )
    return redirect("digest:item", item_id)


@login_required
@require_safe
@rate_limited(PICTURES, when=lambda request: True)
@without_turn
def picture(request: HttpRequest, signed: str) -> HttpResponse:
    """Return a publisher's picture. One of our pages signed its address."""
    try:
        found = picture_get(signed=signed, reader_id=reader_of(request).pk, now=timezone.now())
        return _picture_answer(found, PICTURE_CACHE)
    except DigestError as refused:
        return _refuse_picture(refused)


@login_required
@require_safe
@without_turn
def favicon(request: HttpRequest, signed: str) -> HttpResponse:
    """Return a source's favicon. One of our pages signed its address."""
    try:
        return _picture_answer(favicon_get(signed=signed), FAVICON_CACHE)
    except DigestError as refused:
        return _refuse_picture(refused)


def _picture_answer(found: Picture, cache: str) -> HttpResponse:
    answer = HttpResponse(found.body, content_type=found.mime_type)
    answer["Cache-Control"] = cache
    answer["Content-Disposition"] = f'inline; filename="picture.{found.mime_type.partition("/")[2]}"'
    return _as_picture(answer)


def _refuse_picture(refused: DigestError) -> HttpResponse:
    answer = HttpResponse(refused.message, status=refused.status, content_type="text/plain")
    answer["Cache-Control"] = FAILURE_CACHE
    if isinstance(refused, PicturesBusy):
        answer["Cache-Control"], answer["Retry-After"] = "no-store", "1"
    return _as_picture(answer)


def _as_picture(answer: HttpResponse) -> HttpResponse:
    answer["Content-Security-Policy"] = PICTURE_POLICY
    answer["Cross-Origin-Resource-Policy"] = "same-origin"
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
