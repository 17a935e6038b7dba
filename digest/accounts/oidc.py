"""Sign-in by OpenID Connect: which reader an answer signs in, and the error page if it signs in nobody."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from typing import Any, Final
from unicodedata import is_normalized
from urllib.parse import parse_qs, urlsplit

import jwt
import structlog
from allauth.account.internal.flows.login import record_authentication
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.app_settings import UID_MAX_LENGTH
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import render
from django.utils import timezone
from requests import ConnectionError as RequestsConnectionError
from requests import RequestException, Response, Session
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from digest.accounts.adapters import PROVIDER_METHOD
from digest.feeds.entities import FeedProblem
from digest.feeds.prechecks import decompress
from digest.models import Reader
from digest.sessions import session_check

log = structlog.get_logger(__name__)

# RFC 5321, section 4.5.3.1: the longest address that a mail server must accept, and our column's length.
ADDRESS_CHARS_MAX = 254
NAME_CHARS_MAX = 1000
# The id of the only provider in URLs, and the mark of a sign-in that confirms a reader who is here already.
PROVIDER, SIGN_IN_AGAIN = "oidc", "again"
# How old a sign-in may be: allows for the redirects and for clocks that differ.
FRESH_S = 300
# The limits of an answer. Descriptions and keys have some kilobytes.
ANSWER_MAX_BYTES, ANSWER_S, CHUNK_BYTES = 1 << 20, 10.0, 1 << 16
REDIRECTS_MAX = 3
# The addresses of a provider where a secret is typed or sent, or whose answer we believe.
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
# What reading an answer raises if it is no JSON, or of another shape or depth than it should be.
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
# How an ID token may be signed, with the type of the key: not with our client secret (HS256).
_KEY_TYPES: Final = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
_CLAIMS = {
    "sub": UID_MAX_LENGTH,
    "email": ADDRESS_CHARS_MAX,
    **dict.fromkeys(("preferred_username", "name", "given_name", "family_name"), NAME_CHARS_MAX),
}


def claims_check(claims: Any) -> dict[str, Any]:
    """Return a provider's claims after checking that those we use are text of a bounded length.

    Raises `OAuth2Error`, which becomes the page of a failed sign-in.
    """
    if not isinstance(claims, dict) or not claims.get("sub"):
        raise OAuth2Error("the provider named nobody")
    for name, longest in _CLAIMS.items():
        claim = claims.get(name)
        if claim is not None and not (isinstance(claim, str) and len(claim) <= longest and "\0" not in claim):
            raise OAuth2Error(f"the provider's {name} is no text of at most {longest} characters")
    # In small letters, the sign of Kelvin is a k, so another mailbox would be taken for a reader's.
    if not is_normalized("NFKC", claims.get("email") or ""):
        raise OAuth2Error("the provider's email has letters that stand for others")
    return claims


def subjects_check(*, user_info: Mapping[str, Any] | None, id_token: Mapping[str, Any]) -> None:
    """Raise `OAuth2Error` if the user info is of another person than the ID token.

    A client must compare the two (OpenID Connect Core 1.0, section 5.3.2), and the library does not.
    """
    if user_info is not None and user_info["sub"] != id_token["sub"]:
        raise OAuth2Error("the provider named two people")


def id_token_claims(
    token: str, *, keys: list[dict[str, Any]], issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token that one of the provider's `keys` signed for this sign-in.

    Raises `OAuth2Error` if the signature, issuer, audience, party, time or nonce is not as it must be (OpenID
    Connect Core 1.0, section 3.1.3.7).
    """
    try:
        header = jwt.get_unverified_header(token)
        claims: dict[str, Any] = jwt.decode(
            token,
            _signing_key(keys, header),
            algorithms=[header["alg"]],
            issuer=issuer,
            audience=client_id,
            options={"require": ["exp", "iat"]},
        )
    except jwt.PyJWTError as error:
        raise OAuth2Error("the provider's ID token is not valid") from error
    if claims.get("nonce") != nonce or claims.get("azp", client_id) != client_id:
        raise OAuth2Error("the provider's ID token is of another sign-in, or another client's")
    return claims


def _signing_key(keys: list[dict[str, Any]], header: Mapping[str, Any]) -> jwt.PyJWK:
    """Return the only key of the provider that can have signed a token with this header."""
    algorithm, kid = header["alg"], header.get("kid")
    fitting = [
        key
        for key in keys
        if key["kty"] == _KEY_TYPES.get(algorithm)
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (kid is None or key.get("kid") == kid)
    ]
    if len(fitting) != 1:
        raise OAuth2Error("the provider's ID token names none of its keys")
    return jwt.PyJWK(fitting[0], algorithm)


