"""Two weeks after an accepted change, the reader hears whether it helped, as far as anyone can know."""

import io
import json
from datetime import timedelta

import numpy as np
import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from digest.daily.services import digest_build
from digest.models import Feedback, Impression
from ranking.config_body import body_effective
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.changes.registry import KINDS
from suggestions.models import Outcome, PreferenceProfile
from suggestions.outcomes.check import effects_check
from suggestions.outcomes.effects import (
    EffectCase,
    Exposure,
    RankedItem,
    Tally,
    effect_measure,
    exposure_of,
)
from suggestions.outcomes.selectors import effects_harmful, outcomes_search
from suggestions.proposals import Resolved
from suggestions.services.resolve import suggestion_accept, suggestion_revert
from tests.lab.memory.readers import START, life_begin, life_go_on, sources_make
from tests.support.accepts import source_weight_set
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import (
    LOVED,
    OTHER,
    PLAIN,
    add_topic,
    boost,
    proposed,
    rate,
    reduce,
    tastes,
    unread,
)

DUE = CLOCK + timedelta(days=14)


# --- The arithmetic ---------------------------------------------------------------------------------------


MORE, LESS = Exposure(0.2, 0.3), Exposure(0.3, 0.2)


def case(
    after: tuple[int, int],
    *,
    before: tuple[int, int] = (10, 20),
    rest: tuple[int, int] = (20, 40),
    exposure: Exposure | None = MORE,
    kind: str = "boost_source",
    **more: bool,
) -> EffectCase:
    return EffectCase(
        KINDS[kind], "Gazette", Tally(*before), Tally(20, 40), Tally(*after), Tally(*rest), exposure, **more
    )


def verdict(*args, **more) -> str:
    return effect_measure(case(*args, **more), seed=1).verdict


@pytest.mark.parametrize(
    ("liked", "exposure", "expected"),
    [
        ((18, 20), MORE, "helped"),
        ((3, 20), MORE, "harmed"),
        ((10, 20), MORE, "unclear"),
        ((18, 20), LESS, "harmed"),
        ((3, 20), LESS, "helped"),
        ((10, 20), LESS, "unclear"),
    ],
)
def test_more_of_what_is_liked_helps_and_less_of_it_harms(liked, exposure, expected):
    assert verdict(liked, exposure=exposure) == expected


def test_a_few_thumbs_settle_nothing():
    assert verdict((3, 3)) == "unclear"
    assert verdict((0, 3)) == "unclear"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (case((2, 2)), "too_few_thumbs"),
        (case((9, 10), rest=(2, 4)), "too_few_elsewhere"),
        (case((9, 10), changed_again=True), "changed_again"),
        (case((9, 10), exposure=Exposure(0.2, 0.2049)), "digest_not_moved"),
        (case((9, 10), before=(1, 2), exposure=None), "too_few_thumbs"),
        (case((10, 20)), "within_chance"),
    ],
)
def test_what_is_unclear_says_why(made, reason):
    effect = effect_measure(made, seed=1)
    assert (effect.verdict, effect.measured["reason"]) == ("unclear", reason)
    assert effect.measured["words"]


def test_without_digests_the_shares_of_thumbs_stand_in():
    worse = effect_measure(case((4, 30), before=(16, 20), exposure=None), seed=1)
    better = effect_measure(case((28, 30), before=(10, 20), exposure=None), seed=1)
    assert (worse.verdict, better.verdict) == ("harmed", "helped")
    assert worse.measured["basis"] == "thumbs"


def test_the_same_case_gets_the_same_answer_and_figures_that_can_be_stored():
    one, two = (effect_measure(case((13, 20)), seed=7) for _ in range(2))
    assert one == two
    assert json.loads(json.dumps(one.measured)) == one.measured
    assert one.measured["low"] < one.measured["effect"] < one.measured["high"]


def test_the_words_say_what_was_compared():
    words = effect_measure(case((18, 20)), seed=1).measured["words"]
    assert words == (
        "Since then you liked 18 of 20 articles from Gazette, against 20 of 40 elsewhere. "
        "They took 30% of your digest instead of 20%."
    )
    assert " about Gazette" in effect_measure(case((18, 20), kind="add_topic"), seed=1).measured["words"]


def test_exposure_counts_attention_by_rank():
    first = [RankedItem(3.0, 1.0, True), RankedItem(2.0, 2.0, False)]
    found = exposure_of([first, []])
    attention = 1 / np.log2([2, 3])
    assert found.with_ == pytest.approx(attention[0] / attention.sum())
    assert found.without == pytest.approx(attention[1] / attention.sum())
    assert exposure_of([[]]) is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("boost_source", 2.0), ("reduce_source", 2.0), ("add_topic", 1.3), ("remove_topic", 3.9)],
)
def test_the_score_at_the_old_setting(kind, expected):
    assert KINDS[kind].rescore(2.6, 2.0, 1 / 1.3, made=False) == pytest.approx(expected)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.booleans())
