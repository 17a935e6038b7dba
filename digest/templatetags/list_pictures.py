"""Pictures in lists: a source's favicon, an item's thumbnail; both come from this site alone."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from digest.articles.favicons import favicon_box
from digest.articles.pictures import inside_allowed, picture_href
from digest.models import Item, Reader, Source

register = template.Library()
IMAGE = '<img src="{}" alt="" width="96" height="72" loading="lazy" decoding="async">'
SHOWN = '<span class="thumb">{}</span>'
# A lazy picture of a closed disclosure is not asked for.
TAP = '<details class="thumb"><summary>{}</summary>{}</details>'


@register.simple_tag(takes_context=True)
def favicon(context: Mapping[str, Any], source: Source) -> SafeString:
    """Return the favicon of a source in a box of its own, a letter where there is none or none is wanted."""
    wanted = context["user"].pictures != Reader.Pictures.NEVER
    return favicon_box(source if wanted else Source(title=str(source)))


@register.simple_tag(takes_context=True)
def thumbnail(context: Mapping[str, Any], item: Item) -> SafeString | str:
    """Return the picture of an item for a list as its reader wants it; "" for none, and in compact lists."""
    reader = context["user"]
    is_wanted = reader.pictures != Reader.Pictures.NEVER and reader.list_density != Reader.ListDensity.COMPACT
    if not item.image or not is_wanted:
        return ""
    image = format_html(IMAGE, picture_href(item.image, inside=inside_allowed(item=item)))
    if reader.pictures == Reader.Pictures.SHOWN:
        return format_html(SHOWN, image)
    named = format_html(_('Picture<span class="visually-hidden"> of {title}</span>'), title=item.title)
    return format_html(TAP, named, image)
