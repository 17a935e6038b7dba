"""Fill PostgreSQL with a large installation: `python -m tests.lab load.seed [--seed N] [--items N] …`.

`DATABASE_URL` names the database, which is migrated first. Its user must be a superuser, because foreign keys
are not checked while rows are copied in. The default is a million items of 68 words in 100 days from 5,000
feeds, 10,000 readers of 30 feeds each with three days of digests, and 60 days of thumbs of six readers in
ten. The same seed gives the same rows except for the time of the run. Vectors, tastes and settings are made
by the product's own functions.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zlib import compress

import numpy as np

from tests.lab.load import lines, opinions
from tests.lab.load.columns import COLUMNS
from tests.lab.load.copying import connected, copy, in_parts, indexes_drop, indexes_make
from tests.lab.load.world import DAY_S, TOPICS, Size, World, world

HEAVY = ("digest_item", "digest_impression", "digest_exposure", "digest_feedback")
# Counted for the weights of terms; enough for their shares to stand still.
COUNTED = 20_000
# The first readers have settings and tastes at once, the others from their first night on.
SETTLED = 1_000


def main() -> None:
    """Fill it, and say how long each part took."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=42)
    for name in ("items", "readers", "feeds"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Size(), name))
    parser.add_argument("--settled", type=int, default=SETTLED, help="readers with settings and tastes")
    options = parser.parse_args()
    size = Size(items=options.items, readers=options.readers, feeds=options.feeds)
    for name, seconds in fill(size, options.seed, min(options.settled, size.readers)).items():
        print(f"{name:12} {seconds:7.1f} s", flush=True)


def fill(size: Size, seed: int, settled: int) -> dict[str, float]:
    """Migrate and fill the database. Return seconds by part. Raises `SystemExit` if it has items already."""
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "ERROR"}
    import django  # noqa: PLC0415 - reads the environment as it is imported
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    connection.close()
    with connected() as database:
        if database.execute("SELECT 1 FROM digest_item LIMIT 1").fetchone():
            raise SystemExit("This database holds items already. Name an empty one in DATABASE_URL.")
        made = world(size, seed)
        at = lines.Moments(made, datetime.now(UTC).replace(microsecond=0))
        took: dict[str, float] = {}
        again = indexes_drop(database, HEAVY)
        timed(took, "feeds", lambda: _feeds(database, made, at))
        stretches = _Items(made, at)
        timed(took, "items", lambda: in_parts(stretches, size.items))
        timed(took, "readers", lambda: in_parts(_Readers(made, at), size.readers))
        timed(took, "indexes", lambda: indexes_make(again))
        timed(took, "sequences", lambda: _settle(database, stretches.counts))
        timed(took, "tastes", lambda: in_parts(_Tastes(made, at), settled))
        timed(took, "vacuum", lambda: database.execute("VACUUM ANALYZE"))
    return took


def timed(took: dict[str, float], name: str, work: Callable[[], object]) -> None:
    """Do it and note how long it took."""
    began = time.monotonic()
    work()
    took[name] = round(time.monotonic() - began, 1)


def _copy(database: Any, table: str, rows: Any) -> None:
    copy(database, table, COLUMNS[table], rows)


