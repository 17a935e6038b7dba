"""Links: the addresses that strangers put into their markup, made absolute, or none. Pure."""

import re
from typing import Final
from urllib.parse import urljoin

LINK_MAX_CHARS: Final = 2_000
# A host without a user name before it: `https://bank.example@evil.example/` leads to the latter.
_ADDRESS: Final = re.compile(
    r"https?://(?:\[[0-9a-f:.]+\]|[^\s/?#<>\"'`\\@\[\]:]+)(?::\d{1,5})?(?:[/?#][^\s<>\"`\\]*)?", re.IGNORECASE
)
_MAIL: Final = re.compile(r"mailto:[^\s<>\"'`\\]+", re.IGNORECASE)
# Browsers drop these wherever they are in an address: "java\nscript:" is a scheme.
_DROPPED: Final = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)])
_ESCAPED: Final = str.maketrans({" ": "%20", '"': "%22", "<": "%3C", ">": "%3E", "`": "%60", "\\": "/"})


def link_absolute(value: str, *, base: str) -> str:
    """Return `value` as an absolute http(s) address, resolved against `base`, or "" if it is none."""
    if len(value) > LINK_MAX_CHARS:
        return ""
    if _ADDRESS.fullmatch(value) and value.isprintable():
        return value
    address = value.translate(_DROPPED).strip().translate(_ESCAPED)
    if not address[:8].lower().startswith(("http://", "https://")):
        if not address or not _ADDRESS.fullmatch(base):
            return ""
        try:
            address = urljoin(base, address)
        except ValueError:
            return ""  # brackets that are no IPv6 address
    return address if len(address) <= LINK_MAX_CHARS and _ADDRESS.fullmatch(address) else ""


def link_or_mail(value: str, *, base: str) -> str:
    """Return `value` as an absolute http(s) or mailto address, or "" if it is neither."""
    mail = value.translate(_DROPPED).strip().translate(_ESCAPED)
    if mail[:7].lower() == "mailto:":
        return mail if len(mail) <= LINK_MAX_CHARS and _MAIL.fullmatch(mail) else ""
    return link_absolute(value, base=base)
