"""Parts of pages that come once an item, as Jinja2 macros of `templates/jinja2/items.html`.

Django's own templates took two thirds of the processor time of a list of fifty items; compiled macros take
a fifth of that. Pages stay Django's, and call these with the tag `item_part`.
"""

import re
from datetime import date, datetime
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.template.backends.utils import csrf_input
from django.template.defaultfilters import capfirst
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime
from django.utils.translation import get_language, ngettext, pgettext
from django.utils.translation import gettext as _

from digest.articles.favicons import favicon_box
from digest.articles.pictures import inside_allowed, picture_href
from digest.daily.item_words import DATED_AFTER, age_short
from digest.daily.presentation import age_moment, published_words, says_came
from digest.daily.taste_words import chip_cut
from digest.feedback.reasons import OTHER_REASON_MAX_CHARS, OWN_WORDS_MAX
from digest.items.listing import UNMUTED_MAX
from digest.models import Item, Reader, Source
from digest.places import turn_let_pass, turn_shared
from digest.requests import reader_of
from ranking.common.text import words_cut
from ranking.language import thousands

if TYPE_CHECKING:
    from jinja2 import Environment, Template

TEMPLATE = "items.html"
# `{{ _("text") }}` and `{{ pgettext("what it is about", "text") }}`.
CONSTANT = re.compile(r'\{\{ (?:_|pgettext)\((?:"([^"]++)", )?"([^"]++)"\) \}\}')
IMAGE = '<img src="{}" alt="" width="96" height="72" loading="lazy" decoding="async">'
SHOWN = '<span class="thumb">{}</span>'
# A lazy picture of a closed disclosure is not asked for.
TAP = '<details class="thumb"><summary>{}</summary>{}</details>'


def item_part(request: HttpRequest, name: str, *values: Any) -> SafeString:
    """Return the HTML of the macro `name` with `values` for a request's reader, or the constant `name`."""
    turn_let_pass()
    made = macros().make_module(_Words().functions | _page(request))
    part = getattr(made, name)
    return mark_safe(str(part(*values) if values else part))


def thumbnail(reader: Reader, item: Item) -> SafeString | str:
    """Return the picture of an item for a list, as its reader wants it; "" in compact lists."""
    is_wanted = reader.pictures != Reader.Pictures.NEVER and reader.list_density != Reader.ListDensity.COMPACT
    if not item.image or not is_wanted:
        return ""
    image = format_html(IMAGE, picture_href(item.image, inside=inside_allowed(item=item)))
    if reader.pictures == Reader.Pictures.SHOWN:
        return format_html(SHOWN, image)
    named = format_html(_('Picture<span class="visually-hidden"> of {title}</span>'), title=item.title)
    return format_html(TAP, named, image)


def favicon(reader: Reader, source: Source) -> SafeString:
    """Return the favicon of a source in a box of its own, or a letter if it has none or pictures are off."""
    wanted = reader.pictures != Reader.Pictures.NEVER
    return favicon_box(source if wanted else Source(title=str(source)))


def language_attributes(language: str) -> SafeString:
    """Return the attributes of a text: its direction, and its `language` if that is known."""
    return format_html(' dir="auto" lang="{}"', language) if language else mark_safe(' dir="auto"')


def local_time(at: datetime) -> str:
    """Return `at` in the reader's zone, which is named: "Sunday, 25 October 2026, 02:30 CET".

    Django's own `T` is empty in the hour that a clock change repeats, when it is needed most.
    """
    local = localtime(at)
    return f"{_day_words(local.date(), get_language())}, {local:%H:%M} {local.tzname()}"


@lru_cache(maxsize=1024)
def _day_words(day: date, language: str | None) -> str:
    """Return a day in a language, which is in force."""
    return date_format(day, _("l, j F Y"))


def short_time(at: datetime, now: datetime) -> str:
    """Return the age of an item where a row has little room: "3 h"; from a week on its day: "18 Mar"."""
    return date_format(localtime(at), _("j M")) if now - at >= DATED_AFTER else age_short(at, now)


