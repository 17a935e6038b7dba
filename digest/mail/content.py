"""Collect the content of a mail: texts and links of a day's digest, or of the best items of a week."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from digest.daily.presentation import ScoredItem, ShownItem, age_moment, items_shown
from digest.daily.selectors import digest_impressions
from digest.feeds.arrival import came_late
from digest.items.selectors import item_is_hidden, mutes_in_force
from digest.items.stories import stories_joined
from digest.mail.due import (
    MAIL_ITEMS,
    WEEK,
    WeekItem,
    items_mailed,
    items_rated_or_read,
    week_best,
    week_impressions,
)
from digest.mail.links import thumb_sign, unsubscribe_sign
from digest.mail.render import MailContent, MailItem, site_link
from digest.models import Digest, Impression, Reader
from ranking.selectors import config_hiding, reading_once
from ranking.source_rules import is_past_shelf

# This many other sources of a story are named. The rest are counted.
NAMED = 2


@dataclass(frozen=True, slots=True)
class MailDraft:
    """The content of a mail, and its items' impressions in the same order."""

    content: MailContent
    shown: tuple[Impression, ...]


def draft_daily(*, reader: Reader, digest: Digest, now: datetime) -> MailDraft | None:
    """Return the mail of one day: the digest's best 15 items that are unrated and in no earlier mail.

    Return `None` if no item is left. A constant number of queries.
    """
    impressions = digest_impressions(digest=digest, now=now)
    known = items_mailed(
        reader_id=reader.pk, item_ids=[shown.item_id for shown in impressions], before=digest.date
    )
    fresh = [shown for shown in impressions if shown.thumb is None and shown.item_id not in known]
    return _draft(reader, digest.date, fresh[:MAIL_ITEMS], len(fresh), now, weekly=False)


def draft_weekly(*, reader: Reader, day: Date, now: datetime) -> MailDraft | None:
    """Return the mail of the week that ends on `day`: the best items of its seven digests.

    Leave out the items that the reader has read, rated or muted since. Return `None` if no item is left. A
    constant number of queries.
    """
    with reading_once():
        mutes = mutes_in_force(reader_id=reader.pk, now=now)
        lives = config_hiding(reader_id=reader.pk).shelf_lives
    week = week_impressions(reader_id=reader.pk, since=day - WEEK + timedelta(days=1), until=day)
    week = [row for row in week if not is_past_shelf(lives, row.item.source_id, row.item.dated_at, now)]
    shown = [row for row in week if not item_is_hidden(mutes, row.item)]
    known = items_rated_or_read(reader_id=reader.pk, item_ids={row.item_id for row in shown})
    rows = [row for row in shown if row.item_id not in known]
    stories = stories_joined(reader_id=reader.pk, items=[row.item for row in rows])
    fresh = [_week_item(row, stories) for row in rows]
    newest = {row.item_id: row for row in shown}  # by date: a later digest's impression counts
    best = [newest[item_id] for item_id in week_best(fresh)]
    return _draft(reader, day, best, len({item.item_id for item in fresh}), now, weekly=True)


def _week_item(row: Impression, stories: Mapping[int, int]) -> WeekItem:
    """Return the item with a value that ignores its age: effective weight times interest."""
    item, value = row.item, row.parts["source_weight"] * row.parts["interest"]
    return WeekItem(item.pk, item.source_id, stories.get(item.article, item.article), value, item.dated_at)


def _draft(
    reader: Reader, day: Date, shown: Sequence[Impression], fresh: int, now: datetime, *, weekly: bool
) -> MailDraft | None:
    if not shown:
        return None
    entries = impressions_shown(reader=reader, impressions=shown, now=now)
    content = MailContent(
        reader_id=str(reader.pk),
        to=reader.email,
        name=reader.get_short_name() or reader.username,
        date=day,
        weekly=weekly,
        items=tuple(_mail_item(reader, entry, row, now) for entry, row in zip(entries, shown, strict=True)),
        more=0 if weekly else fresh - len(shown),
        digest_url=site_link(
            reverse("digest:today" if weekly else "digest:day", args=[] if weekly else [day])
        ),
        account_url=site_link(reverse("digest:account")),
        unsubscribe_url=site_link(
            reverse("digest:unsubscribe", args=[unsubscribe_sign(reader_id=reader.pk)])
        ),
    )
    return MailDraft(content, tuple(shown))


def _mail_item(reader: Reader, shown: ShownItem, row: Impression, now: datetime) -> MailItem:
    item = shown.item
    is_late = came_late(item.published_at, dated=item.dated_at, first_seen=item.first_seen_at)
    dated = item.published_at if is_late else age_moment(item)
    page = site_link(reverse("digest:item", args=[item.pk]))
    signed = [
        thumb_sign(reader_id=reader.pk, item_id=item.pk, useful=useful, now=now) for useful in (True, False)
    ]
    useful, useless = (site_link(reverse("digest:thumb_link", args=[link])) for link in signed)
    return MailItem(
        title=item.title,
        href=shown.href or f"{page}?from=mail",
        source=item.source_name,
        # A date and not "3 hours ago", because a mail may be read days later.
        age=date_format(dated.astimezone(reader.zone), _("j F, H:i")),
        lede=shown.lede,
        by=origin_words(shown),
        language=item.language,
        reasons=shown.why.chips,
        also=also_words(shown),
        page=f"{page}?from=mail",
        useful_url=useful,
        useless_url=useless,
        is_again=row.slot == Impression.Slot.AGAIN,
    )


def impressions_shown(*, reader: Reader, impressions: Sequence[Impression], now: datetime) -> list[ShownItem]:
    """Return the impressions as pages show them, without score breakdowns. A constant number of queries."""
    scored = [ScoredItem(row.item, row.parts, row.score, row.slot) for row in impressions]
    return items_shown(reader=reader, scored=scored, now=now, ratings={}, breakdown=False)


def also_words(shown: ShownItem) -> str:
    """Return the line on other sources of the story: "also reported by Courier, Post and 2 others"."""
    if shown.also is None or not shown.also.sources:
        return ""
    mates = [mate for mate, _link in shown.also.items if mate.source_key != shown.item.source_id]
    names = list(dict.fromkeys(mate.source for mate in mates))
    rest = len(names) - NAMED
    if rest > 0:
        others = ngettext("{n} other", "{n} others", rest).format(n=rest)
        names = [*names[:NAMED], others]
    if len(names) == 1:
        return _("also reported by {source}").format(source=names[0])
    words = _("also reported by {sources} and {last}")
    return words.format(sources=", ".join(names[:-1]), last=names[-1])


def origin_words(shown: ShownItem) -> str:
    """Return a note if a model wrote the opening, or "" if the publisher wrote it."""
    return shown.summary_words if shown.summary and shown.summary.by_model else ""
