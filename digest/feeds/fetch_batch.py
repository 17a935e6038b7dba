"""Rounds: fetch many feeds over HTTP at once, or read a folder of documents, and store their items."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

import structlog
from django.conf import settings

from digest.feeds.access import access_read, accesses_of, refusal_read
from digest.feeds.entities import FeedProblem, FetchReport, IngestResult, ParsedFeed, internal_problem
from digest.feeds.fetch import TOTAL_TIMEOUT_S, FetchResponse, fetch, host_of
from digest.feeds.first_fetch import feeds_in_turn, readers_filled
from digest.feeds.identity import FILE_PREFIX, source_key
from digest.feeds.ingest import documents_ingest, feeds_get_or_create
from digest.feeds.outage import is_elsewhere, network_is_down, not_counted, outage_end, outage_note
from digest.feeds.parse import parse_document
from digest.feeds.prechecks import BODY_MAX_BYTES
from digest.feeds.rate_limit import VISIT_MAX_S, HostLimiter, HostLock, HostQueue, hold_seconds, host_limiter
from digest.feeds.selectors import feeds_due
from digest.feeds.services import (
    FeedAnswer,
    FeedFailure,
    answers_store,
    failures_store,
    feeds_claim,
    problem_fields,
    twins_join,
)
from digest.models import Feed, FeedAccess
from ranking.common.isolation import isolate, isolate_batches
from ranking.common.rows import rows_set

# A fetch batch ends after this time. Feeds it did not reach stay due for the next, which begins every 5
# minutes.
ROUND_S: Final = 240.0
# A fetch batch takes at most this many feeds, the longest waiting first.
ROUND_FEEDS: Final = 5_000
# A claim outlives its round by more than the longest fetch takes.
CLAIM_SLACK_S: Final = 300.0
# Shorter waits, as the usual pause between two requests to a host, are not reported.
WAIT_REPORTED_S = 5.0
# How many documents, and how many of their entries, are stored in one transaction. It keeps all others from
# writing on SQLite: 1,500 entries took 0.9 to 1.9 s.
BATCH_DOCUMENTS: Final = 50
BATCH_ENTRIES: Final = 300
# How many documents of a folder are parsed at once, each in its own process, while others are stored; and how
# many parsed ones may wait.
PARSED_AT_ONCE: Final = 2
PARSED_AHEAD: Final = 8

Progress = Callable[[str], None]
Waiting = Callable[[str, float], None]
Answer = FetchResponse | FeedProblem
Answers = SimpleQueue[tuple[str, Feed, Answer]]
Outcome = IngestResult | FeedProblem
T = TypeVar("T")

log = structlog.get_logger(__name__)


def _ignore(*_: object) -> None:
    pass


def feeds_fetch(
    *,
    now: datetime,
    feeds: Iterable[Feed] | None = None,
    progress: Progress = _ignore,
    seconds: float = ROUND_S,
    request_s: float = TOTAL_TIMEOUT_S,
    draw: Callable[[], float] = random.random,
    waiting: Waiting = _ignore,
    clock: Callable[[], datetime] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> FetchReport:
    """Fetch `feeds` (by default the due ones) over HTTP, several at once, and store their items.

    Each feed is claimed before it is fetched, so no other worker fetches it too. A host gets one connection
    at a time, with a pause between two. The batch begins no request after `seconds`, or once `stopping()`
    returns true, and a request takes at most `request_s`. Only this thread uses the database. Paused, gone
    and imported feeds are skipped. `draw` returns random numbers from 0 to 1. `waiting` is called with a host
    and seconds when the batch waits only for that host's pause. Stored items are dated by `clock`, or by
    `now` without one, so that a digest built during the batch can tell which items came after it. A feed that
    answers for the first time and has a twin is merged into it. If our network is down, nothing counts
    against a feed that was fetched before.
    """
    report = FetchReport()
    chosen = feeds_in_turn(feeds=list(feeds_due(now=now)[:ROUND_FEEDS])) if feeds is None else feeds
    queue = HostQueue(
        ((host_of(feed.address), feed) for feed in chosen if feed.state == Feed.State.ACTIVE),
        is_new=lambda feed: feed.last_fetched_at is None,
    )
    until = now + timedelta(seconds=seconds + CLAIM_SLACK_S)
    limits = _Limits(time.monotonic() + seconds, request_s, stopping)
    first, reached, dated = list[int](), _Reached(), clock or (lambda: now)

    def store(group: Sequence[tuple[Feed, Answer]]) -> None:
        for (feed, answer), outcome in zip(group, _group_store(group, dated(), draw), strict=True):
            progress(feed.url)
            unchanged = isinstance(answer, FetchResponse) and answer.body is None
            report.add(feed.url, outcome, unchanged=unchanged)

    for group in _fetch_all(queue, host_limiter(), until, limits, waiting):
        store(reached.sort(group))
        new = [feed.pk for feed, _ in group if feed.last_fetched_at is None]
        readers_filled(feed_ids=new, now=dated())
        first += new
    store(reached.judge(now=dated()))
    if first:
        twins_join(feed_ids=first, now=dated())
    report.left = len(queue)
    report.pauses_s = {host: wait for host, wait in queue.waits_s().items() if wait > VISIT_MAX_S}
    return report


@dataclass(slots=True)
class _Reached:
    """The hosts of a batch: those that answered, those that failed locally, and the failures that wait.

    A local failure is stored at the end, when it is known whether the network is down. That of a new feed is
    stored at once, because its reader waits for a result.
    """

    answered: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    waiting: list[tuple[Feed, Answer]] = field(default_factory=list)

    def sort(self, group: Iterable[tuple[Feed, Answer]]) -> list[tuple[Feed, Answer]]:
        """Return the part of a group to store now."""
        now: list[tuple[Feed, Answer]] = []
        for feed, answer in group:
            is_local = isinstance(answer, FeedProblem) and answer.is_local
            if is_local:
                self.failed.add(host_of(feed.address))
            elif is_elsewhere(feed) and not (isinstance(answer, FeedProblem) and answer.is_without_answer):
                self.answered.add(host_of(feed.address))
            (self.waiting if is_local and feed.last_fetched_at else now).append((feed, answer))
        return now

    def judge(self, *, now: datetime) -> list[tuple[Feed, Answer]]:
        """Note whether the network is down, or an outage over. Return what waits, as it counts."""
        if network_is_down(failed=self.failed, answered=self.answered):
            outage_note(now=now)
            return [(feed, not_counted(one)) for feed, one in self.waiting if isinstance(one, FeedProblem)]
        if self.answered or self.failed:
            outage_end(now=now)
        return self.waiting


@dataclass(frozen=True, slots=True)
class _Limits:
    """Until when (monotonic) a round begins requests, how long one of them may take, in seconds, and whether
    the worker must stop."""

    end: float
    request_s: float
    stopping: Callable[[], bool]

    def allow_after(self, pause_s: float) -> bool:
        """Return whether a request may begin after this pause."""
        return time.monotonic() + pause_s < self.end and not self.stopping()


def _fetch_all(
    queue: HostQueue[Feed], limiter: HostLimiter, claim_until: datetime, limits: _Limits, waiting: Waiting
) -> Iterator[list[tuple[Feed, Answer]]]:
    """Fetch in threads within `limits`, and yield the finished answers in groups.

    Answers under way or waiting to be stored never outnumber the threads. That bounds the memory, at 5 MiB
    compressed or 10 MiB plain for each.
    """
    workers = max(settings.FETCH_WORKERS, 1)
    answers: Answers = SimpleQueue()
    under_way = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="fetch") as pool:
        while True:
            free = workers - under_way if limits.allow_after(0) else 0
            claimed = _claim_next(queue, limiter, claim_until, free)
            accesses = accesses_of(feeds=[feed for _, feed in claimed])
            for host, feed in claimed:
                ask = partial(_fetch, feed, accesses.get(feed.pk), HostLock(limiter, host), limits.request_s)
                pool.submit(copy_context().run, _fetch_into, answers, host, feed, ask)
                under_way += 1
            pause = queue.pause_s()
            more = under_way < workers and limits.allow_after(pause)
            if not under_way and not more:
                return
            if not under_way and pause >= WAIT_REPORTED_S:
                waiting(queue.next_host(), pause)
            group = _collect(answers, timeout=pause if more else None)
            under_way -= len(group)
            for host, _, _ in group:
                queue.requeue(host)
            if group:
                yield [(feed, answer) for _, feed, answer in group]


def _claim_next(
    queue: HostQueue[Feed], limiter: HostLimiter, until: datetime, limit: int
) -> list[tuple[str, Feed]]:
    """Claim up to `limit` feeds whose hosts are free now. Drop feeds that another worker has claimed."""
    found: list[tuple[str, Feed]] = []
    while len(found) < limit and (entry := queue.next(limiter)):
        found.append(entry)
    feeds = [feed for _, feed in found]
    claimed = {id(feed) for feed in feeds_claim(feeds=feeds, until=until)}
    for host, feed in found:
        if id(feed) not in claimed:
            limiter.leave_unvisited(host)
            queue.requeue(host)
    return [(host, feed) for host, feed in found if id(feed) in claimed]


def _collect(answers: Answers, *, timeout: float | None) -> list[tuple[str, Feed, Answer]]:
    """Wait for one answer, then take all finished ones. Return an empty list if none comes in time."""
    group: list[tuple[str, Feed, Answer]] = []
    with suppress(Empty):
        group.append(answers.get(timeout=timeout))
        while True:
            group.append(answers.get_nowait())
    return group


def _fetch_into(answers: Answers, host: str, feed: Feed, ask: Callable[[], Answer]) -> None:
    """Put the answer into `answers` in any case. A fault of our own becomes this one feed's problem."""
    answer: Answer | None = None
    with isolate("feed", feed.pk, "feed_failed") as attempt:
        answer = ask()
    answers.put((host, feed, answer or internal_problem("ask for this feed", attempt.error)))


