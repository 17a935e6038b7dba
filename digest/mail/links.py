"""Make and use the signed links of mails (rate, unsubscribe) and the secret address of a reader's feed."""

import binascii
import hashlib
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from digest.errors import ItemNotFound, LinkExpired, LinkInvalid
from digest.feedback.services import feedback_give, feedback_take_back
from digest.items.own_names import items_name_sources
from digest.items.selectors import item_get
from digest.models import Feedback, Item, Reader, UsedLink

# How long a rating's link lasts. A mail is read within days, and a link should not work much longer than
# that.
THUMB_LASTS = timedelta(days=14)
INVALID = gettext_noop("This link is incomplete or was changed. Open it again from the mail itself.")
EXPIRED = gettext_noop(
    "This link worked for 14 days, which are over. You can still rate the item on its page."
)
GONE = gettext_noop(
    "The account or the item behind this link no longer exists, so there is nothing left to do."
)

# Reader id, item id, useful or not, expiry in seconds since 1970.
_THUMB = struct.Struct(">16sQBI")
_THUMB_SIGNER, _UNSUBSCRIBE_SIGNER = (
    Signer(salt=f"digest.mail.links.{kind}", sep=".") for kind in ("thumb", "unsubscribe")
)


class BadLink(Exception):
    """The link was cut short or changed, or this site did not sign it."""


@dataclass(frozen=True, slots=True)
class ThumbLink:
    """The content of a rating's link: reader, item, rating, and expiry."""

    reader_id: UUID
    item_id: int
    useful: bool
    until: datetime


@dataclass(frozen=True, slots=True)
class LinkState:
    """The state of a rating's link.

    `used_at` is `None` if it was never used. `holds` says whether the rating that it recorded is still
    stored.
    """

    item: Item
    useful: bool
    used_at: datetime | None
    holds: bool


def thumb_sign(*, reader_id: UUID, item_id: int, useful: bool, now: datetime) -> str:
    """Return the signed text of a rating's link, valid for 14 days from `now`."""
    until = int((now + THUMB_LASTS).timestamp())
    return _sign(_THUMB_SIGNER, _THUMB.pack(reader_id.bytes, item_id, useful, until))


def thumb_read(link: str) -> ThumbLink:
    """Return the content of a rating's link, even if it has expired. Raises `BadLink`."""
    data = _unsign(_THUMB_SIGNER, link)
    if len(data) != _THUMB.size:
        raise BadLink
    reader, item_id, useful, until = _THUMB.unpack(data)
    return ThumbLink(UUID(bytes=reader), item_id, bool(useful), datetime.fromtimestamp(until, UTC))


def unsubscribe_sign(*, reader_id: UUID) -> str:
    """Return the signed text of the reader's unsubscribe link. It never expires, so it works in old mails."""
    return _sign(_UNSUBSCRIBE_SIGNER, reader_id.bytes)


def unsubscribe_read(link: str) -> UUID:
    """Return the reader whose mail `link` stops. Raises `BadLink`."""
    data = _unsign(_UNSUBSCRIBE_SIGNER, link)
    if len(data) != 16:
        raise BadLink
    return UUID(bytes=data)


def _sign(signer: Signer, data: bytes) -> str:
    return signer.sign(urlsafe_b64encode(data).rstrip(b"=").decode())


def _unsign(signer: Signer, link: str) -> bytes:
    try:
        text = signer.unsign(link)
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (BadSignature, binascii.Error, ValueError):
        raise BadLink from None


def thumb_link_state(*, link: str, now: datetime) -> LinkState:
    """Return the item and the state of a rating's link, and record nothing. Raises as `thumb_link_use`."""
    rating, _, item = _link_check(link, now)
    return _state(link, rating, item)


