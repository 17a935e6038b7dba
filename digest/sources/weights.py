"""Weights of the sources that a reader's feeds belong to, by level or exactly, and rules of a source."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from digest.models import Feed, Reader
from ranking.config_words import OPEN
from ranking.entities import InvalidSetting
from ranking.language import gettext as _
from ranking.services import source_rules_set, source_settings_copy, source_weights_set, target_pin
from ranking.setting_scale import weight_read
from ranking.source_rules import SourceRules


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
    """Store which suggestions are allowed for a source, one of `CHOICES`. Return the version."""
    pin = "" if pin == OPEN else pin
    return target_pin(reader_id=reader_id, target=source, pin=pin, ref="", now=now)


def source_rules_choose(
    *, reader_id: UUID, source: str, shelf_life: str, daily_limit: str, never_missed: bool, now: datetime
) -> int:
    """Store a reader's rules for a source, given as text ("" for none). Return the version.

    Raises `InvalidSetting` if a value is no whole number in range.
    """
    rules = SourceRules(_number(shelf_life), _number(daily_limit), never_missed)
    return source_rules_set(reader_id=reader_id, source=source, rules=rules, now=now)


def _number(typed: str) -> int | None:
    """Return a whole number, or `None` for an empty choice. Raises `InvalidSetting`."""
    if not typed.strip():
        return None
    try:
        return int(typed)
    except ValueError as error:
        raise InvalidSetting(_("“{typed}” is no whole number.").format(typed=typed[:20])) from error


def source_settings_follow(*, reader_id: UUID, source: str, to: str, now: datetime) -> None:
    """Copy the reader's settings of `source` to `to`, the source that their feed moved to."""
    source_settings_copy(reader_id=reader_id, source=source, to=to, now=now)
