"""Sending notifications and saving links: through the guard of feeds; marked first, so sent once at most.

A notification is claimed by a conditional update before its request begins. A process that ends in between
leaves it `sending`; it is closed as failed after 15 minutes and not sent again. A known failure is retried,
with the same id; one that may have arrived all the same (a timeout) only to webhooks, which know that id.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
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
from ranking.common.encryption import SecretUnreadable, key_derive, secret_decrypt

log = structlog.get_logger(__name__)
Kind, Status = Destination.Kind, Notification.Status

# After the first, second, … attempt.
BACKOFF = (timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2), timedelta(hours=6))
# Older news is none.
LATE = timedelta(days=1)
# No request takes longer between its claim and its result.
CLAIM_LASTS = timedelta(minutes=15)
OFF_AFTER = timedelta(days=5)
AT_ONCE = 8
SECONDS_MAX = 240.0
# Codes after which a request may have arrived, and those that may pass by themselves.
UNKNOWN = frozenset({"timeout", "broken_response"})
PASSING = UNKNOWN | {"connect_failed", "tls_failed", "not_found", "http_408", "http_425", "http_429"}
# By which a destination says that it is gone for good (RFC 8030, section 7.3; Standard Webhooks).
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
    """Return a failure's code in a sentence that says what to do."""
    if code in FAILURES:
        return _(FAILURES[code])
    return _("It answered with status {code}.").format(code=code.removeprefix("http_"))


def vapid() -> Vapid:
    """Return the installation's key for Web Push, which follows from the oldest of its keys for secrets."""
    secure = settings.SITE_URL.startswith("https://")
    contact = settings.SITE_URL if secure else f"mailto:{settings.DEFAULT_FROM_EMAIL}"
    return vapid_of(key_derive(purpose="web push"), contact)


def message_post(*, destination: Destination, message: Message, now: datetime) -> None:
    """Send one notification; no query. Raises `FeedProblem` with one of `FAILURES` or `http_<status>`."""
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
    """Have a service store `link`, by one request or, for Wallabag, two; no query. Raises `FeedProblem`."""
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
    """The result of a run: sent, failed for good, and to be tried again."""

    sent: int = 0
    failed: int = 0
    again: int = 0


def notifications_send(
    *, now: datetime, stopping: Callable[[], bool] = lambda: False, seconds_max: float = SECONDS_MAX
) -> SendReport:
    """Send what waits at `now`, eight at a time, each once at most however many workers do so."""
    report, until = SendReport(), time.monotonic() + seconds_max
    lost = Notification.objects.filter(status=Status.SENDING, next_at__lte=now - CLAIM_LASTS)
    report.failed += lost.update(status=Status.FAILED, code="unknown_fate")
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="notify") as pool:
        while time.monotonic() < until and not stopping() and (rows := _waiting(now)):
            claimed = [row for row in rows if _claim(row, now, report)]
            for row, code in zip(claimed, pool.map(partial(_attempt, now=now), claimed), strict=True):
                _store(row, code, now, report)
    if report != SendReport():
        log.info("notifications_sent", sent=report.sent, failed=report.failed, again=report.again)
    return report


def _waiting(now: datetime) -> list[Notification]:
    rows = Notification.objects.filter(status=Status.WAITING, next_at__lte=now).order_by("next_at", "pk")
    return list(rows.select_related("destination", "reader__notification_settings")[:AT_ONCE])


def _claim(row: Notification, now: datetime, report: SendReport) -> bool:
    """Claim a row for sending; put it off in quiet hours, and end it where it is too late."""
    where, quiet = row.destination, quiet_end(row.reader.notification_settings, now)
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
    """Change `row` if nobody else did since it was read; return whether it was changed."""
    same = Notification.objects.filter(pk=row.pk, status=row.status, attempts=row.attempts)
    return bool(same.update(**fields))


def _attempt(row: Notification, *, now: datetime) -> str:
    """Send one claimed row in a thread, without a query; return the code of its failure, "" for none."""
    lines = [Line(one["event"], one["words"], site_link(one["path"])) for one in row.news]
    try:
        if row.destination:
            message_post(
                destination=row.destination, message=Message(row.uid.hex, lines, row.created_at), now=now
            )
        return ""
    except FeedProblem as problem:
        return problem.code
    except Exception:
        log.exception("notification_broken", notification=row.pk)
        return "internal_error"


def _store(row: Notification, code: str, now: datetime, report: SendReport) -> None:
    """Store the result with the row, and with its destination."""
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