def thumb_link_use(*, link: str, now: datetime) -> tuple[LinkState, bool]:
    """Record the rating of `link` once. Return the link's state and whether this call recorded the rating.

    If two calls come at once, one of them records. Raises `LinkInvalid` if the signature is wrong or the
    reader or item no longer exists, and `LinkExpired` if the link is older than 14 days and was never used.
    """
    rating, reader, item = _link_check(link, now)
    with transaction.atomic():
        _, first = UsedLink.objects.get_or_create(
            digest=_link_hash(link), defaults={"reader": reader, "used_at": now}
        )
        if first:
            feedback_give(reader=reader, item_id=item.pk, useful=rating.useful, now=now)
    return _state(link, rating, item), first


def thumb_link_undo(*, link: str, now: datetime) -> tuple[LinkState, bool]:
    """Delete the rating that `link` recorded, if it is still stored.

    Return the link's state and whether this call deleted the rating. Ratings that the reader gave elsewhere
    stay. Raises as `thumb_link_use`.
    """
    rating, reader, item = _link_check(link, now)
    state = _state(link, rating, item)
    if not state.holds:
        return state, False
    done = feedback_take_back(reader=reader, item_id=item.pk)
    return _state(link, rating, item), done


def reader_unsubscribe(*, link: str) -> Reader:
    """Stop the mail of the link's reader at once, without signing in, and return the reader.

    A second call changes nothing. Raises `LinkInvalid`.
    """
    reader = unsubscribe_link_reader(link=link)
    if reader.mail_rhythm != Reader.MailRhythm.OFF:
        reader.mail_rhythm = Reader.MailRhythm.OFF
        reader.save(update_fields=["mail_rhythm"])
    return reader


def unsubscribe_link_reader(*, link: str) -> Reader:
    """Return the reader of an unsubscribe link. Raises `LinkInvalid`."""
    try:
        return _reader(unsubscribe_read(link))
    except BadLink:
        raise LinkInvalid(gettext(INVALID)) from None


def feed_token_issue(*, reader: Reader) -> str:
    """Give the reader's own feed a new secret address and return the secret (256 bits in 43 characters).

    The old address stops working at once.
    """
    reader.feed_token = secrets.token_urlsafe(32)
    reader.save(update_fields=["feed_token"])
    return reader.feed_token


def feed_token_revoke(*, reader: Reader) -> None:
    """Switch the reader's own feed off. Its address answers 404 from now on."""
    reader.feed_token = None
    reader.save(update_fields=["feed_token"])


def _link_check(link: str, now: datetime) -> tuple[ThumbLink, Reader, Item]:
    try:
        rating = thumb_read(link)
    except BadLink:
        raise LinkInvalid(gettext(INVALID)) from None
    if now > rating.until and not UsedLink.objects.filter(digest=_link_hash(link)).exists():
        raise LinkExpired(gettext(EXPIRED))
    reader = _reader(rating.reader_id)
    try:
        item = item_get(reader_id=reader.pk, item_id=rating.item_id)
    except ItemNotFound:
        raise LinkInvalid(gettext(GONE)) from None
    items_name_sources(reader_id=reader.pk, items=[item])
    return rating, reader, item


def _reader(reader_id: UUID) -> Reader:
    reader = Reader.objects.filter(pk=reader_id, is_active=True).first()
    if reader is None:
        raise LinkInvalid(gettext(GONE))
    return reader


def _state(link: str, rating: ThumbLink, item: Item) -> LinkState:
    used = UsedLink.objects.filter(digest=_link_hash(link)).first()
    if used is None:
        return LinkState(item, rating.useful, None, holds=False)
    stored = Feedback.objects.filter(
        reader_id=rating.reader_id, article=item.article, useful=rating.useful, at=used.used_at
    )
    return LinkState(item, rating.useful, used.used_at, holds=stored.exists())


def _link_hash(link: str) -> str:
    """Return the SHA-256 of a link in hex. Used links are stored as this hash only."""
    return hashlib.sha256(link.encode()).hexdigest()
