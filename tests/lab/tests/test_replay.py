"""Weekly replay of real histories, and readers' tags as categories: nothing later is seen earlier."""

from dataclasses import replace

import numpy as np
import pytest

from digest.models import Feedback, Item, Reader
from ranking.selectors import config_versions
from suggestions.models import Suggestion
from tests.lab.advisor.command import main
from tests.lab.advisor.targets import controls_for
from tests.lab.histories import rows
from tests.lab.histories.data import SMALL, movielens
from tests.lab.histories.early import early_run
from tests.lab.histories.pools import POOLS, History, Pools, Rated, start_config, targets_of
from tests.lab.histories.replay import WEEKS, course_weekly, judge_next, replayed, week_rated
from tests.lab.histories.replay_runs import replay_run
from tests.lab.histories.trials import Trial
from tests.lab.tests.tables import write

GENRES = ("Opera", "War", "Noir", "Crime", "Drama")


def history(seed: int = 1) -> History:
    """160 thumbs of a reader who likes operas and the first source, and little else."""
    rng = np.random.default_rng(seed)
    rated = []
    for n in range(160):
        source, topic = f"s{rng.integers(3)}", GENRES[rng.integers(5)].casefold()
        liked = bool(rng.random() < 0.2 + 0.3 * (source == "s0") + 0.4 * (topic == "opera"))
        rated.append(Rated(f"https://x.example/{n}", f"note {n}: {topic}", source, (topic,), liked))
    return History(f"r{seed}", tuple(rated))


@pytest.fixture
def films(tmp_path, settings):
    """Return a reader who rates 170 films in order and loves operas; some films have tags before, some
    after."""
    settings.TIDINGS_DATA = str(tmp_path)
    settings.ADVISOR_MIN_TAGGED = 0
    folder = tmp_path / SMALL
    kinds = [f"{n},Film {n} ({1940 + n % 60}),{GENRES[n % 5]}" for n in range(170)]
    write(folder / "movies.csv.gz", "movieId,title,genres", kinds)
    ratings = [f"1,{n},{5 if n % 5 == 0 else 2},{1000 + n}" for n in range(170)]
    write(folder / "ratings.csv.gz", "userId,movieId,rating,timestamp", ratings)
    tags = [f"2,{n},{tag},{at}" for n, tag, at in TAGS]
    write(folder / "tags.csv.gz", "userId,movieId,tag,timestamp", tags)
    return tmp_path


TAGS = [
    *((n, "Long-Takes" if n % 2 else "long  takes", 900) for n in range(5)),
    (5, "long takes", 1005),
    (6, "long takes", 2000),
    *((n, "seen with Ben", 900) for n in range(4)),
]


def test_a_film_has_the_tags_of_a_handful_of_films_that_were_given_before_the_rating(films):
    (reader,) = movielens(films, SMALL)
    assert [one.categories for one in reader.rated[:8]] == [("long take",)] * 5 + [()] * 3


def test_a_tag_is_a_topic_that_rules_can_add_and_pools_find(films):
    (reader,) = movielens(films, SMALL)
    assert "long take" in targets_of([reader]).topics and "seen with ben" not in targets_of([reader]).topics
    tagged = [replace(one, liked=bool(one.categories)) for one in reader.rated[:30]]
    pools, first = Pools(tagged, [0]), start_config(targets_of([reader]))
    added = replace(first, config=replace(first.config, topics=("long takes",)))
    assert pools.gain(replace(first, config=replace(first.config, topics=())), added) > 0.1


def test_weeks_are_ten_thumbs_each_in_order():
    one = history()
    assert sum((week_rated(one, week) for week in range(1, WEEKS + 1)), ()) == one.rated
    assert (
        judge_next(one, 0, 15).liked.sum(axis=1).tolist() == [sum(r.liked for r in one.rated[150:])] * POOLS
    )


def test_what_a_rule_proposes_in_a_week_rests_on_earlier_weeks_alone():
    one = history()
    other = replace(one, rated=(*one.rated[:80], *history(2).rated[80:]))
    targets = targets_of([one, other])
    asked, changed = (
        [(a.week, a.kind, a.target) for a in replayed(h, 0, "greedy like-rate", targets=targets).asked]
        for h in (one, other)
    )
    early = [a for a in asked if a[0] <= 8]
    assert early and early == [a for a in changed if a[0] <= 8]
    assert asked != changed


def test_a_target_rests_for_a_week_and_three_changes_a_week_are_the_most():
    asked = replayed(history(), 0, "random valid", targets=targets_of([history()])).asked
    pairs = {(a.week, a.target) for a in asked}
    assert not pairs & {(week + 1, target) for week, target in pairs}
    assert max(sum(a.week == week for a in asked) for week in range(1, WEEKS)) == 3