def _feeds(database: Any, made: World, at: lines.Moments) -> None:
    _copy(database, "digest_source", lines.sources(made))
    _copy(database, "digest_feed", lines.feeds(made, at))
    # A story always has its two items: one without items belongs to nobody.
    database.execute(
        "INSERT INTO digest_story (id, created_at, last_item_at) SELECT n, now(), now() "
        "FROM generate_series(1, %s) n",
        [made.size.items // 20 + 1],
    )


class _Items:
    """Items with all that hangs on them, stretch by stretch."""

    def __init__(self, made: World, at: lines.Moments) -> None:
        from ranking.similarity import HASH_BUCKETS, document_counts_add, term_counts  # noqa: PLC0415

        self.made, self.at = made, at
        pairs = zip(*lines.texts(made, 0, min(COUNTED, made.size.items)), strict=True)
        self.counts = document_counts_add(
            np.zeros(HASH_BUCKETS, np.uint32), (term_counts(*pair) for pair in pairs)
        )

    def __call__(self, first: int, last: int) -> None:
        with connected() as database:
            tags = [row[0] for row in database.execute("SELECT slug FROM digest_reasontag").fetchall()]
            for start in range(first, last, lines.CHUNK):
                self._stretch(database, start, min(start + lines.CHUNK, last), tags)

    def _stretch(self, database: Any, start: int, stop: int, tags: list[str]) -> None:
        made, at = self.made, self.at
        titles, bodies = lines.texts(made, start, stop)
        _copy(database, "digest_item", lines.items(made, at, start, titles, bodies))
        back = at.end - made.second[start]
        if stop > made.size.items - lines.FRESH:
            return
        if back < lines.SUMMARY_DAYS * DAY_S:
            _copy(database, "digest_summary", lines.summaries(at, start, bodies))
            _copy(database, "digest_suggestedreasons", lines.reasons(at, start, bodies, tags))
        if back < lines.VECTOR_DAYS * DAY_S:
            _copy(database, "digest_itemvector", self._vectors(start, titles, bodies))

    def _vectors(self, start: int, titles: list[str], bodies: list[str]) -> Any:
        from ranking.similarity import term_counts, tfidf_vector  # noqa: PLC0415

        for n, pair in enumerate(zip(titles, bodies, strict=True), start=start + 1):
            packed = tfidf_vector(term_counts(*pair), self.counts, COUNTED).packed()
            yield f"{n}\t{n:064x}\t\\\\x{packed.hex()}"


class _Readers:
    """Readers with their subscriptions, digests, thumbs and suggestions."""

    def __init__(self, made: World, at: lines.Moments) -> None:
        self.made, self.at = made, at
        self.first_thumb = np.concatenate([[1], 1 + np.cumsum(made.thumbs)])

    def __call__(self, first: int, last: int) -> None:
        with connected() as database:
            query = "SELECT slug FROM digest_reasontag WHERE kind = %s"
            kinds = [[r[0] for r in database.execute(query, [kind])] for kind in ("valued", "disliked")]
            for start in range(first, last, 100):
                self._hundred(database, start, min(start + 100, last), kinds)

    def _hundred(self, database: Any, start: int, stop: int, kinds: list[list[str]]) -> None:
        made, at = self.made, self.at
        _copy(database, "digest_reader", lines.readers(made, at, start, stop))
        _copy(database, "digest_subscription", lines.subscriptions(made, at, start, stop))
        _copy(database, "digest_digest", lines.digests(made, at, start, stop))
        rows: dict[str, list[str]] = {}
        for reader in range(start, stop):
            shown = lines.shown_to(made, reader)
            rows.setdefault("digest_impression", []).extend(lines.impressions(made, reader, shown))
            rows.setdefault("digest_exposure", []).extend(lines.exposures(made, at, reader, shown))
            rows.setdefault("digest_reading", []).extend(lines.readings(made, at, reader, shown))
            if made.thumbs[reader]:
                self._said(rows, reader, kinds)
        for table, some in rows.items():
            _copy(database, table, some)

    def _said(self, rows: dict[str, list[str]], reader: int, kinds: list[list[str]]) -> None:
        made, at, first = self.made, self.at, int(self.first_thumb[reader])
        said = opinions.thumbs_of(made, reader)

        def add(table: str, more: Any) -> None:
            rows.setdefault(table, []).extend(more)

        add("digest_feedback", opinions.thumb_lines(made, at, reader, said, first))
        add("digest_feedbacktag", opinions.tag_lines(said, first, *kinds))
        add("ranking_learnedweight", opinions.learned_lines(made, at, reader))
        add("advisor_run", opinions.run_lines(made, at, reader))
        for line, pk, status in opinions.suggestion_lines(made, at, reader):
            add("suggestions_suggestion", [line])
            add("suggestions_evidence", opinions.evidence_lines(made, at, said, pk))
            if status != "pending":
                add("suggestions_outcome", [opinions.outcome_line(made, at, reader, pk, status)])


class _Tastes:
    """Settings of half the readers, and the sums of all thumbs, by the product's own services."""

    def __init__(self, made: World, at: lines.Moments) -> None:
        self.made, self.at = made, at

    def __call__(self, first: int, last: int) -> None:
        from django.db import connection  # noqa: PLC0415

        from digest.items.vectors import profile_refresh  # noqa: PLC0415
        from ranking.services import ConfigEdit, config_edit  # noqa: PLC0415

        connection.close()
        now = self.at.now
        for n in range(first, last):
            key, dice = lines.reader_id(self.made, n), self.made.dice(7, n)
            if n % 2:
                topics = self.made.words[dice.choice(TOPICS, 3, replace=False)].tolist()
                edit = ConfigEdit(topics=topics[:2], keyword_boosts={topics[2]: -0.3})
                config_edit(reader_id=key, edit=edit, expected_version=0, now=now)
            if self.made.thumbs[n]:
                profile_refresh(reader_id=key, now=now)


def _settle(database: Any, counts: Any) -> None:
    """Continue the sequences after the copied rows, and store the term counts that the vectors were made
    with."""
    for table in ("digest_feed", "digest_item", "digest_digest", "digest_feedback", "digest_story"):
        database.execute(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")
    last = "SELECT max(id) FROM suggestions_suggestion"
    database.execute(f"SELECT setval('suggestions_suggestion_id_seq', ({last}))")
    row = [COUNTED, compress(counts.tobytes(), 1)]
    database.execute("INSERT INTO digest_termcounts (id, documents, counts) VALUES (1, %s, %s)", row)
    database.execute("ANALYZE")


if __name__ == "__main__":
    main()
