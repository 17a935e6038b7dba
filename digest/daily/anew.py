"""Today's page made anew at once, and what moved: after an interview, or for more like an article."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef

from digest.daily.changes import OrderChange, order_seen
from digest.daily.selectors import digest_for
from digest.daily.services import digest_refresh
from digest.days import day_of
from digest.models import Digest, Feedback, Item, Reader


@dataclass(frozen=True, slots=True)
class PageBefore:
    """Today's digest before it is made anew, its order, and the order that its reader saw last."""

    digest: Digest
    order: tuple[int, ...]
    seen: tuple[int, ...]


def page_before(*, reader: Reader, now: datetime) -> PageBefore | None:
    """Return today's page as it is now; `None` if there is none, or nothing is on it."""
    digest = digest_for(reader_id=reader.pk, date=day_of(now, reader.zone))
    order = _order(digest) if digest else []
    if digest is None or not order:
        return None
    seen = order_seen(order, digest.seen, is_seen=digest.exposed_at is not None)
    return PageBefore(digest, tuple(order), seen)


def change_since(
    *, reader: Reader, before: PageBefore, digest: Digest, answered: Sequence[int] = ()
) -> OrderChange:
    """Return how the order of `digest` differs from `before`.

    A folded article has no place. Those `answered` in an interview still had theirs on the page before it.
    """
    after = _order(digest)
    useless = _useless(reader, [*before.seen, *after])
    came = {*after} - {*before.order}
    arrived = Item.objects.filter(pk__in=came, first_seen_at__gt=before.digest.built_at)
    return OrderChange(
        tuple(one for one in before.seen if one in answered or one not in useless),
        tuple(one for one in after if one not in useless),
        arrived=tuple(arrived.values_list("pk", flat=True)),
    )


def page_make_anew(*, reader: Reader, now: datetime) -> OrderChange | None:
    """Build today's digest again with all that its reader rated and named since; return what moved.

    If anything did, the page tells it. `None` if there was no page.
    """
    before = page_before(reader=reader, now=now)
    digest = digest_refresh(reader=reader, now=now)
    if before is None:
        return None
    change = change_since(reader=reader, before=before, digest=digest)
    if change.has_effect:
        Digest.objects.filter(pk=digest.pk).update(change=change.as_dict())
    return change


def _useless(reader: Reader, item_ids: Sequence[int]) -> set[int]:
    """Return those of the items whose article the reader called not useful."""
    rated = Feedback.objects.filter(reader=reader, useful=False, article=OuterRef("article"))
    return set(Item.objects.filter(Exists(rated), pk__in=item_ids).values_list("pk", flat=True))


def _order(digest: Digest) -> list[int]:
    return list(digest.impressions.order_by("rank").values_list("item_id", flat=True))
