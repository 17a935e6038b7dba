"""What a link or a secret address does: a thumb from a mail, the end of mail, a reader's own feed."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from digest.errors import ItemNotFound, LinkExpired, LinkInvalid
from digest.links import BadLink, ThumbLink, link_digest, thumb_read, unsubscribe_read
from digest.models import Feedback, Item, Reader, UsedLink
from digest.selectors import item_get
from digest.services.feedback import feedback_clear, feedback_set

INVALID = "This link is not complete, or was changed on its way. Open it again from the mail itself."
EXPIRED = "This link worked for 14 days, which are over. You can still rate the item on its page."
GONE = "The account or the item behind this link is no longer here, so there is nothing left to do."


@dataclass(frozen=True, slots=True)
class LinkState:
    """A thumb's link as it stands: its item, its verdict, when it was used, whether its thumb still holds."""

    item: Item
    useful: bool
    used_at: datetime | None
    holds: bool


def thumb_link_state(*, link: str, now: datetime) -> LinkState:
    """What a thumb's link is about and whether it was used; changes nothing. Raises as `thumb_link_use`."""
    said, reader = _said(link, now)
    return _state(link, said, _item(reader, said))


def thumb_link_use(*, link: str, now: datetime) -> tuple[LinkState, bool]:
    """Record the thumb that `link` stands for, once; returns its state and whether this call recorded it.

    Of two calls at once one records. Raises `LinkInvalid` for a link that is not ours or whose reader or
    item is gone, `LinkExpired` 14 days after it was made (unless it was used: then it says so).
    """
    said, reader = _said(link, now)
    item = _item(reader, said)
    with transaction.atomic():
        _, first = UsedLink.objects.get_or_create(
            digest=link_digest(link), defaults={"reader": reader, "used_at": now}
        )
        if first:
            feedback_set(reader=reader, item_id=item.pk, useful=said.useful, now=now)
    return _state(link, said, item), first


def thumb_link_undo(*, link: str, now: datetime) -> tuple[LinkState, bool]:
    """Take back the thumb that `link` recorded, if it still stands; whether it was taken back by this call.

    A thumb given anywhere else, before or since, is not this link's to take. Raises as `thumb_link_use`.
    """
    said, reader = _said(link, now)
    state = _state(link, said, _item(reader, said))
    if not state.holds:
        return state, False
    done = feedback_clear(reader=reader, item_id=said.item_id)
    return _state(link, said, state.item), done


def reader_unsubscribe(*, link: str) -> Reader:
    """End the mail of the reader whose link this is, at once and without signing in.

    Raises `LinkInvalid`. A second time changes nothing.
    """
    reader = unsubscribe_reader(link=link)
    if reader.mail_rhythm != Reader.MailRhythm.OFF:
        reader.mail_rhythm = Reader.MailRhythm.OFF
        reader.save(update_fields=["mail_rhythm"])
    return reader


def unsubscribe_reader(*, link: str) -> Reader:
    """Whose unsubscribe link this is. Raises `LinkInvalid`."""
    try:
        return _reader(unsubscribe_read(link))
    except BadLink:
        raise LinkInvalid(INVALID) from None


def feed_token_issue(*, reader: Reader) -> str:
    """Give the reader's own feed a new secret address; the one before it is dead at once.

    Returns the secret: 256 bits in 43 characters.
    """
    reader.feed_token = secrets.token_urlsafe(32)
    reader.save(update_fields=["feed_token"])
    return reader.feed_token


def feed_token_revoke(*, reader: Reader) -> None:
    """Take the reader's own feed away; its address is not found from now on."""
    reader.feed_token = None
    reader.save(update_fields=["feed_token"])


def _said(link: str, now: datetime) -> tuple[ThumbLink, Reader]:
    try:
        said = thumb_read(link)
    except BadLink:
        raise LinkInvalid(INVALID) from None
    if now > said.until and not UsedLink.objects.filter(digest=link_digest(link)).exists():
        raise LinkExpired(EXPIRED)
    return said, _reader(said.reader_id)


def _reader(reader_id: UUID) -> Reader:
    reader = Reader.objects.filter(pk=reader_id, is_active=True).first()
    if reader is None:
        raise LinkInvalid(GONE)
    return reader


def _item(reader: Reader, said: ThumbLink) -> Item:
    try:
        return item_get(reader_id=reader.pk, item_id=said.item_id)
    except ItemNotFound:
        raise LinkInvalid(GONE) from None


def _state(link: str, said: ThumbLink, item: Item) -> LinkState:
    used = UsedLink.objects.filter(digest=link_digest(link)).first()
    holds = (
        used is not None
        and Feedback.objects.filter(
            reader_id=said.reader_id, item=item, useful=said.useful, at=used.used_at
        ).exists()
    )
    return LinkState(item, said.useful, used.used_at if used else None, holds)
