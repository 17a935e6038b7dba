"""Page data of the sources: the reader's subscriptions, those in trouble first, the rest by folder."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from digest.daily.first_fetch_notice import notice_sources
from digest.daily.item_words import age_words, feed_health
from digest.feedback.selectors import RatingCounts, feedback_by_source
from digest.feeds.access import LOCKED
from digest.feeds.connect import ADDRESS_QUESTION
from digest.feeds.fetch import host_of
from digest.feeds.health import FeedCondition, feed_condition, feed_counts, feed_trouble
from digest.feeds.identity import web_url
from digest.feeds.problem_words import note_words, problem_words
from digest.feeds.selectors import NEWSLETTER_PREFIX, feed_facts, outage_began_at, subscriptions_of
from digest.items.listing import feeds_read, unread_counts
from digest.items.selectors import items_by_feed, mutes_in_force
from digest.items.tails import tails_of
from digest.items.unread import UnreadCounts
from digest.models import Reader, Subscription
from digest.places import turn_shared
from digest.sources.subscriptions import left_out_words
from ranking.config_words import weight_parts_words, weight_words
from ranking.entities import WEIGHT_DEFAULT, EffectiveConfig
from ranking.language import figure, thousands
from ranking.selectors import config_effective
from ranking.setting_scale import LEVELS, level_words, weight_level

# The filters of the list, and their words in the form.
SHOWN: Final = {
    "": gettext_noop("all"),
    "trouble": gettext_noop("those in trouble"),
    "quiet": gettext_noop("those with nothing new for 60 days"),
    "weighed": gettext_noop("those that count less or more"),
}
# In this order, with the name each row is marked by.
TROUBLES: Final = {
    "gone": gettext_noop("Gone"),
    "refused": gettext_noop("Refused"),
    "failing": gettext_noop("Failing"),
    "moved": gettext_noop("Moved"),
    "empty": gettext_noop("Empty"),
}
FIND_CHARS: Final = 100
# Others may go first after so many lines: two milliseconds.
LINES_A_LOOK: Final = 8
# This many sources fit on two screens. With more, folders begin closed.
UNFOLDED_MAX: Final = 40
# How often a feed brings something is told from its items of so long.
PACE_WEEKS: Final = 4


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One subscription on the sources page.

    - `address`: where the feed is fetched from, "" if it is not fetched.
    - `health`, `condition`: how its fetches go, in words and as a value. `trouble`: one of `TROUBLES`, or "".
    - `setting`, `figure`: the weight of its source, and that in figures with the part that ratings add.
      `level`: one of `ranking.setting_scale.LEVELS`, "" for a weight between them.
    - `thumbs`: the part of the weight that was learned from ratings, in figures.
    - `rated`: how many of its articles were rated and liked, in words; `liked`: the same, shorter, for a row.
    - `others`: how many other feeds of the same source the reader has, which share its weight and ratings.
    - `is_muted`: a mute hides all of its source.
    - `pace`, `came`, `unread`: how much it brings, when it last did, and how much is unread, in words.
    - `tail`: what tells it apart from others of its name.
    """

    subscription: Subscription
    address: str
    health: str
    condition: FeedCondition
    trouble: str
    setting: float
    figure: str
    level: str
    thumbs: str = ""
    rated: str = ""
    liked: str = ""
    others: int = 0
    is_muted: bool = False
    pace: str = ""
    came: str = ""
    unread: str = ""
    tail: str = ""

    @property
    def failing(self) -> bool:
        """Return whether the feed is failing, refused or gone."""
        ended = self.condition in (FeedCondition.GONE, FeedCondition.REFUSED)
        return self.subscription.feed.failures > 0 or ended

    @property
    def in_digest(self) -> bool:
        """Return whether its items may come into a digest."""
        return self.subscription.in_today and not self.is_muted

    @property
    def is_private(self) -> bool:
        """Return whether nobody else here can read the feed."""
        return self.subscription.feed.owner_id is not None

    @property
    def is_newsletter(self) -> bool:
        """Return whether the feed is a newsletter, which comes by mail."""
        return self.subscription.feed.own_address.startswith(NEWSLETTER_PREFIX)

    @property
    def is_locked(self) -> bool:
        """Return whether its server asks for a password, or does not take the one it was given."""
        feed = self.subscription.feed
        return bool(self.address) and bool(feed.failures) and feed.error_code in LOCKED

    @property
    def name(self) -> str:
        """Return the reader's name for the feed, or its own title, or its source's key."""
        return self.subscription.name

    @property
    def also(self) -> str:
        """Return the feed's own title if the reader calls it otherwise, else ""."""
        return self.subscription.feed.name if self.subscription.own_name else ""

    @property
    def moved(self) -> str:
        """Return the new address of a feed that moved."""
        feed = self.subscription.feed
        return _("Its address now leads to {value}.").format(
            value=feed.answered_by or host_of(feed.moved_url)
        )

    @property
    def source(self) -> str:
        """Return the name of the feed's source, for a sentence about all its feeds.

        If this is its only feed here and the reader has named it, it is that name. Else it is the title of
        the source, or its key if the feed has no title yet.
        """
        if self.subscription.own_name and not self.others:
            return self.subscription.own_name
        feed = self.subscription.feed
        return str(feed.source) if feed.title else feed.source_id

    @property
    def remarks(self) -> str:
        """Return the subscription's settings that differ from the usual ones, in a few words each; its weight
        is shown elsewhere."""
        models = "" if self.subscription.ai_enabled else _("no models")
        muted = _("muted") if self.is_muted else ""
        not_in_today = "" if self.subscription.in_today else _("not in Today")
        words = ngettext(
            "one source with {n} other feed of {source}",
            "one source with {n} other feeds of {source}",
            self.others,
        )
        shared = words.format(n=self.others, source=self.source)
        parts = (shared if self.others else "", models, muted, not_in_today)
        return " · ".join(part for part in parts if part)

    @property
    def exact(self) -> str:
        """Return a weight between the levels in words: its parts, or the reader's setting with its figure."""
        if self.level:
            return ""
        return (
            weight_parts_words(self.setting, self.thumbs) if self.thumbs else f"{self.weight} ({self.figure})"
        )

    @property
    def weight(self) -> str:
        """Return the reader's setting in words."""
        return weight_words(self.setting)

    @property
    def folder(self) -> str:
        """Return the reader's folder for it, or ""."""
        return self.subscription.folder

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether each of the (case-folded) words is in one of its names or its address."""
        text = f"{self.name} {self.also} {self.address}".casefold()
        return all(word in text for word in words)

    def is_shown(self, show: str) -> bool:
        """Return whether it passes the filter `show`, one of `SHOWN`."""
        match show:
            case "trouble":
                return bool(self.trouble)
            case "quiet":
                return self.condition == FeedCondition.QUIET
            case "weighed":
                return self.level != "usual"
        return True


@dataclass(frozen=True, slots=True)
class Folder:
    """Subscriptions of one folder; `name` is "" for those in none. `unread` counts theirs, in words."""

    name: str
    lines: tuple[SourceLine, ...]
    unread: str = ""


def lines_find(lines: Sequence[SourceLine], find: str, show: str) -> list[SourceLine]:
    """Return the lines that have all words of `find` and belong to `show`."""
    words = find.casefold().split()
    return [line for line in lines if line.is_shown(show) and line.matches(words)]


def sources_page(reader: Reader, now: datetime, find: str = "", show: str = "") -> dict[str, Any]:
    """Return the reader’s subscriptions that match `find` and `show`: those in trouble, the rest by folder.

    `sources` has all of them. A constant number of queries.
    """
    lines = source_lines(reader, now)
    counts = feed_counts((feed_facts(line.subscription.feed) for line in lines), now=now)
    if counts.none_answers:
        lines = [replace(line, health=line.health.replace(f" {_(ADDRESS_QUESTION)}", "")) for line in lines]
    unread = UnreadCounts()
    if not reader.hide_counts:
        unread = unread_counts(reader_id=reader.pk, feeds=feeds_read(reader_id=reader.pk), now=now)
    found = _with_figures(lines_find(lines, find, show), unread, reader, now)
    order = list(TROUBLES)
    troubled = sorted((line for line in found if line.trouble), key=lambda line: order.index(line.trouble))
    # Those in no folder come first.
    rest = sorted((line for line in found if not line.trouble), key=_folder_key)
    folders = [
        Folder(name, rows, _folder_unread(name, rows, lines, unread))
        for name, group in groupby(rest, key=lambda line: line.folder)
        for rows in [tuple(group)]
    ]
    return {
        "sources": lines,
        "in_digest": sum(line.in_digest for line in lines),
        "count": len(found),
        "troubled": troubled,
        "folders": folders,
        "filed": any(folder.name for folder in folders),
        "unfolded": bool(find or show) or len(found) <= UNFOLDED_MAX,
        "names": sorted({line.folder for line in lines if line.folder}, key=str.casefold),
        "filling": notice_sources([line.subscription for line in lines], now),
        "trouble": sum(bool(line.trouble) for line in lines),
        "list_lacks": left_out_words([line.subscription.feed for line in lines]),
        "private": any(line.is_private and line.address for line in lines),
        "feeds": counts,
        "no_network_since": outage_began_at(),
        "find": find,
        "show": show,
        "shown": [(code, _(words)) for code, words in SHOWN.items()],
        "levels": [(name, level_words(name)) for name in LEVELS],
    }


def _with_figures(
    lines: Sequence[SourceLine], unread: UnreadCounts, reader: Reader, now: datetime
) -> list[SourceLine]:
    """Return the lines with what their feeds bring and how much of it is unread. One query."""
    brought = items_by_feed(reader_id=reader.pk, since=now - timedelta(weeks=PACE_WEEKS))
    return [
        replace(
            line,
            pace=_pace_words(brought.get(feed.pk, 0)),
            came=age_words(feed.last_new_at, now) if feed.last_new_at else "",
            unread=_unread_words(unread.feeds.get(feed.pk, 0)),
        )
        for line in lines
        for feed in [line.subscription.feed]
    ]


def _folder_unread(
    name: str, shown: Sequence[SourceLine], lines: Sequence[SourceLine], unread: UnreadCounts
) -> str:
    """Return how much is unread in the `shown` feeds of a folder: those found, without those in trouble."""
    if len(shown) == sum(line.folder == name for line in lines):
        return _unread_words(unread.folders.get(name, 0))
    # An article of two of the feeds counts twice, as it does in their rows.
    return _unread_words(sum(unread.feeds.get(line.subscription.feed_id, 0) for line in shown))


def _unread_words(count: int) -> str:
    return ngettext("{n} unread", "{n} unread", count).format(n=thousands(count)) if count else ""


def _pace_words(count: int) -> str:
    """Return how often that is, of the items of `PACE_WEEKS`, in the unit that gives a figure from 1 to 7."""
    if count >= PACE_WEEKS * 7:
        return _("{n} a day").format(n=thousands(round(count / (PACE_WEEKS * 7))))
    if count >= PACE_WEEKS:
        return _("{n} a week").format(n=round(count / PACE_WEEKS))
    return _("{n} a month").format(n=count) if count else ""


def _folder_key(line: SourceLine) -> tuple[str, str]:
    return line.folder.casefold(), line.folder


def source_lines(reader: Reader, now: datetime) -> list[SourceLine]:
    """Return the reader's subscriptions by name, with feed health, source weight and ratings."""
    effective, rated = config_effective(reader_id=reader.pk), feedback_by_source(reader_id=reader.pk)
    rows = subscriptions_of(reader_id=reader.pk)
    feeds = Counter(row.feed.source_id for row in rows)
    lines = [_source_line(row, effective, rated, now) for row in turn_shared(rows, every=LINES_A_LOOK)]
    muted = mutes_in_force(reader_id=reader.pk, now=now).sources
    tails = tails_of([line.name for line in lines], [line.subscription.feed.address for line in lines])
    lines = [
        replace(one, others=feeds[source] - 1, is_muted=source in muted, tail=tail)
        for one, tail in zip(lines, tails, strict=True)
        for source in [one.subscription.feed.source_id]
    ]
    return sorted(lines, key=lambda line: (line.name.casefold(), line.subscription.feed.url))


