"""The simulated world and its truth: random draws are repeatable, and judgements are fair."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ranking.entities import Config, EffectiveConfig
from ranking.scoring import rank_all
from tests.lab.advisor.arrays import LOOP, ORACLE, course_run
from tests.lab.advisor.controls import backtest_shuffled, popularity_courses
from tests.lab.advisor.rules import RULES, Tallies, capped, change_of, changes_all
from tests.lab.tests.courses import candidates_of
from tests.lab.world.laws import LAWS, PLAIN
from tests.lab.world.people import TOP_K, person_make
from tests.lab.world.truth import chooser_for, judge_for, ndcg
from tests.lab.world.words import SOURCES, SPAM_TOPIC, TOPICS
from tests.lab.world.world import POOL, world_make

WEEKS = 6


@pytest.fixture(scope="module")
def world():
    return world_make(5, WEEKS * 7)


def test_the_same_seed_gives_the_same_world_and_another_seed_another(world):
    again, other = world_make(5, WEEKS * 7), world_make(6, WEEKS * 7)
    assert again.stream.titles == world.stream.titles
    assert other.stream.titles != world.stream.titles


def test_titles_say_what_items_are_about(world):
    for number, topic in enumerate(TOPICS):
        assert world.stream.holds(topic).tolist() == world.stream.topics[:, number].tolist()


def test_held_out_items_are_other_items_than_those_read_or_chosen_by(world):
    assert world.scoring.titles != world.choosing.titles
    assert not set(world.scoring.titles) & set(world.stream.titles)


def test_every_sixth_reader_has_no_preferences(world):
    people = [person_make(world, number) for number in range(12)]
    assert [p.number for p in people if p.null] == [5, 11]
    assert not any(p.taste.sources.any() or p.taste.topics.any() for p in people if p.null)


def test_a_reader_likes_what_their_taste_likes(world):
    person = person_make(world, 0)
    likes = person.likes(world.stream)
    best, worst = int(person.taste.sources.argmax()), int(person.taste.sources.argmin())
    assert likes[world.stream.source == best].mean() > likes[world.stream.source == worst].mean()
    assert person.likes(world.stream, flipped=True)[world.stream.source == best].mean() < likes.mean()


def test_thumbs_come_rather_from_the_top_and_rather_up(world):
    person = person_make(world, 0)
    top = [person.thumb(item, 1, 0, 1.0) for item in range(1000)]
    low = [person.thumb(item, TOP_K, 0, 1.0) for item in range(1000)]
    down = [person.thumb(item, 1, 0, 0.0) for item in range(1000)]
    assert sum(t is True for t in top) > 2 * sum(t is True for t in low)
    assert sum(t is False for t in down) < sum(t is True for t in top)


def test_reasons_name_what_pulled_hardest(world):
    person = person_make(world, 0)
    loves = replace(person.taste, sources=person.taste.sources * 0, topics=np.full(len(TOPICS), 9.0))
    given = [person.reason(world.stream, item, True, loves) for item in range(500)]
    named = [slug for slug in given if slug]
    assert 0.5 < len(named) / len(given) < 0.8
    assert named.count("on-topic") > 0.75 * len(named)


def test_shuffled_thumbs_are_as_many_and_explain_nothing(world):
    person = person_make(world, 0)
    likes = person.likes(world.stream)
    dealt = person.dealt_anew(likes)
    assert sorted(dealt) == sorted(likes)
    best = world.stream.source == int(person.taste.sources.argmax())
    assert abs(dealt[best].mean() - dealt.mean()) < 0.03 < likes[best].mean() - likes.mean()


def test_ndcg_is_one_for_the_best_order_and_less_for_any_other():
    gains = np.linspace(0, 1, POOL)
    assert ndcg(gains, gains) == pytest.approx(1.0)
    assert ndcg(-gains, gains) < 0.3


def test_the_judge_ranks_as_the_product_does(world):
    effective = EffectiveConfig(
        Config(topics=TOPICS[:3], source_weights={SOURCES[0]: 1.7}, recency_by_day=False), {SOURCES[1]: -0.4}
    )
    judge = judge_for(world, person_make(world, 0))
    candidates, now = candidates_of(judge.batch)
    totals = rank_all(candidates, effective, now).totals_as_given
    assert judge.value(effective) == pytest.approx(ndcg(totals, judge.gains[False]))


def test_the_oracle_is_judged_on_other_articles_than_it_chooses_on(world):
    person = person_make(world, 0)
    assert chooser_for(world, person).batch is world.choosing
    assert judge_for(world, person).batch is world.scoring


def test_the_oracle_gains_most_and_gains_nothing_where_there_is_nothing(world):
    readers = range(4)
    uplift = {
        row: np.mean([course_run(world, n, row, weeks=WEEKS).uplift for n in readers])
        for row in (ORACLE, LOOP, "no change")
    }
    assert uplift[ORACLE] > uplift[LOOP] > uplift["no change"] == 0
    null = np.mean([course_run(world, n, ORACLE, weeks=WEEKS).uplift for n in (5, 11)])
    assert abs(null) < uplift[ORACLE] / 4


def test_a_course_is_repeatable(world):
    assert course_run(world, 3, "Beta .8", weeks=3) == course_run(world, 3, "Beta .8", weeks=3)


def test_no_rule_asks_for_more_than_three_changes_or_two_of_a_kind(world):
    for rule in RULES:
        for course in (course_run(world, n, rule, weeks=3) for n in range(3)):
            for week in range(1, 4):
                kinds = ["topic" in a.kind for a in course.asked if a.week == week]
                assert len(kinds) <= 3 and kinds.count(True) <= 2 and kinds.count(False) <= 2


def test_a_target_rests_ten_days_after_it_was_asked_about(world):
    asked = course_run(world, 0, "greedy like-rate", weeks=WEEKS).asked
    weeks: dict[str, list[int]] = {}
    for one in asked:
        weeks.setdefault(one.target, []).append(one.week)
    assert asked and all(b - a >= 2 for w in weeks.values() for a, b in pairwise(w))


def test_rules_speak_only_where_three_thumbs_of_their_polarity_are():
    n, likes = np.zeros(len(SOURCES) + len(TOPICS)), np.zeros(len(SOURCES) + len(TOPICS))
    n[:6], likes[:6] = [10, 10, 2, 10, 10, 10], [9, 1, 2, 5, 5, 5]
    found = RULES["greedy like-rate"](
        Tallies(n, likes), EffectiveConfig(Config()), lambda target: True, np.random.default_rng(0)
    )
    assert {(c.kind, c.target) for c in found} == {("boost_source", 0), ("reduce_source", 1)}


def test_a_weight_at_its_end_cannot_go_further():
    full = EffectiveConfig(Config(source_weights={SOURCES[0]: 2.0, SOURCES[1]: 0.1}))
    assert change_of(0, True, full) is None and change_of(1, False, full) is None
    assert len(capped(changes_all(full))) == 3


def test_a_spammer_writes_for_machines_and_readers_like_it_less():
    spammed = world_make(5, 7, spam=True)
    of_spammer = spammed.stream.source == 0
    assert spammed.stream.holds(SPAM_TOPIC)[of_spammer].any()
    assert not spammed.stream.holds(SPAM_TOPIC)[~of_spammer].any()
    plain = world_make(5, 7, spam=True, plain_titles=True)
    assert (plain.stream.quality == spammed.stream.quality).all()
    assert not plain.stream.holds(SPAM_TOPIC).any()
    elsewhere = [n for n in range(len(plain.stream)) if not of_spammer[n]]
    assert [plain.stream.titles[n] for n in elsewhere] == [spammed.stream.titles[n] for n in elsewhere]
    likes = person_make(spammed, 0).likes(spammed.stream)
    assert likes[of_spammer].mean() < likes[~of_spammer].mean()


def test_popularity_knows_the_items_but_not_the_reader(world):
    uplifts = [c.uplift for c in popularity_courses(world, range(24))]
    assert np.mean(uplifts) > 0.03


def test_a_backtest_on_the_thumbs_that_chose_gains_on_shuffled_ones_and_later_thumbs_do_not():
    long = world_make(5, 12 * 7)
    tests = [backtest_shuffled(long, number, weeks=12) for number in range(6)]
    assert np.mean([t.naive for t in tests]) > 0.03
    assert np.mean([t.later for t in tests]) < np.mean([t.naive for t in tests]) / 2


@pytest.mark.parametrize("law", [law for law in LAWS if law != PLAIN])
def test_a_law_changes_what_readers_like_and_keeps_who_they_are(law: str) -> None:
    plain, other = world_make(5, 14), world_make(5, 14, law=law)
    mine, theirs = person_make(plain, 0), person_make(other, 0)

    assert mine.start_topics == theirs.start_topics and mine.taste.base == theirs.taste.base
    same_now = np.allclose(mine.likes(plain.stream), theirs.likes(other.stream))
    same_later = np.allclose(mine.likes(plain.stream, flipped=True), theirs.likes(other.stream, flipped=True))
    same_voice = mine.position_power == theirs.position_power
    assert (same_now, same_later, same_voice) != (True, True, True)


def test_readers_without_preferences_have_none_under_any_law() -> None:
    for law in LAWS:
        person = person_make(world_make(5, 7, law=law), 5)
        tastes = [person.taste, *([person.later] if person.later else [])]
        assert person.null and not any(t.sources.any() or t.topics.any() for t in tastes)
        assert person.taste.pairs is None or not person.taste.pairs.any()


def test_drawn_anew_tastes_share_half_with_the_first() -> None:
    person = person_make(world_make(5, 7, law="drift"), 0)

    assert person.later is not None
    same = np.isclose(person.feels(flipped=True).sources, person.taste.sources)
    assert 0 < same.sum() < len(same)
