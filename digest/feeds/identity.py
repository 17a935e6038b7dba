"""Identities: canonical URLs, names of items without a URL, guids of entries, source keys; and dates.

A source's key stands for its publisher. Platforms are hosts that many publishers share. There the publisher
is part of the host (`PLATFORM_SUFFIXES`), or of the path or query (`PUBLISHER_RULES`), so feeds and items of
one publisher get one key if their addresses tell enough. Hosts on the public suffix list (github.io,
blogspot.com, netlify.app, …) need no line here. Pure.
"""

import hashlib
import re
from datetime import datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

from publicsuffixlist import PSLFILE, PublicSuffixList
from url_normalize import url_normalize

from digest.entities import PUBLISHED_MIN
from digest.feeds.addresses import (
    READ_MAX_CHARS,
    URL_MAX_CHARS,
    NotAnAddress,
    address_read,
    host_encode,
)
from ranking.common.remember import remember_short
from ranking.common.text import fold

# Every name below these is a publisher of its own, as below a public suffix.
_SUFFIX_NAMES: Final = """
    substack.com wordpress.com tumblr.com ghost.io bearblog.dev beehiiv.com livejournal.com dreamwidth.org
    typepad.com posthaven.com svbtle.com over-blog.com micro.blog mataroa.blog prose.sh writeas.com
    neocities.org hashnode.dev squarespace.com canalblog.com exblog.jp seesaa.net cocolog-nifty.com
    medium.com libsyn.com podbean.com fireside.fm simplecast.com bandcamp.com itch.io
"""
PLATFORM_SUFFIXES: Final = tuple(_SUFFIX_NAMES.split())
# Names below those that are the platform's own.
PLATFORM_NAMES: Final = frozenset(
    ["www", "www2", "m", "feed", "feeds", "feeds2", "rss", "open", "api", "old", "new"]
)

_END: Final = r"(?:\.(?:rss|atom|xml|json))*(?=[/?]|\Z)"
_OWNER: Final = rf"([\w@~][\w.@~+-]*?){_END}"
_LABEL: Final = rf"([a-z0-9][a-z0-9-]*){_END}"
_PROJECT: Final = r"([\w~][\w.-]*/[\w][\w.-]*?)(?:\.(?:rss|atom))*(?=[/?]|\Z)"
_FEEDBURNER: Final = (
    (rf"/(?:feeds/|~r/)?((?:blogspot|typepad|wordpress|tumblr)/[\w-]+){_END}", "feedburner.com/{}"),
    (rf"/(?:feeds/|~r/)?{_OWNER}", "feedburner.com/{}"),
)
_REPOSITORIES: Final = ((f"/{_PROJECT}", "{host}/{}"), (f"/{_OWNER}", "{host}/{}"))
_FIRST: Final = ((f"/{_OWNER}", "{host}/{}"),)
_ACCOUNTS: Final = ((rf"/(?:@|users/){_OWNER}", "{host}/@{}"),)

