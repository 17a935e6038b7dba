"""The autonomy report: proposals that passed a panel, their later corrections, and the goals."""

import json
from datetime import timedelta
from io import StringIO
from itertools import count

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from advisor.audit.autonomy import AutonomyRecord, autonomy_record, goals_of, report_of
from advisor.models import PanelVote, Run
from ranking.models import RankConfig
from suggestions.models import Outcome
from tests.support.browser import suggested

NUMBERS = count()
APPROVE, IMPROVE, REJECT = "approve", "improve", "reject"
KIND = "boost_source"


def met(record):
    return {goal.key: goal.met for goal in goals_of(record)}


# --- The goals ------------------------------------------------------------------------------------------


def test_nothing_on_record_meets_no_goal_and_says_why():
    goals = goals_of(AutonomyRecord())
    assert not any(goal.met for goal in goals) and {goal.value for goal in goals} == {None}
    assert [goal.basis for goal in goals] == [
        "no proposal reviewed yet",
        "no accepted changes by a model yet",
        "no votes by a model yet",
        "no proposals by a model yet",
    ]


def test_each_goal_is_met_just_past_its_target_and_not_on_it():
    just = AutonomyRecord(
        proposals=200, approved=100, first_passed=121, votes=100, agreeing=81, accepted=100, corrected=4
    )
    assert met(just) == {"approvals": True, "corrected": True, "agreement": True, "first_pass": True}
    edge = AutonomyRecord(
        proposals=200, approved=99, first_passed=120, votes=100, agreeing=80, accepted=100, corrected=5
    )
    assert met(edge) == {"approvals": False, "corrected": False, "agreement": False, "first_pass": False}
    assert report_of(just, days=None)["met"] and not report_of(edge, days=7)["met"]


def test_the_votes_of_rules_earn_no_autonomy_and_are_called_so(proposal, now):
    proposal((APPROVE, APPROVE, APPROVE), model="rules:trust")
    record = autonomy_record(now=now)
    assert (record.proposals, record.by_rules, record.approved, record.votes) == (0, 1, 0, 0)
    approvals = goals_of(record)[0]
    assert approvals.basis == "no model was asked: rules alone reviewed 1" and not approvals.met


# --- The record -----------------------------------------------------------------------------------------


@pytest.fixture
def proposal(ada, now):
    """Make a reviewed proposal: one triple of verdicts (trust, value, voice) per round."""

    def make(*rounds, at=now, missing=(), model="gpt-6-luna"):
        run = Run.objects.create(
            reader=ada, day=at.date(), trigger="scheduled", status="agent_error", created_at=at
        )
        target = f"source{next(NUMBERS)}.example"
        for n, verdicts in enumerate(rounds, start=1):
            for reviewer, verdict in zip(("trust", "value", "voice"), verdicts, strict=True):
                PanelVote.objects.create(
                    run=run,
                    suggestion_type=KIND,
                    target_key=target,
                    round=n,
                    reviewer=reviewer,
                    verdict=verdict,
                    confidence=0.9,
                    error_code="no_vote" if (n, reviewer) in missing else "",
                    model=model,
                    at=at,
                )
        return run, target

    return make


@pytest.fixture
def accepted(ada, now, proposal):
    """Makes an accepted change from 1.0 to 1.2 that a panel had passed."""

    def make(at=now, edited_value="", reviewed=True):
        run, target = proposal((APPROVE,) * 3) if reviewed else (None, f"source{next(NUMBERS)}.example")
        more = {"run_id": run.pk} if run else {}
        row = suggested(ada, evidence=0, target_key=target, status="accepted", **more)
        outcome(row, "decision", "accepted", at, edited_value=edited_value)
        return row

    return make


def outcome(row, kind, result, at, **more):
    Outcome.objects.create(
        suggestion=row,
        reader=row.reader,
        kind=kind,
        outcome=result,
        suggestion_type=row.suggestion_type,
        target_key=row.target_key,
        config_before={},
        created_at=at,
        decided_at=at,
        **more,
    )


@pytest.mark.django_db
def test_rounds_are_counted_as_the_panel_decides(proposal, now):
    proposal((APPROVE, APPROVE, APPROVE))
    proposal((APPROVE, APPROVE, IMPROVE))
    proposal((REJECT, APPROVE, APPROVE), (APPROVE, IMPROVE, APPROVE))
    proposal((IMPROVE,) * 3, (APPROVE, IMPROVE, REJECT), (IMPROVE, IMPROVE, APPROVE))
    record = autonomy_record(now=now)
    assert (record.proposals, record.approved, record.first_passed) == (4, 3, 2)
    assert (record.votes, record.agreeing) == (21, 3 + 2 + 1 + 2 + 3 + 2 + 2)


@pytest.mark.django_db
def test_a_vote_that_never_came_sides_with_nobody_and_never_approves(proposal, now):
    proposal((APPROVE, APPROVE, REJECT), missing={(1, "voice")})
    proposal((REJECT, APPROVE, APPROVE), missing={(1, "trust")})
    record = autonomy_record(now=now)
    assert (record.approved, record.votes, record.missing) == (1, 4, 2)


