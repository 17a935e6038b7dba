"""Build digests: one on demand, or today's for all active readers in a round."""

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import structlog

from digest.daily.candidates import (
    DayCandidates,
    Window,
    digest_candidates,
    digest_candidates_many,
    window_load,
)
from digest.daily.compose import Rules
from digest.daily.selectors import UnseenChange, changes_unseen, digest_for, digests_current
from digest.daily.store import EarlierDay, RankedDay, digest_fill, digests_store
from digest.daily.tastes import readers_tasting
from digest.days import day_of
from digest.entities import DIGEST_SIZE
from digest.models import Digest, Reader
from ranking.common.isolation import READER, isolate, isolate_batches
from ranking.entities import Candidate, Config, EffectiveConfig, Score
from ranking.mutes import MuteFilter
from ranking.selectors import config_effective, config_effective_many
from ranking.source_rules import is_past_shelf

log = structlog.get_logger(__name__)

# How many readers' digests are stored in one transaction.
TOGETHER = 100
BUILD_FAILED = "digest_build_failed"


def digest_current(*, reader: Reader, date: dt.date, now: dt.datetime) -> Digest | None:
    """Return the digest of `date` as every page, mail, feed and API answer shows it.

    Today's is built first if it is not up to date (`digests_current`). A past day returns the digest made
    then, or `None`, because today's settings could not show the digest that the reader saw.
    """
    if date != day_of(now, reader.zone):
        return digest_for(reader_id=reader.pk, date=date)
    configs = config_effective_many(reader_ids=[reader.pk])
    current = digests_current(days={reader.pk: date}, configs=configs, now=now)
    return current.get(reader.pk) or digest_build(reader=reader, date=date, now=now)


def digest_refresh(*, reader: Reader, now: dt.datetime) -> Digest:
    """Rebuild today's digest even if it is up to date, because the reader asked for newer items."""
    return digest_build(reader=reader, date=day_of(now, reader.zone), now=now)


def digest_filled(*, reader: Reader, digest: Digest, now: dt.datetime) -> Digest:
    """Return today's digest with an item at its end for each that its reader called not useful since its
    build.

    The others keep their places, and no article that came since the build is added.
    """
    effective = config_effective(reader_id=reader.pk)
    candidates = digest_candidates(
        reader=reader, date=digest.date, now=now, seen_by=digest.built_at, effective=effective
    )
    day = ranked_day(reader=reader, date=digest.date, candidates=candidates, effective=effective)
    return digest_fill(ranked=day, rules=Rules(), now=now)


def digest_build(
    *, reader: Reader, date: dt.date, now: dt.datetime, limit: int = DIGEST_SIZE, rules: Rules | None = None
) -> Digest:
    """Build or rebuild the reader's digest of `date` (a day in the reader's zone).

    1. Rank the items of the seven days up to `now`, or up to the end of a day that is over.
    2. Compose a digest of `limit` items (`digest.daily.compose`) under the digest's row lock. Items that the
       reader has rated keep their rank and score.
    3. Store each item with its rank, slot, score and parts. If nothing changed, write nothing.

    `rules`, if given, replaces `limit`. A build that started under an older config never replaces the digest
    of a newer one. Raises `FutureDate`.
    """
    effective = config_effective(reader_id=reader.pk)
    days, configs = {reader.pk: date}, {reader.pk: effective}
    unseen = changes_unseen(readers=[reader], days=days, configs=configs)
    tasting = _with_taste(configs, unseen)[reader.pk]
    candidates = digest_candidates(reader=reader, date=date, now=now, effective=tasting)
    day = ranked_day(
        reader=reader, date=date, candidates=candidates, effective=effective, change=unseen.get(reader.pk)
    )
    return digests_store(ranked_days=[day], rules=rules or Rules(limit), now=now)[0]


