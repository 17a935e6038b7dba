"""A grounded draft becomes a pending suggestion, nothing else does; unanswered ones settle by themselves."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection
from django.db.models import OuterRef, Subquery

from digest.feeds.ingest import source_get_or_create
from digest.models import Feed, Feedback, Item, Source
from ranking.models import ConfigVersion, RankConfig
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, config_revert
from suggestions.models import Evidence, Outcome, PreferenceProfile, Suggestion
from suggestions.proposals import FenceLost, Proposed, Refusal
from suggestions.sentences import REASON_MAX_CHARS
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import suggestion_accept, suggestion_snooze
from suggestions.waiting import suggestions_wait_until
from tests.support.browser import suggested
from tests.support.community import source_figures
from tests.support.factories import CLOCK, ItemFactory, ReaderFactory
from tests.support.model_words import hostile
from tests.support.suggestion_worlds import (
    HATED,
    LOVED,
    OTHER,
    PLAIN,
    add_topic,
    boost,
    propose,
    proposed,
    rate,
    reduce,
    tastes,
    urls,
    visit,
)

pytestmark = pytest.mark.django_db


def test_a_grounded_draft_becomes_a_pending_suggestion_with_its_evidence(ada, now):
    tastes(ada)
    suggestion = proposed(ada, boost(ada, "1.2", reason="  Two\nlines of it "))
    assert (suggestion.status, suggestion.current_value, suggestion.suggested_value) == (
        "pending",
        "1.0",
        "1.2",
    )
    assert suggestion.label == "Loved"
    assert suggestion.reason == "You liked 30 of 30 articles from Loved, against 30 of 90 elsewhere."
    assert suggestion.model_note == "Two lines of it"
    assert suggestion.confidence in ("medium", "high")
    assert suggestion.evidence.count() == 4
    assert all(row.useful and row.source_key == LOVED for row in suggestion.evidence.all())
    assert suggestion.expected_impact == "Articles from Loved will rank higher in your digest."


def test_the_server_words_the_reason_and_a_draft_that_repeats_it_or_has_none_adds_no_note(ada):
    tastes(ada)
    own = "You liked 30 of 30 articles from Loved, against 30 of 90 elsewhere."
    for reason in ("", own):
        suggestion = proposed(ada, boost(ada, reason=reason))
        assert (suggestion.reason, suggestion.model_note) == (own, "")
        suggestion.delete()


@pytest.mark.alike
def test_a_draft_whose_words_lead_or_ask_a_reader_somewhere_is_refused_and_stores_nothing(ada):
    tastes(ada)
    draft = boost(ada)
    answers = {words: propose(ada, replace(draft, reason=words)) for words in hostile()[::7]}
    assert len(answers) > 70
    for words, answer in answers.items():
        assert (answer.code, answer.target) == ("unsafe_reason", LOVED), words
        assert "leave the reason empty" in answer.message
    assert not Suggestion.objects.exists()


def test_sources_are_named_by_their_titles_in_a_note(ada):
    tastes(ada)
    Source.objects.filter(key=LOVED).update(title="The Quiet Port")
    suggestion = proposed(ada, boost(ada, reason=f"You like {LOVED}, and {LOVED} is never dull."))
    assert suggestion.model_note == "You like The Quiet Port, and The Quiet Port is never dull."


def test_a_note_that_is_too_long_ends_at_its_limit(ada):
    tastes(ada)
    suggestion = proposed(ada, boost(ada, reason="You keep liking it. " * 40))
    assert len(suggestion.model_note) <= REASON_MAX_CHARS
    assert suggestion.model_note.endswith(("it.…", "You…", "keep…", "liking…"))


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


def test_what_others_think_of_its_source_is_kept_with_the_forecast(ada, now):
    tastes(ada)
    assert proposed(ada).forecast["others"] == 0
    Suggestion.objects.all().delete()
    source_figures(now, {LOVED: (60, 100), "": (500, 1000)})
    assert proposed(ada).forecast["others"] > 0


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


def test_what_another_write_asked_meanwhile_is_not_asked_about_again_in_another_form(ada):
    """Only two sources are rated, so that less of one is more of the other."""
    for n in range(30):
        at = CLOCK - timedelta(days=n + 1)
        rate(ada, LOVED, f"Plain day {n}", True, at)
        rate(ada, HATED, f"Plain day {n}", False, at)
    run = uuid4()
    draft = reduce(ada)
    answer = propose(ada, draft, run_id=run, fence=lambda: propose(ada, boost(ada), run_id=run))
    assert (answer.code, answer.target) == ("asked_already", HATED)
    assert propose(ada, draft).code == "asked_already", "nor by another run, while the card waits"
    Suggestion.objects.update(status="rejected")
    assert isinstance(propose(ada, draft), Proposed)


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
    # The fence runs inside the transaction, so it stands for another worker's commit just before.
    twin = boost(ada, "1.1")
    answer = propose(ada, boost(ada), fence=lambda: propose(ada, twin))
    assert isinstance(answer, Refusal)
    assert answer.code == "duplicate_pending"
    assert Suggestion.objects.get().suggested_value == "1.1"


def publish(source: str, now: datetime, *ages_h: float) -> list[Item]:
    feed = Feed.objects.get(source_id=source)
    moments = [now - timedelta(hours=hours) for hours in ages_h]
    return [ItemFactory(source_id=source, feed=feed, published_at=at) for at in moments]


def test_what_would_have_moved_nothing_last_week_is_put_off_until_it_would(ada, now):
    tastes(ada)
    later = now + timedelta(days=16)
    publish(LOVED, later, 2, 4, 6, 8, 10)
    refusal = propose(ada, boost(ada), later)
    assert (refusal.code, refusal.target) == ("moves_nothing", LOVED)
    assert not Suggestion.objects.exists()
    publish(PLAIN, later, 1.5, 3.5, 5.5)
    assert isinstance(propose(ada, boost(ada), later), Proposed)


def test_a_week_with_hardly_any_article_puts_nothing_off(ada, now):
    tastes(ada)
    later = now + timedelta(days=16)
    publish(LOVED, later, 2, 4, 6)
    assert isinstance(propose(ada, boost(ada), later), Proposed)


def test_the_queries_do_not_grow_with_the_thumbs(ada, ben, django_assert_max_num_queries, now):
    tastes(ada)
    with django_assert_max_num_queries(44):
        proposed(ada)
    tastes(ben)
    for n in range(200):
        rate(ben, LOVED, f"More {n}", True, now - timedelta(days=8, hours=n))
    with django_assert_max_num_queries(44):
        proposed(ben)
    assert config_effective(reader_id=ben.pk).weights() == {}


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
    edit(ada, now, source_weights={LOVED: 1.1}, recency_by_day=False)
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
    edit(ada, now, source_weights={LOVED: 1.1}, recency_by_day=False)
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


@pytest.mark.parametrize(
    ("days", "expires"),
    [
        ([*range(14)], 14),
        ([5, *range(6, 25, 6)], 19),
        # Away from the first day, and back after 53 days.
        ([-1, 0, 53, 57, 61], 67),
        ([-1, 53, 59, 65], 67),
        # Away three times: each return starts the 14 days again.
        ([0, 3, 12, 25, 30, 36], 39),
        # A week is an absence, and six days are none.
        ([0, 7, 13, 19], 21),
        ([0, 6, 12], 14),
        # Away in the last days of the two weeks: they had their time.
        ([0, 4, 9], 14),
        ([0], 90),
        ([-3], 90),
        ([0, 80], 90),
    ],
)
def test_its_fourteen_days_are_the_readers_and_ninety_at_most(ada, now, days, expires):
    tastes(ada)
    proposed(ada)
    made = Suggestion.objects.get().created_at
    gone = []
    for day in range(-3, 95):
        if day in days:
            visit(ada, made + timedelta(days=day))
        gone += [day] * suggestions_sweep(now=made + timedelta(days=day))["expired"]
    assert gone == [expires]


def test_the_end_that_a_card_says_is_the_end_that_the_sweep_keeps(ada, now):
    tastes(ada)
    proposed(ada)
    rows = Suggestion.objects.all()
    made = rows.get().created_at
    for day in (0, 30):
        visit(ada, made + timedelta(days=day))
    back = made + timedelta(days=30)
    assert [*suggestions_wait_until(rows=rows, now=back).values()] == [back + timedelta(days=14)]
    visit(ada, back + timedelta(days=6))
    visit(ada, back + timedelta(days=12))
    assert suggestions_sweep(now=back + timedelta(days=14, seconds=-1)) == NOTHING
    assert suggestions_sweep(now=back + timedelta(days=14))["expired"] == 1


def test_what_waits_of_many_readers_is_two_queries(ada, ben, now, django_assert_num_queries):
    for reader in (ada, ben):
        tastes(reader)
        proposed(reader)
        visit(reader, now)
    with django_assert_num_queries(2):
        assert len(suggestions_wait_until(rows=Suggestion.objects.all(), now=now)) == 2


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite tells how many steps a query takes")
def test_each_showing_is_read_once_however_many_suggestions_wait(ada, now):
    """A hundred suggestions of a reader of 400 articles a day took ten seconds, on each page about them."""
    for hour in range(400):
        visit(ada, now - timedelta(hours=hour))
    proposed_at = now - timedelta(days=18)
    steps = []
    for count in (1, 50):
        while Suggestion.objects.count() < count:
            suggested(ada, 0, field="topics", target_key=f"lamp {uuid4()}", created_at=proposed_at)
        taken: list[int] = []
        connection.connection.set_progress_handler(lambda taken=taken: taken.append(1), 100)
        assert len(suggestions_wait_until(rows=Suggestion.objects.all(), now=now)) == count
        connection.connection.set_progress_handler(None, 0)
        steps.append(len(taken))
    assert steps[0] > 50 and steps[1] < 2 * steps[0], steps


def test_a_sweep_for_one_reader_touches_nobody_else(ada, ben, now):
    for reader in (ada, ben):
        tastes(reader)
        proposed(reader)
    assert suggestions_sweep(now=now + timedelta(days=20), reader_id=ada.pk)["expired"] == 1
    assert Suggestion.objects.get(reader=ben).status == "pending"
    assert suggestions_sweep(now=now + timedelta(days=20))["expired"] == 1


def test_a_sweep_where_nothing_waits_asks_once(ada, ben, now, django_assert_num_queries):
    tastes(ben)
    proposed(ben)
    with django_assert_num_queries(1):
        assert set(suggestions_sweep(now=now, reader_id=ada.pk).values()) == {0}


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


def test_evidence_has_the_titles_that_were_rated_whatever_publishers_make_of_them(ada):
    tastes(ada)
    Feedback.objects.filter(reader=ada).update(rated_title=Subquery(titles_of_items()))
    Item.objects.update(title="Changed since")
    suggestion = proposed(ada, boost(ada, "1.2"))
    assert all(row.title.startswith("Plain day") for row in suggestion.evidence.all())


def titles_of_items():
    """Return the title of each thumb's item."""
    return Item.objects.filter(pk=OuterRef("item")).values("title")[:1]
