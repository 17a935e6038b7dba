"""Hypotheses: chosen by earlier thumbs, measured on later ones, silent if there is nothing to propose."""

from datetime import timedelta
from uuid import uuid4

import pytest

from digest.models import Feedback, Reader
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, target_pin
from suggestions.changes.columns import SOURCES
from suggestions.changes.tastes import PAGE
from suggestions.models import Outcome, Suggestion
from suggestions.planner.evidence import WeighedChange, change_weigh, evidence_for, hypotheses_for
from suggestions.planner.forecasts import split_by_time
from suggestions.planner.hypotheses import HELPS_MIN, NEW_AFTER_NO
from suggestions.proposals import Draft, Proposed
from suggestions.services.resolve import suggestion_accept, suggestion_reject
from tests.support.community import source_figures
from tests.support.factories import CLOCK
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
    thumb,
    unread,
)

TOPIC = "Harbour"


def draft_of(hypothesis: WeighedChange) -> Draft:
    """Return the draft that proposes a hypothesis as it is."""
    change, urls = hypothesis.change, hypothesis.change.evidence_urls
    return Draft(change.suggestion_type, change.target, change.suggested_value, urls, "")


def targets(report) -> set[tuple[str, str]]:
    return {(h.change.suggestion_type, h.change.target) for h in report.hypotheses}


def without_order(reader: Reader, now) -> None:
    """The reader wants no order of the page by thumbs suggested: these tests are about targets."""
    target_pin(reader_id=reader.pk, target=PAGE, pin="avoided", ref="", now=now)


def leans_of(reader: Reader, now) -> dict[str, float]:
    evidence = evidence_for(reader_id=reader.pk, effective=config_effective(reader_id=reader.pk), now=now)
    return {
        source: evidence.overall_tastes[evidence.attributes.index(SOURCES, source)].lean
        for source in evidence.attributes.sources
    }


@pytest.mark.django_db
def test_clear_tastes_become_hypotheses_that_pass_the_rules_as_they_are(ada, now):
    tastes(ada)
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert targets(report) & {("boost_source", LOVED), ("reduce_source", HATED)}
    assert all(h.p_helpful >= HELPS_MIN for h in report.hypotheses)
    assert report.considered >= 4
    for h in report.hypotheses:
        draft = Draft(
            h.change.suggestion_type,
            h.change.target,
            h.change.suggested_value,
            h.change.evidence_urls,
            "",
        )
        answer = propose(ada, draft, now)
        assert isinstance(answer, Proposed), (h, answer)
        assert answer.notes == ()


@pytest.mark.django_db
def test_the_choice_rests_on_the_choosing_thumbs_alone(ada, now):
    tastes(ada)
    without_order(ada, now)
    before = hypotheses_for(reader_id=ada.pk, now=now)
    split = split_by_time([t for t in _rated(ada)])
    apart = [item.item_id for item in split.holdout if item.source in (PLAIN, OTHER)]
    Feedback.objects.filter(item_id__in=apart).update(useful=False)
    after = hypotheses_for(reader_id=ada.pk, now=now)
    assert targets(after) <= targets(before) and after.hypotheses
    chosen = {(h.change.kind, h.change.target): h.p_helpful for h in before.hypotheses}
    measured = [h for h in after.hypotheses if h.change.kind.is_measured]
    assert all(h.p_helpful == pytest.approx(chosen[h.change.kind, h.change.target]) for h in measured)
    assert {h.forecast.gain for h in after.hypotheses} != {h.forecast.gain for h in before.hypotheses}


@pytest.mark.django_db
def test_thumbs_kept_apart_that_say_the_opposite_drop_a_hypothesis_and_it_is_counted(ada, now):
    tastes(ada)
    for item in split_by_time(_rated(ada)).holdout:
        Feedback.objects.filter(item_id=item.item_id).update(useful=item.source not in (LOVED, PLAIN))
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert ("boost_source", LOVED) not in targets(report)
    assert report.dropped >= 1


@pytest.mark.django_db
def test_what_others_think_of_a_source_counts_for_a_reader_who_shares_and_for_no_other(ada, ben, now):
    for reader in (ada, ben):
        tastes(reader)
    Reader.objects.filter(pk=ben.pk).update(peers_enabled=False)
    alone = leans_of(ada, now)
    source_figures(now, {LOVED: (60, 100), HATED: (70, 100), "": (500, 1000)})
    assert leans_of(ben, now) == alone
    together = leans_of(ada, now)
    assert together[LOVED] > alone[LOVED] > 0 > together[HATED] > alone[HATED]
    rest = [source for source in alone if source not in (LOVED, HATED)]
    assert all(together[source] == alone[source] for source in rest)