def macros() -> "Template":
    """Return the macros in the language in force; compiling them takes 40 ms, once for each."""
    return _environment(get_language() or "").get_template(TEMPLATE)


def macros_forget() -> None:
    """Drop the compiled macros, for tests that exchange catalogues."""
    _environment.cache_clear()


@cache
def _environment(language: str) -> "Environment":
    """Return the environment of a language, which must be active when it compiles."""
    # Workers and most commands make no page, and need not load it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415
    from jinja2.ext import Extension  # noqa: PLC0415

    class ConstantWords(Extension):
        """Marked texts without values, translated once: there are twenty for each item."""

        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            return CONSTANT.sub(lambda found: pgettext(*found.groups()) if found[1] else _(found[2]), source)

    made = Environment(
        loader=FileSystemLoader(settings.SITE_FILES / "templates" / "jinja2"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=settings.DEBUG,
        extensions=[ConstantWords],
    )
    made.filters |= {
        "capitalized": capfirst,
        "words_cut": words_cut,
        "chip_cut": chip_cut,
        "shared": turn_shared,
    }
    return made


class _Words:
    """Translations into the language in force, each looked up once a page."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], SafeString] = {}

    @property
    def functions(self) -> dict[str, Any]:
        return {"_": self.text, "pgettext": self.text_about, "ngettext": self.counted}

    def text(self, text: str, **values: Any) -> SafeString:
        """Return a text, with its values escaped; those that Django has marked as safe stay."""
        found = self.text_about("", text)
        return found if not values else _with_values(found, values)

    def text_about(self, about: str, text: str) -> SafeString:
        """Return a text as it is used in `about`."""
        found = self._found.get((about, text))
        if found is None:
            found = self._found[about, text] = mark_safe(pgettext(about, text) if about else _(text))
        return found

    def counted(self, singular: str, plural: str, count: int, **values: Any) -> SafeString:
        """Return the form of a text that goes with a count, with its values escaped."""
        return _with_values(mark_safe(ngettext(singular, plural, count)), values)


def _with_values(text: SafeString, values: dict[str, Any]) -> SafeString:
    shown = {
        name: thousands(value) if isinstance(value, int) else conditional_escape(value)
        for name, value in values.items()
    }
    return mark_safe(str(text) % shown)


def _page(request: HttpRequest) -> dict[str, Any]:
    """Return the macros' context: reader, addresses, pictures, moments."""
    reader = reader_of(request)
    item_prefix, source_prefix = reverse("digest:item", args=[0])[:-1], f"{reverse('digest:all')}?source="
    feed_prefix = f"{reverse('digest:all')}?feed="
    boxes: dict[str, SafeString] = {}

    def source_box(source: Source) -> SafeString:
        if source.pk not in boxes:
            boxes[source.pk] = favicon(reader, source)
        return boxes[source.pk]

    return {
        "user": reader,
        "csrf_input": csrf_input(request),
        "mutes_url": reverse("digest:mutes"),
        "own_words_max": OWN_WORDS_MAX,
        "unmuted_max": UNMUTED_MAX,
        "own_words_chars": OTHER_REASON_MAX_CHARS,
        "item_url": lambda pk: f"{item_prefix}{pk}",
        "language": cache(language_attributes),
        "source_url": lambda key: f"{source_prefix}{quote(key, safe='')}",
        "feed_url": lambda pk: f"{feed_prefix}{pk}",
        "favicon": source_box,
        "thumbnail": lambda item: thumbnail(reader, item),
        "have_pictures": lambda items: any(thumbnail(reader, item) for item in items),
        "local_iso": lambda at: localtime(at).isoformat(timespec="seconds"),
        "local_time": local_time,
        "short_time": partial(short_time, now=timezone.now()),
        "published": published_words,
        "moment": age_moment,
        "says_came": says_came,
    }
