"""Dedupe: decide, before anything is written, which entries of a document are new items of its feed.

Two posts never become one: a guid, link or text that several posts of a document share, with different words,
dates or enclosures, does not identify any of them. One post never becomes two: names are compared without
scheme, `www.`, trailing slash and tracking parameters. A document changes items of its own feed only, so no
feed can change, hide or announce another feed's items. Items of several feeds are joined to one article
later, when a reader's items are read. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from itertools import product
from typing import Final
from urllib.parse import urldefrag, urlsplit

from digest.entities import PUBLISHED_MIN
from digest.feeds.arrival import corrected_dates
from digest.feeds.entities import ParsedEntry
from digest.feeds.identity import (
    NAME_HASH,
    URN_PREFIX,
    address_folded,
    address_host,
    address_place,
    address_spellings,
    article_hash,
    body_hash,
    canonical_url,
    entry_guid,
    entry_name_hash,
    fingerprint,
    item_urn,
)
from digest.feeds.links import link_absolute
from ranking.common.text import fold

# A post that comes under another guid, with another text, is the same one if its date moved by less.
CORRECTED_WITHIN: Final = timedelta(hours=12)
ANY: Final = "*"
# From here on, the precise names of a post have its date.
DATED: Final = 2
# Two texts are alike if the shorter one shares this part of its words with the other.
ALIKE: Final = 0.8
# A date without a time identifies a post only if it has this many words. Notices of one day are often alike.
WORDS_MIN: Final = 25
_WORD: Final = re.compile(r"\w+")
_NONE: Final[Mapping[str, Sequence["KnownItem"]]] = {}


@dataclass(frozen=True, slots=True)
class IdentifiedEntry:
    """An entry and its identities: the `guid` in its feed, the `url` and its hash, the hashes of text and
    body.

    `link` is its target, "" if it has none. `precise` are names that tell posts with the same guid or link
    apart, made of title, words and date. `is_named`: no other post of the document has its guid. `is_placed`:
    no other post has its link. `is_worded`: no other post has its words and enclosures.
    """

    entry: ParsedEntry
    guid: str
    url: str
    article: int
    fingerprint: str
    body_hash: int = 0
    link: str = ""
    precise: tuple[str, ...] = ()
    is_named: bool = True
    is_placed: bool = False
    is_worded: bool = True

    @property
    def urn(self) -> str:
        """Return the name the item goes by if its address is another item's."""
        return URN_PREFIX + self.fingerprint

    @property
    def is_unnamed(self) -> bool:
        """Return whether the post has neither guid nor link of its own, so that its words are its name."""
        is_shared = self.guid in self.precise and not self.entry.guid.strip()
        return self.guid.startswith(URN_PREFIX) or is_shared

    @property
    def is_guid_shared(self) -> bool:
        """Return whether the post has a guid that others of its document have, too."""
        return bool(self.entry.guid.strip()) and self.guid in self.precise

    @property
    def own_urn(self) -> str:
        """Return the name the item goes by if another item has its words, too."""
        return URN_PREFIX + self.precise[-1]

    def spellings(self) -> list[str]:
        """Return the guids that the same post may have had: without TLS, with `www.`, and so on."""
        return [entry_guid(guid=one, link="", title="", text="") for one in address_spellings(self.guid)]

    @property
    def host(self) -> str:
        """Return the host of the post's link, "" if it has none."""
        return address_host(self.entry.link)

    def names_at(self, host: str) -> list[str]:
        """Return the guids that the post may have had when its site was at `host`, be it a link or a tag."""
        names = [one.replace(self.host, host) for one in (self.guid, self.entry.link.strip())]
        return [*dict.fromkeys(spelt for name in names for spelt in (name, *address_spellings(name)))]

    def articles(self) -> list[int]:
        """Return the hashes of addresses at which the feed may have the post, its own first."""
        places = [one for one in (canonical_url(self.entry.link), canonical_url(self.entry.guid)) if one]
        found = [self.article, article_hash(self.urn), article_hash(self.own_urn)]
        return found + [article_hash(one) for place in places for one in address_spellings(place)]

    def named(self, url: str) -> "IdentifiedEntry":
        """Return the entry as one that goes by `url`."""
        return replace(self, url=url, article=article_hash(url))


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item that the feed already has. `id` is 0 if retention deleted it.

    `link` is its target, or None if the query left it out. `published` is None if the publisher gave no date.
    `dates` are: stored as published, counted from, first seen. `enclosures` are addresses without parameters
    and `text` its words; both are empty if the query left them out.
    """

    id: int
    guid: str
    article: int = 0
    title: str = ""
    author: str = ""
    fingerprint: str = ""
    body_hash: int = 0
    link: str | None = None
    published: datetime | None = None
    dates: tuple[datetime, datetime, datetime] | None = None
    enclosures: tuple[str, ...] = ()
    text: str = ""


@dataclass(slots=True)
class IngestPlan:
    """The changes of one document: entries to store as new items, and entries to store again, by item id.

    `update` has entries with new words or links, `rebody` those with a new body, categories or picture.
    `redate` has the corrected dates of items: published, and counted from.
    """

    create: list[IdentifiedEntry] = field(default_factory=list)
    update: dict[int, IdentifiedEntry] = field(default_factory=dict)
    rebody: dict[int, IdentifiedEntry] = field(default_factory=dict)
    redate: dict[int, tuple[datetime, datetime]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Post:
    """A post of a document, with the names that others may share: as written, and folded."""

    entry: ParsedEntry
    guid: str
    link: str
    place: str
    words: str
    media: tuple[str, ...]
    precise: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the guid as written, else the link."""
        return self.guid or entry_guid(guid="", link=self.link, title="", text="")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that may identify the post in its feed, the coarsest first."""
        return (address_folded(self.guid), self.guid) if self.guid else (self.place, self.link)

    def asked(self) -> Iterator[object]:
        """Yield the keys under which `seen` would hold an earlier copy of this post. A missing date matches
        any."""
        dates = (self.entry.published, None) if self.entry.published else (ANY,)
        media = (self.media, ()) if self.media else (ANY,)
        for name in {*self.names, self.place} - {""} or {self.words}:
            yield from product((name,), (self.words,), dates, media)

    def seen(self) -> Iterator[object]:
        """Yield the keys that later copies of this post will ask for."""
        for name in {*self.names, self.place} - {""} or {self.words}:
            yield from product((name,), (self.words,), (self.entry.published, ANY), (self.media, ANY))


def identify_entries(
    entries: Sequence[ParsedEntry], *, owner: str = "", site: str = ""
) -> dict[str, IdentifiedEntry]:
    """Return the posts of a document by guid, without repeats.

    For a private feed, `owner` makes the fingerprints that reader's own, so nothing stored by fingerprint,
    such as a summary, is shared with other readers. `site` is the address of the feed's site, which
    identifies no post.
    """
    posts = _distinct([_post(entry, owner) for entry in entries])
    names = Counter(name for post in posts for name in {*post.names} - {""})
    places = Counter(post.place for post in posts)
    words = Counter(post.words for post in posts)
    sounds = Counter((post.words, post.media) for post in posts)
    precise = Counter(name for post in posts for name in post.precise)
    home = address_folded(site)
    found: dict[str, IdentifiedEntry] = {}
    for post in posts:
        exact = next((name for name in post.precise if precise[name] == 1), post.precise[-1])
        is_placed = post.place not in ("", home) and places[post.place] == 1
        is_named = any(names[name] == 1 for name in post.names) and post.names[0] not in ("", home)
        is_distinct = words[post.words] == 1 and (is_named or not post.place)
        urn = item_urn(post.entry.title, post.entry.text) if is_distinct else URN_PREFIX + exact
        url = (is_placed and canonical_url(post.entry.link)) or urn
        guid = (is_named and post.name) or (urn if is_distinct and not post.names[0] else exact)
        found[guid] = IdentifiedEntry(
            post.entry,
            guid,
            url,
            article_hash(url),
            post.words,
            _body_hash(post.entry),
            link=_leads_to(post.entry, site),
            precise=post.precise,
            is_named=is_named or guid == exact,
            is_placed=is_placed,
            is_worded=sounds[post.words, post.media] == 1,
        )
    return found


def _leads_to(entry: ParsedEntry, site: str) -> str:
    """Return the address that a post opens: its own link, else its first enclosure's, else the site's."""
    offers = (entry.link, *(one.url for one in entry.enclosures), site)
    return next((found for one in offers if (found := link_absolute(one, base=""))), "")


def _post(entry: ParsedEntry, owner: str) -> _Post:
    guid = entry_guid(guid=entry.guid, link="", title="", text="") if entry.guid.strip() else ""
    link = entry.link.strip()
    media = tuple(sorted({one.url.partition("?")[0] for one in entry.enclosures}))
    words, place = fingerprint(entry.title, entry.text, owner), address_folded(link)
    date = entry.published and entry.published.isoformat()
    name, title = (address_folded(guid) or place, media), fold(entry.title)
    names = ((title,), (words,), (title, date), (words, date))
    precise = tuple(entry_name_hash(repr((*name, *one))) for one in names)
    return _Post(entry, guid, link, place, words, media, precise)


def _distinct(posts: Iterable[_Post]) -> list[_Post]:
    """Return the posts without repeats. Posts that share a name, words, date and enclosures are one."""
    found: list[_Post] = []
    seen: set[object] = set()  # looked up and not searched: a document may have 2,000 posts of one name
    for post in posts:
        if seen.isdisjoint(post.asked()):
            found.append(post)
            seen.update(post.seen())
    return found


def plan_ingest(
    entries: Mapping[str, IdentifiedEntry],
    *,
    by_guid: Mapping[str, KnownItem],
    by_article: Mapping[int, Sequence[KnownItem]],
    unnamed: Sequence[KnownItem] = (),
    by_words: Mapping[str, Sequence[KnownItem]] = _NONE,
) -> IngestPlan:
    """Decide how the posts of one document change the stored items of its feed.

    `by_guid` has the feed's items with the guids of the posts, their precise names and other spellings.
    `by_article` has those at the addresses of posts with an unknown guid, because some feeds give a post a
    new guid every time. `unnamed` are items without guid and link that may be a post with changed words.
    `by_words` has those with the words of posts found at no address: a corrected address or a moved site
    continues the item that the document no longer has. No two posts become one stored item. A new post with
    another item's address is named by a urn.
    """
    plan = IngestPlan()
    known = _match(entries, by_guid, by_article, unnamed)
    _match_moved(entries, known, by_guid, by_words)
    taken: set[int] = set()  # addresses of this document's entries
    for guid, entry in entries.items():
        item = known.get(guid)
        if guid in by_guid and (item is None or item.guid != guid):
            # Its guid belongs to another item, which keeps it. This post is named by the rest of its content.
            entry = replace(entry, guid=item.guid if item else entry.precise[-1])
        if item is None:
            entry = _first_unshared(entry, taken, by_article)
            taken.add(entry.article)
            plan.create.append(entry)
        elif item.id:
            if _is_changed(entry, item):
                plan.update[item.id] = entry
            if entry.body_hash != item.body_hash:
                plan.rebody[item.id] = entry
            if dates := _corrected_dates(entry, item):
                plan.redate[item.id] = dates
    return plan


def _corrected_dates(entry: IdentifiedEntry, item: KnownItem) -> tuple[datetime, datetime] | None:
    if item.dates is None:
        return None
    stored, dated, seen = item.dates
    return corrected_dates(entry.entry.published, stored=stored, dated=dated, first_seen=seen)


def _match(
    entries: Mapping[str, IdentifiedEntry],
    by_guid: Mapping[str, KnownItem],
    by_article: Mapping[int, Sequence[KnownItem]],
    unnamed: Sequence[KnownItem],
) -> dict[str, KnownItem]:
    """Return the stored item of each post, by guid. The surest matches come first, and each item is used
    once."""
    found: dict[str, KnownItem] = {}
    taken: set[str] = set()
    if not by_guid and not by_article and not unnamed:
        return found

    def take(guid: str, item: KnownItem | None) -> None:
        if item and guid not in found and item.guid not in taken:
            found[guid] = item
            taken.add(item.guid)

    for guid, entry in entries.items():
        for n, name in reversed([*enumerate(entry.precise)]):
            item = by_guid.get(name)
            if item and (n >= DATED or not item.id or _is_alike(entry, item)):
                take(guid, item)
    for guid, entry in entries.items():
        item = by_guid.get(guid)
        if item and (entry.is_named or _is_alike(entry, item)):
            take(guid, item)
    for guid, entry in entries.items():
        for spelling in entry.spellings() if guid not in found else ():
            item = by_guid.get(spelling)
            if item and (entry.is_named or _is_alike(entry, item)):
                take(guid, item)
    for guid, entry in entries.items():
        for article in entry.articles() if guid not in found else ():
            for item in by_article.get(article, ()):
                if _is_at(entry, item):
                    take(guid, item)
    for guid, entry in entries.items():
        if entry.is_unnamed and guid not in found:
            take(guid, next((item for item in unnamed if _is_reworded(entry, item)), None))
    return found


def _match_moved(
    entries: Mapping[str, IdentifiedEntry],
    found: dict[str, KnownItem],
    by_guid: Mapping[str, KnownItem],
    by_words: Mapping[str, Sequence[KnownItem]],
) -> None:
    """Add to `found` the stored items of posts with a corrected address or a moved site."""
    if not by_words:
        return
    taken = {item.guid for item in found.values()}
    hosts = hosts_left(entries.values(), by_words)
    for guid, entry in entries.items():
        if guid in found:
            continue
        names = [name for host in hosts.get(entry.host, ()) for name in entry.names_at(host)]
        named = [item for name in names if (item := by_guid.get(name)) and _is_renamed(entry, item)]
        moved = [item for item in by_words.get(entry.fingerprint, ()) if _is_moved(entry, item)]
        for item in (*named, *moved):
            if item.guid not in taken and guid not in found:
                found[guid] = item
                taken.add(item.guid)


def hosts_left(
    entries: Iterable[IdentifiedEntry], by_words: Mapping[str, Sequence[KnownItem]]
) -> dict[str, set[str]]:
    """Return by host of posts the hosts at which their feed had some of them before it moved."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        for item in by_words.get(entry.fingerprint, ()):
            before = address_host(item.link or "")
            if entry.host and before and before != entry.host and _is_moved(entry, item):
                found.setdefault(entry.host, set()).add(before)
    return found