def _source_line(
    row: Subscription, effective: EffectiveConfig, rated: dict[str, RatingCounts], now: datetime
) -> SourceLine:
    feed, weight, tally = row.feed, effective.weight(row.feed.source_id), rated.get(row.feed.source_id)
    health = feed_health(
        feed.state,
        problem_words(feed.error_code, feed.error_message),
        feed.failures,
        feed.last_fetched_at,
        now,
        last_new=feed.last_new_at,
        next_check=feed.next_check_at,
        every_minutes=feed.check_minutes,
        note=note_words(feed.note),
    )
    if feed.own_address.startswith(NEWSLETTER_PREFIX):
        health = _("By mail. The last issue came {ago}.").format(ago=age_words(feed.last_new_at or now, now))
    facts = feed_facts(feed)
    return SourceLine(
        subscription=row,
        address=web_url(feed.address),
        health=health,
        condition=feed_condition(facts, now=now),
        trouble=feed_trouble(facts, now=now),
        setting=effective.config.source_weights.get(row.feed.source_id, WEIGHT_DEFAULT),
        figure=figure(weight),
        level=weight_level(weight),
        thumbs=figure(learned, "+.2f") if (learned := effective.deltas.get(row.feed.source_id)) else "",
        rated=_("you found {likes} of {n} useful").format(likes=tally.likes, n=tally.n) if tally else "",
        liked=_("{likes} of {n} liked").format(likes=tally.likes, n=tally.n) if tally else "",
    )
