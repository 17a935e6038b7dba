"""The rounds: many feeds over HTTP at once, or a folder of documents, into the database one by one."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

import structlog
from django.conf import settings

from digest.feeds import FeedProblem
from digest.fetch import Fetched, fetch, host_of
from digest.identity import source_key
from digest.models import Feed
from digest.parse import parse_document
from digest.politeness import HostGate, HostQueue, Visit, host_gate
from digest.prechecks import BODY_MAX_BYTES
from digest.selectors.feeds import feeds_due
from digest.services.ingest import IngestResult, document_ingest, parsed_ingest, source_ensure
from digest.services.polling import answer_keep, feed_claim, problem_fields, problem_keep

# A round ends after this time; what it did not reach stays due for the next. Rounds begin every 5 minutes.
ROUND_S = 240.0
# A round looks at so many feeds at most, those that wait longest.
ROUND_FEEDS = 5_000
# A claim outlives its round by more than the longest fetch takes.
CLAIM_SLACK_S = 300.0
# How long a host is left alone after 429, by default and at most, in seconds.
HOLD_S, HOLD_MAX_S = 300.0, 24 * 3600.0
log = structlog.get_logger(__name__)
Progress = Callable[[str], None]
Answer = Fetched | FeedProblem


@dataclass(slots=True)
class FetchReport:
    """What a round brought, feed by feed; refused feeds are reported, not raised.

    `left` feeds were not reached in time, or wait for a host that wants its pause.
    """

    per_feed: list[tuple[str, IngestResult]] = field(default_factory=list)
    errors: list[tuple[str, FeedProblem]] = field(default_factory=list)
    unchanged: int = 0
    left: int = 0

    def as_dict(self) -> dict[str, object]:
        """The object scripts rely on, without the time it took."""
        return {
            "feeds": len(self.per_feed) + len(self.errors),
            "ok": len(self.per_feed),
            "failed": len(self.errors),
            "unchanged": self.unchanged,
            "left": self.left,
            "items_new": sum(result.items_new for _, result in self.per_feed),
            "items_seen": sum(result.items_seen for _, result in self.per_feed),
            "items_updated": sum(result.items_updated for _, result in self.per_feed),
            "errors": [{"feed": feed, "code": p.code, "message": p.message} for feed, p in self.errors],
            "per_feed": [
                {"feed": feed, "items_new": r.items_new, "items_seen": r.items_seen, "dropped": r.dropped}
                for feed, r in self.per_feed
            ],
        }


def _quiet(name: str) -> None:
    """No progress is shown."""


def feeds_fetch(
    *,
    now: datetime,
    feeds: Iterable[Feed] | None = None,
    progress: Progress = _quiet,
    seconds: float = ROUND_S,
    draw: Callable[[], float] = random.random,
) -> FetchReport:
    """Fetch `feeds` (by default those that are due) over HTTP, several at once, and keep their items.

    Each is claimed before it is asked, so that no other worker asks too. One connection at a time goes to a
    host, with a pause between two; a round takes at most `seconds`. Only this thread talks to the database.
    Feeds that are paused, gone or imported are left alone. `draw` gives random numbers from 0 to 1.
    """
    report = FetchReport()
    chosen = feeds_due(now=now)[:ROUND_FEEDS] if feeds is None else feeds
    queue = HostQueue((host_of(feed.url), feed) for feed in chosen if feed.state == Feed.State.ACTIVE)
    until = now + timedelta(seconds=seconds + CLAIM_SLACK_S)
    take = partial(feed_claim, now=now, until=until)
    for feed, answer in _answers(queue, host_gate(), take, time.monotonic() + seconds):
        progress(feed.url)
        try:
            kept = _contained(partial(_answer_keep, feed, answer, now, draw()))
            report.per_feed.append((feed.url, kept))
            report.unchanged += isinstance(answer, Fetched) and answer.body is None
        except FeedProblem as problem:
            problem_keep(feed=feed, problem=problem, now=now, draw=draw())
            report.errors.append((feed.url, problem))
            log.warning("feed.refused", feed=feed.url, code=problem.code)
    report.left = len(queue)
    return report


def _contained(work: Callable[[], IngestResult]) -> IngestResult:
    """What `work` brings; a fault of our own becomes this one feed's problem and never the others'."""
    try:
        return work()
    except FeedProblem:
        raise
    except Exception as error:
        log.exception("feed.broke")
        message = f"Tidings could not keep this document ({type(error).__name__}); the log says more."
        raise FeedProblem("internal", message) from error


def folder_ingest(*, folder: Path, now: datetime, progress: Progress = _quiet) -> FetchReport:
    """Keep the items of every document below `folder`; each becomes a feed `file:<name>` never fetched.

    Raises `NotADirectoryError` where there is no such folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"There is no folder “{folder}”.")
    report = FetchReport()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")):
        name = path.relative_to(folder).as_posix()
        progress(name)
        try:
            report.per_feed.append(
                (name, _contained(partial(feed_file_ingest, path=path, name=name, now=now)))
            )
        except FeedProblem as problem:
            Feed.objects.filter(url=f"file:{name}").update(**problem_fields(problem, now))
            report.errors.append((name, problem))
    return report


