"""The requests of each kind of destination: what is sent where, signed or encrypted. Pure."""

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
# How long a push service holds a notification for a browser that is off, and how long a token of ours lasts
# (24 hours at most: RFC 8292, section 2).
PUSH_TTL = timedelta(hours=12)
# A push service need not take more (RFC 8291, section 4), and what is encrypted grows.
PUSH_TEXT_CHARS = 800
# The order of P-256 (FIPS 186-5), for a private key that is derived.
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One POST: where to, with which headers and body."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to tell: its event, its words, and where the reader finds more, as a whole address."""

    event: str
    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Message:
    """What one notification says; `uid` is the same at every attempt."""

    uid: str
    lines: Sequence[Line]
    at: datetime

    @property
    def text(self) -> str:
        """Return everything it tells, one thing a line."""
        return "\n".join(one.words for one in self.lines)


@dataclass(frozen=True, slots=True)
class Vapid:
    """Who we are to push services: a key of the installation, and how to reach its operator (RFC 8292)."""

    private: ec.EllipticCurvePrivateKey
    contact: str

    @property
    def public(self) -> str:
        """Return the public key as browsers and push services take it."""
        return b64url(public_bytes(self.private))


def vapid_of(seed: bytes, contact: str) -> Vapid:
    """Return the key that follows from 32 secret bytes."""
    scalar = int.from_bytes(seed) % (P256_ORDER - 1) + 1
    return Vapid(ec.derive_private_key(scalar, ec.SECP256R1()), contact)


def webhook_request(message: Message, *, address: str, secret: str, now: datetime) -> Outgoing:
    """Return a request signed by the Standard Webhooks specification 1.0 (symmetric, HMAC-SHA256)."""
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
    """Return a request to an ntfy server whose topic is the last part of `address` (publishing as JSON)."""
    server, _, topic = address.rstrip("/").rpartition("/")
    body = {"topic": topic, "title": NAME, "message": message.text, "click": message.lines[0].url}
    return Outgoing(f"{server}/", _authorised(token), _json(body))


def push_request(
    message: Message, *, address: str, keys: Mapping[str, str], vapid: Vapid, now: datetime
) -> Outgoing:
    """Return a Web Push request (RFC 8030), encrypted for one browser (RFC 8291), signed by us (RFC 8292).

    `keys` are the subscription's `p256dh` and `auth`. Raises `ValueError` for keys that are none.
    """
    import http_ece  # noqa: PLC0415 - for browsers that asked to be told
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
    """Return `p256dh` and `auth` of a browser's subscription in JSON. Raises `ValueError`."""
    try:
        keys = {name: str(json.loads(text)["keys"][name]) for name in ("p256dh", "auth")}
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b64url_decode(keys["p256dh"]))
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("no subscription") from error
    if len(b64url_decode(keys["auth"])) != 16:
        raise ValueError("no authentication secret")
    return keys


def readeck_request(link: str, *, address: str, token: str) -> Outgoing:
    """Return the request that has Readeck fetch and store `link`."""
    return Outgoing(f"{address.rstrip('/')}/api/bookmarks", _authorised(token), _json({"url": link}))


def karakeep_request(link: str, *, address: str, token: str) -> Outgoing:
    """Return the request that has Karakeep fetch and store `link`."""
    body = _json({"type": "link", "url": link})
    return Outgoing(f"{address.rstrip('/')}/api/v1/bookmarks", _authorised(token), body)


def wallabag_login(*, address: str, secret: str) -> Outgoing:
    """Return the request for a token of Wallabag: `secret` has client id, client secret, name and password.

    One in each line. Raises `ValueError` for another number of lines.
    """
    names = ("client_id", "client_secret", "username", "password")
    login = {"grant_type": "password", **dict(zip(names, secret.split("\n"), strict=True))}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    return Outgoing(f"{address.rstrip('/')}/oauth/v2/token", headers, urlencode(login).encode())


def wallabag_request(link: str, *, address: str, answer: bytes) -> Outgoing:
    """Return the request that has Wallabag store `link`, given its answer to `wallabag_login`.

    Raises `ValueError` for an answer without a token.
    """
    try:
        token = str(json.loads(answer)["access_token"])
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError("no token") from error
    return Outgoing(f"{address.rstrip('/')}/api/entries.json", _authorised(token), _json({"url": link}))


def public_bytes(private: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public key as an uncompressed point."""
    return private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def b64url(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def b64url_decode(text: str) -> bytes:
    """Return what `b64url` was given. Raises `ValueError`."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _authorised(token: str) -> dict[str, str]:
    return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
