"""Manage a reader's destinations for notifications and saved links, and the settings of notifications."""

import base64
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from digest.errors import DeliveryFailed, DestinationInvalid, DestinationMissing
from digest.feeds.connect import check_host, is_allowed
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import web_address
from digest.mail.render import site_link
from digest.models import Destination, Item, Notification, NotificationSettings, Reader
from digest.notifications.news import NOTIFIED, Event
from digest.notifications.send import failure_words, link_post, message_post
from digest.notifications.wire import SECRET_PREFIX, Line, Message, push_keys_read
from digest.places import LOOKUPS
from ranking.common.encryption import SecretUnreadable, secret_decrypt, secret_encrypt

Kind = Destination.Kind
SAVING = (Kind.READECK, Kind.KARAKEEP, Kind.WALLABAG)
DESTINATIONS_MAX = 10
WORDS_MAX, WORD_CHARS_MAX, PER_DAY_MAX = 5, 60, 10
RECENT_MAX = 10
ADDRESS_CHARS_MAX, SECRET_CHARS_MAX = 2000, 2000
WEBHOOK_KEY_BYTES = 32


def destinations_of(*, reader_id: UUID) -> list[Destination]:
    """Return the reader's destinations, oldest first, without their secrets; one query."""
    return list(Destination.objects.filter(reader_id=reader_id).defer("secret"))


def saving_destination(*, reader_id: UUID) -> Destination | None:
    """Return the service that the reader saves articles to, or `None`. One query."""
    return Destination.objects.filter(reader_id=reader_id, kind__in=SAVING).first()


def notification_settings_of(*, reader: Reader, now: datetime) -> NotificationSettings:
    """Return the reader's notification settings, or unsaved defaults if none are stored. One query."""
    row = NotificationSettings.objects.filter(reader=reader).first()
    return row or NotificationSettings(reader=reader, events=list(Event.values), since=now)


def notifications_recent(*, reader_id: UUID) -> list[Notification]:
    """Return the reader's ten newest notifications with their destinations; one query."""
    rows = Notification.objects.filter(reader_id=reader_id).select_related("destination")
    return list(rows.order_by("-created_at", "-pk")[:RECENT_MAX])


def notification_settings_update(
    *,
    reader: Reader,
    events: Sequence[str],
    words: Sequence[str],
    per_day: int,
    quiet_from: int,
    quiet_until: int,
    now: datetime,
) -> None:
    """Store the reader's events and words, the daily limit (1 to 10), and the quiet hours (0 to 23).

    If events or words were added, only news after `now` counts. Raises `ValueError` for values out of range.
    """
    chosen = [Event(event).value for event in events]
    if not (1 <= per_day <= PER_DAY_MAX and 0 <= quiet_from <= 23 and 0 <= quiet_until <= 23):
        raise ValueError(f"no such times: {per_day} a day, quiet from {quiet_from} until {quiet_until}")
    if len(words) > WORDS_MAX or any(len(word) > WORD_CHARS_MAX for word in words):
        raise ValueError("too many words, or too long ones")
    row = notification_settings_of(reader=reader, now=now)
    if not (set(chosen) <= set(row.events) and set(words) <= set(row.words)):
        row.since = now
    row.events, row.words, row.per_day = chosen, list(words), per_day
    row.quiet_from, row.quiet_until = quiet_from, quiet_until
    asked = {name: getattr(row, name) for name in ("events", "words", "per_day", "quiet_from", "quiet_until")}
    # Leave out the fields that the worker writes when it notifies.
    NotificationSettings.objects.update_or_create(reader=reader, defaults=asked | {"since": row.since})


def destination_add(
    *, reader: Reader, kind: str, address: str, secret: str, now: datetime, session_key: str = ""
) -> tuple[Destination, str]:
    """Add a destination. Return it with the secret that we made for it ("" except for webhooks).

    `secret` is the token of ntfy (or ""), a browser's push subscription in JSON, the token of a saving
    service, or Wallabag's four lines. A reader has one saving service, so a new one replaces the old one. A
    browser notifies only the reader who added it last, and only while the session with `session_key` lasts.
    Raises `DestinationInvalid`.
    """
    _check_address(kind, address)
    made = ""
    if kind == Kind.WEBHOOK:
        secret = made = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(WEBHOOK_KEY_BYTES)).decode()
    secret = _check_secret(kind, secret)
    with transaction.atomic():
        Reader.objects.select_for_update().get(pk=reader.pk)
        if kind in SAVING:
            Destination.objects.filter(reader=reader, kind__in=SAVING).delete()
        elif kind == Kind.PUSH:
            _browser_release(reader, address, secret)
        if Destination.objects.filter(reader=reader).count() >= DESTINATIONS_MAX:
            raise DestinationInvalid(
                gettext("You have {destinations_max} destinations. Remove one first.").format(
                    destinations_max=DESTINATIONS_MAX
                )
            )
        row = Destination.objects.create(
            reader=reader,
            kind=kind,
            address=address,
            secret=secret_encrypt(secret) if secret else "",
            session=secret_encrypt(session_key) if session_key and kind == Kind.PUSH else "",
            created_at=now,
        )
        first = {"events": list(Event.values), "since": now}
        NotificationSettings.objects.get_or_create(reader=reader, defaults=first)
    return row, made


