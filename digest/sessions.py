"""Sessions of browsers, and the pushes to a browser that end with them.

`SESSION_ENGINE` names this module. A browser is told a reader's news for as long as the reader is signed in
there. However that ends (signing out, expiry, another password, a block), the next push is not sent. The key
of a session is encrypted, because whoever has it is signed in, and backups have no sessions.
"""

from allauth.core.internal.sessionkit import get_session_user
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db

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


def _key_of(row: Destination) -> str:
    try:
        return secret_decrypt(row.session)
    except SecretUnreadable:
        return ""
