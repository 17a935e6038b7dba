"""Pictures are told by their first bytes."""

import pytest

from digest.articles.pictures import picture_type

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"GIF87a\1\0\1\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x20ftypavif\0\0\0\0avifmif1", "image/avif"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", "image/avif"),
    ],
)
def test_five_formats_are_pictures(body: bytes, found: str):
    assert picture_type(body) == found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<?xml version='1.0'?><svg/>",
        b"<html><body>404</body></html>",
        b"\xef\xbb\xbf<!doctype html>",
        b"%PDF-1.7",
        b"RIFF\x24\0\0\0WAVEfmt ",
        b"\0\0\0\x18ftypmp42\0\0\0\0isommp42",
        b"\0\0\0\x10ftypisom\0\0\0\0avif",  # beyond the box
        b" " + PNG,
        b"BM\0\0\0\0",
    ],
)
def test_nothing_else_is_a_picture(body: bytes):
    assert picture_type(body) == ""


def sized(kind: str, width: int, height: int) -> bytes:
    """Return the beginning of a picture that says its size."""
    big = [number.to_bytes(4, "big") for number in (width, height)]
    short = [number.to_bytes(2, "little") for number in (width & 0xFFFF, height & 0xFFFF)]
    frame = b"\x08" + big[1][2:] + big[0][2:] + b"\x03" + b"\0" * 9
    lossless = (width - 1 | height - 1 << 14).to_bytes(4, "little")
    extended = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return {
        "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"".join(big),
        "gif": b"GIF89a" + b"".join(short),
        "jpeg": b"\xff\xd8\xff\xe0\0\x06JFIF\xff\xff\xc0\0\x11" + frame,
        "jpeg with rubbish": b"\xff\xd8\xff\xfe\0\x04\xff\xc0rubbish\xff\0\xff\xd0\xff\xc2\0\x11" + frame,
        "webp": b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + b"".join(short),
        "webp lossless": b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + lossless,
        "webp extended": b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + extended,
        "avif": b"\0\0\0\x14ftypavif\0\0\0\0avif" + b"\0\0\0\x14ispe\0\0\0\0" + b"".join(big),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["png", "gif", "jpeg", "jpeg with rubbish", "webp", "webp lossless", "webp extended", "avif"],
)
def test_a_picture_of_more_than_a_hundred_million_pixels_is_none(kind: str):
    """A few kilobytes of them make a browser need gigabytes."""
    assert picture_type(sized(kind, 10_000, 10_000)) == f"image/{kind.split()[0]}"
    assert picture_type(sized(kind, 10_000, 10_001)) == ""


@pytest.mark.parametrize("end", range(3, 40))
def test_a_picture_that_breaks_off_is_told_all_the_same(end: int):
    for kind in ("png", "gif", "jpeg", "jpeg with rubbish", "webp", "webp lossless", "avif"):
        assert picture_type(sized(kind, 9, 9)[:end]) in {f"image/{kind.split()[0]}", ""}
