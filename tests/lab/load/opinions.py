"""The ratings of a made-up installation's readers, and the advisor's results, as lines for COPY."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tests.lab.load.lines import NULL, Moments, reader_id
from tests.lab.load.world import DAY_S, Floats, Ints, World

# Log-odds of a thumb up: the base, the spread between a reader's feeds, two topics liked and one not.
BASE, BETWEEN_FEEDS, TOPIC = 0.4, 1.0, 1.2
WITH_REASON = 0.4
STATUSES = ("accepted", "rejected", "expired", "pending")


class Thumbs(NamedTuple):
    """One reader's thumbs: item ids, useful or not, seconds from the beginning, with a reason or not."""

    items: Ints
    useful: np.ndarray
    seconds: Floats
    tagged: np.ndarray


def thumbs_of(world: World, reader: int) -> Thumbs:
    """Return thumbs by the reader's taste, each within two days of its item."""
    dice, end = world.dice(5, reader), float(world.size.days * DAY_S)
    ids = world.between(world.items_of(reader), end - world.size.thumb_days * DAY_S, end - DAY_S)
    count = min(int(world.thumbs[reader]), len(ids) // 2)
    items = np.sort(dice.choice(ids, count, replace=False)) if count else ids[:0]
    taste = dice.normal(0, BETWEEN_FEEDS, len(world.reads[reader]))
    topics = dice.choice(world.topic[ids - 1], 3) if count else np.zeros(3, np.int64)
    odds = BASE + taste[np.searchsorted(world.reads[reader], world.feed[items - 1])]
    about = world.topic[items - 1]
    odds = odds + TOPIC * (np.isin(about, topics[:2]).astype(float) - (about == topics[2]))
    useful = dice.random(count) < 1 / (1 + np.exp(-odds))
    seconds = np.minimum(world.second[items - 1] + dice.uniform(0, 2 * DAY_S, count), end - 1)
    return Thumbs(items, useful, seconds, dice.random(count) < WITH_REASON)


def thumb_lines(world: World, at: Moments, reader: int, said: Thumbs, first: int) -> Iterator[str]:
    """id, reader, item, article, useful, at, day, has_reason, other_reasons; ids from `first` on."""
    key, start = reader_id(world, reader), at.start.timestamp()
    stamps = at.at(said.seconds)
    rows = zip(said.items.tolist(), said.useful.tolist(), stamps, said.seconds, said.tagged, strict=True)
    for n, (item, useful, stamp, second, tagged) in enumerate(rows, start=first):
        day = int((start + second) // DAY_S)
        thumb, reason = "t" if useful else "f", "t" if tagged else "f"
        yield f"{n}\t{key}\t{item}\t{item}\t{thumb}\t{stamp}\t{day}\t{reason}\t[]"


def tag_lines(said: Thumbs, first: int, liked: Sequence[str], disliked: Sequence[str]) -> Iterator[str]:
    """feedback, tag."""
    for n, (useful, tagged) in enumerate(zip(said.useful.tolist(), said.tagged.tolist(), strict=True), first):
        if tagged:
            choice = liked if useful else disliked
            yield f"{n}\t{choice[n % len(choice)]}"


def learned_lines(world: World, at: Moments, reader: int) -> Iterator[str]:
    """reader, source_key, delta, p_better, n, updated_at: of ten sources."""
    dice, key = world.dice(6, reader), reader_id(world, reader)
    for feed, delta in zip(world.reads[reader][:10], dice.uniform(-0.3, 0.3, 10), strict=False):
        yield f"{key}\ts{feed}.example\t{delta:.3f}\t0.9\t6\t{at.ago(8)}"


def run_lines(world: World, at: Moments, reader: int) -> Iterator[str]:
    """id, reader, day, trigger, status, model, meta, created_at, finished_at, and the counts at 0: one run
    in each of the last three weeks, the latest eight days ago."""
    key = reader_id(world, reader)
    for week in range(3):
        when = at.ago(8 + 7 * week)
        run = reader_id(world, (week + 1) * 10_000_000 + reader)
        yield (
            f"{run}\t{key}\t{when[:10]}\tscheduled\tcompleted\t\t\tplanner\t0\t0\t0\t0\t0\t{{}}\t1\t1\t"
            f"{when}\t{when}"
        )


def decided(reader: int) -> int:
    """Days since a reader's suggestions were decided: for one in fourteen a check of the effect is due."""
    return 20 if reader % 14 == 0 else 11


def suggestion_lines(world: World, at: Moments, reader: int) -> Iterator[tuple[str, int, str]]:
    """id, reader, run_id, suggestion_type, field, target_key, label, current_value, suggested_value, reason,
    model_note, confidence, p_helpful, forecast, expected_impact, config_version, status, validation_notes,
    created_at, resolved_at; with each its id and status: three or four a reader, each of another source."""
    key = reader_id(world, reader)
    for n, status in enumerate(STATUSES):
        if status == "pending" and reader % 3:
            continue
        made, feed = at.ago(2 if status == "pending" else decided(reader) + 3), world.reads[reader][n]
        done = NULL if status == "pending" else at.ago(decided(reader))
        pk = reader * len(STATUSES) + n + 1
        run = reader_id(world, 10_000_000 + reader)
        kind, value = ("boost_source", "1.30") if n % 2 else ("reduce_source", "0.70")
        line = (
            f"{pk}\t{key}\t{run}\t{kind}\tsource_weights\ts{feed}.example\tSource {feed}\t1.00\t{value}\t"
            f"Your thumbs on this source speak for it.\t\thigh\t0.9\t{{}}\t\t0\t{status}\t[]\t{made}\t{done}"
        )
        yield line, pk, status


def evidence_lines(world: World, at: Moments, said: Thumbs, suggestion: int) -> Iterator[str]:
    """suggestion, item, url, title, source_key, useful, reason_tags, rated_at: three thumbs."""
    start = 3 * ((suggestion - 1) % len(STATUSES))
    for item, useful in zip(said.items[start : start + 3], said.useful[start : start + 3], strict=True):
        feed = world.feed[item - 1]
        yield (
            f"{suggestion}\t{item}\thttps://s{feed}.example/{item}\tAn item\ts{feed}.example\t"
            f"{'t' if useful else 'f'}\t[]\t{at.ago(20)}"
        )


def outcome_line(world: World, at: Moments, reader: int, suggestion: int, status: str) -> str:
    """suggestion, reader, kind, outcome, suggestion_type, target_key, user_reason, edited_value,
    config_before, config_after, evidence_summary, measured, created_at, decided_at."""
    feed = world.reads[reader][(suggestion - 1) % len(STATUSES)]
    kind = "boost_source" if (suggestion - 1) % 2 else "reduce_source"
    return (
        f"{suggestion}\t{reader_id(world, reader)}\tdecision\t{status}\t{kind}\ts{feed}.example\t\t\t"
        f"{{}}\t{NULL}\t[]\t{{}}\t{at.ago(decided(reader) + 3)}\t{at.ago(decided(reader))}"
    )
