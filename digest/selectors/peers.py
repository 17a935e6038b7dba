"""The one place where one reader's thumbs serve another: aggregates over at least five, never text or ids.

Who counts: readers who share (`peers_enabled`), are active, and have rated at least 20 items on 5 days since
at least 14 days, so that an account made to look around or to steer counts for nothing at first. Thumbs count
from the UTC day after they were given: nobody can poke at a figure and watch it move. Who does not share is
neither used nor served. `PEERS_ENABLED` turns all of it off.

What it is read from is kept in each process: `digest.selectors.crowds`.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from digest.days import utc_day
from digest.selectors.crowds import crowd_now, items_now, kept_now, thumbs_before
from ranking.crowd import (
    READERS_MIN,
    THUMBS_MIN,
    Crowd,
    Opinion,
    crowd_opinions,
    opinion_of,
    peer_opinions,
    peer_rows,
    vote,
)
from ranking.crowd_items import RATERS_MIN, item_rates, places_of
from ranking.matching import fold, term_matches, topic_key

# Thumbs on items about a topic that are looked at, newest first.
TOPIC_THUMBS_MAX = 5000


@dataclass(frozen=True, slots=True)
class TargetOpinions:
    """What others think of one target: the readers most like this one, and all who share."""

    peers: Opinion | None = None
    community: Opinion | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A crowd as one reader may ask it: the others who share now, and the reader's own row if they count."""

    crowd: Crowd
    others: NDArray[np.bool_]
    row: int | None


def community_deviation(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """Per source, how much more (+) or less (-) than usual the other sharing readers like it.

    Only sources that at least five of them rated, in steps of 0.05 up to +-0.2; where it is 0 the source is
    left out. Empty for a reader who does not share. Three queries when the crowd is kept already.
    """
    asked = _ask(reader_id, now)
    return _deviations(crowd_opinions(asked.crowd, asked.others)) if asked else {}


def peer_deviations(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """The same over the readers most like this one (Swing): per source the nearest five who rated it."""
    asked = _ask(reader_id, now)
    if asked is None or asked.row is None:
        return {}
    return _deviations(peer_opinions(asked.crowd, peer_rows(asked.crowd, asked.row, asked.others)))


def target_opinions(*, reader_id: UUID, source: str = "", topic: str = "", now: datetime) -> TargetOpinions:
    """What others think of one source, or of items with `topic` in their titles (one query more)."""
    asked = _ask(reader_id, now)
    if asked is None:
        return TargetOpinions()
    near = [] if asked.row is None else peer_rows(asked.crowd, asked.row, asked.others)
    if source:
        return TargetOpinions(
            peers=peer_opinions(asked.crowd, near).get(source),
            community=crowd_opinions(asked.crowd, asked.others).get(source),
        )
    said = _topic_votes(asked, topic, now)
    nearest = [said[row] for row in near if row in said]
    most = max(READERS_MIN, asked.crowd.index.settings.top_k)
    return TargetOpinions(peers=opinion_of(nearest[:most]), community=opinion_of(list(said.values())))


def community_rates_many(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: datetime
) -> dict[UUID, dict[int, float]]:
    """By reader and item, what other readers who share say of it (`ranking.crowd_items`): + liked, - not.

    Only items that at least five of them rated before today, in steps of 0.05; where it is 0 the item is left
    out. Nothing below 20 raters, and no entry for a reader who does not share. Three queries for all readers
    when the crowd is kept.
    """
    kept, apart = kept_now(now)
    if kept is None:
        return {}
    known = kept.rows
    gone = [known[reader] for reader in apart if reader in known]
    if len(known) - len(gone) < RATERS_MIN:
        return {}
    items = items_now(kept)
    places = places_of(items, item_ids)
    ids, found = items.items[places], {}
    for reader in set(reader_ids) - apart:
        without = [*gone, known[reader]] if reader in known else gone
        rates = item_rates(items, without, places)
        said = np.flatnonzero(rates)
        found[reader] = dict(zip(ids[said].tolist(), rates[said].tolist(), strict=True))
    return found


def community_prepare(*, now: datetime) -> None:
    """Read what `community_rates_many` keeps in a process, if anything: four queries on rows of everybody."""
    kept, _ = kept_now(now)
    if kept is not None:
        items_now(kept)


def _ask(reader_id: UUID, now: datetime) -> _Asked | None:
    kept, apart = kept_now(now)
    if kept is None or reader_id in apart:
        return None
    crowd = crowd_now(kept)
    others = np.ones(len(crowd.readers), dtype=bool)
    for gone in apart & crowd.readers.keys():
        others[crowd.readers[gone]] = False
    row = crowd.readers.get(reader_id)
    if row is not None:
        others[row] = False
    return _Asked(crowd, others, row)


def _topic_votes(asked: _Asked, topic: str, now: datetime) -> dict[int, tuple[float, float]]:
    """Row -> (votes, surplus) of each other reader with enough thumbs on titles that hold `topic`.

    The database finds titles with the topic's longest word in them, Python the whole words among them.
    """
    word = max(topic_key(topic).split(), key=len, default="")
    if not word:
        return {}
    titled = thumbs_before(utc_day(now)).filter(item__title__icontains=word.removesuffix("y"))
    newest = titled.order_by("-day", "-pk").values_list("reader_id", "item__title", "useful")
    likes: defaultdict[int, int] = defaultdict(int)
    thumbs: defaultdict[int, int] = defaultdict(int)
    for reader, title, useful in newest[:TOPIC_THUMBS_MAX]:
        row = asked.crowd.readers.get(reader)
        if row is not None and asked.others[row] and term_matches(topic, fold(title)):
            likes[row] += useful
            thumbs[row] += 1
    return {row: vote(likes[row], n, asked.crowd.base[row]) for row, n in thumbs.items() if n >= THUMBS_MIN}


def _deviations(opinions: Mapping[str, Opinion]) -> dict[str, float]:
    return {source: said.deviation for source, said in opinions.items() if said.deviation}
