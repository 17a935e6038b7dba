"""Texts are compressed for clients that accept it: pages, JSON, styles and scripts, but no pictures."""

import gzip

import pytest
from django.templatetags.static import static
from django.test import Client

from digest.models import Reader

pytestmark = pytest.mark.django_db
ACCEPTED = {"Accept-Encoding": "gzip, br"}


@pytest.mark.parametrize(
    "address",
    ["/", "/ui/all", "/api/openapi.json", *map(static, ("tidings.css", "tidings.js", "icon.svg"))],
)
def test_a_text_is_compressed_and_reads_the_same(client: Client, ada: Reader, address: str):
    client.force_login(ada)
    plain, packed = client.get(address), client.get(address, headers=ACCEPTED)
    assert "Content-Encoding" not in plain and packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    body = gzip.decompress(b"".join(packed) if packed.streaming else packed.content)
    text = b"".join(plain) if plain.streaming else plain.content
    plain.close()
    packed.close()
    # A page has a token against forged requests, which is new each time.
    assert len(body) == len(text) and body[:200] == text[:200]


@pytest.mark.parametrize("address", [static("icon-192.png"), static("fonts/literata-latin.woff2")])
def test_what_is_compressed_already_is_not_compressed_again(client: Client, address: str):
    answer = client.get(address, headers=ACCEPTED)
    assert answer.status_code == 200 and "Content-Encoding" not in answer
    answer.close()


def test_the_length_of_a_page_does_not_tell_what_is_in_it(client: Client, ada: Reader):
    """A guess that is part of a page makes it shorter; random bytes hide by how much."""
    client.force_login(ada)
    lengths = {len(client.get("/ui/search?q=lamp", headers=ACCEPTED).content) for _ in range(20)}
    assert len(lengths) > 5
