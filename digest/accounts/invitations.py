"""Sign-up by invitation: an operator makes a link for one person, who signs up with it once.

`SIGNUP` sets who may sign up: everybody (`open`), people with an invitation (`invite`), or nobody (`closed`).
It also applies to new accounts through a provider (OpenID Connect).
"""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any, Final

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from digest.mail.render import site_link
from digest.models import Invitation, Reader

# 256 bits cannot be guessed, so a plain SHA-256 needs no salt (NIST SP 800-63B, 5.1.2.2).
SECRET_BYTES: Final = 32
VALID: Final = timedelta(days=7)
# A link to one of these hosts works on this machine alone.
LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
# The session key of the invitation's secret, until its owner has signed up, perhaps at a provider.
SESSION_KEY: Final = "invitation"
# The number of our advisory lock. Any number works that no other advisory lock of the database uses.
LOCK_SPACE: Final = 7_412


def invitation_issue(
    *, note: str, now: datetime, valid: timedelta = VALID, invited_by: str = ""
) -> tuple[Invitation, str]:
    """Create an invitation, and return it with its link, which is stored nowhere."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    row = Invitation.objects.create(
        digest=_digest(secret),
        note=note[:100],
        invited_by=invited_by[:100],
        created_at=now,
        expires_at=now + valid,
    )
    return row, site_link(reverse("digest:invitation", args=[secret]))


def invitation_is_open(*, secret: str, now: datetime) -> bool:
    """Return whether somebody can sign up with this secret."""
    return _open(secret, now).exists()


def invitation_of(request: HttpRequest, *, now: datetime) -> Invitation | None:
    """Return the invitation whose link this browser opened, if somebody can sign up with it."""
    return _open(str(request.session.get(SESSION_KEY, "")), now).first()


def signup_is_open(request: HttpRequest, *, now: datetime) -> bool:
    """Return whether this browser may sign up."""
    if settings.SIGNUP == "invite":
        return invitation_of(request, now=now) is not None
    return bool(settings.SIGNUP == "open")


def _open(secret: str, now: datetime) -> QuerySet[Invitation]:
    return Invitation.objects.filter(digest=_digest(secret), used_at=None, expires_at__gt=now)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class ByInvitation:
    """The part of a sign-up form that creates the account, and uses up the invitation together with it."""

    cleaned_data: dict[str, Any]

    def try_save(self, request: HttpRequest) -> tuple[Reader | None, HttpResponse | None]:
        """Create the account, or return the page for a sign-up that is closed.

        Of two sign-ups with one invitation at the same time, one gets the account.
        """
        if settings.SIGNUP == "open":
            return self._saved(request)
        now, secret = timezone.now(), str(request.session.get(SESSION_KEY, ""))
        with transaction.atomic():
            found = _open(secret, now)
            row = found.first() if settings.SIGNUP == "invite" else None
            if row is None or not found.filter(pk=row.pk).update(used_at=now):
                return None, render(request, "account/signup_closed.html", status=403)
            reader, answer = self._saved(request)
            if reader is None:
                transaction.set_rollback(True)
            else:
                Invitation.objects.filter(pk=row.pk).update(reader=reader)
                request.session.pop(SESSION_KEY, None)
        return reader, answer

    def _saved(self, request: HttpRequest) -> tuple[Reader | None, HttpResponse | None]:
        try:
            found: tuple[Reader | None, HttpResponse | None] = super().try_save(request)  # type: ignore[misc]
        except ValidationError as taken:
            messages.error(request, " ".join(taken.messages))
            return None, redirect(request.path)
        return found

    def save(self, request: HttpRequest) -> Reader:
        """Create the account. Raises `ValidationError` if somebody took its name since the form was checked.

        Names that differ in capitals alone are one, which the database does not know. So accounts are created
        one after the other. SQLite needs no lock: our transactions hold its write lock from their start.
        """
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [LOCK_SPACE])
            get_adapter().clean_username(self.cleaned_data["username"])
            reader: Reader = super().save(request)  # type: ignore[misc]
        return reader