@pytest.mark.nightly
def test_a_real_taste_is_found_and_shuffled_thumbs_hold_none():
    many = [history(seed) for seed in range(25)]
    targets = targets_of(many)
    real, mixed = (
        np.mean([replayed(h, n, "greedy like-rate", targets=targets).uplift for n, h in enumerate(hs)])
        for hs in (many, [h.shuffled(n) for n, h in enumerate(many)])
    )
    assert real > 0.02 and abs(mixed) < real / 3


def test_the_curve_of_a_replay_is_the_mean_so_far():
    course = course_weekly(3, [0.5, 0.7], [0.1, -0.3], [])
    assert course.curve == pytest.approx((0.0, 0.1, -0.1)) and course.start == pytest.approx(0.6)
    assert course_weekly(3, [0.5], [0.2], []).uplift == 0.2


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_replay_goes_through_the_services_week_by_week(films):
    (course,) = replay_run(Trial(SMALL, thumbs=160, held=0), lambda week: None)

    assert len(course.curve) == WEEKS and sum(course.runs.values()) == WEEKS - 1
    assert not {"failed", "skipped"} & course.runs.keys() and course.runs["advised"] >= 1
    assert Suggestion.objects.filter(status="accepted").count() == len(course.asked)
    assert all(0 <= one.week - 1 < WEEKS for one in course.asked)
    assert Item.objects.filter(url="https://films.example/0").get().categories == ["long take"]
    assert Item.objects.filter(url__startswith="https://films.example/").count() == (WEEKS - 1) * 10
    planner, *beside = rows._replay(Trial(SMALL, thumbs=160, held=0), [course])
    assert planner["suggestions"] == len(course.asked) and planner["over_greedy"]["readers"] == 1
    assert planner["by_week"][-1] == planner["uplift"] and "null_rate" not in planner
    assert [row["name"].rpartition(": ")[2] for row in beside] == [*rows.REPLAY_BESIDE]
    mixed, *_ = rows._replay(Trial(SMALL, thumbs=160, held=0, shuffled=True), [course])
    assert mixed["null_rate"] == pytest.approx(len(course.asked) / 15, abs=1e-4)
    assert [target.figure for target in controls_for([planner])] == [
        "replay_low",
        "replay_over_greedy_low",
        "replay_over_beta_low",
    ]
    assert [target.figure for target in controls_for([mixed])] == ["null_rate"]


@pytest.mark.django_db
def test_twenty_answers_bring_the_early_change_that_today_would_ask_about(films):
    (course,) = early_run(Trial(SMALL, thumbs=20, by_genre=True), lambda done: None)

    (asked,) = course.asked
    assert asked.target.startswith("more genre-opera") and asked.accepted
    assert course.uplift == asked.gain > 0, "operas are what this reader likes later, too"
    rated = Item.objects.filter(url__startswith="https://films.example/")
    assert rated.count() == Feedback.objects.count() == 20
    assert config_versions(reader_id=Reader.objects.get().pk)[0].cause_ref == "early:20"


def test_a_planner_behind_a_simple_rule_misses_its_targets():
    lows = {"replay_low": 0.001, "replay_over_greedy_low": -0.0021, "replay_over_beta_low": -0.0019}
    held = [target.held([{"name": "x", **lows}]) for target in controls_for([{"name": "x", **lows}])]
    assert [one["met"] for one in held] == [True, False, True]


def test_without_data_the_replay_says_so_loudly(settings, capsys):
    settings.TIDINGS_DATA = ""
    for data, name in (("histories", "movielens-100k"), (SMALL, SMALL)):
        assert main(["--data", data, "--replay", "weekly", "--json"]) == 0
        assert f"SKIPPED {name}" in capsys.readouterr().err


def test_what_has_no_time_is_not_replayed(capsys):
    assert main(["--data", "nemig", "--replay", "weekly", "--json"]) == 0
    assert "SKIPPED nemig: its choices have no time" in capsys.readouterr().err


def test_an_unknown_replay_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--replay", "daily"])
    assert left.value.code == 2 and "daily" in capsys.readouterr().err


@pytest.mark.data
def test_the_open_tags_are_on_a_tenth_of_the_ratings_at_most(data_dir):
    rated = [one for h in movielens(data_dir, SMALL) for one in h.rated]
    tagged = [one for one in rated if one.categories]
    assert 0.02 < len(tagged) / len(rated) < 0.1