def feed_file_ingest(*, path: Path, name: str, now: datetime) -> IngestResult:
    """Keep the items of one document on disk. Its source follows from the site it names, else from `name`.

    Raises `FeedProblem`; a document that was never readable leaves no trace.
    """
    try:
        with path.open("rb") as file:
            body = file.read(BODY_MAX_BYTES + 1)
    except OSError as error:
        raise FeedProblem("unreadable", f"The file cannot be read ({error.strerror}).") from error
    url = f"file:{name}"
    feed = Feed.objects.filter(url=url).first()
    if feed is not None:
        result = document_ingest(feed=feed, body=body, now=now)
    else:
        parsed = parse_document(body)
        key = (parsed.site_url.startswith("http") and source_key(parsed.site_url)) or source_key(url)
        source = source_ensure(key=key or "unknown", title=parsed.title)
        feed, _ = Feed.objects.get_or_create(
            url=url, defaults={"source": source, "title": parsed.title, "state": Feed.State.IMPORTED}
        )
        result = parsed_ingest(feed=feed, parsed=parsed, now=now)
    Feed.objects.filter(pk=feed.pk).update(last_fetched_at=now, failures=0, error_code="", error_message="")
    return result


def _answer_keep(feed: Feed, answer: Answer, now: datetime, draw: float) -> IngestResult:
    if isinstance(answer, FeedProblem):
        raise answer
    return answer_keep(feed=feed, answer=answer, now=now, draw=draw)


def _answers(
    queue: HostQueue[Feed], gate: HostGate, take: Callable[..., bool], end: float
) -> Iterator[tuple[Feed, Answer]]:
    """Fetch in threads; give each answer as it comes.

    As many are on their way or waiting to be kept as there are threads: that bounds the memory, at 5 MiB
    packed or 10 MiB plain for each.
    """
    workers = max(settings.FETCH_WORKERS, 1)
    answers: SimpleQueue[tuple[str, Feed, Answer]] = SimpleQueue()
    under_way = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="fetch") as pool:
        while True:
            while under_way < workers and time.monotonic() < end and (found := queue.next(gate)):
                host, feed = found
                if take(feed=feed):
                    pool.submit(_ask_into, answers, host, feed, Visit(gate, host))
                    under_way += 1
                else:
                    gate.forgo(host)
                    queue.again(host)
            pause = queue.pause_s()
            useful = under_way < workers and time.monotonic() + pause < end
            if not under_way and not useful:
                return
            try:
                host, feed, answer = answers.get(timeout=pause if useful else None)
            except Empty:
                continue  # the next host has had its pause
            under_way -= 1
            queue.again(host)
            yield feed, answer


def _ask_into(answers: "SimpleQueue[tuple[str, Feed, Answer]]", host: str, feed: Feed, visit: Visit) -> None:
    """Put the answer where it is waited for; a fault of our own is this one feed's problem."""
    try:
        answer = _ask(feed, visit)
    except Exception as error:
        log.exception("feed.broke", feed=feed.url)
        message = f"Tidings could not ask for this feed ({type(error).__name__}); the log says more."
        answer = FeedProblem("internal", message)
    answers.put((host, feed, answer))


def _ask(feed: Feed, visit: Visit) -> Answer:
    """One fetch in a thread of its own; a server that was asked too often holds up its host's other feeds."""
    hold_s = 0.0
    try:
        return fetch(
            feed.url,
            etag=feed.etag,
            last_modified=feed.last_modified,
            allow=settings.FETCH_ALLOW_HOSTS,
            ports=settings.FETCH_PORTS,
            journey=visit,
        )
    except FeedProblem as problem:
        if problem.code == "http_429":
            hold_s = min(problem.retry_after_s or HOLD_S, HOLD_MAX_S)
        return problem
    finally:
        visit.end(hold_s=hold_s)
