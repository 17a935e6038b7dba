"""Addresses: the only encoder of web addresses. Its results are fetched, stored and compared unchanged.

Two encoders in one program would be a security hole. One would store a feed under a name that the other never
asked for, and the owner of `strasse.example` could write into the feed of `straße.example`. So no other
module encodes a host, and only `address_read` makes a `WebAddress`. Pure.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import quote, urlsplit

import idna

from ranking.common.remember import remember_short

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
URL_MAX_CHARS: Final = 2000
# RFC 9110, section 4.1, recommends support for 8,000 octets. No server needs to be sent more.
READ_MAX_CHARS: Final = 8000
HOST_MAX_CHARS, LABEL_MAX_CHARS = 253, 63
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\Z")
# Characters that people copy along before or after an address. Inside an address they are encoded.
_AROUND: Final = "".join(map(chr, range(0x21))) + "\x7f\xa0\u200b\u200e\u200f\u2028\u2029\u2060\ufeff"
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Characters sent unencoded, besides letters and digits. By then every percent sign belongs to an escape.
_PATH_SAFE: Final = "%~:/[]@!$&'()*+,;="
_QUERY_SAFE: Final = _PATH_SAFE + "?"


# Feed and podcast programs write these schemes instead of https, or before it.
_FEED_SCHEME: Final = re.compile(r"(?:feeds?|pcast|itpc|podcast|rss):(?=//|https?:)", re.IGNORECASE)


class NotAnAddress(ValueError):
    """A text that is no address of the web, or names a host that cannot exist."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address as it is sent: the host in lower-case ASCII, and the `target` (path and query).

    Only `address_read` makes one; a test enforces it.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        """Return the host, with the port unless it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return scheme, host and port. A secret may be sent to this origin only."""
        return f"{self.scheme}://{self.netloc}"

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


@remember_short
def address_read(text: str) -> WebAddress:
    """Return `text` as an http(s) address, the way browsers send it. Reading the result again changes
    nothing.

    The host becomes ASCII (see `host_encode`). User name, password and fragment are dropped. Dot segments are
    resolved, also if they are escaped, and parameters stay. Raises `NotAnAddress`, also for one that is
    longer than 8,000 characters as typed or as it is sent.
    """
    if len(text) > READ_MAX_CHARS:
        raise NotAnAddress("longer than servers read")
    try:
        parts = urlsplit(_SURROGATES.sub("\ufffd", text).strip(_AROUND))
        port = parts.port
    except ValueError as error:
        raise NotAnAddress("bad brackets, or a port that is no number") from error
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS or not parts.hostname or "\\" in parts.netloc:
        raise NotAnAddress("no http or https address")
    if port == 0:
        raise NotAnAddress("no server has port 0")
    path = _without_dots(_encoded(parts.path, _PATH_SAFE))
    query = _encoded(parts.query, _QUERY_SAFE)
    target = f"{path}?{query}" if query else path
    if len(target) > READ_MAX_CHARS:
        raise NotAnAddress("longer than servers read")
    return WebAddress(scheme, host_encode(parts.hostname), port or DEFAULT_PORTS[scheme], target)


def feed_address(text: str) -> str:
    """Return the address of a feed as it is fetched and stored, or "" if `text` is none or too long.

    Parameters stay, those that count visitors, too: the server sees them, and may answer another document.
    """
    try:
        address = str(address_read(text))
    except NotAnAddress:
        return ""
    return address if len(address) <= URL_MAX_CHARS else ""


def address_label(text: str) -> str:
    """Return host and path of a web address, or "" if `text` is none.

    Parameters may hold a secret, so "?…" stands for them.
    """
    try:
        address = address_read(text)
    except NotAnAddress:
        return ""
    path, mark, _ = address.target.partition("?")
    return f"{address.netloc}{path}{'?…' if mark else ''}"


def scheme_other(address: str) -> str:
    """Return an address with TLS instead of without, or the reverse."""
    scheme, mark, rest = address.partition("://")
    return f"{'http' if scheme == 'https' else 'https'}{mark}{rest}"


def feed_scheme_dropped(text: str) -> str:
    """Return an address without `feed:` or a similar scheme. If no other scheme follows, it begins
    with `//`."""
    text = text.strip()
    return _FEED_SCHEME.sub("", text, count=1) if _FEED_SCHEME.match(text) else text


@remember_short
def host_encode(host: str) -> str:
    """Return a host in the form its server expects: a short IPv6 address, or a name in ASCII.

    Names are mapped by UTS 46 (non-transitional, as in browsers, so ß and final ς stay themselves) and
    encoded by IDNA 2008. Dots at the end go. Raises `NotAnAddress` if the text cannot be a host.
    """
    if len(host) > READ_MAX_CHARS:
        raise NotAnAddress("no host can have that name")
    if ":" in host:
        try:
            address = IPv6Address(host)
        except ValueError as error:
            raise NotAnAddress("brackets without an IPv6 address") from error
        if address.scope_id:
            raise NotAnAddress("a zone means nothing to another machine")
        return address.compressed
    try:
        mapped = host.lower() if host.isascii() else idna.uts46_remap(host, std3_rules=False)
        labels = [
            label if label.isascii() else idna.alabel(label).decode("ascii")
            for label in mapped.rstrip(".").split(".")
        ]
    except (idna.IDNAError, UnicodeError) as error:
        raise NotAnAddress("no host can have that name") from error
    name = ".".join(labels)
    if len(name) > HOST_MAX_CHARS or not all(
        len(label) <= LABEL_MAX_CHARS and _LABEL.match(label) for label in labels
    ):
        raise NotAnAddress("no host can have that name")
    return name


def _encoded(part: str, safe: str) -> str:
    """Return a path or query in ASCII. Escapes are upper case, and only characters that need one have one."""
    if "%" in part:
        part = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", part)
        part = _ESCAPE.sub(_escape, part)
    return quote(part, safe=safe)


def _escape(found: re.Match[str]) -> str:
    letter = chr(int(found[1], 16))
    return letter if letter in _UNRESERVED else found[0].upper()


def _without_dots(path: str) -> str:
    """Return a path without dot segments (RFC 3986, 5.2.4).

    Empty segments stay, because servers tell them apart.
    """
    output: list[str] = []
    segments = path.split("/")[1:] or [""]
    for segment in segments:
        if segment == "..":
            output = output[:-1]
        elif segment != ".":
            output.append(segment)
    if segments[-1] in (".", ".."):
        output.append("")
    return "/" + "/".join(output)