def test_any_counts_make_a_verdict(likes, dislikes, rest_likes, rest_dislikes, digests):
    made = case(
        (likes, likes + dislikes),
        rest=(rest_likes, rest_likes + rest_dislikes),
        exposure=Exposure(0.0, 0.9) if digests else None,
    )
    effect = effect_measure(made, seed=0)
    chance = effect.measured.get("p_helped")
    assert chance is None or 0 <= chance <= 1
    assert effect.verdict in {"helped", "harmed", "unclear"}


# --- The check, on the real services ------------------------------------------------------------------------


def lived(reader, suggestion, *, loved: float, days: int = 14) -> None:
    """Accept, then two weeks of a digest a day and four thumbs: the loved source is liked at rate `loved`."""
    done = suggestion_accept(reader_id=reader.pk, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(done, Resolved), done
    for day in range(days):
        at = CLOCK + timedelta(days=day, hours=6)
        useful = int((day + 1) * loved) > int(day * loved)
        for minutes, (key, up) in enumerate([(LOVED, useful), (PLAIN, day % 2 == 0), (OTHER, day % 2 == 1)]):
            rate(reader, key, f"Later {day}", up, at + timedelta(minutes=minutes))
        unread(each=4, at=at)
        digest_build(reader=reader, date=at.date(), now=at + timedelta(hours=1))


@pytest.mark.django_db
@pytest.mark.parametrize(("loved", "expected"), [(0.05, "harmed"), (1.0, "helped"), (0.5, "unclear")])
def test_a_boost_is_judged_by_how_its_source_was_liked_since(ada, loved, expected):
    tastes(ada)
    suggestion = proposed(ada)
    lived(ada, suggestion, loved=loved)
    report = effects_check(now=DUE)
    assert (report["checked"], report[expected]) == (1, 1)
    row = Outcome.objects.get(kind="effect")
    assert (row.outcome, row.suggestion_id, row.reader_id) == (expected, suggestion.pk, ada.pk)
    assert row.measured["basis"] == "digests"
    assert row.measured["exposure"]["with"] > row.measured["exposure"]["without"]


@pytest.mark.django_db
def test_answers_to_our_own_questions_say_nothing_of_what_was_shown(ada):
    tastes(ada)
    suggestion = proposed(ada)
    lived(ada, suggestion, loved=0.05)
    Feedback.objects.filter(at__gt=CLOCK).update(origin="interview")
    effects_check(now=DUE)
    assert Outcome.objects.get(kind="effect").measured["reason"] == "too_few_thumbs"


def harmful(reader):
    return effects_harmful(reader_id=reader.pk, effective=config_effective(reader_id=reader.pk))


@pytest.mark.django_db
def test_what_the_reader_set_back_by_hand_needs_no_putting_back(ada):
    tastes(ada)
    suggestion = proposed(ada)
    lived(ada, suggestion, loved=0.05)
    effects_check(now=DUE)
    before = body_effective(suggestion.outcomes.get(kind="decision").config_before)
    weight = before.weight(suggestion.target_key)
    source_weight_set(reader_id=ada.pk, source=suggestion.target_key, weight=weight, ref="", now=DUE)
    assert harmful(ada) == []


@pytest.mark.django_db
def test_a_harmful_change_is_shown_to_reader_and_agent_and_put_back_with_one_click(ada, ben):
    tastes(ada)
    suggestion = proposed(ada)
    lived(ada, suggestion, loved=0.05)
    effects_check(now=DUE)
    (notice,) = harmful(ada)
    assert notice.suggestion_id == suggestion.pk
    assert "you liked 0 of 14 articles" in notice.details
    assert "likely that it helped" in notice.figures and notice.words and notice.teaches
    assert outcomes_search(reader_id=ada.pk, now=DUE)[0]["effect"] == "harmed"
    assert PreferenceProfile.objects.get().acceptance_stats["boost_source"]["harmed"] == 1
    assert harmful(ben) == []

    done = suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=DUE)
    assert isinstance(done, Resolved)
    assert harmful(ada) == []
    assert suggestion.outcomes.get(kind="effect").outcome == "harmed"
    line = outcomes_search(reader_id=ada.pk, now=DUE)[0]
    assert (line["effect"], line["reverted"]) == ("harmed", True)
    assert PreferenceProfile.objects.get().acceptance_stats["boost_source"]["reverted"] == 1


@pytest.mark.django_db
def test_a_change_is_checked_once_after_two_weeks_and_not_before(ada):
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    assert effects_check(now=DUE - timedelta(seconds=1))["due"] == 0
    assert effects_check(now=DUE)["checked"] == 1
    assert effects_check(now=DUE + timedelta(days=30))["due"] == 0
    assert Outcome.objects.get(kind="effect").measured["reason"] == "too_few_thumbs"


@pytest.mark.django_db
def test_what_was_rejected_or_put_back_gets_no_effect(ada):
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK + timedelta(days=3))
    assert effects_check(now=DUE)["due"] == 0


