"""Dedupe: decide before anything is written which entries of documents are new, and which items they are.

Documents are planned together and in order: each sees what those before it would have stored, so that a plan
for many is the plans for each, one after the other. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from digest.feeds.entities import ParsedEntry
from digest.feeds.identity import canonical_url, entry_guid, fingerprint, item_urn, source_key
from ranking.common.text import fold


@dataclass(frozen=True, slots=True)
class IdentifiedEntry:
    """An entry and its identities: `guid` in the feed, `url` among all items, `fingerprint` of its text."""

    entry: ParsedEntry
    guid: str
    url: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class FeedDocument:
    """One document's entries by guid, and the feed that carries them; a plan has one document of a feed."""

    feed_id: int
    feed_url: str
    source_id: str
    entries: Mapping[str, IdentifiedEntry]


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry a feed carried before. `is_first`: its feed brought the item first and may change its text."""

    item_id: int
    source_id: str
    fingerprint: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item that is stored. `feed_ids` are the feeds of this plan that carry it."""

    id: int
    url: str
    title: str
    source_id: str
    feed_ids: frozenset[int] = frozenset()


@dataclass(slots=True)
class NewItem:
    """An item to create: `first` gives author, language and date, `content` title and text."""

    first: IdentifiedEntry
    content: IdentifiedEntry
    source_id: str


@dataclass(slots=True)
class IngestPlan:
    """What to write. `create` is by url, `update` by item id; `entries` holds (feed, guid, url of the item).

    `created` and `updated` list for each document which urls it creates and how many items it changes.
    `unchecked` are urls to create that were not looked up: they may be stored already.
    """

    create: dict[str, NewItem] = field(default_factory=dict)
    entries: list[tuple[int, str, str]] = field(default_factory=list)
    update: dict[int, tuple[str, IdentifiedEntry]] = field(default_factory=dict)
    created: list[list[str]] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    unchecked: set[str] = field(default_factory=set)


def identify_entries(entries: Sequence[ParsedEntry]) -> dict[str, IdentifiedEntry]:
    """Return entries by guid; where a document repeats one, the first counts."""
    found: dict[str, IdentifiedEntry] = {}
    for entry in entries:
        guid = entry_guid(guid=entry.guid, link=entry.link, title=entry.title, text=entry.text)
        if guid not in found:
            url = canonical_url(entry.link) or item_urn(entry.title, entry.text)
            found[guid] = IdentifiedEntry(entry, guid, url, fingerprint(entry.title, entry.text))
    return found


def plan_ingest(
    documents: Sequence[FeedDocument],
    *,
    entries: Mapping[tuple[int, str], KnownEntry],
    items: Mapping[str, KnownItem],
) -> IngestPlan:
    """Decide what `documents` change, given the stored entries (by feed and guid) and items (by url).

    Every url of an entry that is not in `entries` has been looked up for `items`.
    """
    planner = _Planner(items)
    for document in documents:
        planner.add(document, entries)
    return planner.plan


class _Planner:
    """The stored items, and the plan so far, which counts as if it were stored."""

    def __init__(self, items: Mapping[str, KnownItem]) -> None:
        self.items, self.plan = items, IngestPlan()

    def add(self, document: FeedDocument, entries: Mapping[tuple[int, str], KnownEntry]) -> None:
        """Add one document to the plan."""
        known = {guid: entries.get((document.feed_id, guid)) for guid in document.entries}
        # An operator may have given the source another key; the address still belongs to its publisher.
        own = {document.source_id, source_key(document.feed_url)} - {""}
        created: dict[str, None] = {}
        changed: dict[int | str, IdentifiedEntry] = {}  # by id, or by url as long as an item has none
        for guid, entry in document.entries.items():
            if known[guid]:
                continue
            url = self._item_url(document, entry, created)
            if url in self.items or (url in self.plan.create and url not in created):
                if self._source(url) != document.source_id and source_key(url) in own:
                    # The publisher's own text replaces an aggregator's.
                    changed[self.items[url].id if url in self.items else url] = entry
            elif url not in created:
                self.plan.create[url] = NewItem(entry, entry, document.source_id)
                created[url] = None
            self.plan.entries.append((document.feed_id, guid, url))
        for guid, stored in known.items():
            if stored and self._is_changed(document, document.entries[guid], stored):
                changed[stored.item_id] = document.entries[guid]
        for item, entry in changed.items():
            if isinstance(item, str):
                new = self.plan.create[item]
                new.content, new.source_id = entry, document.source_id
            else:
                self.plan.update[item] = (document.source_id, entry)
        self.plan.created.append(list(created))
        self.plan.updated.append(len(changed))

    def _item_url(self, document: FeedDocument, entry: IdentifiedEntry, created: Collection[str]) -> str:
        """Return the url of the entry's item.

        Two entries of one feed that share a link but not a title (all pointing to a home page, say) are two
        items: the later one goes by a urn instead of the link.
        """
        url, item = entry.url, self.items.get(entry.url)
        title = None  # of the item with this url that this feed carries
        if url in self.plan.create:
            title = self.plan.create[url].content.entry.title if url in created else None
        elif item and document.feed_id in item.feed_ids:
            updated = self.plan.update.get(item.id)
            title = updated[1].entry.title if updated else item.title
        if title is None or fold(title) == fold(entry.entry.title):
            return url
        urn = item_urn(entry.entry.title, entry.entry.text)
        if urn not in self.items and urn not in self.plan.create:
            self.plan.unchecked.add(urn)
        return urn

    def _source(self, url: str) -> str:
        if url in self.plan.create:
            return self.plan.create[url].source_id
        item = self.items[url]
        return self.plan.update[item.id][0] if item.id in self.plan.update else item.source_id

    def _is_changed(self, document: FeedDocument, entry: IdentifiedEntry, stored: KnownEntry) -> bool:
        """Return whether the text changed in the feed that brought the item, for the source the item has."""
        source, print_ = stored.source_id, stored.fingerprint
        if updated := self.plan.update.get(stored.item_id):
            source, print_ = updated[0], updated[1].fingerprint
        return stored.is_first and source == document.source_id and print_ != entry.fingerprint