_PATH_RULES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    # Feeds carried for others.
    "feedburner.com": _FEEDBURNER,
    "feedproxy.google.com": _FEEDBURNER,
    "feedblitz.com": ((rf"/~/\d+/\d+/{_OWNER}", "{host}/{}"), *_FIRST),
    "rss.app": ((rf"/(?:feeds/)?{_OWNER}", "{host}/{}"),),
    "rsshub.app": ((r"/([\w@~][\w.@~+:/-]*?)/?(?=\?|\Z)", "{host}/{}"),),
    "blogger.com": ((r"/feeds/(\d+)", "{host}/feeds/{}"),),
    # Blogs and newsletters.
    "medium.com": (
        (rf"/(?:feed/)?tag/{_OWNER}", "{host}/tag/{}"),
        (rf"/(?:feed/)?(?!(?:feed|tag|p|m|me|search)(?:[/?]|\Z)){_OWNER}", "{host}/{}"),
    ),
    "substack.com": ((rf"/pub/{_LABEL}", "{}.{host}"), (rf"/(?=@){_OWNER}", "{host}/{}")),
    "tumblr.com": ((rf"/(?:blog/view/)?{_LABEL}", "{}.{host}"),),
    "beehiiv.com": ((rf"/(?:feeds/)?{_OWNER}", "{host}/{}"),),
    "buttondown.email": ((f"/{_OWNER}", "buttondown.com/{}"),),
    "dev.to": ((rf"/(?:feed/)?(?!(?:feed|t|tag)(?:[/?]|\Z)){_OWNER}", "{host}/{}"),),
    # Videos, pictures, discussion.
    "youtube.com": (
        (r"/feeds/videos\.xml\?(?:.*&)?channel_id=([\w-]+)", "{host}/channel/{}"),
        (r"/feeds/videos\.xml\?(?:.*&)?playlist_id=([\w-]+)", "{host}/playlist/{}"),
        (r"/feeds/videos\.xml\?(?:.*&)?user=([\w.-]+)", "{host}/user/{}"),
        (r"/playlist\?(?:.*&)?list=([\w-]+)", "{host}/playlist/{}"),
        (r"/((?:channel|playlist|user|c)/[\w.-]+|@[\w.-]+)", "{host}/{}"),
    ),
    "flickr.com": (
        (r"/services/feeds/\w+\.gne\?(?:.*&)?id=([\w@-]+)", "{host}/photos/{}"),
        (rf"/photos/{_OWNER}", "{host}/photos/{}"),
    ),
    "reddit.com": ((rf"/r/{_OWNER}", "{host}/r/{}"), (rf"/u(?:ser)?/{_OWNER}", "{host}/user/{}")),
    "bsky.app": ((rf"/profile/{_OWNER}", "{host}/profile/{}"),),
    # Software.
    "raw.githubusercontent.com": ((f"/{_PROJECT}", "github.com/{}"),),
    "sr.ht": ((r"/(~[\w.-]+)", "{host}/{}"),),
    # Podcasts.
    "podbean.com": ((rf"/{_LABEL}", "{}.{host}"),),
    "fireside.fm": ((rf"/{_LABEL}", "{}.{host}"),),
    "soundcloud.com": ((r"/users/(?:soundcloud:users:)?(\d+)", "{host}/users/{}"), *_FIRST),
    "art19.com": ((rf"/(?:shows/)?{_OWNER}", "{host}/{}"),),
    "acast.com": ((rf"/(?:public/)?(?:shows/)?{_OWNER}", "{host}/{}"),),
    "anchor.fm": ((r"/(s/[\w-]+)", "{host}/{}"), *_FIRST),
    "spreaker.com": ((rf"/show/{_OWNER}", "{host}/show/{}"),),
    "audioboom.com": ((rf"/channels/{_OWNER}", "{host}/channels/{}"),),
    "patreon.com": ((rf"/(?:rss/)?(?!(?:rss|posts)(?:[/?]|\Z)){_OWNER}", "{host}/{}"),),
}
_FIRST_NAMES: Final = """
    feedpress.me feedpress.it buttondown.com world.hey.com write.as tinyletter.com qiita.com zenn.dev
    note.com ameblo.jp libsyn.com simplecast.com megaphone.fm buzzsprout.com transistor.fm captivate.fm
"""
_REPOSITORY_NAMES: Final = "github.com gitlab.com codeberg.org bitbucket.org"
_ACCOUNT_NAMES: Final = """
    mastodon.social mastodon.online fosstodon.org hachyderm.io infosec.exchange mas.to mstdn.social
"""
PUBLISHER_RULES: Final = {
    host: tuple((re.compile(pattern), template) for pattern, template in rules)
    for host, rules in {
        **dict.fromkeys(_FIRST_NAMES.split(), _FIRST),
        **dict.fromkeys(_REPOSITORY_NAMES.split(), _REPOSITORIES),
        **dict.fromkeys(_ACCOUNT_NAMES.split(), _ACCOUNTS),
        **_PATH_RULES,
    }.items()
}

