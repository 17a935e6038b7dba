"""A check by headlines: blind, counted once as thumbs, and the suggestion moves or withdraws itself."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from digest.feedback.services import feedback_set
from digest.models import Exposure, Feedback, Item
from suggestions.models import Outcome, Suggestion, UntakenVerdict
from suggestions.outcomes.check import _ratings
from suggestions.outcomes.untaken import untaken_due
from suggestions.planner.checking import ABOUT_MIN, headlines_choose, says_a_name
from suggestions.proposals import Refusal
from suggestions.selectors import targets_decided
from suggestions.services.checks import (
    Checked,
    suggestion_check,
    suggestion_check_begin,
    suggestions_checkable,
)
from suggestions.services.resolve import suggestion_accept, suggestion_reject
from tests.support.factories import CLOCK, FeedFactory, ReaderFactory, SourceFactory, SubscriptionFactory
from tests.support.suggestion_worlds import (
    HATED,
    LOVED,
    SOURCES,
    add_topic,
    boost,
    proposed,
    rate_all,
    reduce,
    tastes,
    unread,
)

pytestmark = pytest.mark.django_db


def thumbs_weak(reader) -> None:
    """Store 64 thumbs that lean clearly towards one source and away from another, and could be undone."""
    liked = {LOVED: 12, HATED: 3}
    for key in SOURCES:
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    rate_all(
        reader,
        [
            (key, f"Plain day w{place}{n}", n < liked.get(key, 8), CLOCK - timedelta(days=n + 1, hours=place))
            for place, key in enumerate(SOURCES)
            for n in range(16)
        ],
    )
    unread()


def begin(reader, suggestion: Suggestion):
    found = suggestion_check_begin(reader=reader, suggestion_id=suggestion.pk, now=CLOCK)
    assert not isinstance(found, Refusal), found
    return found.headlines


def sources(headlines) -> list[str]:
    return list(
        Item.objects.filter(pk__in=[one.item_id for one in headlines]).values_list("source_id", flat=True)
    )


def answered(reader, suggestion: Suggestion, *, about: bool, else_: bool = False) -> Checked | Refusal:
    """Answer all headlines, those of the target's source with `about`."""
    ids = [one.item_id for one in begin(reader, suggestion)]
    mine = set(Item.objects.filter(pk__in=ids, source_id=suggestion.target_key).values_list("pk", flat=True))
    answers = {pk: about if pk in mine else else_ for pk in ids}
    return suggestion_check(reader=reader, suggestion_id=suggestion.pk, answers=answers, now=CLOCK)


def test_eight_headlines_six_of_the_target_without_source_and_the_same_when_asked_again(ada):
    tastes(ada)
    suggestion = proposed(ada)
    headlines = begin(ada, suggestion)
    assert len(headlines) == len({one.item_id for one in headlines}) == 8
    assert sources(headlines).count(LOVED) == 6
    assert begin(ada, suggestion) == headlines
    assert not hasattr(headlines[0], "source")
    assert not Feedback.objects.filter(item__in=[one.item_id for one in headlines]).exists()


def test_a_topic_is_checked_by_titles_that_say_it(ada):
    tastes(ada, topic="Chess")
    suggestion = proposed(ada, add_topic(ada, "Chess"))
    headlines = begin(ada, suggestion)
    assert sum("Chess" in one.title for one in headlines) == 6


def test_the_headlines_of_a_source_mirror_its_subjects(ada):
    """Of twelve headlines eight are about one thing and four about another; four and two are asked."""
    tastes(ada)
    words = ["Chess"] * 8 + ["Bread"] * 4
    for source in (LOVED, HATED):
        unrated = Item.objects.filter(source_id=source, feedback=None).order_by("pk")
        for item, word in zip(unrated, words, strict=True):
            Item.objects.filter(pk=item.pk).update(title=f"{word} {item.pk}")
    suggestion = proposed(ada)
    for _ in range(5):
        headlines = begin(ada, suggestion)
        mine = [one.title for one in headlines if sources([one]) == [LOVED]]
        assert Counter(title.split()[0] for title in mine) == {"Chess": 4, "Bread": 2}
        Suggestion.objects.filter(pk=suggestion.pk).delete()
        suggestion = proposed(ada)


