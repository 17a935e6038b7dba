"""The rounds: many feeds over HTTP at once, or a folder of documents, into the database one by one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

import structlog
from django.conf import settings

from digest.feeds import FeedProblem
from digest.fetch import Fetched, fetch
from digest.identity import source_key
from digest.models import Feed
from digest.parse import parse_document
from digest.polling import next_check_at
from digest.prechecks import BODY_MAX_BYTES
from digest.selectors.feeds import feeds_due
from digest.services.ingest import IngestResult, document_ingest, parsed_ingest, source_ensure

WORKERS = 8
# Bodies of at most this many answered feeds wait in memory at once.
IN_FLIGHT = 16
log = structlog.get_logger(__name__)
Progress = Callable[[str], None]


@dataclass(slots=True)
class FetchReport:
    """What a round brought, feed by feed; refused feeds are reported, not raised."""

    per_feed: list[tuple[str, IngestResult]] = field(default_factory=list)
    errors: list[tuple[str, FeedProblem]] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """The object scripts rely on, without the time it took."""
        return {
            "feeds": len(self.per_feed) + len(self.errors),
            "ok": len(self.per_feed),
            "failed": len(self.errors),
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
    *, now: datetime, feeds: Iterable[Feed] | None = None, progress: Progress = _quiet
) -> FetchReport:
    """Fetch `feeds` (by default those that are due) over HTTP, several at once, and keep their items.

    Only this thread talks to the database. Feeds that are paused, gone or imported are left alone.
    """
    report = FetchReport()
    chosen = list(feeds_due(now=now)) if feeds is None else feeds
    wanted = (feed for feed in chosen if feed.state == Feed.State.ACTIVE)
    for feed, answer in _answers(wanted):
        progress(feed.url)
        try:
            report.per_feed.append((feed.url, _contained(partial(_answer_keep, feed, answer, now))))
        except FeedProblem as problem:
            _problem_keep(feed, problem, now)
            report.errors.append((feed.url, problem))
            log.warning("feed.refused", feed=feed.url, code=problem.code)
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
            Feed.objects.filter(url=f"file:{name}").update(**_problem_fields(problem, now))
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


def _answers(feeds: Iterator[Feed]) -> Iterator[tuple[Feed, Fetched | FeedProblem]]:
    """Fetch in a few threads; give each answer as it comes, with few of them waiting at a time."""
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="fetch") as pool:
        pending: dict[Future[Fetched | FeedProblem], Feed] = {}
        while True:
            for feed in islice(feeds, IN_FLIGHT - len(pending)):
                pending[
                    pool.submit(_ask, feed.url, feed.etag, feed.last_modified, settings.FETCH_ALLOW_HOSTS)
                ] = feed
            if not pending:
                return
            for done in wait(pending, return_when=FIRST_COMPLETED).done:
                yield pending.pop(done), done.result()


def _ask(url: str, etag: str, last_modified: str, allow: Sequence[str]) -> Fetched | FeedProblem:
    try:
        return fetch(url, etag=etag, last_modified=last_modified, allow=allow)
    except FeedProblem as problem:
        return problem


def _answer_keep(feed: Feed, answer: Fetched | FeedProblem, now: datetime) -> IngestResult:
    if isinstance(answer, FeedProblem):
        raise answer
    result = IngestResult(0, 0)
    if answer.body is not None:
        result = document_ingest(feed=feed, body=answer.body, now=now, url=answer.url)
    Feed.objects.filter(pk=feed.pk).update(
        # A 304 need not repeat what it was asked with.
        etag=answer.etag or (feed.etag if answer.body is None else ""),
        last_modified=answer.last_modified or (feed.last_modified if answer.body is None else ""),
        last_fetched_at=now,
        next_check_at=next_check_at(now=now, failures=0, retry_after_s=answer.retry_after_s),
        failures=0,
        error_code="",
        error_message="",
    )
    return result


def _problem_keep(feed: Feed, problem: FeedProblem, now: datetime) -> None:
    failures = feed.failures + 1
    after = next_check_at(now=now, failures=failures, retry_after_s=problem.retry_after_s)
    fields = _problem_fields(problem, now) | {"failures": failures, "next_check_at": after}
    if problem.gone:
        fields["state"] = Feed.State.GONE
    Feed.objects.filter(pk=feed.pk).update(**fields)


def _problem_fields(problem: FeedProblem, now: datetime) -> dict[str, object]:
    return {
        "last_fetched_at": now,
        "error_code": problem.code[:40],
        "error_message": problem.message[:300],
    }