GUID_MAX_CHARS: Final = 500
SOURCE_KEY_MAX_CHARS: Final = 120
# Prefixes of post names that are hashes.
NAME_HASH: Final = "sha256:"
# Each parameter of an address takes 25 µs and more, and a document may have thousands of addresses.
PARAMETERS_MAX: Final = 100
URN_PREFIX: Final = "urn:tidings:"
# The beginning of the address of a feed that is read from a file on this machine.
FILE_PREFIX: Final = "file:"
PUBLISHED_AHEAD_MAX: Final = timedelta(days=1)
# The assumed time between two entries if the dates of a feed do not tell it.
UNDATED_GAP: Final = timedelta(days=1)

# Parameters that tell how a reader arrived, never which page it is.
TRACKING_PREFIXES: Final = ("utm_", "at_", "pk_", "mtm_", "hsa_", "ns_")
_TRACKING: Final = """
    fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid twclid ttclid li_fat_id igshid igsh mc_cid
    mc_eid _ga _gl _hsenc _hsmi __s mkt_tok oly_anon_id oly_enc_id vero_id rb_clickid s_cid ref_src
    cmpid xtor ito ocid wt.mc_id wt_mc guccounter guce_referrer guce_referrer_sig
"""
TRACKING_NAMES: Final = frozenset(_TRACKING.split())

_NAME: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN_URL: Final = re.compile(rf"https?://(?=[a-z0-9.-]{{1,253}}/){_NAME}(?:\.{_NAME})*/[A-Za-z0-9_~./-]*\Z")
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_TAIL: Final = re.compile(r"[?#]")
_UNWANTED: Final = re.compile(
    "[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
# The public suffix list that ships with the library. It must never ask the network.


def canonical_url(url: str) -> str:
    """Return the name that all spellings of a post's address share, or "" if `url` is no web address.

    It is `address_read` without tracking parameters, and with the part after a hashbang as a parameter. A
    `urn:tidings:` name stays. Applying it twice changes nothing. Posts are compared by it. A feed is fetched
    and stored by `feed_address`, which drops no parameter. An address with more than 2,000 characters or 100
    parameters is none here.
    """
    url = url.strip()
    if len(url) > URL_MAX_CHARS or url.count("&") >= PARAMETERS_MAX:
        return ""
    if url.startswith(URN_PREFIX):
        return "" if _UNWANTED.search(url) else url
    for _ in range(4):
        try:
            shorter = _url_step(url)
        except NotAnAddress:
            return ""
        if len(shorter) > URL_MAX_CHARS:
            return ""
        if shorter == url:
            return url
        url = shorter
    return ""


def _url_step(url: str) -> str:
    if _PLAIN_URL.match(url) and ".." not in url and "/." not in url and url.rfind("//") < 8:
        return url
    scheme, _, rest = url.partition("://")
    host, slash, place = rest.partition("/")  # in a host, a joiner between letters may stand for another name
    place = _UNWANTED.sub("", place) if " " not in place else place.replace(" ", "%20")
    address = address_read(f"{scheme}://{host}{slash}{place}")
    _, bang, page = place.partition("#!")
    parts = urlsplit(url_normalize(f"{address}{f'#!{page}' if bang else ''}") or "")
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _is_tracking(pair))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


@remember_short
def address_folded(text: str) -> str:
    """Return the part that all addresses of one post share: no scheme, `www.`, trailing slash, fragment,
    tracking.

    A text that is no web address stays unchanged.
    """
    url = canonical_url(text) if _WEB.match(text) else ""
    if not url:
        return text
    place, mark, query = url.partition("://")[2].removeprefix("www.").partition("?")
    return f"{place.removesuffix('/')}{mark}{query}"


def address_host(url: str) -> str:
    """Return the host of a web address without `www.`, "" if it is none."""
    place = address_folded(url.strip())
    return place.partition("/")[0] if place != url.strip() else ""


