"""Sessions of browsers, and the pushes to a browser that end with them.

`SESSION_ENGINE` names this module. A browser is told a reader's news for as long as the reader is signed in
there. However that ends (signing out, expiry, another password, a block), the next push is not sent, and a
request that waited does nothing. The key of a session is encrypted, because whoever has it is signed in, and
backups have no sessions.
"""

from allauth.core.internal.sessionkit import get_session_user
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.http import HttpRequest
from django.utils.translation import gettext

from digest.errors import SignInNeeded
from digest.models import Destination
from ranking.common.encryption import SecretUnreadable, secret_decrypt, secret_encrypt


class SessionStore(db.SessionStore):
    """Django's sessions in the database. A new key, as after a change of the password, takes pushes along."""

    def cycle_key(self) -> None:
        """Store the session under another key."""
        before, reader_id = self.session_key, self.get(SESSION_KEY)
        super().cycle_key()
        if before and reader_id and self.session_key:
            for row in Destination.objects.filter(reader_id=reader_id).exclude(session=""):
                if _key_of(row) == before:
                    row.session = secret_encrypt(self.session_key)
                    row.save(update_fields=["session"])


def browser_is_signed_in(*, destination: Destination) -> bool:
    """Return whether its reader is still signed in by the session that asked for pushes. Two queries."""
    key = _key_of(destination)
    reader = get_session_user(SessionStore(key)) if key else None
    return reader is not None and reader.pk == destination.reader_id


def session_check(request: HttpRequest) -> None:
    """Set `request.user` to its reader as they are now. Two queries.

    Raises `SignInNeeded` if the session of the request is theirs no more: it ended, the password was changed,
    or the account was deleted or switched off.
    """
    reader = get_session_user(SessionStore(request.session.session_key))
    if reader is None or reader.pk != request.user.pk:
        raise SignInNeeded(gettext("You were signed out meanwhile. Sign in and repeat it."))
    request.user = reader


def _key_of(row: Destination) -> str:
    try:
        return secret_decrypt(row.session)
    except SecretUnreadable:
        return ""