def ranked_day(
    *,
    reader: Reader,
    date: dt.date,
    candidates: DayCandidates,
    effective: EffectiveConfig,
    change: UnseenChange | None = None,
) -> RankedDay:
    """Rank the reader's day, ready to be composed and stored. `change` comes from `changes_unseen`."""
    ranking, config = candidates.ranking(effective), effective.config
    return RankedDay(
        reader=reader,
        date=date,
        version=config.version,
        choices=candidates.choices(ranking, effective),
        draw=candidates.novelty_draw(effective),
        scores_of=ranking.scores_of,
        story_of=candidates.story_of,
        earlier=_earlier_day(reader, date, candidates, effective, change) if change else None,
        muted=sum(candidates.muted.values()),
        aged=candidates.count_aged(effective),
        gone=candidates.gone,
        hidden_among=partial(_hidden_among, config, date, candidates.as_of)
        if config.mutes or config.shelf_lives
        else None,
    )


def _hidden_among(config: Config, date: dt.date, now: dt.datetime, items: Iterable[Candidate]) -> set[int]:
    """Return the items that mutes hide on the reader's `date`, or that are past their shelf life `now`."""
    mutes, lives = MuteFilter(config.mutes, date), config.shelf_lives
    return {
        item.item_id
        for item in items
        if mutes.finds(item) or is_past_shelf(lives, item.source, item.dated_at, now)
    }


def _earlier_day(
    reader: Reader,
    date: dt.date,
    candidates: DayCandidates,
    effective: EffectiveConfig,
    change: UnseenChange,
) -> EarlierDay:
    """Return the day as it would be without `change`, ranked when asked for."""

    def ranked() -> RankedDay:
        then = candidates.undecided(effective.sources_moved(before)) if change.version else candidates
        day = ranked_day(reader=reader, date=date, candidates=then, effective=before)
        hidden = candidates.hidden_by(_mutes_beyond(before, effective, date))
        return replace(day, choices=[one for one in day.choices if one.item_id not in hidden])

    before = change.before
    return EarlierDay(change, _mutes_beyond(effective, before, date), ranked)


def _mutes_beyond(one: EffectiveConfig, other: EffectiveConfig, date: dt.date) -> MuteFilter:
    """Return the mutes of `one` that `other` lacks."""
    return MuteFilter([mute for mute in one.config.mutes if mute not in other.config.mutes], date)


def _with_taste(
    configs: Mapping[UUID, EffectiveConfig], unseen: Mapping[UUID, UnseenChange]
) -> dict[UUID, EffectiveConfig]:
    """Return the readers' settings, or those before their unseen change if taste counted only then."""
    tasting = readers_tasting({pk: change.before for pk, change in unseen.items()})
    tasting -= readers_tasting(configs)
    return {pk: unseen[pk].before if pk in tasting else one for pk, one in configs.items()}


def digest_rank(
    *, reader: Reader, date: dt.date, now: dt.datetime, effective: EffectiveConfig
) -> Sequence[Score]:
    """Return all candidates of the reader's `date` sorted by score alone, best first. Raises `FutureDate`."""
    found = digest_candidates(reader=reader, date=date, now=now, effective=effective)
    return found.ranking(effective)


def digests_build(*, now: dt.datetime, last_first: bool = False) -> int:
    """Build today's digest of every active reader, in the reader's zone; return how many were built.

    The items of the week are loaded and matched once for all. Readers follow in batches of a hundred, with
    the same number of queries per batch. A digest that is up to date when its batch begins is left alone. So
    an interrupted round continues, no order changes while somebody reads, and a second process that starts
    from the last readers (`last_first`) shares the work. A failure for one reader is recorded and does not
    affect the others.
    """
    readers = list(Reader.objects.filter(is_active=True).order_by("-pk" if last_first else "pk"))
    configs = _configs_of(readers)
    current = partial(digests_current, configs=configs, now=now)
    return _build_days(readers, _days_of(readers, now), configs, now, current=current)