def address_place(url: str) -> str:
    """Return path and query of a web address, or "" for the root of a site and for a guid of another form."""
    return address_folded(url.strip()).partition("/")[2] if address_host(url) else ""


def address_spellings(text: str) -> list[str]:
    """Return the addresses that one post may have had, written and canonical, or [] if `text` is no address.

    They are with and without TLS, `www.` and a trailing slash.
    """
    found: dict[str, None] = {}
    for url in (text, canonical_url(text)) if _WEB.match(text) and len(text) <= URL_MAX_CHARS else ():
        place = url.partition("://")[2].removeprefix("www.")
        path = _TAIL.split(place, maxsplit=1)[0]
        stem, tail = path.removesuffix("/"), place[len(path) :]
        for start in ("https://", "https://www.", "http://", "http://www."):
            found |= {f"{start}{stem}{tail}": None, f"{start}{stem}/{tail}": None}
    return list(found)


def _is_tracking(pair: str) -> bool:
    name = unquote_plus(pair.partition("=")[0]).lower()
    return name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)


def fingerprint(title: str, text: str, owner: str = "") -> str:
    """Return the SHA-256 of the folded title and text. Only case and white space may differ.

    With the id of an `owner` it matches among that reader's private feeds only.
    """
    return _sha256(f"{fold(title)}\n{fold(text)}" + (f"\n{owner}" if owner else ""))


def item_urn(title: str, text: str) -> str:
    """Return the name of an item without an address: `urn:tidings:` and its fingerprint."""
    return URN_PREFIX + fingerprint(title, text)


def article_hash(url: str) -> int:
    """Return the signed 64-bit hash of a canonical URL, by which items of several feeds are one article.

    BLAKE2b: a second address for a given hash takes 2^64 tries, for one of a million some 2^44. Two of a
    hundred million addresses share one with a probability of 0.0003 (birthday bound), and then only for who
    reads both.
    """
    digest = hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def body_hash(written: str) -> int:
    """Return the signed 64-bit hash of all that an entry has beside its words, by which a change is seen."""
    return article_hash(written)


def entry_guid(*, guid: str, link: str, title: str, text: str) -> str:
    """Return the identity of an entry inside its feed: its guid, else its link, else its urn."""
    name = guid.strip() or link.strip() or item_urn(title, text)
    name = _UNWANTED.sub("", name) or item_urn(title, text)
    return name if len(name) <= GUID_MAX_CHARS else f"{NAME_HASH}{_sha256(name)}"


def entry_name_hash(written: str) -> str:
    """Return the identity of an entry that nothing but all it says tells apart."""
    return f"{NAME_HASH}{_sha256(written)}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


@remember_short
def source_key(url: str) -> str:
    """Return the key of an address's publisher: its registrable domain, such as `bbci.co.uk` for a BBC feed.

    On a shared host the key includes the publisher: `ada.substack.com`, `medium.com/@ada`,
    `reddit.com/r/python` (see `digest.feeds.identity`). An IP address or a bare host name is its own key.
    `file:name.xml.gz` gives `name`. At most 120 characters, or "" if `url` is no address.
    """
    if url.startswith(FILE_PREFIX):
        return (
            PurePosixPath(url.removeprefix(FILE_PREFIX)).name.split(".")[0].casefold()[:SOURCE_KEY_MAX_CHARS]
        )
    if len(url) > READ_MAX_CHARS:
        return ""
    try:
        parts = urlsplit(url.strip())
        host = host_encode(parts.hostname or "")
    except ValueError:
        return ""
    domain = _registrable(host)
    key = publisher_key(host=host, domain=domain, path=parts.path, query=parts.query)
    if len(key) <= SOURCE_KEY_MAX_CHARS:
        return key
    # A long key ends in a hash of itself, so that no two become one.
    return key[: SOURCE_KEY_MAX_CHARS - 16] + _sha256(key)[:16]