@pytest.mark.django_db
def test_rules_that_voted_in_place_of_dead_models_are_no_panel(proposal, now):
    everybody = {(1, name) for name in ("trust", "value", "voice")}
    run, target = proposal((REJECT,) * 3, missing=everybody)
    for name in ("trust", "value", "voice"):
        kept = {"suggestion_type": KIND, "target_key": target, "round": 1, "reviewer": name, "at": now}
        PanelVote.objects.create(run=run, **kept, verdict=APPROVE, confidence=0.9, model=f"rules:{name}")
    record = autonomy_record(now=now)
    assert (record.proposals, record.by_rules, record.approved, record.first_passed) == (0, 1, 0, 0)
    assert (record.votes, record.agreeing) == (0, 0)


@pytest.mark.django_db
def test_what_was_reverted_set_back_or_harmed_was_corrected_each_once(ada, accepted, now):
    RankConfig.objects.create(reader=ada, version=1, source_weights={})
    kept, reverted, harmed, edited, both, own = (accepted() for _ in range(6))
    own.outcomes.update(edited_value="1.1")
    weights = {row.target_key: 1.2 for row in (kept, reverted, harmed, both)}
    weights |= {edited.target_key: 1.05, own.target_key: 1.1}
    RankConfig.objects.update(source_weights=weights)
    outcome(reverted, "revert", "reverted", now)
    outcome(harmed, "effect", "harmed", now)
    outcome(kept, "effect", "helped", now)
    outcome(both, "effect", "harmed", now)
    outcome(both, "revert", "reverted", now)
    accepted(reviewed=False)
    record = autonomy_record(now=now)
    assert (record.accepted, record.reverted, record.edited_back, record.harmed) == (6, 2, 1, 2)
    assert record.corrected == 4


@pytest.mark.django_db
def test_a_topic_taken_out_again_was_set_back(ada, accepted, now):
    RankConfig.objects.create(reader=ada, version=1, topics=["Tides"])
    for kind, key in (("add_topic", "tide"), ("add_topic", "moon"), ("remove_topic", "tide")):
        row = accepted()
        changed = {"suggestion_type": kind, "target_key": key}
        PanelVote.objects.filter(run_id=row.run_id).update(**changed)
        row.outcomes.update(**changed)
        type(row).objects.filter(pk=row.pk).update(field="topics", **changed)
    assert autonomy_record(now=now).edited_back == 2


@pytest.mark.django_db
def test_only_the_days_asked_for_count(proposal, accepted, now):
    proposal((APPROVE,) * 3, at=now - timedelta(days=8))
    accepted(at=now - timedelta(days=8))
    assert autonomy_record(now=now, days=7).accepted == 0
    assert (autonomy_record(now=now, days=7).proposals, autonomy_record(now=now).proposals) == (1, 2)


@pytest.mark.django_db
def test_a_longer_record_costs_no_query_more(accepted, now):
    def queries(more):
        for _ in range(more):
            accepted()
        with CaptureQueriesContext(connection) as seen:
            autonomy_record(now=now)
        return len(seen)

    assert queries(1) == queries(12) <= 9


# --- The doors ------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_command_prints_one_object_or_four_lines(proposal):
    proposal((APPROVE,) * 3, at=timezone.now() - timedelta(hours=1))
    out = StringIO()
    call_command("autonomy_report", "--json", "--days", "7", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["days"], told["met"], told["record"]["approved"]) == (7, False, 1)
    assert {goal["key"]: goal["value"] for goal in told["goals"]}["agreement"] == 1.0
    out = StringIO()
    call_command("autonomy_report", stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[0] == "Proposals approved by the panel: 1 (of 1 proposal); goal 100 or more: not met"


@pytest.mark.django_db
def test_without_a_model_the_goals_are_not_measured_and_not_called_unmet():
    out = StringIO()
    call_command("autonomy_report", stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 4 and "not met" not in out.getvalue()
    assert all("not measured, no model is configured" in line for line in lines)


@pytest.mark.parametrize("days", ["0", "-1", "seven", "99999999999", "1.5"])
def test_a_number_of_days_that_is_none_is_a_usage_error(days):
    with pytest.raises(CommandError, match="not a number of days"):
        call_command("autonomy_report", f"--days={days}")


@pytest.mark.django_db
def test_the_page_says_met_or_not_in_words(operator, client, proposal):
    client.force_login(operator)
    empty = client.get(reverse("admin:advisor_autonomy")).content.decode()
    assert empty.count("no data yet") >= 4 and "0 of 4 goals met" in empty
    proposal((APPROVE,) * 3, at=timezone.now())
    text = client.get(reverse("admin:advisor_autonomy")).content.decode()
    assert "2 of 4 goals met" in text and "3 of 3 votes" in text and "▲</span> not met" in text
