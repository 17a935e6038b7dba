"""A reader's own feed, put together: digests asked for, words found."""

from datetime import datetime

from django.urls import reverse

from digest.mailing import site_link
from digest.models import Digest, Impression, Reader
from digest.presenters import href_of, lede_of, why_of
from digest.selectors import digest_impressions
from digest.selectors.syndicated import digests_told
from digest.syndication import Channel, Told


def channel_of(*, reader: Reader, token: str, now: datetime) -> tuple[Channel, list[Digest]]:
    """The reader's feed of the newest digests, each item once where it was last shown, and those digests.

    Nothing in it depends on `now` but for a feed without digests, so that an unchanged feed is the same to
    the byte. Queries grow with the digests told (three), not with their items.
    """
    digests = list(digests_told(reader=reader))
    told: dict[int, Told] = {}
    for digest in digests:
        for shown in digest_impressions(digest=digest):
            told.setdefault(shown.item_id, _told(shown, digest))
    channel = Channel(
        reader_id=reader.pk,
        title=f"Tidings for {reader.get_short_name() or reader.username}",
        home=site_link(reverse("digest:today")),
        atom=site_link(reverse("digest:feed_atom", args=[token])),
        json=site_link(reverse("digest:feed_json", args=[token])),
        updated=max((digest.built_at for digest in digests), default=now),
        items=tuple(told.values()),
    )
    return channel, digests


def _told(shown: Impression, digest: Digest) -> Told:
    item = shown.item
    page = site_link(reverse("digest:item", args=[item.pk]))
    return Told(
        url=item.url,
        href=href_of(item.url) or page,
        title=item.title,
        source=str(item.source),
        author=item.author,
        language=item.language,
        lede=lede_of(item.text),
        also="",
        reasons=why_of(shown.parts, shown.score, str(item.source)).chips,
        page=page,
        published=item.dated_at,
        rank=shown.rank,
        day=digest.date.isoformat(),
    )
