"""A folder of feed documents, into the database some at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog

from digest.feeds import FeedProblem, ParsedFeed
from digest.identity import source_key
from digest.models import Feed
from digest.parse import parse_document
from digest.prechecks import BODY_MAX_BYTES
from digest.reports import FetchReport, IngestResult, broken
from digest.services.ingest import documents_keep, sources_ensure
from digest.services.polling import problem_fields
from digest.services.rows import rows_set

# Documents kept together, at most, and their entries: what is in memory at once.
DOCUMENTS, ENTRIES = 50, 1_500
log = structlog.get_logger(__name__)
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Page:
    """A document of the folder that was read, and its address among feeds."""

    name: str
    parsed: ParsedFeed

    @property
    def url(self) -> str:
        return f"file:{self.name}"

    @property
    def source(self) -> str:
        """Its source follows from the site it names, else from its name."""
        site = self.parsed.site_url
        return (site.startswith("http") and source_key(site)) or source_key(self.url) or "unknown"


def _quiet(name: str) -> None:
    """No progress is shown."""


def folder_ingest(*, folder: Path, now: datetime, progress: Progress = _quiet) -> FetchReport:
    """Keep the items of every document below `folder`; each becomes a feed `file:<name>` never fetched.

    A document that was never readable leaves no trace. Raises `NotADirectoryError` where there is no such
    folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"There is no folder “{folder}”.")
    report = FetchReport()
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    for some in _batches(_read_all(folder, paths, progress)):
        kept = iter(_pages_keep([page for page in some if isinstance(page, _Page)], now))
        told = [(page.name, next(kept)) if isinstance(page, _Page) else page for page in some]
        _refused_keep([(name, one) for name, one in told if isinstance(one, FeedProblem)], now)
        for name, outcome in told:
            report.add(name, outcome)
    return report


def _refused_keep(refused: Sequence[tuple[str, FeedProblem]], now: datetime) -> None:
    """Say of the feeds among `refused` what went wrong, in one statement; a document that was never
    readable is none of them."""
    fields = [(f"file:{name}", problem_fields(problem=problem, now=now)) for name, problem in refused]
    rows = sorted((url, *said.values()) for url, said in fields)
    columns = tuple(fields[0][1]) if fields else ()
    rows_set(model=Feed, keys=("url",), columns=columns, rows=rows)


Read = _Page | tuple[str, FeedProblem]


def _read_all(folder: Path, paths: Iterable[Path], progress: Progress) -> Iterator[Read]:
    for path in paths:
        name = path.relative_to(folder).as_posix()
        progress(name)
        try:
            yield _Page(name, parse_document(_body(path)))
        except FeedProblem as problem:
            yield name, problem
        except Exception as error:  # a fault of our own is this document's problem and no other's
            log.exception("feed.broke", feed=name)
            yield name, broken("read this document", error)


def _body(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(BODY_MAX_BYTES + 1)
    except OSError as error:
        raise FeedProblem("unreadable", f"The file cannot be read ({error.strerror}).") from error


def _batches(found: Iterable[Read]) -> Iterator[list[Read]]:
    some: list[Read] = []
    entries = 0
    for one in found:
        some.append(one)
        entries += len(one.parsed.entries) if isinstance(one, _Page) else 0
        if len(some) >= DOCUMENTS or entries >= ENTRIES:
            yield some
            some, entries = [], 0
    if some:
        yield some


def _pages_keep(pages: Sequence[_Page], now: datetime) -> list[IngestResult | FeedProblem]:
    """What each brought. Where they cannot be kept together, each is tried by itself."""
    if not pages:
        return []
    try:
        feeds = _feeds_ensure(pages)
        kept = documents_keep(documents=[(feeds[page.url], page.parsed) for page in pages], now=now)
        well = {"last_fetched_at": now, "failures": 0, "error_code": "", "error_message": ""}
        Feed.objects.filter(pk__in=[feed.pk for feed in feeds.values()]).update(**well)
        return list(kept)
    except Exception as error:
        if len(pages) > 1:
            return [outcome for page in pages for outcome in _pages_keep([page], now)]
        log.exception("feed.broke", feed=pages[0].name)
        return [broken("keep this document", error)]


def _feeds_ensure(pages: Sequence[_Page]) -> dict[str, Feed]:
    """The feed of each document by its address, made with its source where the document is new."""
    urls = [page.url for page in pages]
    feeds = {feed.url: feed for feed in Feed.objects.filter(url__in=urls)}
    new = [page for page in pages if page.url not in feeds]
    if new:
        keys = sources_ensure(titles={page.source: page.parsed.title for page in reversed(new)})
        state = Feed.State.IMPORTED
        rows = [Feed(url=p.url, source_id=keys[p.source], title=p.parsed.title, state=state) for p in new]
        Feed.objects.bulk_create(rows, ignore_conflicts=True)
        feeds |= {feed.url: feed for feed in Feed.objects.filter(url__in=[page.url for page in new])}
    return feeds
