"""A reader's own feed, put together: digests asked for, words found."""

from datetime import datetime

from django.urls import reverse

from digest.days import day_of
from digest.letters import also_words, by_words, shown_again
from digest.mailing import site_link
from digest.models import Digest, Impression, Reader
from digest.selectors import digest_impressions
from digest.selectors.syndicated import digests_told
from digest.services.build import digest_current
from digest.showing import Shown
from digest.syndication import Channel, Told


def channel_of(*, reader: Reader, token: str, now: datetime) -> tuple[Channel, list[Digest]]:
    """The reader's feed of the newest digests, each item once where it was last shown, and those digests.

    Today's digest is built anew where it is due. But for `updated`, which is when the newest was built, the
    channel is the same as long as its items and their reasons are. Queries grow with the digests told
    (three), not with their items.
    """
    digest_current(reader=reader, date=day_of(now, reader.zone), now=now)
    digests = list(digests_told(reader=reader))
    newest: dict[int, tuple[Impression, Digest]] = {}
    for digest in digests:
        for impression in digest_impressions(digest=digest):
            newest.setdefault(impression.item_id, (impression, digest))
    shown = shown_again(reader=reader, impressions=[row for row, _ in newest.values()], now=now)
    channel = Channel(
        reader_id=reader.pk,
        title=f"Tidings for {reader.get_short_name() or reader.username}",
        home=site_link(reverse("digest:today")),
        atom=site_link(reverse("digest:feed_atom", args=[token])),
        json=site_link(reverse("digest:feed_json", args=[token])),
        updated=max((digest.built_at for digest in digests), default=now),
        items=tuple(_told(entry, *newest[entry.item.pk]) for entry in shown),
    )
    return channel, digests


def _told(shown: Shown, impression: Impression, digest: Digest) -> Told:
    item = shown.item
    page = site_link(reverse("digest:item", args=[item.pk]))
    return Told(
        url=item.url,
        href=shown.href or page,
        title=item.title,
        source=str(item.source),
        author=item.author,
        language=item.language,
        lede=shown.lede,
        by=by_words(shown),
        also=also_words(shown),
        reasons=shown.why.chips,
        page=page,
        published=item.dated_at,
        rank=impression.rank,
        day=digest.date.isoformat(),
    )