def _fetch(feed: Feed, row: FeedAccess | None, host_lock: HostLock, request_s: float) -> Answer:
    hold_s, access = 0.0, None
    try:
        access = access_read(row=row, address=feed.address)
        return fetch(
            feed.address,
            etag=feed.etag,
            last_modified=feed.last_modified,
            allow=settings.FETCH_ALLOW_HOSTS,
            ports=settings.FETCH_PORTS,
            total_s=request_s,
            host_lock=host_lock,
            access=access,
        )
    except FeedProblem as problem:
        hold_s = hold_seconds(problem)
        return refusal_read(problem, access=access)
    finally:
        host_lock.release(hold_s=hold_s)


def _group_store(
    group: Sequence[tuple[Feed, Answer]], now: datetime, draw: Callable[[], float]
) -> list[Outcome]:
    """Store the answers of a group and the failures in it. Return the outcome of each."""
    read = [_read(feed, answer, draw()) for feed, answer in group]
    stored = (
        outcome
        for batch in _batches(one for one in read if isinstance(one, FeedAnswer))
        for outcome in _store_each(
            batch,
            store=lambda answers: answers_store(answers=answers, now=now),
            key_of=lambda one: one.feed.pk,
        )
    )
    outcomes = [next(stored) if isinstance(one, FeedAnswer) else one for one in read]
    failures = [
        FeedFailure(feed, outcome, draw())
        for (feed, _), outcome in zip(group, outcomes, strict=True)
        if isinstance(outcome, FeedProblem)
    ]
    rest = isolate_batches(
        failures,
        lambda some: failures_store(failures=some, now=now),
        what="feed",
        event="feed_failed",
        key_of=lambda failure: failure.feed.pk,
    )
    deque(rest, maxlen=0)
    for failure in failures:
        host = host_of(failure.feed.address)
        log.warning("feed_refused", feed_id=failure.feed.pk, host=host, code=failure.problem.code)
    return outcomes


