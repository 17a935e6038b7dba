"""The agent's door: a grounded draft becomes a pending suggestion with a forecast; nothing else does."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError

from ranking.models import ConfigVersion, RankConfig
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.entities import FenceLost, Proposed, Refusal
from suggestions.models import Evidence, Suggestion
from tests.support.factories import ReaderFactory
from tests.support.suggestion_worlds import (
    HATED,
    LOVED,
    OTHER,
    PLAIN,
    boost,
    propose,
    proposed,
    rate,
    reduce,
    tastes,
    urls,
)

pytestmark = pytest.mark.django_db


def test_a_grounded_draft_becomes_a_pending_suggestion_with_its_evidence(ada, now):
    tastes(ada)
    suggestion = proposed(ada, boost(ada, "1.2", reason="  Two\nlines\u202e of it "))
    assert (suggestion.status, suggestion.current_value, suggestion.suggested_value) == (
        "pending",
        "1.0",
        "1.2",
    )
    assert suggestion.label == "Loved"
    assert suggestion.reason == "Two lines of it"
    assert suggestion.confidence in ("medium", "high")
    assert suggestion.evidence.count() == 4
    assert all(row.useful and row.source_key == LOVED for row in suggestion.evidence.all())
    assert suggestion.expected_impact == "Articles from Loved will rank higher in your digest."


def test_the_server_words_the_reason_where_the_draft_has_none(ada):
    tastes(ada)
    assert proposed(ada, boost(ada, reason="")).reason == (
        "You liked 30 of 30 articles from Loved, against 30 of 90 elsewhere."
    )


def test_the_forecast_is_measured_on_thumbs_kept_apart_and_names_what_moves(ada, now):
    tastes(ada)
    for n in range(40):
        source = (PLAIN, OTHER, HATED, LOVED)[n % 4]
        rate(ada, source, f"Fresh {n}", source == LOVED, now - timedelta(hours=1 + n))
    forecast = proposed(ada).forecast
    assert forecast["later_thumbs"] == 25
    assert forecast["ndcg_low"] <= forecast["ndcg_gain"] <= forecast["ndcg_high"]
    assert forecast["ndcg_gain"] > 0
    assert forecast["enters"] and len(forecast["enters"]) <= 5
    assert set(forecast["enters"]).isdisjoint(forecast["leaves"])


def test_a_proposal_changes_no_config(ada):
    tastes(ada)
    proposed(ada)
    assert not RankConfig.objects.exists()
    assert not ConfigVersion.objects.exists()


def test_the_current_value_is_the_effective_weight_in_the_database(ada, now):
    tastes(ada)
    edit = ConfigEdit(source_weights={LOVED: 0.7})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    suggestion = proposed(ada, boost(ada, "9"))
    assert (suggestion.current_value, suggestion.suggested_value) == ("0.7", "1.0")
    assert "clamped from 9 to 1.0" in suggestion.validation_notes[0]


def test_thumbs_against_the_change_refuse_it(ada):
    tastes(ada)
    rows = [rate(ada, HATED, f"Odd one {n}", True, ada.date_joined) for n in range(3)]
    draft = boost(ada, source=HATED, evidence_urls=tuple(row.url for row in rows))
    assert propose(ada, draft).code == "evidence_contradicts"


def test_a_preference_that_may_be_chance_is_refused(ada, settings):
    tastes(ada)
    draft = boost(ada, source=PLAIN)
    assert propose(ada, draft).code in ("weak_evidence", "evidence_contradicts")
    assert Suggestion.objects.count() == 0


def test_somebody_elses_thumbs_ground_nothing(ada, ben):
    tastes(ada)
    tastes(ben)
    answer = propose(ada, boost(ada, evidence_urls=urls(ben, LOVED, True)))
    assert answer.code == "evidence_not_grounded"


def test_the_same_target_waits_once_and_then_rests(ada, now):
    tastes(ada)
    suggestion = proposed(ada)
    assert propose(ada, boost(ada)).code == "duplicate_pending"
    Suggestion.objects.update(status="draft")
    assert propose(ada, boost(ada)).code == "on_cooldown"
    assert propose(ada, boost(ada), now + timedelta(days=9)).code == "on_cooldown"
    Suggestion.objects.filter(pk=suggestion.pk).update(status="rejected", resolved_at=now + timedelta(days=5))
    assert propose(ada, boost(ada), now + timedelta(days=11)).code == "on_cooldown"
    assert isinstance(propose(ada, boost(ada), now + timedelta(days=16)), Proposed)


def test_a_run_writes_two_of_a_kind_at_most(ada):
    tastes(ada)
    run = uuid4()
    draft = reduce(ada)
    assert isinstance(propose(ada, boost(ada), run_id=run), Proposed)
    assert isinstance(propose(ada, draft, run_id=run), Proposed)
    assert propose(ada, boost(ada, source=PLAIN), run_id=run).code == "run_cap"


def test_a_lost_fence_leaves_nothing_behind(ada):
    tastes(ada)

    def lost() -> None:
        raise FenceLost

    with pytest.raises(FenceLost):
        propose(ada, boost(ada), fence=lost)
    assert not Suggestion.objects.exists()
    assert not Evidence.objects.exists()


def test_another_broken_constraint_is_no_duplicate(ada):
    tastes(ada)
    with pytest.raises(IntegrityError, match="username"):
        propose(ada, boost(ada), fence=lambda: ReaderFactory(username="ada", id=uuid4()))
    assert not Suggestion.objects.exists()


def test_a_twin_that_lands_in_between_is_seen_before_the_write(ada):
    tastes(ada)
    # The fence runs inside the transaction, so what it writes is what another worker committed just before.
    twin = boost(ada, "1.1")
    answer = propose(ada, boost(ada), fence=lambda: propose(ada, twin))
    assert isinstance(answer, Refusal)
    assert answer.code == "duplicate_pending"
    assert Suggestion.objects.get().suggested_value == "1.1"


def test_the_queries_do_not_grow_with_the_thumbs(ada, ben, django_assert_max_num_queries, now):
    tastes(ada)
    with django_assert_max_num_queries(37):
        proposed(ada)
    tastes(ben)
    for n in range(200):
        rate(ben, LOVED, f"More {n}", True, now - timedelta(hours=n))
    with django_assert_max_num_queries(37):
        proposed(ben)
    assert config_effective(reader_id=ben.pk).weights() == {}