def address_with_nonce(address: str) -> str:
    """Return the provider's `address` to sign in at, with a nonce: the hash of the secret of PKCE.

    The session has the secret, so only an ID token of this sign-in has its hash (`nonce_of`).
    """
    (challenge,) = parse_qs(urlsplit(address).query)["code_challenge"]
    return f"{address}&nonce={challenge}"


def nonce_of(verifier: str) -> str:
    """Return the nonce of a sign-in by its secret of PKCE: its challenge (RFC 7636, section 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def discovery_check(config: Mapping[str, Any], *, issuer: str) -> None:
    """Raise `OAuth2Error` if a description is another provider's, or leads from TLS to an address without.

    A provider's own description names it (OpenID Connect Discovery 1.0, section 4.3).
    """
    # `OIDC_ISSUER` may be the description's address, and ends without a slash.
    if config["issuer"].rstrip("/") != issuer.partition("/.well-known/")[0]:
        raise OAuth2Error("the provider's description is of another issuer")
    scheme = urlsplit(issuer).scheme
    for name in _ENDPOINTS:
        if scheme == "https" != urlsplit(config.get(name, "")).scheme:
            raise OAuth2Error(f"the provider's {name} is no https address")


@contextmanager
def malformed_answers_refuse() -> Iterator[None]:
    """Raise `OAuth2Error` for whatever breaks on a provider's answer."""
    try:
        yield
    except MALFORMED as error:
        raise OAuth2Error("the provider's answer cannot be read") from error


def is_fresh(claims: Mapping[str, Any], *, now: datetime) -> bool:
    """Return whether the provider's `auth_time` is at most five minutes away from `now`, or missing.

    A provider must send `auth_time` if we sent `max_age` (OpenID Connect Core 1.0, section 2). Some leave it
    out. Then we can only trust that they asked.
    """
    at = claims.get("auth_time")
    if at is None:
        return True
    return isinstance(at, int | float) and abs(now.timestamp() - at) <= FRESH_S


def _keys_at(address: str) -> list[dict[str, Any]]:
    """Return a provider's keys, read anew at each sign-in, since it may change them at any time."""
    with get_adapter().get_requests_session() as session:
        answer = session.get(address)
        answer.raise_for_status()
    keys: list[dict[str, Any]] = answer.json()["keys"]
    return keys


