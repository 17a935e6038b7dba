"""The cache of pictures: found again for a month, within a bound, and no fault of the page when it fails."""

from datetime import timedelta
from pathlib import Path

import pytest

from digest.articles.picture_cache import PictureCache

BODY = b"x" * 1000


@pytest.fixture
def cache(tmp_path: Path) -> PictureCache:
    return PictureCache(tmp_path / "pictures", max_bytes=10_000)


def stored(cache: PictureCache) -> int:
    return sum(path.stat().st_size for path in cache.folder.iterdir())


def test_a_picture_is_found_again_by_its_address_alone(cache: PictureCache, now):
    cache.put("https://a.example/1.png", BODY, now=now)
    assert cache.get("https://a.example/1.png", now=now) == BODY
    assert cache.get("https://a.example/2.png", now=now) is None
    assert [path.stat().st_mode & 0o077 for path in (cache.folder, *cache.folder.iterdir())] == [0, 0]


def test_a_picture_is_fetched_again_after_a_month(cache: PictureCache, now):
    cache.put("https://a.example/1.png", BODY, now=now)
    assert cache.get("https://a.example/1.png", now=now + timedelta(days=29)) == BODY
    assert cache.get("https://a.example/1.png", now=now + timedelta(days=31)) is None


def test_the_oldest_pictures_make_room(cache: PictureCache, now):
    for n in range(40):
        cache.put(f"https://a.example/{n}.png", BODY, now=now + timedelta(minutes=n))
        assert stored(cache) <= 10_000
    assert cache.get("https://a.example/39.png", now=now) == BODY
    assert cache.get("https://a.example/0.png", now=now) is None


def test_a_tiny_picture_counts_as_the_block_that_it_takes_of_the_disk(cache: PictureCache, now):
    """Or a limit of 256 MB would let a feed of tiny pictures make six million files."""
    for n in range(40):
        cache.put(f"https://a.example/{n}.jpg", b"\xff\xd8\xff", now=now + timedelta(minutes=n))
    assert 1 <= len(list(cache.folder.iterdir())) <= 10_000 // 4096
    assert cache.prune(now=now) == 0


def test_what_is_no_longer_fresh_is_deleted(cache: PictureCache, now):
    cache.put("https://a.example/1.png", BODY, now=now - timedelta(days=40))
    cache.put("https://a.example/2.png", BODY, now=now)
    assert len(list(cache.folder.iterdir())) == 1


def test_what_is_no_longer_fresh_goes_without_a_new_picture(cache: PictureCache, now):
    cache.put("https://a.example/1.png", BODY, now=now)
    cache.put("https://a.example/2.png", BODY, now=now + timedelta(days=20))
    assert cache.prune(now=now + timedelta(days=29)) == 0
    assert cache.prune(now=now + timedelta(days=31)) == 1
    assert stored(cache) == len(BODY)
    assert PictureCache(cache.folder / "none", max_bytes=10).prune(now=now) == 0


def test_nothing_is_stored_without_room(tmp_path: Path, now):
    PictureCache(tmp_path / "pictures", max_bytes=0).put("https://a.example/1.png", BODY, now=now)
    assert not (tmp_path / "pictures").exists()


def test_a_folder_that_cannot_be_written_costs_the_cache_alone(tmp_path: Path, now):
    (tmp_path / "pictures").write_text("a file")
    cache = PictureCache(tmp_path / "pictures", max_bytes=10_000)
    cache.put("https://a.example/1.png", BODY, now=now)
    assert cache.get("https://a.example/1.png", now=now) is None
