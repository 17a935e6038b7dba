"""Sessions of browsers, and the pushes to a browser that end with them.

`SESSION_ENGINE` names this module. A browser is told a reader's news for as long as the reader is signed in
there. However that ends (signing out, expiry, another password, a block), the next push is not sent.
"""

from uuid import UUID

from allauth.core.internal.sessionkit import get_session_user
from django.contrib.sessions.backends import db

from digest.models import Destination, Reader


class SessionStore(db.SessionStore):
    """Django's sessions in the database. A new key, as after a change of the password, takes pushes along."""

    def cycle_key(self) -> None:
        """Store the session under another key."""
        before = self.session_key
        super().cycle_key()
        if before:
            Destination.objects.filter(session_key=before).update(session_key=self.session_key)


def is_signed_in(*, session_key: str, reader_id: UUID) -> bool:
    """Return whether the reader is signed in by the session with this key. At most three queries."""
    reader = get_session_user(SessionStore(session_key))
    return isinstance(reader, Reader) and reader.pk == reader_id
