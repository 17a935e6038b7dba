"""Values of feed documents and of fetching them, and the problem that a feed can have. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, ClassVar

from digest.feeds.storable import Storable
from ranking.language import gettext_noop

# The parts of problem messages around a value. Messages are stored in English and translated when they are
# shown.
FETCH_PROBLEMS = (
    gettext_noop("The server answered with status {status}."),
    gettext_noop("What the server sends is larger than {limit} MiB."),
    gettext_noop("The address redirects more than {times} times."),
    gettext_noop("The certificate of “{host}” is not valid yet."),
    gettext_noop("The certificate of “{host}” has expired."),
    gettext_noop("The certificate of “{host}” was signed by the server itself."),
    gettext_noop("The certificate of “{host}” was signed by somebody unknown."),
    gettext_noop("The certificate of “{host}” was taken back."),
    gettext_noop("The certificate of “{host}” belongs to another name."),
    gettext_noop("The certificate of “{host}” belongs to another address."),
    gettext_noop("The certificate of “{host}” is not one that can be trusted."),
    gettext_noop("“{host}” does not answer with a secure connection."),
    gettext_noop("“{host}” does not accept connections right now."),
    gettext_noop("“{host}” cannot be reached right now."),
    gettext_noop("Feeds are fetched from these ports only: {listed}; not from {port}."),
    gettext_noop("There is no host “{host}” on the public internet. Is the address right?"),
    gettext_noop("There is no host “{host}” on the public internet."),
    gettext_noop("“{host}” is not on the public internet. An operator can allow it in FETCH_ALLOW_HOSTS."),
    gettext_noop("The document is larger than {limit} MiB."),
    gettext_noop("The archive is larger than {limit} MiB."),
    gettext_noop("The compressed document is broken ({error})."),
    gettext_noop("The document cannot be read as a feed ({error})."),
    gettext_noop("The JSON document is broken ({error})."),
    gettext_noop("Elements are nested more than {depth} deep."),
)


# Of a request, as its client takes them.
Headers = dict[str | bytes, str | bytes]
# The codes of problems without an answer: no host found, no connection, or no answer in time.
UNREACHABLE = ("not_found", "connect_failed", "timeout")


# The codes of problems that arise before a server is asked.
NOBODY_ASKED = ("bad_url", "bad_port", "forbidden_address", "host_busy", "internal", "no_network")


class FeedProblem(Exception):
    """A feed that could not be fetched or read. `code` is stable; `message` describes the problem.

    `retry_after_s` is the pause the server asked for, in seconds, or None. `gone` is true if the feed will
    not come back. `is_local` is true if no name was resolved or no route found: that may be the fault of this
    machine's own network.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retry_after_s: float | None = None,
        gone: bool = False,
        is_local: bool = False,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message
        self.retry_after_s, self.gone, self.is_local = retry_after_s, gone, is_local

    @property
    def unreachable(self) -> bool:
        """Return whether no server answered: the network may be at fault, and not the feed."""
        return self.code in UNREACHABLE

    @property
    def is_without_answer(self) -> bool:
        """Return whether the problem says nothing about the network: nobody was asked, or nobody answered."""
        return self.unreachable or self.code in NOBODY_ASKED


@dataclass(frozen=True, slots=True)
class Enclosure(Storable):
    """A sound, film or picture of an entry, with its length and duration if the feed gives them."""

    url: str
    mime_type: str
    length_bytes: int | None = None
    duration_s: int | None = None


@dataclass(frozen=True, slots=True)
class ItemContent:
    """The body, categories and media of an item. The fields are those of `ParsedEntry`."""

    html: str = ""
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    image: str = ""


@dataclass(frozen=True, slots=True)
class ParsedEntry(Storable):
    """An entry of a feed document as plain text. `guid` and `link` are "" if the feed gives none.

    `html` is its body as cleaned HTML (see `digest.feeds.body_html`), or "" if that shows no more than
    `text`. `categories` are its publisher's. `image` is the address of its picture, or "".
    """

    LIMITS: ClassVar = {"title": 500, "author": 200, "language": 20, "image": 2000}

    guid: str
    link: str
    title: str
    text: str
    author: str
    language: str
    published: datetime | None
    html: str = ""
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    image: str = ""


