"""Other readers' opinion of sources, items and topics, from published figures only, never from thumbs.

`digest.feedback.noisy_counts` makes the figures, at most once a UTC day. Only readers who share get them,
from the moment they agree until they stop. The reader's own thumbs are part of the figures.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

from django.conf import settings

from digest.days import utc_day
from digest.models import ItemFigure, Reader, SourceFigure
from ranking.common.text import fold, term_matches, topic_key
from ranking.community import Figure, Opinion, figures_sum, item_rate, like_rate, opinion_of
from ranking.selectors import read_once

PERIOD_DAYS = 28
# How many closed periods of source figures count. Item figures count as long.
PERIODS = 4


def community_deviation(*, reader_id: UUID, now: datetime) -> Mapping[str, float]:
    """Return {source: how much more (+) or less (-) than usual the community likes it}.

    Only sources with a published figure, in steps of 0.05 up to +-0.2; zeros are left out. Empty for a reader
    who does not share. Two queries.
    """
    return community_deviation_many(reader_ids=[reader_id], now=now).get(reader_id, {})


def community_deviation_many(
    *, reader_ids: Collection[UUID], now: datetime
) -> dict[UUID, Mapping[str, float]]:
    """Return {reader: `community_deviation`} for the readers who share. Two queries."""
    sharing = readers_sharing(reader_ids=reader_ids)
    if not sharing:
        return {}
    figures, usual = _source_figures(now)
    found = {source: opinion_of(figure, usual).deviation for source, figure in figures.items()}
    differing = {source: deviation for source, deviation in found.items() if deviation}
    return {reader_id: differing for reader_id in sharing}


def community_opinion(*, reader_id: UUID, source: str = "", topic: str = "", now: datetime) -> Opinion | None:
    """Return the opinion of one source, or of published items with `topic` in their titles; three queries.

    `None` if nothing was published, or if the reader does not share.
    """
    if not readers_sharing(reader_ids=[reader_id]):
        return None
    figures, usual = _source_figures(now)
    found = [figures[source]] if source in figures else [] if source else _topic_figures(topic, now)
    return opinion_of(figures_sum(found), usual) if found else None


def community_rates_many(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: datetime
) -> dict[UUID, Mapping[int, float]]:
    """Return {reader: {item: the effect of its published figure on its score}}. Positive means liked.

    Values have steps of 0.05; zeros are left out. Readers who do not share are missing. Three queries for all
    readers.
    """
    sharing = readers_sharing(reader_ids=reader_ids)
    if not sharing or not item_ids:
        return {}
    (_, usual), wanted = _source_figures(now), set(item_ids)
    rows = ItemFigure.objects.filter(
        pk__gte=min(wanted), pk__lte=max(wanted), day__gt=_oldest(now), day__lte=utc_day(now)
    )
    rates = {
        item: item_rate(Figure(likes, thumbs), usual)
        for item, likes, thumbs in rows.values_list("pk", "likes", "thumbs")
        if item in wanted
    }
    found = {item: rate for item, rate in rates.items() if rate}
    return {reader: found for reader in sharing}


def readers_sharing(*, reader_ids: Collection[UUID]) -> set[UUID]:
    """Return which of the readers share now; none if the feature is turned off."""
    if not settings.PEERS_ENABLED:
        return set()
    wanted = frozenset(reader_ids)
    readers = Reader.objects.filter(pk__in=wanted, peers_enabled=True, is_active=True)
    return read_once(("readers_sharing", wanted), partial(set, readers.values_list("pk", flat=True)))


def _oldest(now: datetime) -> int:
    return utc_day(now) - PERIODS * PERIOD_DAYS


def _source_figures(now: datetime) -> tuple[dict[str, Figure], float]:
    """Return each source's figure over the newest closed periods, and the like-rate over all sources."""
    rows = SourceFigure.objects.filter(
        period__gte=utc_day(now) // PERIOD_DAYS - PERIODS, day__lte=utc_day(now)
    ).order_by("period", "source_id")
    found: defaultdict[str | None, list[Figure]] = defaultdict(list)
    columns = rows.values_list("source_id", "likes", "thumbs")
    read: Callable[[], list[tuple[str | None, int, int]]] = partial(list, columns)
    for source, likes, thumbs in read_once(("source_figures", utc_day(now)), read):
        found[source].append(Figure(likes, thumbs))
    usual = like_rate(found.pop(None, []))
    return {source: figures_sum(figures) for source, figures in found.items() if source is not None}, usual


def _topic_figures(topic: str, now: datetime) -> list[Figure]:
    """Return the figures of items whose titles match the topic.

    The database finds titles that contain the topic's longest word. Python then matches whole words.
    """
    word = max(topic_key(topic).split(), key=len, default="")
    if not word:
        return []
    rows = ItemFigure.objects.filter(
        day__gt=_oldest(now), day__lte=utc_day(now), item__title__icontains=word.removesuffix("y")
    )
    return [
        Figure(likes, thumbs)
        for title, likes, thumbs in rows.values_list("item__title", "likes", "thumbs")
        if term_matches(topic, fold(title))
    ]
