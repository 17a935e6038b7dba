"""Suggestions settle by themselves: once, with an outcome, and never against the reader's own hand."""

from datetime import timedelta

import pytest

from digest.feeds.ingest import source_get_or_create
from digest.models import Feed, Item, Source
from ranking.services import ConfigEdit, config_edit, config_revert
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import suggestion_accept, suggestion_snooze
from tests.support.suggestion_worlds import HATED, LOVED, add_topic, proposed, reduce, tastes

pytestmark = pytest.mark.django_db

NOTHING = {"superseded": 0, "woken": 0, "expired": 0}


def edit(reader, now, version=0, **change) -> int:
    return config_edit(reader_id=reader.pk, edit=ConfigEdit(**change), expected_version=version, now=now)


def test_what_nobody_answered_expires_after_two_weeks_once(ada, now):
    tastes(ada)
    suggestion = proposed(ada)
    assert suggestions_sweep(now=now + timedelta(days=13, hours=23)) == NOTHING
    assert suggestions_sweep(now=now + timedelta(days=14))["expired"] == 1
    assert suggestions_sweep(now=now + timedelta(days=15)) == NOTHING
    suggestion.refresh_from_db()
    assert suggestion.status == "expired"
    outcome = Outcome.objects.get()
    assert (outcome.outcome, outcome.config_after) == ("expired", None)
    assert len(outcome.evidence_summary) == 4
    assert PreferenceProfile.objects.get().trends["engagement"] == "low"


@pytest.mark.parametrize("change", [{LOVED: 1.2}, {LOVED: 0.9, HATED: 0.5}])
def test_a_hand_edit_of_the_target_supersedes(ada, now, change):
    tastes(ada)
    suggestion = proposed(ada)
    edit(ada, now, source_weights=change)
    assert suggestions_sweep(now=now)["superseded"] == 1
    suggestion.refresh_from_db()
    assert suggestion.status == Outcome.objects.get().outcome == "superseded"


def test_a_source_joined_to_another_takes_its_suggestion_along(ada, now):
    tastes(ada)
    suggestion = proposed(ada)
    joined = source_get_or_create(key="joined.example", title="Joined")
    for rows in (Item.objects.filter(source_id=suggestion.target_key), Feed.objects):
        rows.filter(source_id=suggestion.target_key).update(source=joined)
    assert suggestions_sweep(now=now) == NOTHING
    Source.objects.get(pk=suggestion.target_key).delete()
    assert suggestions_sweep(now=now)["superseded"] == 1


def test_a_hand_edit_of_something_else_does_not(ada, now):
    tastes(ada)
    proposed(ada)
    edit(ada, now, source_weights={HATED: 0.5}, topics=["Anything"])
    assert suggestions_sweep(now=now) == NOTHING


def test_an_edit_before_the_suggestion_does_not(ada, now):
    tastes(ada)
    edit(ada, now, source_weights={LOVED: 1.1})
    proposed(ada)
    assert suggestions_sweep(now=now) == NOTHING


def test_another_accepted_suggestion_does_not(ada, now):
    tastes(ada)
    first = proposed(ada)
    proposed(ada, reduce(ada))
    suggestion_accept(reader_id=ada.pk, suggestion_id=first.pk, now=now)
    assert suggestions_sweep(now=now) == NOTHING


def test_going_back_to_a_version_supersedes(ada, now):
    tastes(ada)
    edit(ada, now, source_weights={LOVED: 1.1})
    proposed(ada)
    config_revert(reader_id=ada.pk, version=0, expected_version=1, now=now)
    assert suggestions_sweep(now=now)["superseded"] == 1


def test_a_topic_counts_as_the_same_in_any_spelling(ada, now):
    tastes(ada, topic="Harbour")
    proposed(ada, add_topic(ada, "Harbour"))
    edit(ada, now, topics=["HARBOURS"])
    assert suggestions_sweep(now=now)["superseded"] == 1


def test_a_woken_suggestion_gets_its_two_weeks(ada, now):
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_snooze(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now + timedelta(days=13))
    assert suggestions_sweep(now=now + timedelta(days=19)) == NOTHING
    assert suggestions_sweep(now=now + timedelta(days=20)) == {**NOTHING, "woken": 1}
    assert suggestions_sweep(now=now + timedelta(days=33)) == NOTHING
    assert suggestions_sweep(now=now + timedelta(days=34)) == {**NOTHING, "expired": 1}


def test_a_sweep_for_one_reader_touches_nobody_else(ada, ben, now):
    for reader in (ada, ben):
        tastes(reader)
        proposed(reader)
    assert suggestions_sweep(now=now + timedelta(days=20), reader_id=ada.pk)["expired"] == 1
    assert Suggestion.objects.get(reader=ben).status == "pending"
    assert suggestions_sweep(now=now + timedelta(days=20))["expired"] == 1


def test_a_quiet_sweep_is_cheap(ada, now, django_assert_max_num_queries):
    tastes(ada)
    proposed(ada)
    with django_assert_max_num_queries(8):
        suggestions_sweep(now=now, reader_id=ada.pk)


@pytest.mark.parametrize("pin", ["locked", "avoided"])
def test_a_target_pinned_meanwhile_is_asked_about_no_more(ada, now, pin):
    tastes(ada)
    suggestion = proposed(ada)
    edit(ada, now, pins={HATED: pin})
    assert suggestions_sweep(now=now) == NOTHING
    edit(ada, now, 1, pins={LOVED: pin})
    assert suggestions_sweep(now=now)["superseded"] == 1
    suggestion.refresh_from_db()
    assert suggestion.status == "superseded"