@dataclass(frozen=True, slots=True)
class ParsedFeed(Storable):
    """A feed document. `dropped` counts entries beyond the limit, `blank` those without text and link.

    `ttl_minutes` is how long the document asks to be left alone, or None. `is_broken` says that it was no
    well-formed XML even after repairs, so that entries may be missing.
    """

    LIMITS: ClassVar = {"title": 200}

    title: str
    site_url: str
    entries: tuple[ParsedEntry, ...]
    dropped: int = 0
    blank: int = 0
    ttl_minutes: int | None = None
    is_broken: bool = False


def feed_as_json(feed: ParsedFeed) -> dict[str, Any]:
    """Return `feed` as JSON-ready values, with dates as ISO 8601 strings."""
    body = asdict(feed)
    for entry in body["entries"]:
        entry["published"] = entry["published"] and entry["published"].isoformat()
    return body


def feed_from_json(body: Mapping[str, Any]) -> ParsedFeed:
    """Return the feed that `feed_as_json` wrote, with every field of its type.

    Raises `KeyError`, `TypeError` or `ValueError` for anything else.
    """
    return ParsedFeed(
        title=str(body["title"]),
        site_url=str(body["site_url"]),
        entries=tuple(_entry_from_json(entry) for entry in body["entries"]),
        dropped=int(body["dropped"]),
        blank=int(body["blank"]),
        ttl_minutes=None if body["ttl_minutes"] is None else int(body["ttl_minutes"]),
        is_broken=bool(body["is_broken"]),
    )


def _entry_from_json(entry: Mapping[str, Any]) -> ParsedEntry:
    # By the class's own fields: one that is added later cannot be forgotten here.
    values: dict[str, Any] = {
        one.name: str(entry[one.name]) if one.type is str else entry[one.name] for one in fields(ParsedEntry)
    }
    values["categories"] = tuple(str(one) for one in entry["categories"])
    values["enclosures"] = tuple(Enclosure(**one) for one in entry["enclosures"])
    values["published"] = datetime.fromisoformat(values["published"]) if values["published"] else None
    return ParsedEntry(**values)


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Counts for one ingested document. `dropped`, `blank` and `is_broken` are as in `ParsedFeed`.

    `gap` is the mean time between its items, or None. `ttl_minutes` is the pause the document asks for.
    """

    items_new: int
    items_seen: int
    items_updated: int = 0
    dropped: int = 0
    blank: int = 0
    gap: timedelta | None = None
    ttl_minutes: int | None = None
    is_broken: bool = False


@dataclass(slots=True)
class FetchReport:
    """The result of a fetch batch, by feed. Problems are reported, not raised.

    `left` counts feeds that were not reached in time or wait for the pause of their host. `pauses_s` has the
    seconds that these hosts still pause.
    """

    per_feed: list[tuple[str, IngestResult]] = field(default_factory=list)
    errors: list[tuple[str, FeedProblem]] = field(default_factory=list)
    unchanged: int = 0
    left: int = 0
    pauses_s: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, outcome: IngestResult | FeedProblem, *, unchanged: bool = False) -> None:
        """Add the outcome of one feed."""
        if isinstance(outcome, FeedProblem):
            self.errors.append((name, outcome))
        else:
            self.per_feed.append((name, outcome))
            self.unchanged += unchanged

    def commonest_error(self) -> tuple[str, int]:
        """Return the most frequent problem code and its number of feeds, or "" and 0 if none failed."""
        return next(iter(Counter(problem.code for _, problem in self.errors).most_common(1)), ("", 0))

    def as_dict(self) -> dict[str, object]:
        """Return the object scripts rely on, without the time it took."""
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


def internal_problem(action: str, error: Exception | None) -> FeedProblem:
    """Return a fault of our own as the problem of the one feed it concerns."""
    return FeedProblem("internal", f"Tidings could not {action} ({type(error).__name__}); the log says more.")
