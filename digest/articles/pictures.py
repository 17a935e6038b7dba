"""Pictures of publishers, fetched by us and served from our site, so no browser contacts another site.

A page names a picture by its address in a signed URL, so we fetch only pictures on our own pages. The fetch
passes the network guard of feeds (`digest.feeds.connect`), takes at most ten seconds and 5 MiB, and is served
only if its first bytes are those of a picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.core.signing import BadSignature, Signer
from django.db.models import prefetch_related_objects
from django.urls import reverse

from digest.articles.picture_cache import PictureCache, size_on_disk
from digest.articles.picture_size import picture_pixels
from digest.errors import PictureMissing, PicturesBusy
from digest.feeds.addresses import NotAnAddress, address_read
from digest.feeds.connect import is_allowed
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import fetch, host_of
from digest.models import Item
from digest.places import PICTURES

# Types are told by the first bytes. The type that a server declares is ignored.
_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_AVIF_BRANDS: Final = frozenset({b"avif", b"avis"})
# The brands of an AVIF file are in its first box, which is about 40 bytes long in practice.
_BRANDS_END: Final = 256
PICTURE_MAX_BYTES: Final = 5 * 1024 * 1024
# A camera's pictures have 60 million. A PNG of 48 KB can have 400 million, for which a browser needs 1.6 GB.
# A list of 24 such pictures did not answer for half a minute.
PIXELS_MAX: Final = 100_000_000
TOTAL_S: Final = 10.0
READ_S: Final = 5.0
ACCEPT: Final = "image/avif,image/webp,image/png,image/jpeg,image/gif"
# How long a failed picture is not asked for again, and for how long a host that did not answer in time is not
# asked for the same reader: any feed may name an address that fails at a host whose pictures others see.
FAILED_S: Final = 600
HOST_FAILED_S: Final = 60
HOST_CODES: Final = frozenset({"timeout", "connect_failed", "http_429", "http_503"})
KEYS: Final = "digest:picture"
NO_PICTURE: Final = "What is there is no picture that is shown here."
# What one reader's pictures may take of the cache in a day. Later ones are shown and not stored. Else a
# feed with fifty pictures of 5 MiB pushed out everybody's in seven seconds.
STORED_SHARE, DAY_S = 0.25, 86_400


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture and its media type."""

    body: bytes
    mime_type: str


def picture_href(address: str, *, inside: bool = False) -> str:
    """Return the URL on our site for the picture at `address`.

    `inside` allows hosts in FETCH_ALLOW_HOSTS; see `inside_allowed`.
    """
    signed = _signer().sign_object([address, int(inside)], compress=True)
    return reverse("digest:picture", kwargs={"signed": signed})


def inside_allowed(*, item: Item) -> bool:
    """Return whether an item's pictures may come from FETCH_ALLOW_HOSTS: only if its feed does, too.

    Otherwise any feed could make us send requests into the operator's own network. At most one query.
    """
    return bool(settings.FETCH_ALLOW_HOSTS) and item.feed is not None and feed_is_inside(item.feed.address)


def pictures_prepare(*, items: Sequence[Item]) -> None:
    """Load the feeds of `items` for `inside_allowed`; one query, or none if nothing needs it."""
    if settings.FETCH_ALLOW_HOSTS and any(item.image for item in items):
        prefetch_related_objects(items, "feed")


def feed_is_inside(url: str) -> bool:
    """Return whether a feed's address is on a host in FETCH_ALLOW_HOSTS."""
    try:
        address = address_read(url)
    except NotAnAddress:
        return False
    return is_allowed(address.host, address.port, settings.FETCH_ALLOW_HOSTS)


def picture_get(*, signed: str, reader_id: UUID, now: datetime) -> Picture:
    """Return the picture for a URL from `picture_href`, from the cache or from its publisher.

    Raises `PictureMissing` if it does not exist or cannot be fetched, and `PicturesBusy` if too many fetches
    are under way.
    """
    address, inside = _asked(signed)
    name = _stored_name(address, inside)
    pictures = _picture_cache()
    if (body := pictures.get(name, now=now)) is None:
        allow = settings.FETCH_ALLOW_HOSTS if inside else ()
        body = _fetch_picture(address, name, allow=allow, reader_id=reader_id)
        if _has_share(reader_id, len(body), now):
            pictures.put(name, body, now=now)
    if not (mime_type := picture_type(body)):
        raise PictureMissing(NO_PICTURE)
    return Picture(body, mime_type)