def test_the_headlines_of_a_topic_mirror_its_sources():
    about = {n: "ab"[n >= 9] for n in range(12)}
    for seed in range(20):
        chosen = [pk for pk in headlines_choose(about, [20, 21], seed=str(seed)) if pk in about]
        assert len(chosen) == len(set(chosen)) == 6
        assert Counter(about[pk] for pk in chosen)["b"] in (1, 2), "a quarter of the articles"


def test_a_headline_that_names_its_source_is_not_asked(ada):
    tastes(ada)
    Item.objects.filter(source_id=LOVED, feedback=None).update(title="LOVED: a plain day")
    suggestion = proposed(ada)
    found = suggestion_check_begin(reader=ada, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(found, Refusal) and found.code == "too_few_headlines"
    assert not suggestions_checkable(reader=ada, suggestions=[suggestion], now=CLOCK)


@pytest.mark.parametrize(
    ("title", "names", "tells"),
    [
        ("Ars Technica tests a kettle", ["Ars Technica - All content", "arstechnica"], True),
        ("The world tonight", ["Le Monde", "lemonde"], False),
        ("Sometimes it rains", ["TIME", "time"], False),
        ("A TIME special", ["TIME", "time"], True),
        ("Nothing named", ["", ""], False),
    ],
)
def test_a_headline_names_its_source_by_title_or_host(title: str, names: list[str], tells: bool):
    assert says_a_name(title, names) is tells


@pytest.mark.parametrize("agrees", [True, False])
@pytest.mark.parametrize("world", [thumbs_weak, tastes])
@pytest.mark.parametrize("draft", [boost, reduce])
def test_a_check_that_ends_early_leads_where_all_eight_answers_lead(ada, world, draft, agrees):
    world(ada)
    suggestion = proposed(ada, draft(ada))
    useful = suggestion.change.kind.liked is agrees
    headlines = [one.item_id for one in begin(ada, suggestion)]
    own = dict(Item.objects.filter(pk__in=headlines).values_list("pk", "source_id"))
    given: dict[int, bool] = {}
    for pk in headlines:
        given[pk] = useful is (own[pk] == suggestion.target_key)
        with transaction.atomic():
            early = suggestion_check(
                reader=ada, suggestion_id=suggestion.pk, answers=given, skipped=(), now=CLOCK
            )
            transaction.set_rollback(True)
        if isinstance(early, Checked):
            break
        assert early.code == "undecided"
    whole = answered(ada, suggestion, about=useful, else_=not useful)
    assert isinstance(early, Checked) and isinstance(whole, Checked)
    assert early.is_withdrawn is whole.is_withdrawn is not agrees
    if agrees:
        assert early.rated == ABOUT_MIN
    elif world is tastes:
        assert early.rated == whole.rated, "an answer for it would have kept it"


@pytest.mark.parametrize("draft", [boost, reduce])
def test_answers_that_agree_make_it_surer_and_are_thumbs_of_their_own_kind(ada, draft):
    thumbs_weak(ada)
    suggestion = proposed(ada, draft(ada))
    before = suggestion.p_helpful
    done = answered(ada, suggestion, about=draft is boost, else_=draft is not boost)
    assert isinstance(done, Checked) and done.status == "pending" and done.rated == 6
    assert done.liked == (6 if draft is boost else 0)
    suggestion.refresh_from_db()
    assert suggestion.p_helpful == pytest.approx(done.after) and done.after > before
    assert suggestion.forecast["p_helpful"] == round(done.after, 3)
    assert suggestion.checked["liked"] == done.liked
    given = Feedback.objects.filter(origin="check")
    assert given.count() == 8
    assert not Exposure.objects.filter(item__feedback__in=given).exists()
    assert not Outcome.objects.exists()


def test_answers_that_disagree_withdraw_it_and_that_is_no_answer_of_the_readers(ada):
    thumbs_weak(ada)
    suggestion = proposed(ada)
    done = answered(ada, suggestion, about=False, else_=True)
    assert isinstance(done, Checked) and done.is_withdrawn and done.after < done.before
    suggestion.refresh_from_db()
    assert (suggestion.status, suggestion.resolved_at) == ("withdrawn", CLOCK)
    outcome = Outcome.objects.get()
    assert (outcome.kind, outcome.outcome, outcome.config_after) == ("decision", "withdrawn", None)
    late = suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(late, Refusal) and late.code == "already_resolved"
    ada.preference_profile.refresh_from_db()
    assert not ada.preference_profile.acceptance_stats


def test_what_a_check_withdrew_waits_for_new_ratings_as_after_a_no(ada):
    thumbs_weak(ada)
    suggestion = proposed(ada)
    answered(ada, suggestion, about=False, else_=True)
    target = ("source_weights", suggestion.target_key)
    assert targets_decided(reader_id=ada.pk) == {target: (CLOCK, False)}


def test_what_a_check_withdrew_is_judged_two_weeks_later_as_the_road_not_taken(ada):
    thumbs_weak(ada)
    suggestion = proposed(ada)
    answered(ada, suggestion, about=False, else_=True)
    assert not untaken_due(now=CLOCK + timedelta(days=13)).exists()
    assert untaken_due(now=CLOCK + timedelta(days=15)).get().suggestion_id == suggestion.pk
    assert not UntakenVerdict.objects.exists()


def test_answers_to_a_check_are_not_among_the_thumbs_that_judge_a_change(ada):
    thumbs_weak(ada)
    suggestion = proposed(ada)
    window = ([ada.pk], CLOCK - timedelta(days=90), CLOCK + timedelta(days=1), False)
    before = len(_ratings(*window)[ada.pk])
    answered(ada, suggestion, about=True)
    assert len(_ratings(*window)[ada.pk]) == before


def test_a_reviewers_doubt_stays(ada):
    thumbs_weak(ada)
    suggestion = proposed(ada)
    stated = suggestion.p_helpful
    Suggestion.objects.filter(pk=suggestion.pk).update(p_helpful=0.55)
    done = answered(ada, suggestion, about=True)
    assert isinstance(done, Checked) and done.before == 0.55
    assert 0.55 < done.after < stated + (done.after - done.before)


def test_too_few_answers_are_said_and_store_nothing(ada):
    tastes(ada)
    suggestion = proposed(ada)
    headlines = begin(ada, suggestion)
    own = [one.item_id for one in headlines if sources([one]) == [LOVED]]
    done = suggestion_check(
        reader=ada, suggestion_id=suggestion.pk, answers=dict.fromkeys(own[:3], True), now=CLOCK
    )
    assert isinstance(done, Refusal) and done.code == "too_few_answers"
    suggestion.refresh_from_db()
    assert suggestion.checked is None and not Feedback.objects.filter(origin="check").exists()


def test_a_suggestion_is_checked_once_and_only_while_it_waits(ada):
    thumbs_weak(ada)
    suggestion = proposed(ada)
    answered(ada, suggestion, about=True)
    again = suggestion_check_begin(reader=ada, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(again, Refusal) and again.code == "already_checked"
    suggestion_reject(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    again = suggestion_check(reader=ada, suggestion_id=suggestion.pk, answers={}, now=CLOCK)
    assert isinstance(again, Refusal) and again.code == "already_resolved"


def test_nobody_checks_somebody_elses_suggestion_nor_with_somebody_elses_articles(ada):
    ben = ReaderFactory(username="ben")
    thumbs_weak(ada)
    suggestion = proposed(ada)
    found = suggestion_check_begin(reader=ben, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(found, Refusal) and found.code == "not_found"
    strange = {pk: True for pk in range(10**6, 10**6 + 8)}
    done = suggestion_check(reader=ada, suggestion_id=suggestion.pk, answers=strange, now=CLOCK)
    assert isinstance(done, Refusal) and done.code == "too_few_answers"


def test_kinds_with_a_rule_of_their_own_are_not_checked_by_headlines(ada):
    tastes(ada)
    suggestion = proposed(ada)
    Suggestion.objects.filter(pk=suggestion.pk).update(
        suggestion_type="never_miss", field="never_missed", suggested_value="yes"
    )
    suggestion.refresh_from_db()
    found = suggestion_check_begin(reader=ada, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(found, Refusal) and found.code == "not_checkable"


def test_an_article_rated_meanwhile_keeps_its_thumb(ada):
    tastes(ada)
    suggestion = proposed(ada)
    first = begin(ada, suggestion)[0].item_id
    feedback_set(reader=ada, item_id=first, useful=False, now=timezone.now())
    ids = [one.item_id for one in begin(ada, suggestion)]
    assert first not in ids
    suggestion_check(
        reader=ada, suggestion_id=suggestion.pk, answers={first: True, **dict.fromkeys(ids, True)}, now=CLOCK
    )
    kept = Feedback.objects.get(item=first)
    assert (kept.useful, kept.origin) == (False, "reading")