def _is_moved(entry: IdentifiedEntry, item: KnownItem) -> bool:
    """Return whether a stored item with the post's title and words is the post at another address.

    The date decides, to the second, or else the item's place on the host that the site left. Both must give a
    date. A date without a time decides only for a post of many words, and so does any date if the guid is no
    address.
    """
    published = entry.entry.published
    if not entry.is_worded or _differ(entry, item, is_moved=True):
        return False
    if (
        address_host(item.link or "") != entry.host
        and address_place(item.link or "") == address_place(entry.entry.link) != ""
    ):
        return not _is_dated_apart(entry, item, timedelta())
    if published is None or published != item.published or published <= PUBLISHED_MIN:
        return False
    is_placed = all(address_host(guid) or guid.startswith(URN_PREFIX) for guid in (entry.guid, item.guid))
    has_time = is_placed and published.time() != time()
    return has_time or len(_WORD.findall(entry.entry.text)) >= WORDS_MIN


def _is_renamed(entry: IdentifiedEntry, item: KnownItem) -> bool:
    """Return whether an item with the post's name on the site's old host is the post.

    If retention deleted the item, only its name is known.
    """
    if not item.id:
        return True
    return _has_title(entry, item) and not _is_dated_apart(entry, item, CORRECTED_WITHIN)


