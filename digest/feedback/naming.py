"""Named articles: a reader asked for more like these. Naming is stronger than a thumb, and is no rating."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from digest.errors import ArticleUnknown
from digest.feedback.services import feedback_take_back
from digest.feeds.identity import address_spellings, article_hash
from digest.items.own_names import items_name_sources
from digest.items.reading import article_forget, item_name
from digest.items.selectors import item_get, items_visible
from digest.items.vectors import item_vector_ensure
from digest.models import Feedback, Item, Reader, Reading

NAMED_PAGE = 20


@dataclass(frozen=True, slots=True)
class NamedPage:
    """One page of a reader's named articles, the latest first. `total` counts all pages."""

    readings: tuple[Reading, ...]
    total: int
    page: int

    @property
    def more(self) -> bool:
        """Return whether another page follows."""
        return self.page * NAMED_PAGE < self.total


def article_name(*, reader: Reader, item_id: int, now: datetime) -> datetime:
    """Ask for more like an item; return when this was first asked for.

    A thumb down on it is taken back, since both cannot be meant. Raises `ItemNotFound`.
    """
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    with transaction.atomic():
        if Feedback.objects.filter(reader=reader, article=article, useful=False).exists():
            feedback_take_back(reader=reader, item_id=item_id)
        at = item_name(reader=reader, item_id=item_id, now=now)
    item_vector_ensure(item_id=item_id)
    return at


def address_name(*, reader: Reader, address: str, now: datetime) -> Item:
    """Name the article at an address, in any of its spellings. Return its item.

    Raises `ArticleUnknown` unless one of the reader's sources brought it. Articles of other readers' feeds
    are not searched, because the answer would reveal that somebody reads them.
    """
    hashes = [article_hash(url) for url in address_spellings(address.strip())]
    found = items_visible(reader_id=reader.pk).filter(article__in=hashes).order_by("-own", "pk").first()
    if found is None:
        raise ArticleUnknown(
            gettext(
                "None of your sources brought an article at this address. Add its source first, or search "
                "for an article like it."
            )
        )
    article_name(reader=reader, item_id=found.pk, now=now)
    return found


def item_forget(*, reader: Reader, item_id: int) -> bool:
    """Take back that the reader named an item; return whether they had. Raises `ItemNotFound`."""
    article = item_get(reader_id=reader.pk, item_id=item_id).article
    return article_forget(reader=reader, article=article)


def articles_named(*, reader_id: UUID, page: int = 1) -> NamedPage:
    """Return twenty of the reader's named articles with items and sources, the latest first; three queries.

    Pages count from 1.
    """
    rows = Reading.objects.filter(reader_id=reader_id, named_at__isnull=False)
    start = (max(page, 1) - 1) * NAMED_PAGE
    shown = rows.order_by("-named_at", "-pk").select_related("item__source")[start : start + NAMED_PAGE]
    items_name_sources(reader_id=reader_id, items=[row.item for row in shown])
    return NamedPage(tuple(shown), rows.count(), max(page, 1))
