"""Runs in words."""

import pytest

from advisor.entities import missing_message, needs_from_counts
from advisor.run.explain import STATUSES, last_run_message, need_message, script_messages, status_message
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


def test_little_feedback_is_said_in_general_and_in_numbers():
    reason = missing_message(
        needs_from_counts(FeedbackCounts(4, 4, 3, None, None), items=10, days=0, tagged=0)
    )
    assert status_message("skipped", 0, reason) == (
        "Not enough feedback yet. Keep rating articles and check back later."
        " Need at least 10 feedback items (you have 4)."
    )


def test_any_other_skip_says_its_own_reason_alone():
    reason = "It did not work three times today. It can be tried again tomorrow."
    assert status_message("skipped", 0, reason) == reason


def test_progress_stops_at_enough():
    assert need_message("items with a reason", 7, 10) == "7 of 10 with a reason"
    assert need_message("feedback items", 70, 10) == "10 of 10 articles rated"


def test_the_script_knows_the_same_words_as_the_page():
    assert script_messages()["statuses"] is STATUSES


def test_a_run_whose_suggestions_are_all_answered_says_so():
    assert last_run_message("completed", 1, "") == "It made one suggestion; it is settled."
    assert last_run_message("agent_timeout", 3, "") == "It made 3; all are settled."
    assert last_run_message("agent_timeout", 0, "") == STATUSES["agent_timeout"]
