"""The rows of a made-up installation, as lines for COPY. Each function gives one table's, in order."""

import json
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from digest.entities import ITEM_WINDOW_DAYS
from tests.lab.load.world import DAY_S, Floats, Ints, World

NULL = r"\N"
FOLDERS = ("", "News", "Science", "Code", "Friends")
ZONES = [("UTC", 0), ("Europe/Berlin", 1), ("America/New_York", -5), ("Asia/Tokyo", 9)]
HEADLINE, WORDS = 8, 60
# The newest items wait for the nightly job: no story, vector or extract yet.
FRESH = 2_000
SUMMARY_DAYS, VECTOR_DAYS = 30, 60
CHUNK = 2_000
OPENED, READ, SAVED = 0.3, 0.25, 0.02
PARTS = (
    '{"source_weight": 1.0, "config_weight": 1.0, "learned_delta": 0.0, "age_hours": 14.5, "recency": 0.72, '
    '"topics": ["%s"], "boosts": {}, "similarity": 0.11, "community": 0.0, "interest": 1.3}'
)


class Moments:
    """Moments as PostgreSQL reads them, from seconds since the beginning of the world."""

    def __init__(self, world: World, now: datetime) -> None:
        self.now, self.end = now, float(world.size.days * DAY_S)
        self.start = now - timedelta(days=world.size.days)

    def at(self, seconds: Floats) -> list[str]:
        """Return one for each of the seconds; none after now."""
        stamps = np.datetime64(self.start.replace(tzinfo=None), "ms")
        there = stamps + (np.minimum(seconds, self.end) * 1000).astype("timedelta64[ms]")
        return [f"{moment}Z" for moment in np.datetime_as_string(there)]

    def ago(self, days: float) -> str:
        """Return the time this many days before now."""
        return (self.now - timedelta(days=days)).isoformat()


def reader_id(world: World, reader: int) -> uuid.UUID:
    """Return the key of a reader: the same for the same seed."""
    return uuid.uuid5(uuid.NAMESPACE_OID, f"reader {world.seed} {reader}")


def sources(world: World) -> Iterator[str]:
    """key, title."""
    return (f"s{n}.example\tSource {n}" for n in range(world.size.feeds))


def feeds(world: World, at: Moments) -> Iterator[str]:
    """id, url, source, title, site_url, state, etag, last_modified, last_fetched_at, next_check_at,
    failures, error_code, error_message, missing, check_minutes, last_new_at, moved_url, moved_sightings,
    answered_by."""
    for n in range(world.size.feeds):
        yield (
            f"{n + 1}\thttps://s{n}.example/feed\ts{n}.example\tFeed {n}\thttps://s{n}.example/\tactive\t\t\t"
            f"{at.ago(0.01)}\t{at.ago(-0.5)}\t0\t\t\t0\t60\t{at.ago(0.1)}\t\t0\t"
        )


def texts(world: World, first: int, last: int) -> tuple[list[str], list[str]]:
    """Titles and texts of items `first + 1` to `last`: words by Zipf's law, the topic third in the title."""
    dice = world.dice(1, first)
    # 1/rank over the vocabulary, by the inverse of its logarithm.
    ranks = (len(world.words) ** dice.random((last - first, HEADLINE + WORDS))).astype(np.int64) - 1
    ranks[:, 2] = world.topic[first:last]
    said = world.words[ranks].tolist()
    return [" ".join(row[:HEADLINE]).capitalize() for row in said], [" ".join(row[HEADLINE:]) for row in said]


