"""The effect that a refused or expired suggestion would have had, and the record a reader sees."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from digest.daily.services import digest_build
from suggestions.changes.registry import KINDS
from suggestions.models import Outcome, PreferenceProfile, Suggestion, UntakenVerdict
from suggestions.outcomes.untaken import record_for, records_by_kind, untaken_check, untaken_due
from suggestions.selectors import answers_by_type
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import suggestion_reject
from tests.support.browser import suggested
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import LOVED, OTHER, PLAIN, proposed, rate, tastes, unread

pytestmark = pytest.mark.django_db
DUE = CLOCK + timedelta(days=14)


def two_weeks(reader, *, loved: float, start=CLOCK) -> None:
    """A digest a day and three thumbs; the loved source is liked at rate `loved`."""
    for day in range(14):
        at = start + timedelta(days=day, hours=6)
        useful = int((day + 1) * loved) > int(day * loved)
        for minutes, (key, up) in enumerate([(LOVED, useful), (PLAIN, day % 2 == 0), (OTHER, day % 2 == 1)]):
            rate(reader, key, f"Later {day}", up, at + timedelta(minutes=minutes))
        unread(each=4, at=at)
        digest_build(reader=reader, date=at.date(), now=at + timedelta(hours=1))


@pytest.mark.parametrize(("loved", "expected"), [(0.05, "harmed"), (1.0, "helped")])
def test_a_refused_boost_is_judged_by_how_its_source_was_liked_since(ada, loved, expected):
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_reject(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    two_weeks(ada, loved=loved)
    before = answers_by_type(reader_id=ada.pk), PreferenceProfile.objects.get().acceptance_stats
    assert sum(untaken_check(now=DUE - timedelta(seconds=1)).values()) == 0
    assert untaken_check(now=DUE)[expected] == 1
    row = UntakenVerdict.objects.get()
    assert (row.verdict, row.suggestion_id, row.reader_id) == (expected, suggestion.pk, ada.pk)
    assert row.measured["exposure"]["with"] > row.measured["exposure"]["without"]
    assert sum(untaken_check(now=DUE + timedelta(days=9)).values()) == 0, "it is judged once"
    after = answers_by_type(reader_id=ada.pk), PreferenceProfile.objects.get().acceptance_stats
    assert after == before and not Outcome.objects.filter(kind="effect").exists(), "nothing is learned of it"


def test_what_expired_is_judged_and_what_was_accepted_or_taken_back_is_not(ada):
    tastes(ada)
    first = proposed(ada)
    suggestions_sweep(now=DUE)
    first.refresh_from_db()
    assert first.status == "expired"
    two_weeks(ada, loved=1.0, start=DUE)
    assert untaken_check(now=DUE + timedelta(days=14)) == {"helped": 1, "harmed": 0, "unclear": 0}


@pytest.mark.parametrize(
    ("status", "outcome", "kind", "due"),
    [
        ("rejected", "rejected", "boost_source", 1),
        ("taken_back", "rejected", "boost_source", 0),
        ("accepted", "accepted", "boost_source", 0),
        ("superseded", "superseded", "boost_source", 0),
        ("rejected", "rejected", "mute_word", 0),
    ],
)
def test_answers_that_were_taken_back_are_none_and_some_changes_cannot_be_judged(
    ada, status, outcome, kind, due
):
    row = suggested(ada, evidence=0, status=status, suggestion_type=kind, field=str(KINDS[kind].field))
    stored(row, kind="decision", outcome=outcome)
    assert untaken_due(now=DUE).count() == due


def stored(row: Suggestion, **fields: str) -> None:
    """Store an outcome of the suggestion."""
    given = {"suggestion": row, "reader": row.reader, "suggestion_type": row.suggestion_type}
    times = {"created_at": CLOCK, "decided_at": CLOCK, "config_before": {}}
    Outcome.objects.create(target_key=row.target_key, **given, **times, **fields)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("add_topic", 2.6 * 3 / 2), ("remove_topic", 2.6 / 2), ("boost_source", 2.6 * 1.3), ("mute_word", 2.6)],
)
def test_a_score_with_the_change_is_that_without_the_other_way(kind, expected):
    assert KINDS[kind].rescore(2.6, 2.0, 1.3, made=True) == pytest.approx(expected)


def judged(reader, verdict: str, status: str, n: int) -> None:
    """Store `n` suggestions of the reader with that answer and verdict."""
    for k in range(n):
        key = f"{status}-{verdict}-{k}.example"
        row = suggested(reader, evidence=0, target_key=key, status=status)
        if status == "accepted":
            stored(row, kind="effect", outcome=verdict)
        else:
            given = {"suggestion": row, "reader": reader, "verdict": verdict, "measured": {}}
            UntakenVerdict.objects.create(judged_at=CLOCK, **given)


def test_the_record_begins_with_ten_clear_verdicts_and_never_calls_a_no_wrong(ada, ben, client: Client):
    judged(ada, "helped", "accepted", 6)
    judged(ada, "harmed", "accepted", 1)
    judged(ada, "unclear", "accepted", 3)
    judged(ada, "harmed", "rejected", 2)
    assert record_for(reader_id=ada.pk) is None, "nine are clear"
    judged(ada, "helped", "rejected", 1)
    judged(ada, "helped", "expired", 5)
    words = "My last 10: 6 helped, 1 harmed, 3 unclear. Of 3 that you said no to, you were right 2 times."
    record = record_for(reader_id=ada.pk)
    assert record is not None and record.words == words
    client.force_login(ada)
    assert words in client.get(reverse("suggestions:list")).content.decode()
    assert record_for(reader_id=ben.pk) is None


def test_a_reader_whose_refusals_would_all_have_helped_hears_of_none(ada):
    judged(ada, "helped", "accepted", 8)
    judged(ada, "helped", "rejected", 3)
    record = record_for(reader_id=ada.pk)
    assert record is not None and record.words == "My last 8: 8 helped, 0 harmed, 0 unclear."


def test_operators_see_verdicts_by_kind_and_answer(ada):
    judged(ada, "helped", "accepted", 2)
    judged(ada, "harmed", "rejected", 1)
    assert records_by_kind() == [
        {"kind": "boost_source", "answer": "accepted", "helped": 2, "harmed": 0, "unclear": 0},
        {"kind": "boost_source", "answer": "rejected", "helped": 0, "harmed": 1, "unclear": 0},
    ]