@pytest.mark.django_db
def test_of_two_changes_that_ask_one_thing_the_better_one_is_kept(ada, now):
    """Ada likes all of one source and nothing of the other: more of one is less of the other."""
    without_order(ada, now)
    for n in range(40):
        at = now - timedelta(days=n / 2, minutes=5)
        rate(ada, LOVED, f"Plain day {n}", True, at)
        rate(ada, HATED, f"Plain day {n}", False, at)
    unread()
    (only,) = hypotheses_for(reader_id=ada.pk, now=now).hypotheses
    assert isinstance(propose(ada, draft_of(only), now), Proposed)
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert (report.hypotheses, report.silence) == ((), "all_decided")


@pytest.mark.django_db
def test_pins_pending_and_cooldown_silence_a_target(ada, now):
    tastes(ada)
    without_order(ada, now)
    target_pin(reader_id=ada.pk, target=LOVED, pin="locked", ref="", now=now)
    found = hypotheses_for(reader_id=ada.pk, now=now).hypotheses
    assert found[0].change.target == HATED and LOVED not in {h.change.target for h in found}
    h = found[0]
    propose(
        ada,
        Draft(
            h.change.suggestion_type,
            h.change.target,
            h.change.suggested_value,
            h.change.evidence_urls,
            "",
        ),
        now,
    )
    assert HATED not in {key for _, key in targets(hypotheses_for(reader_id=ada.pk, now=now))}


@pytest.mark.django_db
def test_what_was_rejected_returns_only_with_three_new_thumbs_on_it(ada, now):
    tastes(ada)
    change = ("reduce_source", HATED)
    suggestion_reject(reader_id=ada.pk, suggestion_id=proposed(ada, reduce(ada)).pk, now=now)
    later = now + timedelta(days=15)
    for n in range(NEW_AFTER_NO - 1):
        rate(ada, HATED, f"New day {n}", False, now + timedelta(days=n + 1))
    rate(ada, LOVED, "Somewhere else", True, now + timedelta(days=3))
    assert change not in targets(hypotheses_for(reader_id=ada.pk, now=later))
    rate(ada, HATED, "And another", False, now + timedelta(days=4))
    assert change in targets(hypotheses_for(reader_id=ada.pk, now=later))


@pytest.mark.django_db
def test_what_was_accepted_returns_after_its_cooldown_with_one_new_thumb_on_it(ada, now):
    tastes(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=proposed(ada, reduce(ada)).pk, now=now)
    later = now + timedelta(days=15)
    change = ("reduce_source", HATED)
    rate(ada, LOVED, "Somewhere else", True, now + timedelta(days=3))
    assert change not in targets(hypotheses_for(reader_id=ada.pk, now=later))
    rate(ada, HATED, "Another", False, now + timedelta(days=4))
    assert change in targets(hypotheses_for(reader_id=ada.pk, now=later))


def six_refusals(reader, now, kind="reduce_source") -> None:
    """Six suggestions of a kind that the reader turned down long ago."""
    for n in range(6):
        Suggestion.objects.create(
            reader=reader,
            run_id=uuid4(),
            suggestion_type=kind,
            field="source_weights",
            target_key=f"{kind}{n}.example",
            label=f"Old {n}",
            suggested_value="0.7",
            confidence="high",
            status=Suggestion.Status.REJECTED,
            resolved_at=now - timedelta(days=60),
            created_at=now - timedelta(days=61),
            config_version=0,
            p_helpful=0.9,
        )


@pytest.mark.django_db
def test_six_reductions_turned_down_are_enough_for_the_numbers_and_for_whoever_insists(ada, ben, now):
    for reader in (ada, ben):
        tastes(reader)
        without_order(reader, now)
        target_pin(reader_id=reader.pk, target=LOVED, pin="locked", ref="", now=now)
    six_refusals(ada, now)
    assert ("reduce_source", HATED) in targets(hypotheses_for(reader_id=ben.pk, now=now))
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert (targets(report), report.silence) == (set(), "all_decided")
    assert propose(ada, reduce(ada), now).code == "type_declined"


@pytest.mark.django_db
def test_who_leans_only_to_what_they_always_turn_down_is_told_that(ada, now):
    tastes(ada)
    without_order(ada, now)
    for kind in ("reduce_source", "boost_source", "never_miss"):
        six_refusals(ada, now, kind)
    report = hypotheses_for(reader_id=ada.pk, now=now)
    assert (targets(report), report.silence) == (set(), "types_declined")


