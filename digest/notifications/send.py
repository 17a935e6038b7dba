"""Send notifications and save links through the address guard of feeds, each notification at most once.

A conditional update claims a notification (status `sending`) before its request begins. If the process ends
during the request, the next run closes the row as failed after 15 minutes and does not send it again. A
failed request is retried with the same id. After a timeout the notification may have arrived, so only
webhooks get a retry: they can recognise the id.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import structlog
from django.conf import settings
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from digest.feeds.connect import is_allowed
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import post, web_address
from digest.mail.render import site_link
from digest.models import Destination, Notification
from digest.notifications.news import quiet_end
from digest.notifications.wire import (
    Line,
    Message,
    Outgoing,
    Vapid,
    karakeep_request,
    ntfy_request,
    push_keys_read,
    push_request,
    readeck_request,
    vapid_of,
    wallabag_login,
    wallabag_request,
    webhook_request,
)
from digest.sessions import browser_is_signed_in
from ranking.common.encryption import SecretUnreadable, key_derive, secret_decrypt
from ranking.common.isolation import isolate

log = structlog.get_logger(__name__)
Kind, Status = Destination.Kind, Notification.Status

# The waits after the first, second, … attempt.
BACKOFF = (timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2), timedelta(hours=6))
# A notification older than this is not sent any more.
LATE = timedelta(days=1)
# A claim older than this was left by a dead process, because no request takes as long.
CLAIM_LASTS = timedelta(minutes=15)
# A destination that has failed for this long is switched off.
OFF_AFTER = timedelta(days=5)
AT_ONCE = 8
SECONDS_MAX = 240.0
# Failures after which the request may have arrived, and failures that a retry may get past.
UNKNOWN = frozenset({"timeout", "broken_response"})
PASSING = UNKNOWN | {"connect_failed", "tls_failed", "not_found", "http_408", "http_425", "http_429"}
# Statuses by which a destination says that it is gone for good (RFC 8030, section 7.3; Standard Webhooks).
GONE: Mapping[str, frozenset[str]] = {
    Kind.PUSH: frozenset({"http_404", "http_410"}),
    Kind.WEBHOOK: frozenset({"http_410"}),
}
FAILURES = {
    "not_https": gettext_noop(
        "Its address has to begin with https://. An operator can allow its host without (NOTIFY_ALLOW_HOSTS)."
    ),
    "bad_url": gettext_noop("Its address is no web address."),
    "bad_port": gettext_noop(
        "Its address has a port that nothing is sent to. An operator can allow it (NOTIFY_ALLOW_HOSTS)."
    ),
    "forbidden_address": gettext_noop(
        "Its address is not on the public internet. An operator can allow it (NOTIFY_ALLOW_HOSTS)."
    ),
    "not_found": gettext_noop(
        "There is no such host on the public internet. An operator can allow one that is "
        "inside (NOTIFY_ALLOW_HOSTS)."
    ),
    "redirected": gettext_noop("It sends us to another address. Add it again with that one."),
    "timeout": gettext_noop("It took too long to answer."),
    "connect_failed": gettext_noop("It cannot be reached."),
    "tls_failed": gettext_noop("It has no certificate that can be trusted."),
    "broken_response": gettext_noop("It broke off, or does not speak HTTP."),
    "secret_unreadable": gettext_noop("This installation has another key since. Remove it and add it again."),
    "bad_secret": gettext_noop("It does not take the secret you gave. Remove it and add it again."),
    "http_401": gettext_noop("It does not take the token (status 401)."),
    "http_403": gettext_noop("It does not take the token (status 403)."),
    "http_404": gettext_noop("There is nothing at its address (status 404)."),
    "http_410": gettext_noop("It is gone for good (status 410)."),
    "unknown_fate": gettext_noop("We were stopped while it was being sent, and it is not sent twice."),
    "too_late": gettext_noop("It could not be sent for a day."),
    "switched_off": gettext_noop("It was switched off or removed."),
    "internal_error": gettext_noop("This site has a fault; its operator finds it in the log."),
}


def failure_words(code: str) -> str:
    """Return a sentence for the reader about a failure code."""
    if code in FAILURES:
        return _(FAILURES[code])
    return _("It answered with status {code}.").format(code=code.removeprefix("http_"))


def vapid() -> Vapid:
    """Return the installation's Web Push key, derived from the oldest (last) key in SECRETS_KEY."""
    secure = settings.SITE_URL.startswith("https://")
    contact = settings.SITE_URL if secure else f"mailto:{settings.DEFAULT_FROM_EMAIL}"
    return vapid_of(key_derive(purpose="web push"), contact)


def message_post(*, destination: Destination, message: Message, now: datetime) -> None:
    """Send one notification. No query. Raises `FeedProblem`; its code is in `FAILURES` or `http_<status>`."""
    secret, address = _secret(destination), destination.address
    try:
        match destination.kind:
            case Kind.WEBHOOK:
                request = webhook_request(message, address=address, secret=secret, now=now)
            case Kind.NTFY:
                request = ntfy_request(message, address=address, token=secret)
            case _:
                keys = push_keys_read(secret)
                request = push_request(message, address=address, keys=keys, vapid=vapid(), now=now)
    except ValueError as error:
        raise FeedProblem("bad_secret", FAILURES["bad_secret"]) from error
    _post(request)


def link_post(*, destination: Destination, link: str) -> None:
    """Save `link` in a service, by one request (Wallabag: two). No query. Raises `FeedProblem`."""
    secret, address = _secret(destination), destination.address
    if destination.kind == Kind.READECK:
        _post(readeck_request(link, address=address, token=secret))
    elif destination.kind == Kind.KARAKEEP:
        _post(karakeep_request(link, address=address, token=secret))
    else:
        try:
            answer = _post(wallabag_login(address=address, secret=secret))
            request = wallabag_request(link, address=address, answer=answer)
        except ValueError as error:
            raise FeedProblem("bad_secret", FAILURES["bad_secret"]) from error
        _post(request)


