"""Reviews have their own price in the ledger, and three votes are counted as one result."""

import itertools
from decimal import Decimal

import pytest
from pydantic import ValidationError

from advisor.models import Run
from advisor.review import compose
from advisor.review.compose import ROUNDS_MAX, Ballot, count_votes
from advisor.review.votes import REVIEWERS, Vote
from advisor.run_values import ToolContext
from digest.models import Spend

VERDICTS = ("approve", "improve", "reject")


def test_reviews_share_the_run_s_account_under_a_purpose_of_their_own(ada, now, monkeypatch):
    run = Run.objects.create(
        reader=ada, day=now.date(), trigger="scheduled", status="running", created_at=now
    )
    monkeypatch.setattr(compose, "reviewer_for", lambda context, reflector: context)
    context = ToolContext(ada.pk, run.pk, now, lambda: None)
    reviewed = compose.context_with_reviewers(
        context, run, interactive=False, timeout_s=10, moment=lambda: now
    )
    reviewed.review.ledger.reserve(model="openai:gpt-6-luna", worst_case=Decimal("0.01"))
    spend = Spend.objects.get()
    assert (spend.purpose, spend.surface, spend.run_id, spend.reader) == ("review", "advisor", run.pk, ada)


def ballots(*verdicts, **more):
    """Ballots of trust, value and voice; `None` is a missing vote."""
    return [
        Ballot(
            reviewer,
            verdict
            and Vote(verdict=verdict, confidence=0.9, issues=[] if verdict == "approve" else ["Mend it"]),
            "m",
            error_code="" if verdict else "invalid_answer",
            **more,
        )
        for reviewer, verdict in zip(REVIEWERS, verdicts, strict=True)
    ]


@pytest.mark.parametrize("verdicts", list(itertools.product(VERDICTS, repeat=3)))
@pytest.mark.parametrize("round_n", [1, 2, 3])
def test_two_of_three_pass_unless_trust_rejects_and_the_third_round_is_the_last(verdicts, round_n):
    passes = verdicts.count("approve") >= 2 and verdicts[0] != "reject"
    expected = "pass" if passes else "improve" if round_n < ROUNDS_MAX else "draft"
    assert count_votes(ballots(*verdicts), round_n).verdict == expected


@pytest.mark.parametrize("verdicts", list(itertools.product((*VERDICTS, None), repeat=3)))
def test_a_missing_vote_never_helps(verdicts):
    """A proposal with a missing vote passes exactly if it passes with a reject instead."""
    as_rejects = [verdict or "reject" for verdict in verdicts]
    passed = count_votes(ballots(*verdicts), 1).verdict == "pass"
    assert passed == (count_votes(ballots(*as_rejects), 1).verdict == "pass")


@pytest.mark.parametrize(
    "verdicts", [(None, None, None), ("approve", None, None), (None, "approve", "approve")]
)
def test_where_only_silence_objects_there_is_nothing_to_mend_so_it_is_a_draft_at_once(verdicts):
    count = count_votes(ballots(*verdicts), 1)
    assert count.verdict == "draft" and "gave no vote (invalid_answer)" in count.message


@pytest.mark.parametrize("verdicts", list(itertools.product(VERDICTS, repeat=2)))
@pytest.mark.parametrize("cut", range(3))
def test_a_round_that_was_cut_short_is_a_draft_whatever_the_others_say(verdicts, cut):
    cast = ballots("approve", "approve", "approve")
    cast[cut] = Ballot(REVIEWERS[cut], None, "m", "budget_run", interrupted=True)
    others = [n for n in range(3) if n != cut]
    for n, verdict in zip(others, verdicts, strict=True):
        cast[n] = ballots(*[verdict] * 3)[n]
    assert count_votes(cast, 1).verdict == "draft"


def test_the_message_names_who_objects_to_what_and_what_to_do():
    cast = ballots("reject", "approve", "approve")
    cast[0] = Ballot(
        "trust",
        Vote(verdict="reject", confidence=1, issues=["9 of 11 is wrong"], suggestions=["Say 8 of 11"]),
        "m",
    )
    count = count_votes(cast, 2)
    assert "Round 2 of 3" in count.message and "Value" not in count.message
    assert "Trust (reject): 9 of 11 is wrong. To do: Say 8 of 11." in count.message


def test_a_reviewer_without_issues_is_quoted_by_its_reasoning():
    silent = Vote(verdict="improve", confidence=1, reasoning="Too vague.")
    cast = [Ballot(name, silent, "m") for name in REVIEWERS]
    assert "Value (improve): Too vague." in count_votes(cast, 1).message


def test_long_lists_and_lines_are_cut_and_control_characters_go():
    given = Vote(verdict="improve", confidence=1, issues=["a\x00b\nc" * 200] * 9, suggestions="one")
    assert len(given.issues) == 4 and all(len(issue) <= 300 for issue in given.issues)
    assert "\n" not in given.issues[0] and "\x00" not in given.issues[0] and given.suggestions == ["one"]


@pytest.mark.parametrize(
    "broken",
    [
        {"verdict": "APPROVED"},
        {"verdict": None},
        {"confidence": 1.5},
        {"confidence": "sure"},
        {"issues": [1]},
        {"issues": {"a": 1}},
        {"reasoning": ["x"]},
    ],
)
def test_a_vote_of_another_form_is_none(broken):
    with pytest.raises(ValidationError):
        Vote.model_validate({"verdict": "approve", "confidence": 0.5} | broken)