@pytest.mark.django_db
def test_what_harmed_before_is_not_offered_again(ada, now):
    tastes(ada)
    suggestion_reject(reader_id=ada.pk, suggestion_id=proposed(ada, reduce(ada)).pk, now=now)
    later = now + timedelta(days=30)
    for n in range(NEW_AFTER_NO):
        rate(ada, HATED, f"New day {n}", False, now + timedelta(days=n + 1))
    assert ("reduce_source", HATED) in targets(hypotheses_for(reader_id=ada.pk, now=later))
    decision = Outcome.objects.get(reader=ada)
    Outcome.objects.create(
        suggestion=decision.suggestion,
        reader=ada,
        kind=Outcome.Kind.EFFECT,
        outcome=Outcome.Result.HARMED,
        suggestion_type="reduce_source",
        target_key=HATED,
        decided_at=now,
        config_before={},
        config_after={},
        created_at=now,
    )
    assert ("reduce_source", HATED) not in targets(hypotheses_for(reader_id=ada.pk, now=later))


@pytest.mark.django_db
def test_the_same_question_gets_the_same_answer(ada, now):
    tastes(ada, topic=TOPIC)
    assert hypotheses_for(reader_id=ada.pk, now=now) == hypotheses_for(reader_id=ada.pk, now=now)


@pytest.mark.django_db
def test_a_draft_is_weighed_with_the_number_its_hypothesis_shows(ada, now):
    tastes(ada)
    for h in hypotheses_for(reader_id=ada.pk, now=now).hypotheses:
        effective = config_effective(reader_id=ada.pk)
        weighed = change_weigh(reader_id=ada.pk, change=h.change, effective=effective, now=now)
        assert weighed.p_helpful == pytest.approx(h.p_helpful)


@pytest.mark.django_db
def test_somebody_elses_decision_silences_nothing(ada, ben, now):
    for reader in (ada, ben):
        tastes(reader)
    suggestion_reject(reader_id=ben.pk, suggestion_id=proposed(ben, boost(ben)).pk, now=now)
    assert ("boost_source", LOVED) in targets(hypotheses_for(reader_id=ada.pk, now=now))


@pytest.mark.django_db
def test_a_source_near_its_target_is_left_alone(ada, now):
    tastes(ada)
    edit = ConfigEdit(source_weights={LOVED: 2.0})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    assert ("boost_source", LOVED) not in targets(hypotheses_for(reader_id=ada.pk, now=now))


@pytest.mark.django_db
def test_a_disliked_topic_of_the_config_may_go(ada, now):
    for n in range(30):
        at = now - timedelta(days=n + 1)
        for key in (PLAIN, OTHER):
            rate(ada, key, f"Crypto again z{n}{key}", False, at)
            rate(ada, key, f"Quiet y{n}{key}", True, at)
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["Crypto"]), expected_version=0, now=now)
    assert ("remove_topic", "crypto") in targets(hypotheses_for(reader_id=ada.pk, now=now))


@pytest.mark.django_db
def test_a_reader_without_thumbs_has_no_hypotheses(ada, now):
    assert hypotheses_for(reader_id=ada.pk, now=now).hypotheses == ()


@pytest.mark.django_db
def test_the_queries_are_few_and_constant(ada, now, django_assert_max_num_queries):
    # Some of them tell whether thumbs foretell each other, for the order of the page by them. Eleven replay
    # the last week, and eleven more the last four for a topic that moved nothing in it. One looks for words.
    with django_assert_max_num_queries(25):
        hypotheses_for(reader_id=ada.pk, now=now)
    tastes(ada, topic=TOPIC)
    with django_assert_max_num_queries(49):
        hypotheses_for(reader_id=ada.pk, now=now)


def _rated(reader):
    rows = Feedback.objects.filter(reader=reader).select_related("item")
    return [
        thumb(
            row.item_id,
            source=row.item.source_id,
            useful=row.useful,
            days_ago=(CLOCK - row.at).total_seconds() / 86400,
        )
        for row in rows
    ]


@pytest.mark.django_db
def test_an_author_who_is_liked_more_than_the_rest_of_their_source_is_proposed_as_a_topic(ada, now):
    for n in range(40):
        item = rate(ada, LOVED, f"Plain day {n}", n % 2 == 0, now - timedelta(days=n / 2, minutes=5))
        item.author = "Ben Low and Olga Rand" if n % 2 == 0 else "Eve Stone"
        item.save(update_fields=["author"])
    rate(ada, PLAIN, "Plain day x", True, now - timedelta(days=1))
    report = hypotheses_for(reader_id=ada.pk, now=now)
    (hypothesis,) = [h for h in report.hypotheses if h.change.target == "ben low"]
    assert (hypothesis.change.suggestion_type, hypothesis.change.suggested_value) == ("add_topic", "Ben Low")
    assert (hypothesis.likes, hypothesis.ratings) == (20, 20)
    draft = Draft("add_topic", None, "Ben Low", hypothesis.change.evidence_urls, "")
    answer = propose(ada, draft, now)
    assert isinstance(answer, Proposed), answer
    made = Suggestion.objects.get(pk=answer.suggestion_id)
    assert made.reason.startswith("You liked 20 of 20 articles by Ben Low")
    assert made.expected_impact == "Articles by Ben Low will rank higher in your digest."