def _is_alike(entry: IdentifiedEntry, item: KnownItem) -> bool:
    """Return whether a stored item is the post, of several that share its name."""
    if _differ(entry, item):
        return False
    if entry.fingerprint == item.fingerprint:
        return entry.is_worded or not _is_dated_apart(entry, item, timedelta())
    return _has_title(entry, item) and not _is_dated_apart(entry, item, timedelta())


def _is_at(entry: IdentifiedEntry, item: KnownItem) -> bool:
    """Return whether a stored item at the post's address, or with its words, is the post.

    If the same words come with another date, the feed dates all its entries by the day, and nothing is new.
    """
    if _differ(entry, item):
        return False
    if entry.fingerprint == item.fingerprint:
        return entry.is_worded or not _is_dated_apart(entry, item, timedelta())
    parts = {urldefrag(one).fragment for one in (entry.link, item.link or "")} - {""}
    if not entry.is_placed or len(parts) > 1:
        return False
    # If posts share a guid, a post's own link names it, and its title may be corrected.
    is_linked = entry.is_guid_shared and item.guid.startswith(NAME_HASH)
    if not is_linked and not _has_title(entry, item):
        return False
    return not _is_dated_apart(entry, item, CORRECTED_WITHIN)


def _is_reworded(entry: IdentifiedEntry, item: KnownItem) -> bool:
    """Return whether a stored item without a guid or link of its own is the post with other words.

    Its publisher edited it, or we read it better than before. A date tells only if it has a time: several
    posts of a day may have one title.
    """
    published = entry.entry.published
    if _differ(entry, item) or published != item.published:
        return False
    is_timed = published is not None and published.time() != time()
    is_alike = _are_alike(entry.entry.text, item.text)
    if item.guid.startswith(NAME_HASH):
        # Posts that share a link or title may share a moment, too, and without words all are alike.
        return is_timed and is_alike and bool(item.text)
    return (is_timed or is_alike) if _has_title(entry, item) else (is_timed and is_alike)


