"""Pictures of publishers, fetched by us and passed on, so that no reader's browser asks another site.

A page names a picture by its address, signed: we fetch what our own pages show and nothing else. It goes
through the guard of feeds (`digest.feeds.connect`), within 5 MiB and ten seconds, and is passed on where its
first bytes are those of a picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.core.signing import BadSignature, Signer
from django.db.models import prefetch_related_objects
from django.urls import reverse

from digest.articles.picture_cache import PictureCache
from digest.errors import PictureMissing, PicturesBusy
from digest.feeds.addresses import NotAnAddress, address_read
from digest.feeds.connect import is_allowed
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import fetch, host_of
from digest.models import Item

# Types by first bytes: what a server calls them counts for nothing.
_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_AVIF_BRANDS: Final = frozenset({b"avif", b"avis"})
# The brands of an AVIF file are in its first box, of which files in use fill some 40 bytes.
_BRANDS_END: Final = 256
PICTURE_MAX_BYTES: Final = 5 * 1024 * 1024
TOTAL_S: Final = 10.0
READ_S: Final = 5.0
ACCEPT: Final = "image/avif,image/webp,image/png,image/jpeg,image/gif"
# Of the eight threads of a web process; see `digest.feeds.discovery`.
FETCHES_AT_ONCE: Final = 3
# How long a picture that failed is not asked for again, and a host that did not answer in time.
FAILED_S: Final = 600
HOST_FAILED_S: Final = 60
HOST_CODES: Final = frozenset({"timeout", "connect_failed", "http_429", "http_503"})
KEYS: Final = "digest:picture"

_FETCHES: Final = BoundedSemaphore(FETCHES_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture and its media type."""

    body: bytes
    mime_type: str


def picture_href(address: str, *, inside: bool = False) -> str:
    """Return our own address of the picture at `address`.

    `inside`: it may be fetched from a host in FETCH_ALLOW_HOSTS, see `inside_allowed`.
    """
    signed = _signer().sign_object([address, int(inside)], compress=True)
    return reverse("digest:picture", kwargs={"signed": signed})


def inside_allowed(*, item: Item) -> bool:
    """Return whether pictures of an item may come from hosts in FETCH_ALLOW_HOSTS: where its feed does.

    Any other feed could have us send requests to the operator's own network. At most one query.
    """
    return bool(settings.FETCH_ALLOW_HOSTS) and item.feed is not None and feed_is_inside(item.feed.address)


def pictures_prepare(*, items: Sequence[Item]) -> None:
    """Read the feeds of `items` for `inside_allowed`: one query, none where it needs none."""
    if settings.FETCH_ALLOW_HOSTS and any(item.image for item in items):
        prefetch_related_objects(items, "feed")


def feed_is_inside(url: str) -> bool:
    """Return whether a feed's address is on a host in FETCH_ALLOW_HOSTS."""
    try:
        address = address_read(url)
    except NotAnAddress:
        return False
    return is_allowed(address.host, address.port, settings.FETCH_ALLOW_HOSTS)


def picture_get(*, signed: str, now: datetime) -> Picture:
    """Return the picture that `picture_href` named, from the cache or its publisher.

    Raises `PictureMissing` where there is none or it cannot be had, and `PicturesBusy` where too many are
    being fetched.
    """
    try:
        address, inside = _signer().unsign_object(signed)
    except (BadSignature, ValueError, TypeError) as error:  # what was cut off decodes to anything
        raise PictureMissing("No page of this site has such a picture.") from error
    # What was fetched inside, or refused to others there, is another picture: anybody may name its address.
    name = f"inside {address}" if inside else address
    pictures = _picture_cache()
    if (body := pictures.get(name, now=now)) is None:
        body = _fetched(address, name, allow=settings.FETCH_ALLOW_HOSTS if inside else ())
        pictures.put(name, body, now=now)
    return Picture(body, picture_type(body))


def pictures_prune(*, now: datetime) -> int:
    """Delete the stored pictures that are no longer handed out; return how many."""
    return _picture_cache().prune(now=now)


def _picture_cache() -> PictureCache:
    return picture_cache(settings.VAR_DIR / "pictures", settings.PICTURE_CACHE_MB)


def _signer() -> Signer:
    return Signer(salt="digest.picture")


@lru_cache(maxsize=4)
def picture_cache(folder: Path, megabytes: int) -> PictureCache:
    """Return this process's cache of pictures in `folder`."""
    return PictureCache(folder, megabytes * 1024 * 1024)


def _fetched(address: str, name: str, *, allow: Sequence[str]) -> bytes:
    """Return a picture from its publisher; one that failed lately under this name fails at once."""
    failed = _key("failed", name)
    host_failed = _key("host", host_of(address))
    if cache.get_many([failed, host_failed]):
        raise PictureMissing("Its publisher did not hand it out a moment ago.")
    if not _FETCHES.acquire(blocking=False):
        raise PicturesBusy("Too many pictures are being fetched. Try again in a second.")
    try:
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
    finally:
        _FETCHES.release()
    if not answer.body or not picture_type(answer.body):
        cache.set(failed, 1, FAILED_S)
        raise PictureMissing("What is there is no picture that is shown here.")
    return answer.body


def _key(kind: str, name: str) -> str:
    return f"{KEYS}:{kind}:{sha256(name.encode('utf-8', 'replace')).hexdigest()}"


def picture_type(body: bytes) -> str:
    """Return the media type of a PNG, JPEG, GIF, WebP or AVIF; "" for anything else, SVG included."""
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
