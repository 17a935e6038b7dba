"""Encrypt stored secrets with a key that is not in the database.

The key is SECRETS_KEY, or SECRET_KEY if that is empty. SECRETS_KEY may list several keys, separated by
commas. The first one encrypts and all of them decrypt, so a key can be replaced while the site runs.
"""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

KEY_BYTES = 32


class SecretUnreadable(Exception):
    """None of the keys decrypts a stored secret. The key changed, so the owner must type the secret again."""


def secret_encrypt(text: str) -> str:
    """Encrypt `text` with Fernet (AES-128-CBC and HMAC-SHA256). The result is about 1.4 times as long."""
    return _fernet().encrypt(text.encode()).decode()


def secret_decrypt(stored: str) -> str:
    """Decrypt a result of `secret_encrypt`. Raises `SecretUnreadable`."""
    try:
        return _fernet().decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable("This secret was stored under another SECRETS_KEY.") from error


def key_derive(*, purpose: str, key: str = "") -> bytes:
    """Derive 32 bytes for `purpose` from `key`, or from our oldest key if `key` is empty.

    Uses HKDF with SHA-256 (RFC 5869), so the bytes of one purpose reveal nothing about another's.
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
