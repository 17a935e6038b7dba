"""The key that signs sessions and links: made once and kept, where nobody sets one."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def kept_secret_key(path: Path) -> str:
    """The secret key stored at `path`, generated there (mode 600) by whichever process comes first.

    Raises `ImproperlyConfigured` where this user may not write it there, or not read it.
    """
    try:
        return _kept(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set, and “{path}” cannot be read or made ({error.strerror}): is this the "
            "user that Tidings runs as?"
        ) from error


def _kept(path: Path) -> str:
    if not path.exists():
        # Written aside and linked into place whole, so that nobody ever reads half a key.
        handle, draft = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        os.unlink(draft)
    return path.read_text(encoding="ascii").strip()
