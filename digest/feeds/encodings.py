"""Encodings: the bytes of a document to text, by the labels that browsers know (https://encoding.spec.whatwg.org).

Publishers mean the label as browsers do: `gb2312` is GBK, `iso-8859-1` is Windows-1252. The order is that of
RFC 7303: byte order mark, `Content-Type`, the document's own declaration. A label that the bytes contradict
is passed over. Pure.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final

import webencodings

# Codecs that are no character encoding of a document, or that cost more than linear time.
REFUSED_CODECS: Final = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf_7", "undefined", "replacement"}
)
# Python's codec of the name refuses characters that browsers read.
_WIDER: Final = {"gbk": "gb18030", "gb2312": "gb18030", "euc_jp": "euc_jis_2004"}
# The encoding of Windows that publishers mistake for one of ISO. ISO has controls where it has letters.
_OF_WINDOWS: Final = {
    "iso8859_2": "cp1250",
    "iso8859_4": "cp1257",
    "iso8859_5": "cp1251",
    "iso8859_6": "cp1256",
    "iso8859_7": "cp1253",
    "iso8859_8": "cp1255",
    "iso8859_13": "cp1257",
    "iso8859_15": "cp1252",
}
_CONTROLS: Final = re.compile("[\x80-\x84\x86-\x9f]")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STARTS: Final = (
    (b"<\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00<", "utf-32-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_DECLARATION: Final = re.compile(rb"\s*<\?xml[^>]{0,500}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_LANGUAGE: Final = re.compile(
    rb"<(?:dc:)?language>\s{0,20}([a-zA-Z]{2,3}(?:-[a-zA-Z]{2,4})?)|\bxml:lang\s?=\s?[\"']([a-zA-Z]{2,3}(?:-[a-zA-Z]{2,4})?)"
)
# By language, the encodings its publishers used before UTF-8
# (https://html.spec.whatwg.org/#determining-the-character-encoding, step 9, and the encodings common beside
# them), and its letters beyond ASCII.
_CYRILLIC: Final = ("cp1251", "koi8_r")
_CENTRAL: Final = ("iso8859_2", "cp1250")
_BALTIC: Final = ("cp1257", "iso8859_13")
_OF_LANGUAGE: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    **dict.fromkeys(("be", "kk", "ky", "mk", "sah", "sr", "tg", "tt"), (("cp1251",), "\u0400-\u04ff")),
    **dict.fromkeys(("bg", "ru"), (_CYRILLIC, "а-яёА-ЯЁ")),
    "uk": (("cp1251", "koi8_u"), "а-яєіїґА-ЯЄІЇҐ"),
    "pl": (_CENTRAL, "ąćęłńóśźżĄĆĘŁŃÓŚŹŻ"),
    "cs": (_CENTRAL, "áčďéěíňóřšťúůýžÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ"),
    "sk": (_CENTRAL, "áäčďéíĺľňóôŕšťúýžÁÄČĎÉÍĹĽŇÓÔŔŠŤÚÝŽ"),
    "hu": (_CENTRAL, "áéíóöőúüűÁÉÍÓÖŐÚÜŰ"),
    "ro": (_CENTRAL, "ăâîşţĂÂÎŞŢ"),
    **dict.fromkeys(("bs", "hr", "sl"), (_CENTRAL, "ćčđšžĆČĐŠŽ")),
    "et": (_BALTIC, "äõöüšžÄÕÖÜŠŽ"),
    "lt": (_BALTIC, "ąčęėįšųūžĄČĘĖĮŠŲŪŽ"),
    "lv": (_BALTIC, "āčēģīķļņšūžĀČĒĢĪĶĻŅŠŪŽ"),
    "tr": (("cp1254",), "âçğıîöşüûÂÇĞİÎÖŞÜÛ"),
    "el": (("iso8859_7", "cp1253"), "\u0386-\u03ce"),
    **dict.fromkeys(("he", "iw"), (("cp1255", "iso8859_8"), "\u05b0-\u05f4")),
    **dict.fromkeys(("ar", "fa"), (("cp1256", "iso8859_6"), "\u060c-\u06d2\u200c")),
    "th": (("cp874",), "\u0e01-\u0e5b"),
}
# Signs between letters that every language uses.
_BETWEEN: Final = "\xa0«»°§©®·–—‘’‚“”„†•…‰‹›€№™"
# A text is in an encoding if so much of it beyond ASCII is letters of its language.
_SPELT_SHARE: Final = 0.95
_BEYOND_ASCII: Final = re.compile(rb"[^\x00-\x7f]")
# Bytes the detector reads: 64 KiB would take about 0.1 s. With fewer bytes beyond ASCII it only guesses.
_DETECT_BYTES: Final = 16 * 1024
_DETECT_MIN: Final = 24
# If at most this share of the bytes beyond ASCII is broken, the label is right and the document has a flaw.
_BROKEN_SHARE: Final = 0.1


def text_of(body: bytes, *, content_type: str = "") -> str:
    """Return `body` as text, without a byte order mark. Unreadable bytes become U+FFFD."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    for start, codec in _STARTS:
        if body.startswith(start):
            return body.decode(codec, "replace")
    return _by_label(body, content_type)


