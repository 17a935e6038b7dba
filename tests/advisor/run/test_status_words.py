"""Runs in words."""

import pytest

from advisor.feedback_needed import FeedbackLimits, feedback_suffices, missing_message
from advisor.run.status_words import (
    OPERATORS,
    STATUSES,
    last_run_message,
    operator_message,
    script_messages,
    status_message,
)
from advisor.run.status_words import TOOLS as SENTENCES
from advisor.tools.registry import TOOLS
from digest.entities import FeedbackCounts


def test_a_silent_run_says_why():
    assert status_message("completed", 0, "No strong evidence.") == (
        "Nothing worth asking today: No strong evidence."
    )
    assert status_message("completed", 0, "Nothing stands out.") == "Nothing stands out."
    assert status_message("completed") == "Nothing worth asking today."


@pytest.mark.parametrize("status", ["completed", "budget_exceeded", "agent_timeout", "agent_error"])
def test_what_was_written_counts_more_than_how_the_run_ended(status: str):
    assert status_message(status, 2) == "2 new suggestions."
    assert status_message(status, 1) == "1 new suggestion."


@pytest.mark.parametrize("status", sorted(STATUSES))
def test_every_status_has_words_of_its_own(status: str):
    assert status_message(status) != status_message("unheard_of")


LIMITS = FeedbackLimits(items=10, days=7, tagged=10)


@pytest.mark.parametrize(
    ("total", "days", "tagged", "enough"),
    [
        (10, 7, 10, True),
        (9, 7, 9, False),
        (49, 6, 49, False),
        (49, 90, 9, False),
        (50, 1, 0, True),
        (1735, 1, 0, True),
        (0, 0, 0, False),
    ],
)
def test_ten_thumbs_over_seven_days_with_ten_reasons_are_enough_or_fifty(total, days, tagged, enough):
    counts = FeedbackCounts(total, tagged, days, None, None)
    assert feedback_suffices(counts, LIMITS) is enough
    assert (missing_message(counts, LIMITS) == "") is enough


def test_an_operator_who_asks_for_more_than_fifty_thumbs_gets_them():
    counts = FeedbackCounts(60, 60, 60, None, None)
    assert not feedback_suffices(counts, LIMITS._replace(items=80))


def test_little_feedback_is_said_in_numbers_by_the_nearer_of_two_ways():
    assert missing_message(FeedbackCounts(4, 1, 2, None, None), LIMITS) == (
        "Not enough ratings for suggestions yet. Rate 46 more headlines for suggestions today (4 so far)."
    )
    for tagged, words in ((9, "Give a reason for 1 more rating."), (3, "Give reasons for 7 more ratings.")):
        assert missing_message(FeedbackCounts(20, tagged, 12, None, None), LIMITS).endswith(words)
    reason = missing_message(FeedbackCounts(49, 3, 30, None, None), LIMITS)
    assert reason.endswith("Rate 1 more headline for suggestions today (49 so far).")
    assert status_message("skipped", 0, reason) == reason


def test_any_other_skip_says_its_own_reason_alone():
    reason = "It did not work three times today. It can be tried again tomorrow."
    assert status_message("skipped", 0, reason) == reason


@pytest.mark.parametrize("status", [*STATUSES, "unheard_of"])
def test_an_operator_reads_about_the_reader_and_is_not_spoken_to_as_one(status: str):
    words = operator_message("r01", status)
    assert "you" not in words.lower().split() and not words.startswith("r01")
    assert "r01" in words or status == "ready"


def test_an_operator_reads_what_the_reader_is_told_and_why_a_run_failed():
    assert set(OPERATORS) == set(STATUSES)
    assert operator_message("r01", "completed", 2) == "The run for r01 made 2 new suggestions."
    assert operator_message("r01", "skipped", 0, "Rate more.") == (
        "The advisor did not run for r01. Its reader is told: “Rate more.”"
    )
    assert operator_message("r01", "skipped", 0, "ran_this_week").endswith("It ran this week.")
    assert operator_message("r01", "agent_error", 0, "KeyError: x").endswith("failed. KeyError: x")


def test_the_script_knows_the_same_words_as_the_page():
    assert script_messages()["statuses"] == STATUSES


def test_a_run_whose_suggestions_are_all_answered_says_so():
    assert last_run_message("completed", 1, "") == (
        "It made one suggestion. What became of it stands among your decisions."
    )
    assert last_run_message("agent_timeout", 3, "") == (
        "It made 3. What became of them stands among your decisions."
    )
    assert last_run_message("agent_timeout", 0, "") == STATUSES["agent_timeout"]


def test_each_tool_has_a_sentence_for_the_reader_who_waits():
    assert set(SENTENCES) == set(TOOLS)
    assert all(sentence.endswith("…") for sentence in SENTENCES.values())


def test_a_run_that_made_a_draft_alone_does_not_call_its_end_a_reason():
    assert status_message("completed", 0, "Finished.") == "Nothing worth asking today."
    assert (
        status_message("completed", 0, "You decided all.") == "Nothing worth asking today: You decided all."
    )
