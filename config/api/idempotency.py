"""Carry out an unsafe API call only once if it is repeated with the same `Idempotency-Key`.

It works as in Stripe's API (docs.stripe.com/api/idempotent_requests). The response is stored with a
fingerprint of the request. The same key with another request is refused. Failed calls (5xx), and calls
refused by a limit, sign-in or CSRF, are not stored, so that they can be repeated.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Sum
from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from ninja.security import SessionAuth

from config.api.schema import KEY_CHARS_MAX, KEY_HEADER
from config.models import IdempotentResponse
from digest.accounts.tokens import TokenAuth
from digest.errors import TooManyRequests
from digest.models import ApiToken, Reader
from digest.places import PAGE_LINE, PROGRAM_LINE
from digest.requests import account_check, body_await
from digest.sessions import session_check
from digest.throttling import API, limit_count, turn_begin

SAFE = ("GET", "HEAD", "OPTIONS")
KEY_LIFETIME = timedelta(hours=24)
# No request takes as long. After this time its worker has died, and the key can be claimed again.
CLAIM_TIME = timedelta(minutes=2)
BODY_BYTES_MAX = 1_048_576
# Limits for a reader's stored answers of a day, and the size of a row beside its body, in bytes.
ANSWERS_BYTES_MAX, ROW_BYTES = 10 * 1_048_576, 512
SERVER_ERROR, TOO_OFTEN = 500, 429


class IdempotencyKeyError(Exception):
    """The key was refused. `code` is stable and `status` is the HTTP status."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


class ReplayedResponse(Exception):
    """The call was made before. `response` is its stored response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__("answered before")
        self.response = response


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """The right to store the response for a key. Of several claims, the latest `turn` has it."""

    row_id: int
    turn: int


class IdempotentToken(TokenAuth):
    """Authentication by a personal token, with idempotency keys."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """Authenticate like `TokenAuth`. May also raise `IdempotencyKeyError` and `ReplayedResponse`."""
        body_await(request)
        used = super().authenticate(request, token)
        _begin(request, used.reader, PROGRAM_LINE, partial(self.authenticate_again, request, token))
        return used


class IdempotentSession(SessionAuth):
    """Authentication by a session, with idempotency keys. CSRF was checked before."""

    def authenticate(self, request: HttpRequest, key: str | None) -> object | None:
        """Authenticate like `SessionAuth`. May raise `TooManyRequests` and errors of `IdempotentToken`."""
        body_await(request)
        reader: object | None = super().authenticate(request, key)
        if isinstance(reader, Reader):
            _begin(request, reader, PAGE_LINE, partial(session_check, request))
        return reader


def _begin(request: HttpRequest, reader: Reader, line: str, check: Callable[[], object]) -> None:
    """Count a request against its reader's limit, wait for their turn, and claim its key if it has one."""
    now = timezone.now()
    limit_count(limit=API, who=reader.pk, now=now)
    turn_begin(reader.pk, line, check=check)
    key = request.headers.get(KEY_HEADER)
    if request.method in SAFE or key is None:
        return
    # Refuse an empty key, too, because its sender believes that repeats are safe.
    if not 0 < len(key) <= KEY_CHARS_MAX or not (key.isascii() and key.isprintable()):
        message = f"An {KEY_HEADER} is 1 to {KEY_CHARS_MAX} printable ASCII characters."
        raise IdempotencyKeyError("invalid_idempotency_key", message, 400)
    parts = (request.method, request.get_full_path(), request.content_type or "")
    fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode() + b"\n" + request.body).hexdigest()
    claim = key_claim(reader_id=reader.pk, key=key, fingerprint=fingerprint, now=now)
    if isinstance(claim, HttpResponse):
        raise ReplayedResponse(claim)
    _check_bytes_left(reader.pk, claim, now)
    request.idempotency_claim = claim  # type: ignore[attr-defined]


def _check_bytes_left(reader_id: UUID, claim: KeyClaim, now: datetime) -> None:
    """Refuse another new key beyond 10 MB of stored answers of the last day. Raises `TooManyRequests`."""
    rows = IdempotentResponse.objects.filter(reader_id=reader_id, created_at__gt=now - KEY_LIFETIME)
    found = rows.aggregate(rows=Count("pk"), bytes=Sum(Length("body")))
    if found["rows"] * ROW_BYTES + (found["bytes"] or 0) >= ANSWERS_BYTES_MAX:
        rows.filter(pk=claim.row_id).delete()
        words = gettext("Too many answers are kept for repeats. Send no Idempotency-Key until tomorrow.")
        raise TooManyRequests(words, retry_after_s=3600)


def key_claim(*, reader_id: UUID, key: str, fingerprint: str, now: datetime) -> KeyClaim | HttpResponse:
    """Claim a reader's `key`, or return the stored response to its first call.

    `fingerprint` is a hash of the request. Raises `IdempotencyKeyError` with code `idempotency_key_reused`
    (422) for the key of another request, or `request_in_flight` (409) while the first call runs, and
    `SignInNeeded` if the account was deleted meanwhile.
    """
    until = now + CLAIM_TIME
    try:
        with transaction.atomic():
            new = IdempotentResponse.objects.create(
                reader_id=reader_id, key=key, fingerprint=fingerprint, created_at=now, claimed_until=until
            )
        return KeyClaim(new.pk, new.turn)
    except IntegrityError:
        row = IdempotentResponse.objects.filter(reader_id=reader_id, key=key).first()
    if row is None:
        account_check(reader_id=reader_id)  # else this would try again for ever
    if row is None or row.created_at <= now - KEY_LIFETIME:
        if row is not None:
            IdempotentResponse.objects.filter(pk=row.pk, created_at=row.created_at).delete()
        return key_claim(reader_id=reader_id, key=key, fingerprint=fingerprint, now=now)
    if row.fingerprint != fingerprint:
        message = "This Idempotency-Key belongs to another request. Use a new one."
        raise IdempotencyKeyError("idempotency_key_reused", message, 422)
    if row.status is not None:
        return _stored_response(row)
    # The first call may have died. The call that raises the row's turn takes its place.
    stale = IdempotentResponse.objects.filter(pk=row.pk, turn=row.turn, status=None, claimed_until__lte=now)
    if stale.update(turn=F("turn") + 1, claimed_until=until):
        return KeyClaim(row.pk, row.turn + 1)
    raise IdempotencyKeyError("request_in_flight", "The same request is running. Try again in a moment.", 409)


def _stored_response(row: IdempotentResponse) -> HttpResponse:
    response = HttpResponse(bytes(row.body), status=row.status, content_type=row.content_type)
    if row.location:
        response["Location"] = row.location
    response["Idempotent-Replayed"] = "true"
    return response


def response_store(*, claim: KeyClaim, response: HttpResponse) -> None:
    """Store the response to a claimed call. If the call failed or was refused by a limit, free its key."""
    own = IdempotentResponse.objects.filter(pk=claim.row_id, turn=claim.turn, status=None)
    repeatable = response.status_code >= SERVER_ERROR or response.status_code == TOO_OFTEN
    if repeatable or response.streaming or len(response.content) > BODY_BYTES_MAX:
        own.delete()
        return
    own.update(
        status=response.status_code,
        body=response.content,
        content_type=response.get("Content-Type", ""),
        location=response.get("Location", ""),
    )


def responses_prune(*, now: datetime) -> int:
    """Delete responses older than a day. Return the number deleted."""
    deleted, _ = IdempotentResponse.objects.filter(created_at__lte=now - KEY_LIFETIME).delete()
    return deleted
