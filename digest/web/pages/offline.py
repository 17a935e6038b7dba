"""Today's digest for a device that will be without a network: one page, which the service worker stores."""

from dataclasses import dataclass
from functools import partial

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from digest.articles.full_text import full_texts_of
from digest.articles.pictures import picture_href
from digest.articles.render import article_render
from digest.daily.presentation import age_of
from digest.daily.selectors import digest_for, digest_impressions
from digest.days import day_of
from digest.feeds.bodies import bodies_html
from digest.models import Item, Reader
from digest.requests import reader_of

# The service worker identifies the reader of a page by this header.
READER_HEADER = "X-Tidings-Reader"
TAG_CHARS = 16


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item of the page: its article as HTML, or "" if plain text says all."""

    item: Item
    age: str
    href: str
    html: SafeString


def device_tag(*, reader: Reader) -> str:
    """Return a name of the reader for their own devices, which says nothing about them."""
    return salted_hmac("digest.offline", str(reader.pk)).hexdigest()[:TAG_CHARS]


@login_required
@require_safe
def today_offline(request: HttpRequest) -> HttpResponse:
    """Show today's digest with all its articles, without pictures. 404 for a reader who did not ask for it.

    It marks nothing as read and counts as no exposure, because perhaps nobody ever looks at it. Six queries
    at most.
    """
    reader, now = reader_of(request), timezone.now()
    if not reader.offline_today:
        raise Http404(_("You have not asked for today's digest on your devices."))
    date = day_of(now, reader.zone)
    digest = digest_for(reader_id=reader.pk, date=date)
    items = [row.item for row in digest_impressions(digest=digest, now=now)] if digest else []
    html = bodies_html(items=items) | full_texts_of(items=items)
    href = partial(picture_href, inside=False)
    stored = [
        StoredItem(
            item,
            age_of(item, reader=reader, now=now),
            item.address,
            mark_safe(article_render(html.get(item.pk, ""), pictures="never", href=href)),
        )
        for item in items
    ]
    page = {"stored": stored, "date": date, "now": now, "theme": reader.theme}
    answer = render(request, "digest/today_offline.html", page)
    answer[READER_HEADER] = device_tag(reader=reader)
    return answer
