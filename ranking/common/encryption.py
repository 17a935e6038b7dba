"""Secrets at rest: encrypted with a key that is not in the database.

The key is SECRETS_KEY, or SECRET_KEY where that is empty. SECRETS_KEY may list several, separated by commas:
the first encrypts, all of them decrypt, so that a key is replaced without a pause.
"""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

KEY_BYTES = 32


class SecretUnreadable(Exception):
    """A stored secret that none of the keys decrypts: the key changed, and its owner has to type it again."""


def secret_encrypt(text: str) -> str:
    """Return `text` as it may be stored: Fernet (AES-128-CBC with HMAC-SHA256), 1.4 times as long."""
    return _fernet().encrypt(text.encode()).decode()


def secret_decrypt(stored: str) -> str:
    """Return what `secret_encrypt` was given. Raises `SecretUnreadable`."""
    try:
        return _fernet().decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable("This secret was stored under another SECRETS_KEY.") from error


def key_derive(*, purpose: str, key: str = "") -> bytes:
    """Return 32 bytes that follow from `key`, else from the oldest of our keys, and differ by `purpose`.

    HKDF with SHA-256 (RFC 5869): nobody who knows one purpose's bytes learns another's.
    """
    source = key or _keys()[-1]
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose.encode()).derive(
        source.encode()
    )


def _keys() -> list[str]:
    """Return the keys, newest first."""
    return [key.strip() for key in settings.SECRETS_KEY.split(",") if key.strip()] or [settings.SECRET_KEY]


def _fernet() -> MultiFernet:
    keys = (key_derive(purpose="secrets at rest", key=key) for key in _keys())
    return MultiFernet([Fernet(urlsafe_b64encode(key)) for key in keys])
