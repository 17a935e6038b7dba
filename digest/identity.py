"""Which things are the same thing: URLs, items without URLs, entries of feeds, sources, and dates."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from tldextract import TLDExtract
from url_normalize import url_normalize

from digest.platforms import SUFFIXES, publisher_key
from ranking.matching import fold

URL_MAX_CHARS = 2000
GUID_MAX_CHARS = 500
SOURCE_KEY_MAX_CHARS = 120
URN_PREFIX = "urn:tidings:"
# No web feed is older; earlier dates are unset clocks and empty fields.
PUBLISHED_MIN: Final = datetime(1995, 1, 1, tzinfo=UTC)
PUBLISHED_AHEAD_MAX: Final = timedelta(days=1)

# Parameters that say how a reader came, never what the page is.
TRACKING_PREFIXES = ("utm_", "at_", "pk_", "mtm_", "hsa_", "ns_")
_NAMES: Final = """
    fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid twclid ttclid li_fat_id igshid igsh mc_cid
    mc_eid _ga _gl _hsenc _hsmi __s mkt_tok oly_anon_id oly_enc_id vero_id rb_clickid s_cid ref_src
    cmpid xtor ito ocid wt.mc_id wt_mc guccounter guce_referrer guce_referrer_sig
"""
TRACKING_NAMES = frozenset(_NAMES.split())

_PLAIN_URL: Final = re.compile(r"https?://[a-z0-9][a-z0-9.-]*[a-z0-9]/[A-Za-z0-9_~./-]*\Z")
_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\Z|[0-9a-f:.]+\Z")
_UNWANTED: Final = re.compile(
    "[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
# The snapshot of the public suffix list that ships with the library; it must never ask the network.
_SUFFIXES: Final = TLDExtract(
    suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True, extra_suffixes=SUFFIXES
)


def canonical_url(url: str) -> str:
    """The one spelling of a web address, or "" where `url` is none (http and https only).

    Host in lower case and ASCII, no fragment, password, default port or tracking parameters; percent
    signs and dots normalised. A `urn:tidings:` name stays as it is. Applying it twice changes nothing.
    """
    url = url.strip()
    if url.startswith(URN_PREFIX):
        return url if len(url) <= URL_MAX_CHARS and not _UNWANTED.search(url) else ""
    for _ in range(4):
        try:
            shorter = _url_step(url)
        except (ValueError, AttributeError):
            return ""  # not an address at all: bad port, bad brackets, a host no name could have
        if shorter == url:
            return url if len(url) <= URL_MAX_CHARS else ""
        url = shorter
    return ""


def _url_step(url: str) -> str:
    if _PLAIN_URL.match(url) and ".." not in url and "/." not in url and url.rfind("//") < 8:
        return url
    parts = urlsplit(_UNWANTED.sub("", url) if " " not in url else url.replace(" ", "%20"))
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise ValueError(url)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname.rstrip(".")
    port = f":{parts.port}" if parts.port else ""
    bare = urlunsplit((parts.scheme.lower(), f"{host}{port}", parts.path, parts.query, ""))
    parts = urlsplit(url_normalize(bare) or "")
    if not _HOST.match(parts.hostname or ""):
        raise ValueError(url)
    kept = [pair for pair in parts.query.split("&") if pair and not _is_tracking(pair)]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "&".join(kept), ""))


def _is_tracking(pair: str) -> bool:
    name = unquote_plus(pair.partition("=")[0]).lower()
    return name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)


def fingerprint(title: str, text: str) -> str:
    """SHA-256 of the folded title and text: equal for texts that differ in case or white space only."""
    said = f"{fold(title)}\n{fold(text)}".encode("utf-8", "replace")
    return hashlib.sha256(said).hexdigest()


def item_urn(title: str, text: str) -> str:
    """The name of an item whose feed gives no address: `urn:tidings:` and the hash of what it says."""
    return URN_PREFIX + fingerprint(title, text)


def entry_guid(*, guid: str, link: str, title: str, text: str) -> str:
    """The identity of an entry inside its feed: its guid, else its link, else the hash of what it says."""
    name = guid.strip() or link.strip() or item_urn(title, text)
    name = _UNWANTED.sub("", name) or item_urn(title, text)
    if len(name) <= GUID_MAX_CHARS:
        return name
    return f"sha256:{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()}"


@lru_cache(maxsize=8192)
def source_key(url: str) -> str:
    """The publisher's key behind an address: its registrable domain, so `bbci.co.uk` for a BBC feed.

    On a host that many share, the key says whose address it is: `ada.substack.com`, `medium.com/@ada`,
    `reddit.com/r/python` (see `digest.platforms`). An IP address or a bare host name is its own key;
    `file:name.xml.gz` gives `name`. At most 120 characters; "" where nothing can be said.
    """
    if url.startswith("file:"):
        return PurePosixPath(url.removeprefix("file:")).name.split(".")[0].casefold()[:SOURCE_KEY_MAX_CHARS]
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").rstrip(".").casefold()
    except ValueError:
        return ""
    domain = _registrable(host)
    return _fitted(publisher_key(host=host, domain=domain, path=parts.path, query=parts.query))


def _registrable(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        pass  # a name, then
    found = _SUFFIXES(host).top_domain_under_public_suffix.casefold()
    if found.startswith("blogspot.") and found != host:  # one blog under the names of many countries
        return f"{host.removesuffix(f'.{found}').rpartition('.')[2]}.blogspot.com"
    # A suffix nobody listed counts as one label (the list's own default rule).
    return found or ".".join(host.split(".")[-2:])


def _fitted(key: str) -> str:
    """A long key ends in a hash of itself, so that no two become one."""
    if len(key) <= SOURCE_KEY_MAX_CHARS:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]
    return key[: SOURCE_KEY_MAX_CHARS - len(digest)] + digest


def published_clamped(published: datetime | None, now: datetime) -> datetime:
    """What the publisher says, no earlier than 1995 and at most a day ahead; `now` where it says nothing."""
    if published is None:
        return now
    return min(max(published, PUBLISHED_MIN), now + PUBLISHED_AHEAD_MAX)


def dated(published: datetime | None, first_seen: datetime) -> datetime:
    """The date ages count from: published, or first seen where that is missing, in the future or unset."""
    if published is None or published > first_seen or published < PUBLISHED_MIN:
        return first_seen
    return published
