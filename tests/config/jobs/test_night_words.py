"""The night's counts as an operator reads them."""

from config.jobs.lease import STEP_NAMES
from config.jobs.night_words import COUNTS, step_words


def test_every_step_has_words():
    assert set(COUNTS) == set(STEP_NAMES)


def test_zeros_are_left_out_and_nothing_to_do_is_said():
    counts = {"compared": 0, "begun": 0, "vectors": 2630, "meanings": 3}
    assert step_words("cluster", counts) == "2,630 items prepared for topics, 3 topics renewed"
    assert step_words("cluster", {"compared": 0, "begun": 0}) == "nothing to do"
    assert step_words("cluster", {}) == ""


def test_a_count_without_words_is_shown_by_its_name():
    assert step_words("digests", {"built": 4, "readers_failed": 1}) == "4 digests built, 1 readers failed"
    told = step_words("fetch", {"feeds": 9, "failed": 9, "error": "dns_error", "error_feeds": 9})
    assert told == "9 feeds asked, 9 failed, most often: dns error"