def _read(feed: Feed, answer: Answer, draw: float) -> FeedAnswer | FeedProblem:
    if isinstance(answer, FeedProblem):
        return answer
    with isolate("feed", feed.pk, "feed_failed") as attempt:
        try:
            body = answer.body
            if body is None:
                return FeedAnswer(feed, answer, None, draw)
            parsed = parse_document(body, url=answer.url or feed.address, content_type=answer.content_type)
            return FeedAnswer(feed, answer, parsed, draw)
        except FeedProblem as problem:
            return problem
    return internal_problem("read this document", attempt.error)


def _store_each(
    batch: Sequence[T], *, store: Callable[[Sequence[T]], list[IngestResult]], key_of: Callable[[T], object]
) -> list[Outcome]:
    """Store `batch` together. If that fails, store each document alone, so that a fault costs one
    feed only."""
    if not batch:
        return []
    alone = len(batch) == 1
    key = key_of(batch[0]) if alone else f"{len(batch)} together"
    with isolate("feed", key, "feed_failed", counted=alone) as attempt:
        return list(store(batch))
    if alone:
        return [internal_problem("keep this document", attempt.error)]
    return [outcome for one in batch for outcome in _store_each([one], store=store, key_of=key_of)]


@dataclass(frozen=True, slots=True)
class _FileFeed:
    """A feed read from a folder, by its name below the folder."""

    name: str
    parsed: ParsedFeed

    @property
    def url(self) -> str:
        return f"{FILE_PREFIX}{self.name}"

    @property
    def source(self) -> str:
        """Return the source of the site that the document names, else the source of its file's name."""
        site = self.parsed.site_url
        return (site.startswith("http") and source_key(site)) or source_key(self.url) or "unknown"


