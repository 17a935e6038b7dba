"""Guidance's benchmark is what it says: counts, labels from tuples, gates that null engines fail."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.evaluation.guidance_answers import Answer, Asked, Words, always, at_random, never, words_only
from advisor.evaluation.guidance_entities import READERS, Fact, Query, Written
from advisor.evaluation.guidance_facts import facts_make
from advisor.evaluation.guidance_garbage import COUNTS
from advisor.evaluation.guidance_labelled import items_read, rows_labelled
from advisor.evaluation.guidance_metrics import (
    Judged,
    bound_of,
    figures_of,
    mean_with_interval,
    ndcg_at,
    recall_at,
)
from advisor.evaluation.guidance_noise import MAKERS
from advisor.evaluation.guidance_queries import DOMAINS
from advisor.evaluation.guidance_relevance import facts_relevant, grade, level_deserved
from advisor.evaluation.guidance_targets import GOALS, gates_failed, targets_hold
from advisor.evaluation.guidance_texts import DEV, FRAMES, TEST
from advisor.evaluation.guidance_world import DEV_SEEDS, split_of, world_make
from advisor.guidance.entities import Facts, Kind, Level, Phase, Remembered, Situation
from advisor.guidance.figures import Tunables
from advisor.guidance.gate import Seen
from advisor.guidance.predicates import BUILT_IN, block_for
from advisor.guidance.signature import tokens_of

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
NULLS = ("never", "always", "one in ten")


@pytest.fixture(scope="module")
def world():
    """A seed of the test split, made once."""
    return world_make(42)


def test_the_counts_are_those_of_the_protocol(world):
    useful = Counter(row.layer for row in world.written if row.useful)
    assert useful == {"A": 600, "B": 600, "C": 400, "D": 400, "E": 400, "F": 600}
    assert Counter(row.layer for row in world.written if not row.useful) == COUNTS
    assert sum(COUNTS.values()) == 2000 and COUNTS["sophisticated"] == 350
    owners = Counter(row.owner for row in world.written if row.useful)
    assert owners.pop(None) == 400 and set(owners.values()) == {130} and len(owners) == READERS


def test_every_domain_has_its_calls_and_every_level_its_share(world):
    assert Counter(query.domain for query in world.queries) == {name: row[0] for name, row in DOMAINS.items()}
    assert Counter(str(query.gold) for query in world.queries) == {
        "silent": 468,
        "block": 12,
        "warning": 12,
        "note": 28,
    }
    assert sum(not query.grades for query in world.queries) == 156
    mixes = Counter(query.mix for query in world.queries)
    assert mixes["emit"] == 52 and min(mixes[why] for why in ("shown", "obvious", "cooling", "weak")) > 10


def test_nearly_all_texts_differ(world):
    texts = [row.text for row in world.written if row.layer != "duplicate"]
    assert len(set(texts)) / len(texts) >= 0.95


def test_a_seed_makes_the_same_world_twice_and_another_seed_another(world):
    assert world_make(42) == world
    assert facts_make(43) != world.facts


def test_the_test_split_uses_other_sentences(world):
    assert [split_of(seed) for seed in DEV_SEEDS] == [DEV] * 5 and split_of(42) == TEST
    assert all(not set(dev) & set(test) for dev, test in FRAMES.values())
    assert not set(MAKERS[DEV].items()) & set(MAKERS[TEST].items())
    told = {row.text for row in world.written if row.layer == "A"}
    assert not any(text.startswith("When ") for text in told) and any(t.startswith("Whenever ") for t in told)


def test_labels_follow_from_the_facts_alone(world):
    facts = {fact.id: fact for fact in world.facts}
    by_id = {row.id: row for row in world.written}
    for query in world.queries[::7]:
        grades = facts_relevant(
            facts.values(), query.reader, query.suggestion_type, query.target, query.facet
        )
        assert {by_id[number].fact.id for number in query.grades} <= set(grades)
        if query.gold in (Level.NOTE, Level.WARNING):
            assert level_deserved(facts, grades, query.tool) is query.gold


def test_nothing_relevant_is_garbage_or_anothers(world):
    by_id = {row.id: row for row in world.written}
    for query in world.queries:
        for number in query.grades:
            row = by_id[number]
            assert row.useful and row.owner in (None, query.reader) and number not in query.forbidden


def test_calls_about_nothing_known_come_near_to_something(world):
    near = Counter(query.near for query in world.queries if not query.grades)
    assert near["foreign"] >= 15 and near["expired"] >= 8 and near["unknown facet"] >= 50
    foreign = next(query for query in world.queries if query.near == "foreign")
    assert foreign.forbidden


def test_what_calls_for_a_block_breaks_one_rule_and_nothing_else_does(world):
    for query in world.queries:
        rule = block_for(Facts(query.facts), BUILT_IN)
        assert (rule.id if rule else "") == query.rule
        assert bool(rule) == (query.gold is Level.BLOCK)


FACT = Fact(1, 0, "add_topic", "write_suggestion", -1, 4, 4, 10.0, "add_topic", "rail strikes")


def test_another_readers_target_or_type_is_not_relevant():
    assert grade(FACT, 0, "add_topic", "rail strikes", -1) == 3
    assert grade(FACT, 1, "add_topic", "rail strikes", -1) == 0
    assert grade(FACT, 0, "remove_topic", "rail strikes", -1) == 0
    assert grade(FACT, 0, "add_topic", "rail budgets", -1) == 0
    assert grade(replace(FACT, reader=None, target="", facet=3), 0, "add_topic", "rail strikes", 3) == 2


def test_a_clear_caution_about_a_write_deserves_a_warning_and_a_weak_one_silence():
    assert level_deserved({1: FACT}, {1: 3}, "write_suggestion") is Level.WARNING
    assert level_deserved({1: FACT}, {1: 3}, "test_suggestion") is Level.NOTE
    assert level_deserved({1: replace(FACT, polarity=1)}, {1: 3}, "write_suggestion") is Level.NOTE
    for weak in (replace(FACT, n=2, k=2), replace(FACT, k=2), replace(FACT, age=120.0)):
        assert level_deserved({1: weak}, {1: 3}, "write_suggestion") is Level.SILENT


def _query(**more) -> Query:
    values = {
        "id": 0,
        "reader": 0,
        "domain": "add_topic",
        "tool": "write_suggestion",
        "phase": Phase.WRITE,
        "suggestion_type": "add_topic",
        "target": "rail strikes",
        "step": None,
        "words": "rail strikes",
        "arguments": {},
        "gold": Level.NOTE,
        "mix": "emit",
        "grades": {10: 3, 11: 2},
        "forbidden": frozenset({12}),
    }
    return Query(**(values | more))


def _written(number: int, **more) -> Written:
    values = {
        "id": number,
        "layer": "A",
        "useful": True,
        "fact": FACT,
        "owner": 0,
        "kind": Kind.PATTERN,
        "key": str(number),
        "title": "",
        "text": "",
        "polarity": -1,
        "confidence": 0.8,
        "evidence": 4,
        "age": 10.0,
    }
    return Written(**(values | more))


BOOK = {
    10: _written(10),
    11: _written(11),
    12: _written(12, useful=False, flaw="injected"),
    13: _written(13, owner=1),
}


def test_telling_what_is_relevant_to_a_call_that_deserves_it_is_right():
    assert Judged(_query(), Answer((10, 11), Level.NOTE, (10,)), BOOK).right
    assert not Judged(_query(), Answer((10, 12), Level.NOTE, (10, 12)), BOOK).right
    assert not Judged(_query(), Answer((10, 11), Level.WHISPER), BOOK).right
    assert not Judged(_query(gold=Level.SILENT), Answer((10,), Level.NOTE, (10,)), BOOK).right


def test_a_block_is_right_by_the_right_rule_only():
    query = _query(gold=Level.BLOCK, rule="pinned")
    assert Judged(query, Answer((), Level.BLOCK, rule="pinned"), BOOK).right
    assert not Judged(query, Answer((), Level.BLOCK, rule="run_cap"), BOOK).right
    assert not Judged(query, Answer((10,), Level.WARNING, (10,)), BOOK).right
    assert not Judged(_query(), Answer((), Level.BLOCK, rule="pinned"), BOOK).right


def test_what_leaked_is_told_by_sort():
    told = Judged(_query(), Answer((12, 13), Level.NOTE, (12, 13)), BOOK).leaks()
    assert told == {
        "garbage": True,
        "another reader's": True,
        "expired": False,
        "injected": True,
        "contradicted": False,
    }


def test_figures_of_a_single_call_are_what_one_would_count_by_hand():
    found = figures_of([Judged(_query(), Answer((12, 10), Level.NOTE, (10,), text="x" * 40, ms=3.0), BOOK)])
    assert found["recall_at_8"] == 0.5 and found["mrr"] == 0.5 and found["precision_at_2"] == 0.5
    assert found["garbage_slots"] == 0.5 and found["emission_precision"] == found["emission_recall"] == 1
    assert found["tokens_mean"] == 10 and found["ms_p95"] == 3.0 and found["block_precision"] is None


@given(st.lists(st.sampled_from([10, 11, 12, 13]), unique=True, max_size=4))
def test_no_order_beats_the_best_and_more_of_it_never_hurts(ranked):
    query = _query()
    assert 0 <= ndcg_at(query, ranked) <= 1 + 1e-9
    longer = [*ranked, *(number for number in (10, 11) if number not in ranked)]
    assert recall_at(query, ranked) <= recall_at(query, longer) == 1
    assert ndcg_at(query, (10, 11)) == pytest.approx(1)


def test_none_in_fifty_two_bounds_at_six_in_a_hundred():
    assert bound_of(0, 52) == pytest.approx(0.0577, abs=1e-4)
    assert bound_of(0, 0) is None
    assert 2 / 52 < bound_of(2, 52) < 0.15


def test_an_interval_needs_two_seeds_and_widens_with_their_spread():
    assert mean_with_interval([0.5]) == {"mean": 0.5, "ci95": None}
    assert mean_with_interval([0.4, 0.6])["ci95"] == pytest.approx(12.71 * 0.1414 / 2**0.5, abs=1e-2)


def test_null_engines_fail_at_least_two_gates(world):
    calls = [_asked(query, world) for query in world.queries[::3]]
    words = Words()
    engines = (never, always(words), at_random(words, 42), words_only(words, Tunables()))
    by_id = {row.id: row for row in world.written}
    for engine in engines[: len(NULLS)]:
        judged = [Judged(asked.query, engine(asked), by_id) for asked in calls]
        assert len(gates_failed(figures_of(judged))) >= 2


def _asked(query: Query, world) -> Asked:
    """A call with the useful memories of its own cell, and a few of everybody's, to find."""
    rows = [row for row in world.written if row.id in query.grades]
    rows += [row for row in world.written[:: len(world.written) // 20] if row.id not in query.grades]
    memories = [
        Remembered(row.id, row.kind, row.title, row.text, NOW, tokens=tokens_of(row.text)) for row in rows
    ]
    situation = Situation(uuid4(), query.tool, query.phase, words=query.words)
    return Asked(query, situation, memories, Seen(), Facts({}), NOW)


def test_a_perfect_engine_fails_none_of_the_gates(world):
    by_id = {row.id: row for row in world.written}
    judged = [Judged(query, _perfect(query), by_id) for query in world.queries]
    assert gates_failed(figures_of(judged)) == []


def _perfect(query: Query) -> Answer:
    best = tuple(sorted(query.grades, key=lambda number: -query.grades[number]))[:8]
    loud = query.gold in (Level.NOTE, Level.WARNING)
    return Answer(best, query.gold, best[:1] if loud else (), rule=query.rule, text="x" * 200)


@pytest.mark.parametrize(("rate", "met"), [(0.03, False), (0.1, True), (0.2, False)])
def test_a_goal_between_two_ends_is_missed_on_either_side(rate, met):
    held = targets_hold([{"name": "guidance", "emission_rate": rate}])
    assert {row["metric"]: row["met"] for row in held}["emission rate"] is met


def test_a_figure_that_does_not_exist_meets_nothing_and_a_skipped_row_asks_nothing():
    held = targets_hold([{"name": "guidance"}, {"name": "labelled: ours", "skipped": "no data"}])
    assert held and not any(row["met"] or row["passes"] for row in held)
    assert not any("labelled" in row["metric"] for row in held)


def test_what_is_excellent_also_passes():
    for goal in GOALS:
        assert goal.reached(goal.excellent, goal.passes)
        assert goal.reached(goal.excellent, goal.wanted)


@pytest.mark.data
def test_the_labelled_items_are_all_there_and_the_published_formula_keeps_the_useful(data_dir):
    items = items_read(data_dir / "spark-advisory", tunables=Tunables(), now=NOW)
    assert len(items) == 50 and sum(item.useful for item in items) == 23
    rows = {row["name"]: row for row in rows_labelled(items, Tunables())}
    assert rows["labelled: published at 0.42"]["useful"] == 23
    assert rows["labelled: published at 0.48"]["noise"] < rows["labelled: published at 0.42"]["noise"]
    assert rows["labelled: ours"]["noise"] < rows["labelled: published at 0.48"]["noise"]
