"""Weights of the sources that a reader's feeds belong to, set by level or exactly."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from digest.models import Feed, Reader
from ranking.config_words import OPEN
from ranking.services import source_settings_copy, source_weights_set, target_pin
from ranking.setting_scale import weight_read


def weights_at_level(*, reader_id: UUID, feed_ids: Collection[int], level: str) -> dict[str, float | None]:
    """Return the weight of `level` for each source among these feeds that the reader reads. One query.

    A source has one weight for all its feeds. Raises `InvalidSetting` as `weight_read` does.
    """
    weight = weight_read(level)
    mine = Feed.objects.filter(subscriptions__reader_id=reader_id, pk__in=feed_ids)
    return dict.fromkeys(sorted(set(mine.values_list("source_id", flat=True))), weight)


def sources_weigh(*, reader: Reader, feed_ids: Collection[int], level: str, now: datetime) -> int:
    """Set the sources of these feeds to `level`, as one version of the settings; return how many sources.

    Raises `InvalidSetting` as `ranking.setting_scale.weight_read` does.
    """
    weights = weights_at_level(reader_id=reader.pk, feed_ids=feed_ids, level=level)
    if weights:
        source_weights_set(reader_id=reader.pk, weights=weights, now=now)
    return len(weights)


def source_pin(*, reader_id: UUID, source: str, pin: str, now: datetime) -> int:
    """Store what may be suggested about a source, one of `CHOICES`; return the version."""
    pin = "" if pin == OPEN else pin
    return target_pin(reader_id=reader_id, target=source, pin=pin, ref="", now=now)


def source_settings_follow(*, reader_id: UUID, source: str, to: str, now: datetime) -> None:
    """Copy the reader's weight, pins and mute of `source` to `to`, the source that their feed moved to."""
    source_settings_copy(reader_id=reader_id, source=source, to=to, now=now)