FileRead = _FileFeed | tuple[str, FeedProblem]


def folder_ingest(*, folder: Path, now: datetime, progress: Progress = _ignore) -> FetchReport:
    """Store the items of every document below `folder`. Each document is a feed `file:<name>` that is never
    fetched.

    A document that was never readable leaves no trace. Raises `NotADirectoryError` if the folder does not
    exist.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"There is no folder “{folder}”.")
    report = FetchReport()
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    for batch in _batches(_read_files(folder, paths, progress)):
        stored = iter(
            _store_each(
                [one for one in batch if isinstance(one, _FileFeed)],
                store=lambda files: _files_store(files, now),
                key_of=lambda file: file.name,
            )
        )
        outcomes = [(one.name, next(stored)) if isinstance(one, _FileFeed) else one for one in batch]
        _file_problems_store([(name, one) for name, one in outcomes if isinstance(one, FeedProblem)], now)
        for name, outcome in outcomes:
            report.add(name, outcome)
    return report


def _read_files(folder: Path, paths: Iterable[Path], progress: Progress) -> Iterator[FileRead]:
    """Yield each document parsed, in order, while the next ones are being parsed."""
    with ThreadPoolExecutor(PARSED_AT_ONCE, thread_name_prefix="parse") as pool:
        ahead: deque[Future[FileRead]] = deque()
        for path in paths:
            name = path.relative_to(folder).as_posix()
            progress(name)
            ahead.append(pool.submit(copy_context().run, _read_file, name, path))
            if len(ahead) > PARSED_AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _read_file(name: str, path: Path) -> FileRead:
    found: FileRead | None = None
    with isolate("feed", name, "feed_failed") as attempt:
        try:
            found = _FileFeed(name, parse_document(_file_body(path)))
        except FeedProblem as problem:
            found = name, problem
    return found or (name, internal_problem("read this document", attempt.error))


def _file_body(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(BODY_MAX_BYTES + 1)
    except OSError as error:
        raise FeedProblem("unreadable", f"The file cannot be read ({error.strerror}).") from error


def _batches(found: Iterable[T]) -> Iterator[list[T]]:
    """Yield what is stored together, in order."""
    batch: list[T] = []
    entries = 0
    for one in found:
        parsed = getattr(one, "parsed", None)
        count = len(parsed.entries) if parsed else 0
        if batch and (len(batch) >= BATCH_DOCUMENTS or entries + count > BATCH_ENTRIES):
            yield batch
            batch, entries = [], 0
        batch.append(one)
        entries += count
    if batch:
        yield batch


def _files_store(files: Sequence[_FileFeed], now: datetime) -> list[IngestResult]:
    state = Feed.State.IMPORTED
    rows = [Feed(url=f.url, source_id=f.source, title=f.parsed.title, state=state) for f in files]
    titles = {file.source: file.parsed.title for file in reversed(files)}
    feeds = feeds_get_or_create(feeds=rows, source_titles=titles)
    results = documents_ingest(documents=[(feeds[file.url], file.parsed) for file in files], now=now)
    well = {"last_fetched_at": now, "failures": 0, "error_code": "", "error_message": ""}
    Feed.objects.filter(pk__in=[feed.pk for feed in feeds.values()]).update(**well)
    return results


def _file_problems_store(problems: Sequence[tuple[str, FeedProblem]], now: datetime) -> None:
    """Store the problems of files that are feeds, in one statement. Other files have no row to change."""
    fields = [
        (f"{FILE_PREFIX}{name}", problem_fields(problem=problem, now=now)) for name, problem in problems
    ]
    rows = sorted((url, *values.values()) for url, values in fields)
    columns = tuple(fields[0][1]) if fields else ()
    rows_set(model=Feed, keys=("url",), columns=columns, rows=rows)
