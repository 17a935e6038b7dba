"""Signed links of mails, for a rating or to stop the mail, and the secret address of a reader's own feed."""

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
from digest.items.selectors import item_get
from digest.models import Feedback, Item, Reader, UsedLink

# How long a rating's link lasts: a mail is read within days, and a link should not outlive its use by much.
THUMB_LASTS = timedelta(days=14)
INVALID = gettext_noop("This link is incomplete or was changed. Open it again from the mail itself.")
EXPIRED = gettext_noop(
    "This link worked for 14 days, which are over. You can still rate the item on its page."
)
GONE = gettext_noop(
    "The account or the item behind this link no longer exists, so there is nothing left to do."
)

# Reader, item, useful or not, until when (seconds).
_THUMB = struct.Struct(">16sQBI")
_THUMB_SIGNER, _UNSUBSCRIBE_SIGNER = (
    Signer(salt=f"digest.mail.links.{kind}", sep=".") for kind in ("thumb", "unsubscribe")
)


class BadLink(Exception):
    """A link that was cut short, changed, or not signed by this site."""


@dataclass(frozen=True, slots=True)
class ThumbLink:
    """What a rating's link records: whose rating, of which item, which one, and until when it works."""

    reader_id: UUID
    item_id: int
    useful: bool
    until: datetime


@dataclass(frozen=True, slots=True)
class LinkState:
    """A rating's link with its item: when it was used, and whether the rating it recorded is still stored."""

    item: Item
    useful: bool
    used_at: datetime | None
    holds: bool


def thumb_sign(*, reader_id: UUID, item_id: int, useful: bool, now: datetime) -> str:
    """Return the signed text of a link for one rating of one reader, good for 14 days from `now`."""
    until = int((now + THUMB_LASTS).timestamp())
    return _sign(_THUMB_SIGNER, _THUMB.pack(reader_id.bytes, item_id, useful, until))


def thumb_read(link: str) -> ThumbLink:
    """Return what `link` records, expired or not. Raises `BadLink`."""
    data = _unsign(_THUMB_SIGNER, link)
    if len(data) != _THUMB.size:
        raise BadLink
    reader, item_id, useful, until = _THUMB.unpack(data)
    return ThumbLink(UUID(bytes=reader), item_id, bool(useful), datetime.fromtimestamp(until, UTC))


def unsubscribe_sign(*, reader_id: UUID) -> str:
    """Return the text of the reader's unsubscribe link. It never expires, for old mails."""
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
    """Return what a rating's link is about and whether it was used. Raises as `thumb_link_use`."""
    rating, _, item = _link_check(link, now)
    return _state(link, rating, item)


def thumb_link_use(*, link: str, now: datetime) -> tuple[LinkState, bool]:
    """Record the rating of `link`, once; return its state and whether this call recorded it.

    Of two calls at once one records. Raises `LinkInvalid` for a link that is not ours or whose reader or
    item is gone, `LinkExpired` 14 days after it was made (unless it was used: then its state says so).
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
    """Delete the rating that `link` recorded, if it is still stored; return whether this call deleted it.

    A rating given anywhere else, before or since, is left alone. Raises as `thumb_link_use`.
    """
    rating, reader, item = _link_check(link, now)
    state = _state(link, rating, item)
    if not state.holds:
        return state, False
    done = feedback_take_back(reader=reader, item_id=item.pk)
    return _state(link, rating, item), done


def reader_unsubscribe(*, link: str) -> Reader:
    """Stop the mail of the reader whose link this is, at once and without signing in.

    Raises `LinkInvalid`. A second time changes nothing.
    """
    reader = unsubscribe_link_reader(link=link)
    if reader.mail_rhythm != Reader.MailRhythm.OFF:
        reader.mail_rhythm = Reader.MailRhythm.OFF
        reader.save(update_fields=["mail_rhythm"])
    return reader


def unsubscribe_link_reader(*, link: str) -> Reader:
    """Return the reader whose unsubscribe link this is. Raises `LinkInvalid`."""
    try:
        return _reader(unsubscribe_read(link))
    except BadLink:
        raise LinkInvalid(gettext(INVALID)) from None


def feed_token_issue(*, reader: Reader) -> str:
    """Give the reader's own feed a new secret address; the one before it stops working at once.

    Returns the secret: 256 bits in 43 characters.
    """
    reader.feed_token = secrets.token_urlsafe(32)
    reader.save(update_fields=["feed_token"])
    return reader.feed_token


def feed_token_revoke(*, reader: Reader) -> None:
    """Switch the reader's own feed off; its address is not found from now on."""
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
        return rating, reader, item_get(reader_id=reader.pk, item_id=rating.item_id)
    except ItemNotFound:
        raise LinkInvalid(gettext(GONE)) from None


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
    """Return the SHA-256 of a link, in hex, which is stored of one that was used."""
    return hashlib.sha256(link.encode()).hexdigest()
