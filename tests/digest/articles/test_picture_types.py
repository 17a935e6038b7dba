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
