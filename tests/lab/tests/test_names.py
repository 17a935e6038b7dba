"""A run with other names of topics, played on arrays with the planner's own functions."""

from dataclasses import replace

from ranking.entities import Config, EffectiveConfig
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.topics import ADD_TOPIC
from suggestions.planner.tastes import FALSE_SIGN_AFTER_NAMES, FALSE_SIGN_MAX
from tests.lab.model.names import ORACLE, PLANNER, SCRIPT, Case, run_of, targets_of_rows
from tests.support.changes import BOOST_SOURCE, REDUCE_SOURCE
from tests.support.suggestion_worlds import thumb

FIRST = EffectiveConfig(Config(version=1))
TEXTS = {True: "The coach and the captain spoke after the match.", False: "Shares fell."}


def case(spread: float = SPREAD_PRIOR, *, useful: bool = True) -> Case:
    """Return a reader who likes the texts about sport, whose titles say nothing, or likes every third."""
    rated = [
        replace(
            thumb(n, source="abc"[n % 3], title=f"Monday {n}", useful=n % 3 == 0 if useful else n % 7 == 0),
            text=TEXTS[n % 3 == 0],
        )
        for n in range(60)
    ]
    return Case(tuple(replace(one, source="ab"[n % 2]) for n, one in enumerate(rated)), FIRST, spread)


def test_names_find_a_subject_that_only_texts_tell():
    (found,) = case().named(["sport"])
    assert {"match", "coach"} == set(found.names) and len(found.evidence) >= 3
    assert not list(case(useful=False).named(["sport"])), "liked by chance"


def test_a_run_on_arrays_plans_what_the_planner_proposes():
    rated = [thumb(n, source="ab"[n % 2], title=f"Monday {n}", useful=n % 2 == 0) for n in range(60)]
    planned = Case(tuple(rated), FIRST, SPREAD_PRIOR).planned()
    assert {(one.suggestion_type, one.target) for one, _ in planned} == {
        (BOOST_SOURCE, "a"),
        (REDUCE_SOURCE, "b"),
    }


def test_subjects_that_a_reader_wrote_about_are_tried_before_those_of_liked_titles():
    one = replace(case(), written=("I want to read more about technology",))
    assert one.likely() == ["technology"]


def test_a_published_spread_of_nought_does_not_silence_topics_that_count_in_texts():
    assert [one.target for one in case(0.0).named(["sport"])] == ["sport"]


def test_a_run_that_tried_names_leaves_out_the_least_sure_of_its_other_changes():
    sure, unsure = (ADD_TOPIC.change(word, FIRST) for word in ("chess", "bread"))
    planned = [(sure, FALSE_SIGN_AFTER_NAMES), (unsure, FALSE_SIGN_MAX)]
    assert run_of((), planned, has_tried=False) == [sure, unsure]
    assert run_of((), planned, has_tried=True) == [sure]
    assert run_of([unsure], planned, has_tried=True) == [unsure, sure]


def test_the_targets_are_the_gain_and_the_asks_of_shuffled_thumbs():
    rows = [
        {"data": data, "arm": arm, "asks": asks, "over_planner": gain, "over_planner_95": [low, 1]}
        for data, arm, asks, gain, low in (
            ("topics-bbc", SCRIPT, 9, 0.03, 0.01),
            ("topics-ag-news", SCRIPT, 9, 0.03, -0.01),
            ("topics-bbc, shuffled", PLANNER, 4, 0.0, 0.0),
            ("topics-bbc, shuffled", SCRIPT, 5, 0.0, 0.0),
            ("topics-bbc", ORACLE, 9, 0.0, 0.0),
        )
    ]
    assert [one["met"] for one in targets_of_rows(rows)] == [True, False, False]