def digests_build_missing(*, now: dt.datetime, stopping: Callable[[], bool] = lambda: False) -> int:
    """Build today's digest for every active reader who has none yet, in their zone; return how many.

    Two queries if no reader's day has begun. Otherwise it works like `digests_build`. `stopping` is asked
    before each batch of a hundred; if true, the rest waits for the next round.
    """
    around = [(now + dt.timedelta(days=n)).date() for n in (-1, 0, 1)]
    there = set(Digest.objects.filter(date__in=around).values_list("reader_id", "date"))
    everybody = list(Reader.objects.filter(is_active=True).order_by("pk"))
    days = {pk: day for pk, day in _days_of(everybody, now).items() if (pk, day) not in there}
    readers = [reader for reader in everybody if reader.pk in days]
    return _build_days(readers, days, _configs_of(readers), now, stopping=stopping)


def _days_of(readers: Sequence[Reader], now: dt.datetime) -> dict[UUID, dt.date]:
    """Return each reader's today. A reader whose time zone is unknown here is recorded and left out."""
    days = {}
    for reader in readers:
        with isolate(READER, reader.pk, BUILD_FAILED):
            days[reader.pk] = day_of(now, reader.zone)
    return days


def _configs_of(readers: Sequence[Reader]) -> dict[UUID, EffectiveConfig]:
    configs: dict[UUID, EffectiveConfig] = {}
    ids = [reader.pk for reader in readers]
    for some in isolate_batches(ids, lambda keys: config_effective_many(reader_ids=keys), event=BUILD_FAILED):
        configs |= some
    return configs


def _batches(readers: Sequence[Reader]) -> Iterator[Sequence[Reader]]:
    return (readers[start : start + TOGETHER] for start in range(0, len(readers), TOGETHER))


def _build_days(
    readers: Sequence[Reader],
    days: Mapping[UUID, dt.date],
    configs: Mapping[UUID, EffectiveConfig],
    now: dt.datetime,
    *,
    current: Callable[..., Collection[UUID]] = lambda days: (),
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Build the digests of readers in `days` and `configs`, except those that `current` calls up to date.

    The week's items are loaded when the first digest is due.
    """
    built, window = 0, None
    for some in _batches([reader for reader in readers if reader.pk in days and reader.pk in configs]):
        if stopping():
            break
        ready = current(days={reader.pk: days[reader.pk] for reader in some})
        if due := [reader for reader in some if reader.pk not in ready]:
            window = window or _window_of(configs, now)
            built += _build_together(due, days, configs, window)
    return built


def _window_of(configs: Mapping[UUID, EffectiveConfig], now: dt.datetime) -> Window:
    """Load the week's items, and match them with the terms of all these settings."""
    window, settings = window_load(now=now), [effective.config for effective in configs.values()]
    window.pool.search_for(settings)
    return window


def _build_together(
    readers: Sequence[Reader],
    days: Mapping[UUID, dt.date],
    configs: Mapping[UUID, EffectiveConfig],
    window: Window,
) -> int:
    """Build these readers' digests together; if that fails, one by one, so that one fault hits one reader."""
    with isolate(READER, f"{len(readers)} together", BUILD_FAILED, counted=False):
        unseen = changes_unseen(readers=readers, days=days, configs=configs)
        tasting = _with_taste(configs, unseen)
        candidates_of = digest_candidates_many(window=window, readers=readers, days=days, configs=tasting)
        ranked_days = list(_ranked_days(readers, days, candidates_of, configs, unseen))
        digests_store(ranked_days=ranked_days, rules=Rules(), now=window.now)
        return len(ranked_days)
    built = 0
    for reader in readers:
        with isolate(READER, reader.pk, BUILD_FAILED):
            digest_build(reader=reader, date=days[reader.pk], now=window.now)
            built += 1
    return built


def _ranked_days(
    readers: Collection[Reader],
    days: Mapping[UUID, dt.date],
    candidates_of: Mapping[UUID, DayCandidates],
    configs: Mapping[UUID, EffectiveConfig],
    unseen: Mapping[UUID, UnseenChange],
) -> Iterator[RankedDay]:
    for reader in readers:
        day = None
        with isolate(READER, reader.pk, BUILD_FAILED):
            day = ranked_day(
                reader=reader,
                date=days[reader.pk],
                candidates=candidates_of[reader.pk],
                effective=configs[reader.pk],
                change=unseen.get(reader.pk),
            )
        if day is not None:
            yield day
