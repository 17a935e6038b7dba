"""Build the HTTP request for each kind of destination, signed or encrypted where necessary. Pure."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from digest.feeds.addresses import address_read

NAME = "Tidings"
SECRET_PREFIX = "whsec_"
# How long a push service keeps a notification for a browser that is off, and how long our token is valid
# (24 hours at most: RFC 8292, section 2).
PUSH_TTL = timedelta(hours=12)
# Keeps the encrypted message below the size that every push service accepts (RFC 8291, section 4).
PUSH_TEXT_CHARS = 800
# The order of P-256 (FIPS 186-5), for deriving a private key from a seed.
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One POST request."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of news in a notification: its event, its text, and the absolute address of its page."""

    event: str
    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Message:
    """The content of one notification. `uid` is the same at every attempt."""

    uid: str
    lines: Sequence[Line]
    at: datetime

    @property
    def text(self) -> str:
        """Return the text of all lines, joined by line breaks."""
        return "\n".join(one.words for one in self.lines)


@dataclass(frozen=True, slots=True)
class Vapid:
    """Our identity at push services: the installation's key and its operator's contact (RFC 8292)."""

    private: ec.EllipticCurvePrivateKey
    contact: str

    @property
    def public(self) -> str:
        """Return the public key in base64url, as browsers and push services expect it."""
        return b64url(public_bytes(self.private))


def vapid_of(seed: bytes, contact: str) -> Vapid:
    """Return the identity whose private key is derived from 32 secret bytes."""
    scalar = int.from_bytes(seed) % (P256_ORDER - 1) + 1
    return Vapid(ec.derive_private_key(scalar, ec.SECP256R1()), contact)


def webhook_request(message: Message, *, address: str, secret: str, now: datetime) -> Outgoing:
    """Return a request signed as in the Standard Webhooks specification 1.0 (symmetric, HMAC-SHA256)."""
    news = [{"type": one.event, "text": one.words, "url": one.url} for one in message.lines]
    event = message.lines[0].event if len(message.lines) == 1 else "several"
    body = _json({"type": event, "timestamp": message.at.astimezone(UTC).isoformat(), "data": {"news": news}})
    uid, at = f"msg_{message.uid}", str(int(now.timestamp()))
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.digest(key, f"{uid}.{at}.".encode() + body, hashlib.sha256)
    signature = f"v1,{base64.b64encode(signed).decode()}"
    headers = {"webhook-id": uid, "webhook-timestamp": at, "webhook-signature": signature}
    return Outgoing(address, {"Content-Type": "application/json"} | headers, body)


def ntfy_request(message: Message, *, address: str, token: str) -> Outgoing:
    """Return a JSON request to an ntfy server. The topic is the last part of `address`."""
    server, _, topic = address.rstrip("/").rpartition("/")
    body = {"topic": topic, "title": NAME, "message": message.text, "click": message.lines[0].url}
    return Outgoing(f"{server}/", _auth_headers(token), _json(body))


def push_request(
    message: Message, *, address: str, keys: Mapping[str, str], vapid: Vapid, now: datetime
) -> Outgoing:
    """Return a Web Push request (RFC 8030), encrypted for one browser (RFC 8291), signed by us (RFC 8292).

    `keys` are the subscription's `p256dh` and `auth`. Raises `ValueError` for invalid keys.
    """
    import http_ece  # noqa: PLC0415 - only needed if a browser subscribed
    import jwt  # noqa: PLC0415

    shown = _json({"title": NAME, "body": message.text[:PUSH_TEXT_CHARS], "url": message.lines[0].url})
    body = http_ece.encrypt(
        shown,
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=b64url_decode(keys["p256dh"]),
        auth_secret=b64url_decode(keys["auth"]),
    )
    claims = {"aud": address_read(address).origin, "exp": now + PUSH_TTL, "sub": vapid.contact}
    token = jwt.encode(claims, vapid.private, algorithm="ES256")
    headers = {
        "Authorization": f"vapid t={token}, k={vapid.public}",
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(int(PUSH_TTL.total_seconds())),
    }
    return Outgoing(address, headers, body)


def push_keys_read(text: str) -> dict[str, str]:
    """Return the keys `p256dh` and `auth` from a browser's push subscription in JSON. Raises `ValueError`."""
    try:
        keys = {name: str(json.loads(text)["keys"][name]) for name in ("p256dh", "auth")}
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b64url_decode(keys["p256dh"]))
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("no subscription") from error
    if len(b64url_decode(keys["auth"])) != 16:
        raise ValueError("no authentication secret")
    return keys


def readeck_request(link: str, *, address: str, token: str) -> Outgoing:
    """Return the request that makes Readeck fetch and store `link`."""
    return Outgoing(f"{address.rstrip('/')}/api/bookmarks", _auth_headers(token), _json({"url": link}))


def karakeep_request(link: str, *, address: str, token: str) -> Outgoing:
    """Return the request that makes Karakeep fetch and store `link`."""
    body = _json({"type": "link", "url": link})
    return Outgoing(f"{address.rstrip('/')}/api/v1/bookmarks", _auth_headers(token), body)


def wallabag_login(*, address: str, secret: str) -> Outgoing:
    """Return the request for a Wallabag token.

    `secret` has four lines: client id, client secret, user name, password. Raises `ValueError` for another
    number of lines.
    """
    names = ("client_id", "client_secret", "username", "password")
    login = {"grant_type": "password", **dict(zip(names, secret.split("\n"), strict=True))}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    return Outgoing(f"{address.rstrip('/')}/oauth/v2/token", headers, urlencode(login).encode())


def wallabag_request(link: str, *, address: str, answer: bytes) -> Outgoing:
    """Return the request that makes Wallabag store `link`. `answer` is its reply to `wallabag_login`.

    Raises `ValueError` if the reply contains no token.
    """
    try:
        token = str(json.loads(answer)["access_token"])
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("no token") from error
    return Outgoing(f"{address.rstrip('/')}/api/entries.json", _auth_headers(token), _json({"url": link}))


def public_bytes(private: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public key as an uncompressed point."""
    return private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def b64url(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def b64url_decode(text: str) -> bytes:
    """Decode base64url without padding. Raises `ValueError`."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _auth_headers(token: str) -> dict[str, str]:
    return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