def _browser_release(reader: Reader, address: str, secret: str) -> None:
    """Delete this browser's destinations: the reader's own, and those of others who used the same browser.

    Only the browser knows the keys of its subscription. So knowing its address is not enough to take it from
    somebody.
    """
    keys = push_keys_read(secret)

    def is_same(row: Destination) -> bool:
        try:
            return row.reader_id == reader.pk or push_keys_read(secret_decrypt(row.secret)) == keys
        except (SecretUnreadable, ValueError):
            return False

    rows = Destination.objects.filter(kind=Kind.PUSH, address=address)
    Destination.objects.filter(pk__in=[row.pk for row in rows if is_same(row)]).delete()


def _check_address(kind: str, address: str) -> None:
    """Raise `DestinationInvalid` for a bad address, without a DNS look-up.

    Each request checks the IP address that the host name resolves to.
    """
    try:
        read = web_address(address)
        check_host(read.host, read.port, allow=settings.NOTIFY_ALLOW_HOSTS, ports=settings.FETCH_PORTS)
    except FeedProblem as problem:
        raise DestinationInvalid(failure_words(problem.code)) from problem
    if read.scheme != "https" and not is_allowed(read.host, read.port, settings.NOTIFY_ALLOW_HOSTS):
        raise DestinationInvalid(failure_words("not_https"))
    parts = urlsplit(address)
    if parts.username is not None or len(address) > ADDRESS_CHARS_MAX:
        raise DestinationInvalid(
            gettext("An address has 2,000 characters at most, and no name or password in it.")
        )
    if kind == Kind.NTFY and not parts.path.strip("/"):
        raise DestinationInvalid(
            gettext("The address of ntfy ends with your topic, like https://ntfy.sh/my-topic.")
        )


def _check_secret(kind: str, secret: str) -> str:
    """Return the secret without blank lines. Raises `DestinationInvalid` if it cannot be one of `kind`."""
    lines = [line.strip() for line in secret.split("\n") if line.strip()]
    secret = secret if kind == Kind.PUSH else "\n".join(lines)
    if len(secret) > SECRET_CHARS_MAX:
        raise DestinationInvalid(gettext("That is longer than any token."))
    if kind == Kind.WALLABAG and len(lines) != 4:
        raise DestinationInvalid(
            gettext("For Wallabag type four lines: client id, client secret, user name, password.")
        )
    if kind in (Kind.READECK, Kind.KARAKEEP, Kind.NTFY):
        if len(lines) != 1 and (lines or kind != Kind.NTFY):
            raise DestinationInvalid(gettext("Type the token of that service, in one line."))
        if not secret.isascii() or not secret.isprintable():
            raise DestinationInvalid(gettext("A token has plain letters, numbers and signs only."))
    if kind == Kind.PUSH:
        try:
            push_keys_read(secret)
        except ValueError as error:
            raise DestinationInvalid(gettext("This is no subscription of a browser. Try again.")) from error
    return secret


def destination_remove(*, reader: Reader, destination_id: int) -> bool:
    """Delete one of the reader's destinations with its secret. Return whether it existed."""
    deleted, _ = Destination.objects.filter(reader=reader, pk=destination_id).delete()
    return deleted > 0


def destination_test(*, reader: Reader, destination_id: int, now: datetime) -> Destination:
    """Send a test notification now, even in quiet hours. If it arrives, switch the destination on again.

    Raises `DestinationMissing`, or `DeliveryFailed` if it does not arrive.
    """
    row = Destination.objects.filter(reader=reader, pk=destination_id, kind__in=NOTIFIED).first()
    if row is None:
        raise DestinationMissing(gettext("You have no such destination."))
    line = Line("test", gettext("This is a test. News of your digest will look like this."), site_link("/"))
    message = Message(uuid4().hex, [line], now)
    _deliver(row, lambda: message_post(destination=row, message=message, now=now))
    return row


def item_send_on(*, reader: Reader, item: Item) -> Destination:
    """Save the item's address (and nothing else of it) in the reader's saving service.

    Raises `DestinationMissing` if there is no service or no address, `DeliveryFailed` if the service refuses.
    """
    row, link = saving_destination(reader_id=reader.pk), item.address
    if row is None or not link:
        raise DestinationMissing(gettext("There is no service to save to, or the item has no address."))
    _deliver(row, lambda: link_post(destination=row, link=link))
    return row


def _deliver(row: Destination, send: Callable[[], None]) -> None:
    """Send something while the reader waits, and store the result in the destination's row.

    Raises `DeliveryFailed` if it does not arrive, or if too many requests are waiting for other servers.
    """
    code = ""
    with LOOKUPS.place(row.reader_id) as has_place:
        if not has_place:
            busy = gettext("Too much is being sent just now. Try again in a moment.")
            raise DeliveryFailed(busy, reason="busy")
        try:
            send()
        except FeedProblem as problem:
            code = problem.code
    same = Destination.objects.filter(pk=row.pk)
    if code:
        same.update(code=code)
        raise DeliveryFailed(f"{row.get_kind_display()}: {failure_words(code)}", reason=code)
    same.update(code="", failing_since=None, off_at=None)