def codec_of(label: str) -> str:
    """Return the Python codec for the encoding that browsers read as `label`, or "" if it is unknown."""
    known = webencodings.lookup(label.strip())
    try:
        name = known.codec_info.name if known else codecs.lookup(label).name
        found = codecs.lookup(name)  # Python has no x-user-defined, which browsers know
    except (LookupError, ValueError, OSError):  # in the sandbox, which opens no file to look for one
        return ""
    # `codecs` also knows codecs that are no character encoding, such as base64.
    is_text = known or getattr(found, "_is_text_encoding", False)
    return _WIDER.get(name, name) if is_text and name.replace("-", "_") not in REFUSED_CODECS else ""


def _by_label(body: bytes, content_type: str) -> str:
    is_utf8, text = _utf8(body)
    if is_utf8:
        # Words in another encoding are hardly ever valid UTF-8 by chance. An escape means ISO-2022-JP.
        return _seven_bits(body, content_type) or text
    for codec in _labels(body, content_type):
        if codec != "utf-8" and (read := _read(body, codec)):
            mistaken = _OF_WINDOWS.get(codec.replace("-", "_")) if _CONTROLS.search(read) else None
            return (mistaken and _read(body, mistaken)) or read
    if _mostly_utf8(body):
        return text
    found = _by_language(body) or _detect(body)
    return found if found and "\ufffd" not in found else body.decode("cp1252", "replace")


def _labels(body: bytes, content_type: str) -> Iterator[str]:
    """Yield the codecs that the header and the document name, if they can be true."""
    if sent := _CHARSET.search(f";{content_type}" if "=" in content_type else ""):
        yield codec_of(sent[1])
    if declared := _DECLARATION.match(body[:1024]):
        codec = codec_of(declared[1].decode("ascii"))
        # A declaration that can be read byte by byte is in no encoding of two bytes a letter.
        if not codec.startswith(("utf-16", "utf-32")):
            yield codec


def _utf8(body: bytes) -> tuple[bool, str]:
    try:
        return True, body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        # Java and old databases write an emoji as two halves (CESU-8).
        halves = body.decode("utf-8", "surrogatepass")
        return True, halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    except UnicodeDecodeError:
        return False, body.decode("utf-8", "replace")


def _seven_bits(body: bytes, content_type: str) -> str:
    if b"\x1b" not in body:
        return ""
    codec = next((one for one in _labels(body, content_type) if one.startswith("iso2022")), "")
    return _read(body, codec) if codec else ""


def _read(body: bytes, codec: str) -> str:
    """Return `body` decoded by `codec`, or "" if it cannot be decoded or too much would be broken."""
    if not codec:
        return ""
    try:
        return body.decode(codec)
    except UnicodeDecodeError:
        pass
    except (LookupError, UnicodeError, ValueError):
        return ""
    text = body.decode(codec, "replace")
    beyond = len(_BEYOND_ASCII.findall(body))
    return text if text.count("\ufffd") <= max(2, _BROKEN_SHARE * beyond) else ""


def _mostly_utf8(body: bytes) -> bool:
    """Return whether most bytes beyond ASCII are in proper UTF-8 sequences."""
    plain = len(body.decode("ascii", "ignore"))
    proper = len(body.decode("utf-8", "ignore").encode()) - plain
    return proper * 2 > len(body) - plain


def _by_language(body: bytes) -> str:
    """Return `body` decoded by an encoding of its declared language, if that can spell it, else ""."""
    declared = _LANGUAGE.search(body)
    name = (declared[1] or declared[2]).decode("ascii").lower().partition("-")[0] if declared else ""
    tried, letters = _OF_LANGUAGE.get(name, ((), ""))
    best, found = (_SPELT_SHARE, -1.0), ""
    for codec in tried:
        text = body.decode(codec, "replace")
        beyond = re.sub(rf"[\x00-\x7f{_BETWEEN}]+", "", text)
        spelt = re.findall(f"[{letters}]", beyond)
        # Encodings of Cyrillic differ most in which of two letters is the capital.
        small = sum(letter.islower() for letter in spelt)
        score = len(spelt) / max(len(beyond), 1), small / max(len(spelt), 1)
        if score > best:
            best, found = score, text
    return found


def _detect(body: bytes) -> str:
    """Return `body` by the encoding that a detector finds, "" if there is too little to tell from."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few documents need it

    # Lines beyond ASCII say all that the others could.
    lines = [line for line in body.splitlines() if not line.isascii()]
    sample = b"\n".join(lines)[:_DETECT_BYTES]
    if len(_BEYOND_ASCII.findall(sample)) < _DETECT_MIN:
        return ""
    found = from_bytes(sample).best()
    codec = codec_of(found.encoding) if found else ""
    return body.decode(codec, "replace") if codec else ""