def _are_alike(one: str, other: str) -> bool:
    """Return whether two texts share most words of the shorter."""
    a, b = (set(_WORD.findall(fold(text))) for text in (one, other))
    return len(a & b) >= ALIKE * min(len(a), len(b))


def _has_title(entry: IdentifiedEntry, item: KnownItem) -> bool:
    return fold(entry.entry.title) == fold(item.title)


def _is_dated_apart(entry: IdentifiedEntry, item: KnownItem, within: timedelta) -> bool:
    """Return whether two dates that are known lie further apart."""
    published = entry.entry.published
    if published is None or item.published is None or published <= PUBLISHED_MIN:
        return False
    return abs(published - item.published) > within


def _differ(entry: IdentifiedEntry, item: KnownItem, *, is_moved: bool = False) -> bool:
    """Return whether the two have different enclosures. False if one has none, unless its site moved.

    Enclosures that moved with their site (`is_moved`) are compared by path alone, and none differs from any.
    """
    media = {one.url.partition("?")[0] for one in entry.entry.enclosures}
    before = set(item.enclosures)
    if is_moved:
        media, before = ({urlsplit(one).path for one in some} for some in (media, before))
        return media != before and media.isdisjoint(before)
    return bool(media) and bool(before) and media.isdisjoint(before)


def _first_unshared(
    entry: IdentifiedEntry, taken: set[int], by_article: Mapping[int, Sequence[KnownItem]]
) -> IdentifiedEntry:
    """Return a new entry by a name that no other item of its feed has."""
    names = (entry, entry.named(entry.urn), entry.named(entry.own_urn))
    return next((one for one in names if one.article not in taken and not by_article.get(one.article)), entry)


def _body_hash(entry: ParsedEntry) -> int:
    parts = (entry.html, entry.enclosures, entry.categories, entry.image)
    return body_hash(repr(parts)) if any(parts) else 0


def _is_changed(entry: IdentifiedEntry, known: KnownItem) -> bool:
    if known.link is not None and known.link != entry.link:
        return True
    is_same = (entry.guid, entry.fingerprint, entry.entry.author)
    return is_same != (known.guid, known.fingerprint, known.author)