def picture_is_fetched(*, signed: str, now: datetime) -> bool:
    """Return whether the picture for a URL from `picture_href` has to come from its publisher. No query."""
    try:
        return not _picture_cache().has(_stored_name(*_asked(signed)), now=now)
    except PictureMissing:
        return False


def _asked(signed: str) -> tuple[str, bool]:
    """Return the address of the picture, and whether it may be inside. Raises `PictureMissing`."""
    try:
        address, inside = _signer().unsign_object(signed)
    except (BadSignature, ValueError, TypeError) as error:  # A truncated signature can decode to anything.
        raise PictureMissing("No page of this site has such a picture.") from error
    return address, bool(inside)


def _stored_name(address: str, inside: bool) -> str:
    """Return the name of a picture in the cache.

    Fetched from inside, it gets another name. Otherwise anybody who names its address could read it from
    the cache.
    """
    return f"inside {address}" if inside else address


def pictures_prune(*, now: datetime) -> int:
    """Delete stored pictures that are too old or beyond the limit; return how many."""
    return _picture_cache().prune(now=now)


def _picture_cache() -> PictureCache:
    return picture_cache(settings.VAR_DIR / "pictures", settings.PICTURE_CACHE_MB)


def _signer() -> Signer:
    return Signer(salt="digest.picture")


@lru_cache(maxsize=4)
def picture_cache(folder: Path, megabytes: int) -> PictureCache:
    """Return this process's cache of pictures in `folder`."""
    return PictureCache(folder, megabytes * 1024 * 1024)


def _fetch_picture(address: str, name: str, *, allow: Sequence[str], reader_id: UUID) -> bytes:
    """Return a picture from its publisher. If it failed lately, or its host for this reader, fail at once."""
    failed = _key("failed", name)
    host_failed = _key("host", f"{reader_id} {host_of(address)}")
    if cache.get_many([failed, host_failed]):
        raise PictureMissing("Its publisher did not hand it out a moment ago.")
    try:
        with PICTURES.place(reader_id) as has_place:
            if not has_place:
                raise PicturesBusy("Too many pictures are being fetched. Try again in a second.")
            answer = fetch(
                address,
                allow=allow,
                ports=settings.FETCH_PORTS,
                total_s=TOTAL_S,
                read_s=READ_S,
                accept=ACCEPT,
                body_max=PICTURE_MAX_BYTES,
            )
    except FeedProblem as problem:
        cache.set(failed, 1, FAILED_S)
        if problem.code in HOST_CODES:
            cache.set(host_failed, 1, HOST_FAILED_S)
        raise PictureMissing(f"The picture cannot be had ({problem.code}).") from problem
    if not answer.body or not picture_type(answer.body):
        cache.set(failed, 1, FAILED_S)
        raise PictureMissing(NO_PICTURE)
    return answer.body


def _has_share(reader_id: UUID, size: int, now: datetime) -> bool:
    """Count a picture of `size` bytes, and return whether the reader's share of the cache has room for it."""
    key = _key("stored", f"{reader_id} {now.date()}")
    cache.add(key, 0, timeout=DAY_S)
    try:
        taken: int = cache.incr(key, size_on_disk(size))
    except ValueError:  # The cache dropped the key in between, or is down.
        return True
    share: float = STORED_SHARE * settings.PICTURE_CACHE_MB * 1024 * 1024
    return taken <= share


def _key(kind: str, name: str) -> str:
    return f"{KEYS}:{kind}:{sha256(name.encode('utf-8', 'replace')).hexdigest()}"


def picture_type(body: bytes) -> str:
    """Return the media type of a PNG, JPEG, GIF, WebP or AVIF; "" for anything else, SVG included.

    "" also if it has more than 100 million pixels.
    """
    found = _declared_type(body)
    return found if picture_pixels(body, found) <= PIXELS_MAX else ""


def _declared_type(body: bytes) -> str:
    for start, found in _STARTS:
        if body.startswith(start):
            return found
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if body[4:8] == b"ftyp":
        end = min(int.from_bytes(body[:4], "big"), _BRANDS_END)
        if not _AVIF_BRANDS.isdisjoint(body[at : at + 4] for at in range(8, end, 4)):
            return "image/avif"
    return ""
