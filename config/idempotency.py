"""Unsafe API calls made twice with one `Idempotency-Key` are done once: the second gets the first's answer.

As Stripe's API does it (docs.stripe.com/api/idempotent_requests): the answer is kept with a digest of what
was asked, and a key that comes back with something else is refused. A call that broke (5xx) is not kept, so
that it may be tried again; neither is one refused by a limit, nor before it was begun (sign-in, CSRF).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja.security import SessionAuth

from config.api_codes import KEY_CHARS_MAX, KEY_HEADER
from config.models import KeptAnswer
from digest.limits import API, limit_count
from digest.models import ApiToken, Reader
from digest.tokens import TokenAuth

SAFE = ("GET", "HEAD", "OPTIONS")
KEPT = timedelta(hours=24)
# Longer than any request may take; whoever died meanwhile keeps nobody out for ever.
UNDER_WAY = timedelta(minutes=2)
BODY_BYTES_MAX = 1_048_576
SERVER_ERROR, TOO_OFTEN = 500, 429
Handler = Callable[[HttpRequest], HttpResponse]


class KeyRefused(Exception):
    """A key that cannot be served: a stable `code`, a `message`, and the HTTP `status` that fits."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


class Replayed(Exception):
    """The call was made before: `response` is what it was answered then."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__("answered before")
        self.response = response


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to answer a key: of many calls that hold it, the one with the latest `turn` may."""

    answer_id: int
    turn: int


class TokenOnce(TokenAuth):
    """Personal tokens, with keys."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """As `TokenAuth`. Raises `KeyRefused` and `Replayed` besides."""
        used = super().authenticate(request, token)
        _begin(request, used.reader)
        return used


class SessionOnce(SessionAuth):
    """Sessions, with keys; CSRF is checked before."""

    def authenticate(self, request: HttpRequest, key: str | None) -> object | None:
        """As `SessionAuth`. Raises `TooManyRequests`, `KeyRefused` and `Replayed` besides."""
        reader: object | None = super().authenticate(request, key)
        if isinstance(reader, Reader):
            _begin(request, reader)
        return reader


def answer_claim(*, reader_id: UUID, key: str, fingerprint: str, now: datetime) -> Claim | HttpResponse:
    """Begin to answer a reader's `key`, or what it was answered before.

    `fingerprint` is a digest of what is asked. Raises `KeyRefused`: `idempotency_key_reused` (422) for a key
    that stood for something else, `request_in_flight` (409) while the first call is under way.
    """
    until = now + UNDER_WAY
    try:
        with transaction.atomic():
            row = KeptAnswer.objects.create(
                reader_id=reader_id, key=key, fingerprint=fingerprint, created_at=now, claimed_until=until
            )
        return Claim(row.pk, row.turn)
    except IntegrityError:
        kept = KeptAnswer.objects.filter(reader_id=reader_id, key=key).first()
    if kept is None or kept.created_at <= now - KEPT:
        if kept is not None:
            KeptAnswer.objects.filter(pk=kept.pk, created_at=kept.created_at).delete()
        return answer_claim(reader_id=reader_id, key=key, fingerprint=fingerprint, now=now)
    return _taken_up(kept, fingerprint, now)


def answer_keep(*, claim: Claim, response: HttpResponse) -> None:
    """Keep what the claimed call was answered; one that broke, or came too often, leaves its key free."""
    mine = KeptAnswer.objects.filter(pk=claim.answer_id, turn=claim.turn, status=None)
    again = response.status_code >= SERVER_ERROR or response.status_code == TOO_OFTEN
    if again or response.streaming or len(response.content) > BODY_BYTES_MAX:
        mine.delete()
        return
    mine.update(
        status=response.status_code,
        body=response.content,
        content_type=response.get("Content-Type", ""),
        location=response.get("Location", ""),
    )


def answers_forget(*, now: datetime) -> int:
    """Delete answers older than a day; how many they were."""
    deleted, _ = KeptAnswer.objects.filter(created_at__lte=now - KEPT).delete()
    return deleted


def keep_answers(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: keep the answer of a call that claimed its key on the way in."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        claim = getattr(request, "idempotency_claim", None)
        if isinstance(claim, Claim):
            answer_keep(claim=claim, response=response)
        return response

    return handle


def _begin(request: HttpRequest, reader: Reader) -> None:
    """Count a request against its reader's minute, whatever signed it in, and claim its key, if any."""
    now = timezone.now()
    limit_count(limit=API, who=reader.pk, now=now)
    key = request.headers.get(KEY_HEADER)
    if request.method in SAFE or key is None:
        return
    # An empty key is refused as well: whoever sends one believes that the call is made once.
    if not 0 < len(key) <= KEY_CHARS_MAX or not (key.isascii() and key.isprintable()):
        message = f"An {KEY_HEADER} is 1 to {KEY_CHARS_MAX} printable ASCII characters."
        raise KeyRefused("invalid_idempotency_key", message, 400)
    asked = (request.method, request.get_full_path(), request.content_type or "")
    digest = hashlib.sha256("\n".join(map(str, asked)).encode() + b"\n" + request.body).hexdigest()
    claim = answer_claim(reader_id=reader.pk, key=key, fingerprint=digest, now=now)
    if isinstance(claim, HttpResponse):
        raise Replayed(claim)
    request.idempotency_claim = claim  # type: ignore[attr-defined]


def _taken_up(kept: KeptAnswer, fingerprint: str, now: datetime) -> Claim | HttpResponse:
    """What the second call with a key gets: the answer, the claim of a call that died, or a refusal."""
    if kept.fingerprint != fingerprint:
        raise KeyRefused(
            "idempotency_key_reused", "This Idempotency-Key stood for another request. Use a new one.", 422
        )
    if kept.status is not None:
        return _answered(kept)
    stale = KeptAnswer.objects.filter(pk=kept.pk, turn=kept.turn, status=None, claimed_until__lte=now)
    if stale.update(turn=F("turn") + 1, claimed_until=now + UNDER_WAY):
        return Claim(kept.pk, kept.turn + 1)
    raise KeyRefused("request_in_flight", "The same request is under way. Ask again in a moment.", 409)


def _answered(row: KeptAnswer) -> HttpResponse:
    response = HttpResponse(bytes(row.body), status=row.status, content_type=row.content_type)
    if row.location:
        response["Location"] = row.location
    response["Idempotent-Replayed"] = "true"
    return response
