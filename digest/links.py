"""Links that act without signing in: what they say is in them, and a signature keeps them from being made up.

A thumb's link names reader, item, verdict and end in 29 bytes; with the HMAC-SHA256 of Django's `Signer`
under `SECRET_KEY` it is some 80 characters long. Whoever holds such a link may use it: that is what one tap
in a mail means, and why it can do nothing but the one thing it names.
"""

import binascii
import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.core.signing import BadSignature, Signer

# How long a thumb's link lasts: a mail is read within days, and a link should not outlive its use by much.
THUMB_LASTS = timedelta(days=14)
_THUMB = struct.Struct(">16sQBI")
_THUMBS, _STOPS = (Signer(salt=f"digest.links.{kind}", sep=".") for kind in ("thumb", "unsubscribe"))


class BadLink(Exception):
    """A link that was cut short, changed, or never ours."""


@dataclass(frozen=True, slots=True)
class ThumbLink:
    """What a thumb's link says: whose thumb, on which item, which way, and until when it may be used."""

    reader_id: UUID
    item_id: int
    useful: bool
    until: datetime


def thumb_sign(*, reader_id: UUID, item_id: int, useful: bool, now: datetime) -> str:
    """A link's text for one thumb of one reader, good for 14 days from `now`."""
    until = int((now + THUMB_LASTS).timestamp())
    return _sign(_THUMBS, _THUMB.pack(reader_id.bytes, item_id, useful, until))


def thumb_read(link: str) -> ThumbLink:
    """What `link` says, whether or not its time is over. Raises `BadLink`."""
    data = _read(_THUMBS, link)
    if len(data) != _THUMB.size:
        raise BadLink
    reader, item_id, useful, until = _THUMB.unpack(data)
    return ThumbLink(UUID(bytes=reader), item_id, bool(useful), datetime.fromtimestamp(until, UTC))


def unsubscribe_sign(*, reader_id: UUID) -> str:
    """The text of the reader's unsubscribe link, which never ends: an old mail must be able to end mail."""
    return _sign(_STOPS, reader_id.bytes)


def unsubscribe_read(link: str) -> UUID:
    """Whose mail `link` ends. Raises `BadLink`."""
    data = _read(_STOPS, link)
    if len(data) != 16:
        raise BadLink
    return UUID(bytes=data)


def link_digest(link: str) -> str:
    """SHA-256 of a link, in hex: what is kept of one that was used."""
    return hashlib.sha256(link.encode()).hexdigest()


def _sign(signer: Signer, data: bytes) -> str:
    return signer.sign(urlsafe_b64encode(data).rstrip(b"=").decode())


def _read(signer: Signer, link: str) -> bytes:
    try:
        text = signer.unsign(link)
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (BadSignature, binascii.Error, ValueError):
        raise BadLink from None