def _secret(destination: Destination) -> str:
    try:
        return secret_decrypt(destination.secret) if destination.secret else ""
    except SecretUnreadable as error:
        raise FeedProblem("secret_unreadable", FAILURES["secret_unreadable"]) from error


def _post(request: Outgoing) -> bytes:
    address = web_address(request.url)
    if address.scheme != "https" and not is_allowed(address.host, address.port, settings.NOTIFY_ALLOW_HOSTS):
        raise FeedProblem("not_https", FAILURES["not_https"])
    allow, ports = settings.NOTIFY_ALLOW_HOSTS, settings.FETCH_PORTS
    return post(request.url, headers=request.headers, body=request.body, allow=allow, ports=ports)


@dataclass(slots=True)
class SendReport:
    """The counts of a run: `sent`, `failed` for good, and to be tried `again`."""

    sent: int = 0
    failed: int = 0
    again: int = 0


def notifications_send(
    *, now: datetime, stopping: Callable[[], bool] = lambda: False, seconds_max: float = SECONDS_MAX
) -> SendReport:
    """Send the notifications that wait at `now`, eight at a time, and return the counts.

    Stop when `stopping()` returns true or `seconds_max` are over. Several workers may run this at once.
    """
    report, until = SendReport(), time.monotonic() + seconds_max
    lost = Notification.objects.filter(status=Status.SENDING, next_at__lte=now - CLAIM_LASTS)
    report.failed += lost.update(status=Status.FAILED, code="unknown_fate")
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="notify") as pool:
        while time.monotonic() < until and not stopping() and (rows := _next_batch(now)):
            claimed = []
            for row in rows:
                with isolate("notification", row.pk, "notification_broken") as attempt:
                    claimed += [row] if _claim(row, now, report) else []
                if attempt.error:  # or it would be the first of every batch
                    report.failed += _write(row, status=Status.FAILED, code="internal_error")
            sent = [pool.submit(copy_context().run, partial(_send_row, row, now=now)) for row in claimed]
            for row, code in zip(claimed, sent, strict=True):
                with isolate("notification", row.pk, "notification_broken"):
                    _store_result(row, code.result(), now, report)
    if report != SendReport():
        log.info("notifications_sent", sent=report.sent, failed=report.failed, again=report.again)
    return report


def _next_batch(now: datetime) -> list[Notification]:
    rows = Notification.objects.filter(status=Status.WAITING, next_at__lte=now).order_by("next_at", "pk")
    return list(rows.select_related("destination", "reader__notification_settings")[:AT_ONCE])


def _claim(row: Notification, now: datetime, report: SendReport) -> bool:
    """Claim a row for sending and return whether that worked.

    Postpone it in quiet hours. Close it as failed if it is too old or its destination is off. A browser where
    the reader is not signed in any more is no destination.
    """
    where, quiet = row.destination, quiet_end(row.reader.notification_settings, now)
    if where and where.session and not browser_is_signed_in(destination=where):
        where.delete()  # the reader has to ask for it again in that browser
        where = None
    off = where is None or where.off_at is not None or not row.reader.is_active
    if off or row.created_at <= now - LATE:
        code = "switched_off" if off else row.code or "too_late"
        report.failed += _write(row, status=Status.FAILED, code=code)
        return False
    if quiet is not None:
        _write(row, next_at=quiet)
        return False
    if not _write(row, status=Status.SENDING, attempts=row.attempts + 1, next_at=now):
        return False
    row.status, row.attempts = Status.SENDING, row.attempts + 1
    return True


def _write(row: Notification, **fields: object) -> bool:
    """Update `row` unless another process changed it since we read it. Return whether it was updated."""
    same = Notification.objects.filter(pk=row.pk, status=row.status, attempts=row.attempts)
    return bool(same.update(**fields))


def _send_row(row: Notification, *, now: datetime) -> str:
    """Send one claimed row in a thread, without a query. Return the failure's code, or "" if it was sent."""
    with isolate("notification", row.pk, "notification_broken"):
        lines = [Line(one["event"], one["words"], site_link(one["path"])) for one in row.news]
        message = Message(row.uid.hex, lines, row.created_at)
        try:
            if row.destination:
                message_post(destination=row.destination, message=message, now=now)
            return ""
        except FeedProblem as problem:
            return problem.code
    return "internal_error"


def _store_result(row: Notification, code: str, now: datetime, report: SendReport) -> None:
    """Store the result of an attempt in the notification and in its destination.

    A destination is switched off if it is gone for good or has failed for five days.
    """
    places = Destination.objects.filter(notifications=row)
    if not code:
        report.sent += _write(row, status=Status.SENT, sent_at=now, code="")
        places.update(failing_since=None, code="")
        return
    kind = row.destination.kind if row.destination else ""
    passing = code in PASSING or code.startswith("http_5")
    if passing and row.attempts <= len(BACKOFF) and (kind == Kind.WEBHOOK or code not in UNKNOWN):
        wait = BACKOFF[row.attempts - 1]
        report.again += _write(row, status=Status.WAITING, next_at=now + wait, code=code)
    else:
        report.failed += _write(row, status=Status.FAILED, code=code)
    on = places.filter(off_at=None)
    on.update(failing_since=Coalesce("failing_since", now), code=code)
    if code not in GONE.get(kind, frozenset()):
        on = on.filter(failing_since__lte=now - OFF_AFTER)
    on.update(off_at=now)
