"""What the sources page shows, put together: selectors asked, words found."""

from dataclasses import dataclass
from datetime import datetime

from digest.models import Reader, Subscription
from digest.presenters import feed_health, href_of
from digest.selectors.subscriptions import subscriptions_of
from ranking.entities import EffectiveConfig
from ranking.presenters import weight_words
from ranking.selectors import config_effective


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One subscription as the sources page shows it; `address` is "" where nothing is fetched from one."""

    subscription: Subscription
    address: str
    health: str
    failing: bool
    weight: str
    figure: str


def sources_of(reader: Reader, now: datetime) -> list[SourceLine]:
    """The reader's subscriptions with the health of each feed and the weight of each source."""
    effective = config_effective(reader_id=reader.pk)
    return [_source_line(row, effective, now) for row in subscriptions_of(reader_id=reader.pk)]


def _source_line(row: Subscription, effective: EffectiveConfig, now: datetime) -> SourceLine:
    feed, weight = row.feed, effective.weight(row.feed.source_id)
    health = feed_health(feed.state, feed.error_message, feed.failures, feed.last_fetched_at, now)
    return SourceLine(
        row, href_of(feed.url), health, feed.failures > 0, weight_words(weight), f"{weight:.2f}"
    )