def provider_of(request: HttpRequest, provider_id: str) -> Any:
    """Return the provider, which refuses answers that no account can be made of."""
    # The import is here because the library's tables exist only with `OIDC_ISSUER`.
    from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter  # noqa: PLC0415

    class Provider(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
        _user_info: dict[str, Any] | None = None
        _nonce = ""

        def get_client(self, request: HttpRequest, app: Any) -> Any:
            try:
                with malformed_answers_refuse():
                    discovery_check(self.openid_config, issuer=settings.OIDC_ISSUER)
                    return super().get_client(request, app)
            except (OAuth2Error, RequestException) as error:  # the library does not expect them here
                return get_adapter().on_authentication_error(request, self.get_provider(), exception=error)

        def get_access_token_data(self, *args: Any, **more: Any) -> dict[str, Any]:
            with malformed_answers_refuse():
                self._nonce = nonce_of(more["pkce_code_verifier"])
                data: dict[str, Any] = super().get_access_token_data(*args, **more)
                tokens = data["access_token"], data["id_token"]
                if not all(isinstance(token, str) and token for token in tokens):
                    raise OAuth2Error("the provider sent no tokens")
                return data

        def parse_token(self, data: dict[str, Any]) -> Any:
            with malformed_answers_refuse():
                return super().parse_token(data)

        def complete_login(self, *args: Any, **more: Any) -> Any:
            with malformed_answers_refuse():
                return super().complete_login(*args, **more)

        def _fetch_user_info(self, access_token: str) -> dict[str, Any]:
            self._user_info = claims_check(super()._fetch_user_info(access_token))
            return self._user_info

        def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
            issuer, keys = self.openid_config["issuer"], _keys_at(self.openid_config["jwks_uri"])
            claims = claims_check(
                id_token_claims(
                    id_token, keys=keys, issuer=issuer, client_id=app.client_id, nonce=self._nonce
                )
            )
            subjects_check(user_info=self._user_info, id_token=claims)
            return claims

    return Provider(request, provider_id)


class _TimedFile(RawIOBase):
    """The bytes of a socket until a deadline: a time-out alone ends neither a flood nor a drip."""

    def __init__(self, connection: socket, inner: RawIOBase) -> None:
        self._connection, self._inner, self._until = connection, inner, time.monotonic() + ANSWER_S

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read some bytes. Raises `TimeoutError` at the deadline."""
        if (left := self._until - time.monotonic()) <= 0:
            raise TimeoutError("the provider's answer takes too long")
        self._connection.settimeout(left)
        return self._inner.readinto(buffer)

    def close(self) -> None:
        """Close the file of the socket, too."""
        self._inner.close()
        super().close()


class _TimedAnswer(HTTPResponse):
    """An answer whose head and body arrive within `ANSWER_S`."""

    def __init__(self, sock: socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self.fp = BufferedReader(_TimedFile(sock, self.fp.detach()))


class _BoundedAnswers(HTTPAdapter):
    """Reads an answer up to a size and a deadline, and unpacks it only then.

    The library unpacks while it reads, and goes on reading while nothing comes of that: an archive of empty
    blocks never ends.
    """

    def get_connection_with_tls_context(self, *args: Any, **more: Any) -> Any:
        """Return the pool of a request, whose connections read answers until a deadline."""
        pool = super().get_connection_with_tls_context(*args, **more)
        pool.ConnectionCls = type("Timed", (pool.ConnectionCls,), {"response_class": _TimedAnswer})
        return pool

    def send(self, *args: Any, **more: Any) -> Response:
        """Send a request, and read the whole answer. Raises `requests.ConnectionError` beyond the limits."""
        body = bytearray()
        answer = super().send(*args, **more | {"stream": True})
        try:
            while len(body) <= ANSWER_MAX_BYTES and (
                some := answer.raw.read1(CHUNK_BYTES, decode_content=False)
            ):
                body += some
            answer._content = decompress(bytes(body))
        except (HTTPError, FeedProblem) as error:
            raise RequestsConnectionError("the provider's answer cannot be read") from error
        finally:
            answer.close()
        if max(len(body), len(answer._content)) > ANSWER_MAX_BYTES:
            raise RequestsConnectionError("the provider's answer is too long")
        return answer


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Link a provider's account to a reader only by an address that both sides have confirmed."""

    def get_requests_session(self) -> Session:
        """Return a session for the provider. If it has TLS, no redirect leads to an address without."""
        session: Session = super().get_requests_session()
        session.max_redirects, session.headers["Accept-Encoding"] = REDIRECTS_MAX, "gzip"
        for scheme in ("https://", "http://"):
            session.mount(scheme, _BoundedAnswers())
        if urlsplit(settings.OIDC_ISSUER).scheme == "https":
            del session.adapters["http://"]
        return session

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Reader:
        """Return the new reader, after turning the provider's `email_verified` into a real boolean.

        Some providers send the text "false" (Amazon Cognito). Python takes it for true, and anybody's account
        would open.
        """
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True or address.verified == "true"
        reader: Reader = super().populate_user(request, sociallogin, data)
        return reader

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Record that the reader signed in again, if that was asked for.

        Refuse any other person in their place (403). Raises `SignInNeeded` if the session of a reader ended
        while the provider was asked, who would else be connected to it.
        """
        if request.user.is_authenticated:
            session_check(request)
        if sociallogin.state.get("data") != SIGN_IN_AGAIN:
            return
        claims = (sociallogin.account.extra_data or {}).get("id_token") or {}
        is_theirs = sociallogin.is_existing and sociallogin.user == request.user
        if not (is_theirs and is_fresh(claims, now=timezone.now())):
            page = {"name": settings.OIDC_NAME, "again": True}
            answer = render(request, "socialaccount/authentication_error.html", page, status=403)
            raise ImmediateHttpResponse(answer)
        record_authentication(request, request.user, method=PROVIDER_METHOD, reauthenticated=True)

    def can_authenticate_by_email(self, login: Any, email: str) -> bool:
        """Return whether both the provider and an account of ours have confirmed the address.

        Somebody who signed up with a stranger's address, unconfirmed, must not receive that stranger's
        sign-in. Nor must whoever gets a reader's address at the provider after them, so a reader who is
        connected already is found by the provider's own number alone.
        """
        from allauth.socialaccount.models import SocialAccount  # noqa: PLC0415  # as in provider_of

        owners = EmailAddress.objects.filter(email=email.lower(), verified=True).values("user")
        connected = SocialAccount.objects.filter(user__in=owners, provider=login.account.provider)
        return (
            owners.exists()
            and not connected.exists()
            and bool(super().can_authenticate_by_email(login, email))
        )

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, **more: Any
    ) -> None:
        """Answer a failed sign-in with an error page (401), and log the cause."""
        log.warning("oidc_failed", error=str(error or ""), exception=type(exception).__name__)
        page = {"name": provider.name, "cancelled": str(error) == "cancelled"}
        answer = render(request, "socialaccount/authentication_error.html", page, status=401)
        raise ImmediateHttpResponse(answer)
