"""What documents bring, decided before anything is written: what is new, and which items it is. Pure.

Documents are planned together and in order: each sees what those before it would have left behind, so that a
plan for many is the plans for each, one after the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from digest.feeds import ParsedEntry
from digest.identity import canonical_url, entry_guid, fingerprint, item_urn, source_key
from ranking.matching import fold


@dataclass(frozen=True, slots=True)
class Arrival:
    """An entry with its identities: `guid` inside the feed, `url` among all items; `print` of its words."""

    entry: ParsedEntry
    guid: str
    url: str
    print: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One document's entries by guid, and the feed that carries them; a feed delivers once in a plan."""

    feed_id: int
    feed_url: str
    source_id: str
    arrivals: Mapping[str, Arrival]


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry a feed carried before. `speaks`: its feed brought the item first and may change its words."""

    item_id: int
    source_id: str
    fingerprint: str
    speaks: bool


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item that is there already. `carriers` are the feeds of this plan that carry it."""

    id: int
    url: str
    title: str
    source_id: str
    carriers: frozenset[int] = frozenset()


@dataclass(slots=True)
class NewItem:
    """An item to create: `first` says when it was published and by whom, `words` title and text."""

    first: Arrival
    words: Arrival
    source_id: str


@dataclass(slots=True)
class Plan:
    """What has to be written. `carry` holds (feed, guid, url of the item).

    `created` and `updated` say for each delivery, in order, which urls it creates and how many items it
    changes. `unasked` are urls to create that were not looked up: they may be there already.
    """

    create: dict[str, NewItem] = field(default_factory=dict)
    carry: list[tuple[int, str, str]] = field(default_factory=list)
    update: dict[int, tuple[str, Arrival]] = field(default_factory=dict)
    created: list[list[str]] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    unasked: set[str] = field(default_factory=set)


def arrivals_of(entries: Sequence[ParsedEntry]) -> dict[str, Arrival]:
    """Entries by identity; where a document repeats one, the first counts."""
    arrivals: dict[str, Arrival] = {}
    for entry in entries:
        guid = entry_guid(guid=entry.guid, link=entry.link, title=entry.title, text=entry.text)
        if guid not in arrivals:
            url = canonical_url(entry.link) or item_urn(entry.title, entry.text)
            arrivals[guid] = Arrival(entry, guid, url, fingerprint(entry.title, entry.text))
    return arrivals


def plan(
    deliveries: Sequence[Delivery],
    *,
    entries: Mapping[tuple[int, str], KnownEntry],
    items: Mapping[str, KnownItem],
) -> Plan:
    """Decide what `deliveries` change, given the entries (by feed and guid) and items (by url) there are.

    Every url of an entry that is not in `entries` has been looked up for `items`.
    """
    made = _Planner(items)
    for delivery in deliveries:
        made.deliver(delivery, entries)
    return made.plan


class _Planner:
    """The items as the plan leaves them so far."""

    def __init__(self, items: Mapping[str, KnownItem]) -> None:
        self.items, self.plan = items, Plan()
        # What earlier deliveries said of items that are there: (source, words).
        self.said: dict[int, tuple[str, Arrival]] = self.plan.update

    def deliver(self, delivery: Delivery, entries: Mapping[tuple[int, str], KnownEntry]) -> None:
        """Add one document to the plan."""
        known = {guid: entries.get((delivery.feed_id, guid)) for guid in delivery.arrivals}
        fresh = [arrival for guid, arrival in delivery.arrivals.items() if known[guid] is None]
        # An operator may have given the source another key; the address speaks for its publisher still.
        own = {delivery.source_id, source_key(delivery.feed_url)} - {""}
        created: dict[str, None] = {}
        changed: dict[int | str, Arrival] = {}
        for arrival in fresh:
            url = self._url_of(delivery, arrival, created)
            if self._is_there(url, created):
                if self._source_of(url) != delivery.source_id and source_key(url) in own:
                    changed[self._key(url)] = arrival  # the publisher's own words beat an aggregator's
            elif url not in created:
                self.plan.create[url] = NewItem(arrival, arrival, delivery.source_id)
                created[url] = None
            self.plan.carry.append((delivery.feed_id, arrival.guid, url))
        for guid, entry in known.items():
            if entry and self._is_news(delivery, delivery.arrivals[guid], entry):
                changed[entry.item_id] = delivery.arrivals[guid]
        self._change(changed, delivery)
        self.plan.created.append(list(created))
        self.plan.updated.append(len(changed))

    def _url_of(self, delivery: Delivery, arrival: Arrival, created: Collection[str]) -> str:
        """The item's url. Two entries of one feed that share a link but not a title (all pointing to a home
        page, say) are two items: the later one goes by its own name instead of the link.
        """
        url, item = arrival.url, self.items.get(arrival.url)
        if url in self.plan.create:
            twin = self.plan.create[url].words.entry.title if url in created else None
        else:
            twin = self._title_of(item) if item and delivery.feed_id in item.carriers else None
        if twin is None or fold(twin) == fold(arrival.entry.title):
            return url
        urn = item_urn(arrival.entry.title, arrival.entry.text)
        if urn not in self.items and urn not in self.plan.create:
            self.plan.unasked.add(urn)
        return urn

    def _is_there(self, url: str, created: Collection[str]) -> bool:
        return url in self.items or (url in self.plan.create and url not in created)

    def _key(self, url: str) -> int | str:
        """What names an item in a change: its id, or its url as long as it has none."""
        item = self.items.get(url)
        return item.id if item else url

    def _title_of(self, item: KnownItem) -> str:
        return self.said[item.id][1].entry.title if item.id in self.said else item.title

    def _source_of(self, url: str) -> str:
        if url in self.plan.create:
            return self.plan.create[url].source_id
        item = self.items[url]
        return self.said[item.id][0] if item.id in self.said else item.source_id

    def _is_news(self, delivery: Delivery, arrival: Arrival, known: KnownEntry) -> bool:
        """Whether an entry's words changed, told by the feed that brought the item and may speak for it."""
        source, print_ = known.source_id, known.fingerprint
        if said := self.said.get(known.item_id):
            source, print_ = said[0], said[1].print
        return known.speaks and source == delivery.source_id and print_ != arrival.print

    def _change(self, changed: Mapping[int | str, Arrival], delivery: Delivery) -> None:
        for key, arrival in changed.items():
            if isinstance(key, str):
                new = self.plan.create[key]
                new.words, new.source_id = arrival, delivery.source_id
            else:
                self.said[key] = (delivery.source_id, arrival)
