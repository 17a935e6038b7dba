"""What a reader's mail says: the day's digest or the week's best, put into words and links."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.formats import date_format

from digest.delivery import MAIL_ITEMS, WEEK, Told, value_of, week_best
from digest.links import thumb_sign, unsubscribe_sign
from digest.mailing import Letter, LetterItem, site_link
from digest.models import Digest, Impression, Reader
from digest.selectors import digest_impressions
from digest.selectors.deliveries import items_dealt_with, items_mailed, week_impressions
from digest.showing import Scored, Shown, items_shown

# Other sources of a story that are named; the rest is counted.
NAMED = 2


@dataclass(frozen=True, slots=True)
class Draft:
    """A letter, and the impressions it is made of in the order in which it shows them."""

    letter: Letter
    shown: tuple[Impression, ...]


def draft_daily(*, reader: Reader, digest: Digest, now: datetime) -> Draft | None:
    """The mail of one day: the digest's best 15 that no earlier mail brought and that are not rated yet.

    `None` when that leaves nothing. A fixed number of queries.
    """
    impressions = digest_impressions(digest=digest)
    known = items_mailed(
        reader_id=reader.pk, item_ids=[shown.item_id for shown in impressions], before=digest.date
    )
    fresh = [shown for shown in impressions if shown.thumb is None and shown.item_id not in known]
    return _draft(reader, digest.date, fresh[:MAIL_ITEMS], len(fresh), now, weekly=False)


def draft_weekly(*, reader: Reader, day: Date, now: datetime) -> Draft | None:
    """The mail of the week up to `day`: the best of its seven digests, whatever their day.

    What the reader has read or rated meanwhile is left out; `None` when that leaves nothing. A fixed number
    of queries.
    """
    shown = week_impressions(reader_id=reader.pk, since=day - WEEK + timedelta(days=1), until=day)
    known = items_dealt_with(reader_id=reader.pk, item_ids={row.item_id for row in shown})
    told = [_told(row) for row in shown if row.item_id not in known]
    newest = {row.item_id: row for row in shown}  # by date: a later digest's impression stands
    best = [newest[item_id] for item_id in week_best(told)]
    return _draft(reader, day, best, len({row.item_id for row in told}), now, weekly=True)


def _told(row: Impression) -> Told:
    item = row.item
    return Told(item.pk, item.source_id, item.cluster_id, value_of(row.parts), item.dated_at)


def _draft(
    reader: Reader, day: Date, shown: Sequence[Impression], fresh: int, now: datetime, *, weekly: bool
) -> Draft | None:
    if not shown:
        return None
    letter = Letter(
        reader_id=str(reader.pk),
        to=reader.email,
        name=reader.get_short_name() or reader.username,
        date=day,
        weekly=weekly,
        items=tuple(
            _item(reader, entry, now) for entry in shown_again(reader=reader, impressions=shown, now=now)
        ),
        more=0 if weekly else fresh - len(shown),
        online=site_link(reverse("digest:today" if weekly else "digest:day", args=[] if weekly else [day])),
        account=site_link(reverse("digest:account")),
        stop=site_link(reverse("digest:unsubscribe", args=[unsubscribe_sign(reader_id=reader.pk)])),
    )
    return Draft(letter, tuple(shown))


def _item(reader: Reader, shown: Shown, now: datetime) -> LetterItem:
    item = shown.item
    page = site_link(reverse("digest:item", args=[item.pk]))
    links = [
        site_link(
            reverse(
                "digest:thumb_link",
                args=[thumb_sign(reader_id=reader.pk, item_id=item.pk, useful=useful, now=now)],
            )
        )
        for useful in (True, False)
    ]
    return LetterItem(
        title=item.title,
        href=shown.href or page,
        source=str(item.source),
        # A mail may be read days later: a moment, not an age.
        age=date_format(item.dated_at.astimezone(reader.zone), "j F, H:i"),
        lede=shown.lede,
        by=by_words(shown),
        language=item.language,
        reasons=shown.why.chips,
        also=also_words(shown),
        page=page,
        useful=links[0],
        useless=links[1],
    )


def shown_again(*, reader: Reader, impressions: Sequence[Impression], now: datetime) -> list[Shown]:
    """The impressions in the words of the reader's own pages, in their order; a fixed number of queries."""
    scored = [Scored(row.item, row.parts, row.score, row.slot) for row in impressions]
    return items_shown(reader=reader, scored=scored, now=now, thumbs={})


def also_words(shown: Shown) -> str:
    """Who else tells the story, two of them by name: "also reported by Courier, Post and 2 others"."""
    if shown.also is None:
        return ""
    names = list(dict.fromkeys(mate.source for mate, _ in shown.also.tellings))
    rest = len(names) - NAMED
    if rest > 0:
        names = [*names[:NAMED], f"{rest} {'other' if rest == 1 else 'others'}"]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"also reported by {listed}"


def by_words(shown: Shown) -> str:
    """Whose words the opening is, where they are a model's; nothing for the publisher's own."""
    return shown.summary_words if shown.summary and shown.summary.by_model else ""