def _registrable(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        pass  # a name, then
    # A suffix that is not on the list is one label (the list's own default rule). A host that is itself
    # a suffix, or a bare name, is all there is.
    found = _public_suffixes().privatesuffix(host) or host
    if found.startswith("blogspot.") and found != host:  # one blog under the names of many countries
        return f"{host.removesuffix(f'.{found}').rpartition('.')[2]}.blogspot.com"
    return found


def domain_in(text: str) -> str:
    """Return the first domain in `text` that a mail program would turn into a link, or ""."""
    for words in re.findall(r"[^\W_][\w.]*", text.replace("_", " ")):
        names = words.casefold().split(".")
        if names[0] == "www" and names[1:]:
            return str(words)
        for end in range(2, len(names) + 1):
            # No suffix that counts has more than two names.
            found = ".".join(names[max(0, end - 3) : end])
            if name := _public_suffixes().privatesuffix(found, accept_unknown=False):
                return name
    return ""


def clamp_published(published: datetime | None, now: datetime) -> datetime:
    """Return the publisher's date, limited to 1995 up to a day ahead, or `now` if there is none."""
    if published is None:
        return now
    return min(max(published, PUBLISHED_MIN), now + PUBLISHED_AHEAD_MAX)


def age_date(
    published: datetime | None, first_seen: datetime, *, undated_age: timedelta = timedelta()
) -> datetime:
    """Return the date that ages count from: the published date, or first seen if that is up to a day earlier.

    If the publisher gives no usable date, it is `undated_age` before first seen, at the earliest 1995.
    """
    if not has_usable_date(published, first_seen):
        return max(PUBLISHED_MIN, first_seen - undated_age)
    return min(published or first_seen, first_seen)


def has_usable_date(published: datetime | None, first_seen: datetime) -> bool:
    """Return whether a publisher's date can be one: from 1995 to a day ahead of the moment it was seen."""
    return published is not None and PUBLISHED_MIN <= published <= first_seen + PUBLISHED_AHEAD_MAX


def undated_age(position: int, gap: timedelta | None) -> timedelta:
    """Return the assumed age of an undated entry in a feed's first document.

    `position` counts the undated entries before it, since documents begin with the newest. `gap` is the time
    between two entries of the feed, or None for the default of a day. A fetch falls at a random moment of a
    gap, so the first entry is half a gap old, and each further one a gap more.
    """
    return (position + 0.5) * (UNDATED_GAP if gap is None else gap)


def web_url(url: str) -> str:
    """Return `url` if a browser may follow it, else "": items without an address have a `urn:` name."""
    try:
        return url if urlsplit(url).scheme in {"http", "https"} else ""
    except ValueError:  # a bracket that begins no IPv6 address
        return ""


def publisher_key(*, host: str, domain: str, path: str, query: str) -> str:
    """Return the publisher's key: `domain` (the name right below the public suffix or platform) or longer.

    `host` is the whole host. `path` and `query` may be percent-encoded. Keys are in lower case. The key of a
    key, read as an address, is that key.
    """
    label, _, platform = domain.partition(".")
    if platform in PLATFORM_SUFFIXES:
        if label not in PLATFORM_NAMES:
            return f"{platform}/@{label}" if platform == "medium.com" else domain
        domain = platform
    name = host if host in PUBLISHER_RULES else domain
    place = re.sub("/+", "/", f"/{unquote(path)}") + (f"?{unquote(query)}" if query else "")
    for pattern, template in PUBLISHER_RULES.get(name, ()):
        if found := pattern.match(place.casefold()):
            owner = found[1]
            if template.startswith("{}.") and owner in PLATFORM_NAMES:
                break
            return template.format(owner, host=name)
    return domain


@cache
def _public_suffixes() -> PublicSuffixList:
    """Return the finder of publishers' names: the shipped public suffix list, and our platforms."""
    return PublicSuffixList([*Path(PSLFILE).read_text(encoding="utf-8").splitlines(), *PLATFORM_SUFFIXES])
