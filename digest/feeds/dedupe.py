"""Dedupe: decide before anything is written which entries of a document are new items of its feed.

A document touches items of its own feed alone, so that no feed can change, hide or announce what another one
carries; that items of several feeds are one article is decided where a reader's items are read. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from digest.feeds.entities import ParsedEntry
from digest.feeds.identity import (
    URN_PREFIX,
    article_hash,
    body_hash,
    canonical_url,
    entry_guid,
    fingerprint,
    item_urn,
)
from ranking.common.text import fold


@dataclass(frozen=True, slots=True)
class IdentifiedEntry:
    """An entry and its identities: `guid` in the feed, `url` and its hash, and those of text and body."""

    entry: ParsedEntry
    guid: str
    url: str
    article: int
    fingerprint: str
    body_hash: int = 0

    @property
    def urn(self) -> str:
        """Return the name the item goes by where its address is another item's."""
        return URN_PREFIX + self.fingerprint


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item that the feed carried before; `id` is 0 where retention deleted it."""

    id: int
    guid: str
    article: int = 0
    title: str = ""
    author: str = ""
    fingerprint: str = ""
    body_hash: int = 0


@dataclass(slots=True)
class IngestPlan:
    """What one document changes: entries to store as new items, and by item id those to store again.

    `update` has those whose words changed, `rebody` those whose body, categories or picture did.
    """

    create: list[IdentifiedEntry] = field(default_factory=list)
    update: dict[int, IdentifiedEntry] = field(default_factory=dict)
    rebody: dict[int, IdentifiedEntry] = field(default_factory=dict)


def identify_entries(entries: Sequence[ParsedEntry], *, owner: str = "") -> dict[str, IdentifiedEntry]:
    """Return entries by guid; where a document repeats one, the first counts.

    With the `owner` of a private feed the fingerprints are that reader's own: nothing that is stored by the
    fingerprint of a text, such as its summary, is shared with whoever has the same text.
    """
    found: dict[str, IdentifiedEntry] = {}
    for entry in entries:
        guid = entry_guid(guid=entry.guid, link=entry.link, title=entry.title, text=entry.text)
        if guid not in found:
            url = canonical_url(entry.link) or item_urn(entry.title, entry.text)
            print_ = fingerprint(entry.title, entry.text, owner)
            found[guid] = IdentifiedEntry(entry, guid, url, article_hash(url), print_, _body_hash(entry))
    return found


def plan_ingest(
    entries: Mapping[str, IdentifiedEntry],
    *,
    by_guid: Mapping[str, KnownItem],
    by_article: Mapping[int, Sequence[KnownItem]],
) -> IngestPlan:
    """Decide what the entries of one document change, given what its feed has stored.

    `by_guid` are the feed's items with these guids, `by_article` those at the addresses of the entries whose
    guid is unknown: a feed that gives a post a new guid each time brings it once. Two entries that share an
    address but not a title (all pointing to a home page, say) are two items: the later one goes by a urn.
    """
    plan = IngestPlan()
    titles: dict[int, str] = {}  # of what this document has brought at an address
    for guid, entry in entries.items():
        known = by_guid.get(guid)
        if known is None:
            entry, known = _at_address(entry, by_article, titles)
            if known and known.guid in entries:
                continue  # the same post twice in one document
        if known is None:
            if entry.article not in titles:
                titles[entry.article] = fold(entry.entry.title)
                plan.create.append(entry)
        elif known.id:
            if _is_changed(entry, known):
                plan.update[known.id] = entry
            if entry.body_hash != known.body_hash:
                plan.rebody[known.id] = entry
    return plan


def _at_address(
    entry: IdentifiedEntry, by_article: Mapping[int, Sequence[KnownItem]], titles: Mapping[int, str]
) -> tuple[IdentifiedEntry, KnownItem | None]:
    """Return the entry, by a urn where its address is another item's, and the stored item it is."""
    title = fold(entry.entry.title)
    stored = by_article.get(entry.article, ())
    same = next((item for item in stored if fold(item.title) == title), None)
    if same or (not stored and titles.get(entry.article, title) == title):
        return entry, same
    entry = replace(entry, url=entry.urn, article=article_hash(entry.urn))
    return entry, next(iter(by_article.get(entry.article, ())), None)


def _body_hash(entry: ParsedEntry) -> int:
    parts = (entry.html, entry.enclosures, entry.categories, entry.image)
    return body_hash(repr(parts)) if any(parts) else 0


def _is_changed(entry: IdentifiedEntry, known: KnownItem) -> bool:
    is_same = (entry.guid, entry.fingerprint, entry.entry.author)
    return is_same != (known.guid, known.fingerprint, known.author)
