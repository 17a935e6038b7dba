"""The number of pixels of a picture, as its first bytes say, without decoding it. Pure."""

from typing import Final

# JPEG: the segments that name the size (ITU T.81, table B.1), and those without a length.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE: Final = frozenset({0x00, 0x01, *range(0xD0, 0xD9)})
_SCAN: Final = 0xDA
# AVIF: a file has one size for each of its pictures, before their data.
_AVIF_SIZE: Final = b"ispe\0\0\0\0"


def picture_pixels(body: bytes, mime_type: str) -> int:
    """Return the number of pixels that a browser would decode; 0 if a broken picture does not say it."""
    match mime_type:
        case "image/png":
            width, height = _big(body[16:20]), _big(body[20:24])
        case "image/gif":
            width, height = _little(body[6:8]), _little(body[8:10])
        case "image/webp":
            width, height = _webp(body)
        case "image/jpeg":
            width, height = _jpeg(body)
        case "image/avif":
            width, height = _avif(body)
        case _:
            return 0
    return width * height


def _webp(body: bytes) -> tuple[int, int]:
    """Return the size of a WebP (RFC 9649, section 2): extended, lossless or lossy."""
    kind = body[12:16]
    if kind == b"VP8X":
        return _little(body[24:27]) + 1, _little(body[27:30]) + 1
    if kind == b"VP8L":
        bits = _little(body[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return _little(body[26:28]) & 0x3FFF, _little(body[28:30]) & 0x3FFF


def _jpeg(body: bytes) -> tuple[int, int]:
    """Return the size of a JPEG: that of its frame, which comes before its scans."""
    at = 2
    # What stands between segments is skipped, as browsers do.
    while (at := body.find(b"\xff", at)) >= 0 and at + 9 <= len(body):
        marker = body[at + 1]
        if marker in _FRAMES:
            return _big(body[at + 7 : at + 9]), _big(body[at + 5 : at + 7])
        if marker == _SCAN:
            break
        if marker == 0xFF:  # Filling.
            at += 1
        elif marker in _BARE:
            at += 2
        else:
            at += 2 + _big(body[at + 2 : at + 4])
    return 0, 0


def _avif(body: bytes) -> tuple[int, int]:
    """Return the largest width and the largest height that an AVIF names."""
    sizes = [(0, 0)]
    at = body.find(_AVIF_SIZE)
    while at >= 0:
        sizes.append((_big(body[at + 8 : at + 12]), _big(body[at + 12 : at + 16])))
        at = body.find(_AVIF_SIZE, at + 4)
    return max(width for width, _ in sizes), max(height for _, height in sizes)


def _big(part: bytes) -> int:
    return int.from_bytes(part, "big")


def _little(part: bytes) -> int:
    return int.from_bytes(part, "little")