@pytest.mark.django_db
def test_a_setting_changed_again_cannot_be_judged(ada):
    tastes(ada)
    suggestion = proposed(ada)
    lived(ada, suggestion, loved=1.0)
    edit = ConfigEdit(source_weights={LOVED: 0.9})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=1, now=CLOCK + timedelta(days=5))
    effects_check(now=DUE)
    assert Outcome.objects.get(kind="effect").measured["reason"] == "changed_again"


@pytest.mark.django_db
def test_a_topic_is_judged_by_the_items_that_name_it(ada):
    tastes(ada, topic="Harbour")
    suggestion = proposed(ada, add_topic(ada, "Harbour"))
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    for day in range(14):
        at = CLOCK + timedelta(days=day, hours=6)
        rate(ada, PLAIN, f"Harbour in focus {day}", False, at - timedelta(hours=3))
        rate(ada, OTHER, f"Plain later {day}", day % 2 == 0, at)
        unread("Harbour", each=4, at=at)
        digest_build(reader=ada, date=at.date(), now=at + timedelta(hours=1))
    effects_check(now=DUE)
    row = Outcome.objects.get(kind="effect")
    assert row.measured["scope_after"] == [0, 14]
    assert (row.outcome, row.measured["basis"]) == ("harmed", "digests")


@pytest.mark.django_db
def test_other_changes_of_the_same_weeks_are_no_part_of_the_comparison(ada):
    tastes(ada)
    first, second = proposed(ada), proposed(ada, reduce(ada))
    for suggestion in (first, second):
        suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    effects_check(now=DUE)
    for row in Outcome.objects.filter(kind="effect"):
        # Two weeks hold ten or eleven thumbs on each of the four sources; two of them are the rest.
        assert row.measured["rest_before"][1] == 2 * row.measured["scope_before"][1]


@pytest.mark.django_db
def test_a_batch_costs_the_same_queries_for_one_change_as_for_many(
    ada, ben, django_assert_num_queries, django_assert_max_num_queries
):
    def accepted(reader):
        tastes(reader)
        for draft in (boost(reader), reduce(reader)):
            suggestion = proposed(reader, draft)
            suggestion_accept(reader_id=reader.pk, suggestion_id=suggestion.pk, now=CLOCK)

    accepted(ada)
    with django_assert_max_num_queries(24) as counted:
        assert effects_check(now=DUE)["checked"] == 2
    once = len(counted)
    Outcome.objects.filter(kind="effect").delete()
    accepted(ben)
    with django_assert_num_queries(once):
        assert effects_check(now=DUE)["checked"] == 4


@pytest.mark.django_db(transaction=True)
def test_two_checks_and_a_revert_at_once_leave_one_effect_or_one_revert_of_it(ada, tmp_path):
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        answers = at_once(
            lambda n: (
                suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=DUE)
                if n == 0
                else effects_check(now=DUE)["checked"]
            )
        )
        kinds = seen_by_writers(lambda: sorted(Outcome.objects.values_list("kind", flat=True)))
    assert isinstance(answers[0], Resolved)
    checked = sum(answers[1:])
    assert checked in (0, 1)
    assert kinds == ["decision", *["effect"] * checked, "revert"]


@pytest.mark.django_db
def test_the_command_reports_one_json_object(ada):
    tastes(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=proposed(ada).pk, now=CLOCK)
    out = io.StringIO()
    call_command("check_outcomes", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert {"due", "checked", "helped", "harmed", "unclear", "effects", "seconds"} <= set(report)
    assert report["checked"] == 1
    call_command("check_outcomes", stdout=out)
    assert "No change that was accepted two weeks ago or more" in out.getvalue()


@pytest.mark.alike
@pytest.mark.django_db
def test_simulated_readers_of_known_truth_are_told_right_from_wrong():
    """A few lives with many thumbs; `tests.lab memory` measures the power over forty readers of each kind."""
    rng = np.random.default_rng(3)
    sources, truth = sources_make(), {}
    for kind in ("helpful", "harmful"):
        life = life_begin(kind, 0, sources, 8.0, rng)
        life_go_on(life, sources, 8.0, rng)
        truth[life.suggestion.pk] = kind
    assert Impression.objects.exists()
    report = effects_check(now=START + timedelta(days=14))
    verdicts = {truth[row["suggestion_id"]]: row["outcome"] for row in report["effects"]}
    assert verdicts == {"helpful": "helped", "harmful": "harmed"}


@pytest.mark.django_db
def test_readers_without_digests_are_judged_by_their_thumbs(ada):
    tastes(ada)
    suggestion = proposed(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    for day in range(14):
        at = CLOCK + timedelta(days=day, hours=6)
        for n in range(3):
            rate(ada, LOVED, f"Later {day}{n}", False, at + timedelta(minutes=n))
            rate(ada, OTHER, f"Later {day}{n}", n % 2 == 0, at + timedelta(minutes=n))
    effects_check(now=DUE)
    row = Outcome.objects.get(kind="effect")
    assert (row.outcome, row.measured["basis"]) == ("harmed", "thumbs")
