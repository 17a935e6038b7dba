"""What functions of strangers' texts remember: short texts, and no memory full of long ones."""

import tracemalloc

import pytest

from digest.feeds.addresses import NotAnAddress, address_read, host_encode
from digest.feeds.identity import address_folded, source_key
from ranking.common.remember import TEXT_CHARS_MAX, remember_short
from ranking.similarity import term_counts


def test_short_texts_are_read_once_and_long_ones_each_time():
    read: list[str] = []

    @remember_short
    def measured(text: str) -> int:
        read.append(text)
        return len(text)

    for text in ("short", "x" * (TEXT_CHARS_MAX + 1)):
        assert {measured(text) for _ in range(3)} == {len(text)}
    assert list(map(len, read)) == [5] + [TEXT_CHARS_MAX + 1] * 3


@pytest.mark.parametrize("read", [address_read, host_encode, address_folded, source_key, term_counts])
@pytest.mark.parametrize(
    "form", ["http://a.example/{}\xe9", "{}\xad.example", "tag:{}", "http://{}.example/"]
)
def test_long_words_of_strangers_fill_no_memory(read, form: str):
    tracemalloc.start()
    try:
        for n in range(400):
            text = form.format("a" * 50_000 + str(n))
            try:
                read(text, "") if read is term_counts else read(text)
            except NotAnAddress:
                continue
        del text
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_no_address_is_longer_than_servers_read():
    assert len(str(address_read("http://a.example/" + "a" * 7_900))) > 7_900
    for text in ("http://a.example/" + "a" * 8_000, "http://a.example/" + "\u4e00" * 1_000):
        with pytest.raises(NotAnAddress):
            address_read(text)