def items(
    world: World, at: Moments, first: int, titles: Sequence[str], bodies: Sequence[str]
) -> Iterator[str]:
    """id, feed, guid, url, article, own, source, title, text, author, language, published_at, first_seen_at,
    dated_at, fingerprint, story, clustered_at. Two of twenty items tell one story."""
    stamps = at.at(world.second[first : first + len(titles)])
    done = world.size.items - FRESH
    for n, (title, body, stamp) in enumerate(zip(titles, bodies, stamps, strict=True), start=first + 1):
        feed = world.feed[n - 1]
        story = str(n // 20 + 1) if n <= done and n % 20 in (0, 7) else NULL
        seen = stamp if n <= done else NULL
        yield (
            f"{n}\t{feed + 1}\tguid-{n}\thttps://s{feed}.example/{n}\t{n}\tt\ts{feed}.example\t{title}\t{body}\t\ten\t"
            f"{stamp}\t{stamp}\t{stamp}\t{n:064x}\t{story}\t{seen}"
        )


def summaries(at: Moments, first: int, bodies: Sequence[str]) -> Iterator[str]:
    """fingerprint, model, text, citations, repaired, refusal, cost_usd, created_at."""
    for n, body in enumerate(bodies, start=first + 1):
        yield f"{n:064x}\toffline\t{body[:160]}\t[]\tf\t\t0\t{at.ago(1)}"


def reasons(at: Moments, first: int, bodies: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    """fingerprint, model, reasons, cost_usd, created_at."""
    offered = json.dumps([{"tag": tag, "text": tag} for tag in tags[:3]])
    return (
        f"{n:064x}\toffline\t{offered}\t0\t{at.ago(1)}" for n in range(first + 1, first + len(bodies) + 1)
    )


def readers(world: World, at: Moments, first: int, last: int) -> Iterator[str]:
    """id, username, password, first_name, last_name, email, is_superuser, is_staff, is_active, date_joined,
    time_zone, ai_enabled, peers_enabled, suggestions_enabled, mail_rhythm, mail_hour, mail_weekday,
    feed_token, welcomed_at."""
    for n in range(first, last):
        yield (
            f"{reader_id(world, n)}\tr{n:05}\t!\t\t\t\tf\tf\tt\t{at.ago(200)}\t{ZONES[n % len(ZONES)][0]}\t"
            f"t\tt\tt\toff\t7\t0\ttoken-{n:05}\t{at.ago(199)}"
        )


def subscriptions(world: World, at: Moments, first: int, last: int) -> Iterator[str]:
    """reader, feed, created_at, folder, ai_enabled; the feeds of a reader are dealt out to `FOLDERS`."""
    for n in range(first, last):
        key = reader_id(world, n)
        for place, feed in enumerate(world.reads[n]):
            yield f"{key}\t{feed + 1}\t{at.ago(150)}\t{FOLDERS[place % len(FOLDERS)]}\tt"


def digests(world: World, at: Moments, first: int, last: int) -> Iterator[str]:
    """id, reader, date, config_version, built_at, left_out, exposed_at: built six hours ago, a day apart."""
    days = world.size.digest_days
    for n in range(first, last):
        zone, opened = ZONES[n % len(ZONES)][1], world.dice(2, n).random(days) < OPENED
        for back in range(days):
            day = (at.now + timedelta(hours=zone, days=-back)).astimezone(UTC).date()
            shown = at.ago(back + 0.2) if opened[back] else NULL
            key = n * days + back + 1
            yield f"{key}\t{reader_id(world, n)}\t{day}\t0\t{at.ago(back + 0.25)}\t{{}}\t{shown}"


def shown_to(world: World, reader: int) -> list[Ints]:
    """Return the items in each digest of a reader, newest digest first: items of its week, by rank."""
    ids, dice, end = world.items_of(reader), world.dice(3, reader), world.size.days * DAY_S
    found = []
    for back in range(world.size.digest_days):
        last = end - back * DAY_S - DAY_S / 4
        week = world.between(ids, last - ITEM_WINDOW_DAYS * DAY_S, last)
        found.append(dice.permutation(week)[: world.size.shown])
    return found


def impressions(world: World, reader: int, shown: Sequence[Ints]) -> Iterator[str]:
    """digest, item, rank, score, parts, propensity, slot."""
    for back, chosen in enumerate(shown):
        digest = reader * world.size.digest_days + back + 1
        for rank, item in enumerate(chosen.tolist(), start=1):
            parts = PARTS % world.words[world.topic[item - 1]]
            yield f"{digest}\t{item}\t{rank}\t{2 / rank:.4f}\t{parts}\t1\tranked"


def exposures(world: World, at: Moments, reader: int, shown: Sequence[Ints]) -> Iterator[str]:
    """reader, item, date, door, rank, slot, propensity, score, config_version, shown_at: if opened."""
    key, zone = reader_id(world, reader), ZONES[reader % len(ZONES)][1]
    opened = world.dice(2, reader).random(world.size.digest_days) < OPENED
    for back, chosen in enumerate(shown):
        if not opened[back]:
            continue
        day = (at.now + timedelta(hours=zone, days=-back)).astimezone(UTC).date()
        for rank, item in enumerate(chosen.tolist(), start=1):
            yield f"{key}\t{item}\t{day}\tpage\t{rank}\tranked\t1\t{2 / rank:.4f}\t0\t{at.ago(back + 0.2)}"


def readings(world: World, at: Moments, reader: int, shown: Sequence[Ints]) -> Iterator[str]:
    """Yield reader, item, article, read_at, saved_at: a quarter of the shown items is read, one in fifty
    saved."""
    key, dice, seen = reader_id(world, reader), world.dice(4, reader), set[int]()
    for back, chosen in enumerate(shown):
        chance = dice.random(len(chosen)).tolist()
        for item, luck in zip(chosen.tolist(), chance, strict=True):
            if luck < READ and item not in seen:
                seen.add(item)
                saved = at.ago(back + 0.1) if luck < SAVED else NULL
                yield f"{key}\t{item}\t{item}\t{at.ago(back + 0.1)}\t{saved}"
