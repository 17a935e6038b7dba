"""Memories about the call rank, others do not, and no evidence against a memory is lost."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.ranking import (
    ITEMS_MAX,
    RANK_MIN,
    elsewhere,
    query_words,
    rank,
    relevance_of,
    score_memory,
    trust_of,
)
from advisor.guidance.situations import Phase
from advisor.guidance.wording import Kind
from ranking.learning import wilson
from tests.advisor.guidance.memories import NOW, TUNED, call, memory

SHARE = st.floats(0, 1)
FLOOR = TUNED.relevance_min


def ranked_ids(memories: list, **changed: object) -> list[int]:
    return [one.memory.id for one in rank(call(**changed), memories, now=NOW, relevance_min=FLOOR)]


def test_the_very_target_ranks_before_the_type_alone() -> None:
    general = memory(2, target_key="", text="Reductions of weight are seldom agreed to, fewer each month.")
    assert ranked_ids([general, memory(1)]) == [1, 2]


@pytest.mark.parametrize(
    "changed",
    [
        {"target_key": "bbc.co.uk"},
        {"suggestion_type": "boost_source"},
        {"target_key": "", "suggestion_type": "", "tool": "query_user_feedback", "phase": "explore"},
    ],
)
def test_near_misses_do_not_rank_however_good_they_are(changed: dict[str, str]) -> None:
    near = memory(2, unified=1.0, confidence=1.0, **changed)
    assert ranked_ids([near]) == []


@pytest.mark.parametrize(
    ("words", "ranks"),
    [("what came of reuters.com lately", True), ("what came of reuters.community", False), ("", False)],
)
def test_a_call_that_takes_no_target_may_name_it(words: str, ranks: bool) -> None:
    asked = call(tool="get_suggestion_outcomes", suggestion_type="", target_key="", words=words)
    found = rank(asked, [memory(1)], now=NOW, relevance_min=FLOOR)
    assert [one.memory.id for one in found] == [1] * ranks


def test_what_is_shared_stands_behind_the_readers_own() -> None:
    assert ranked_ids([memory(1, shared=True), memory(2)]) == [2, 1]


def test_a_lesson_about_the_whole_type_is_about_each_call_of_it_and_a_shared_one_hardly() -> None:
    whole = memory(1, target_key="", tokens=("nothing", "else"))
    assert ranked_ids([whole]) == [1]
    assert ranked_ids([memory(2, shared=True, target_key="", tokens=("nothing", "else"))]) == []
    assert ranked_ids([whole], suggestion_type="add_topic") == []


def test_a_memory_for_another_tool_counts_less_and_one_for_any_phase_as_much() -> None:
    here, other = memory(1), memory(1, tool="test_suggestion")
    assert relevance_of(call(), other, 0.0) < relevance_of(call(), here, 0.0)
    assert relevance_of(call(), memory(1, phase=""), 0.0) == relevance_of(call(), here, 0.0)
    assert relevance_of(call(), memory(1, phase="explore"), 0.0) < relevance_of(call(), here, 0.0)
    assert relevance_of(call(phase=Phase.REPAIR), here, 0.0) == relevance_of(call(), here, 0.0)


def test_relevance_adds_up_as_documented() -> None:
    assert relevance_of(call(), memory(1), 1.0) == pytest.approx(1.0)
    assert relevance_of(call(), memory(1, target_key=""), 0.0) == pytest.approx(0.55)
    assert relevance_of(call(suggestion_type=""), memory(1), 0.0) == pytest.approx(0.50)
    tool_alone = memory(1, suggestion_type="", target_key="")
    assert relevance_of(call(), tool_alone, 0.5) == pytest.approx(0.675)


def test_rules_rank_where_their_condition_holds_and_nowhere_else() -> None:
    condition = {"fact": "step", "op": "lt", "value": -0.2}
    rule = memory(
        1, kind=Kind.RULE, predicate=condition, suggestion_type="", target_key="", tool="", tokens=()
    )
    holds, fails = {"step": -0.3}, {"step": -0.1}
    [one] = rank(call(), [rule], now=NOW, relevance_min=FLOOR, values=holds)
    assert (one.relevance, one.matched) == (1.0, True)
    assert rank(call(), [rule], now=NOW, relevance_min=FLOOR, values=fails) == []
    assert rank(call(), [rule], now=NOW, relevance_min=FLOOR) == []


def test_trust_is_the_record_once_there_is_one_and_fades_before() -> None:
    fresh, old = memory(1), memory(1, valid_from=NOW - timedelta(days=91))
    assert trust_of(old, now=NOW) == pytest.approx(trust_of(fresh, now=NOW) / 2)
    assert trust_of(memory(1, valid_from=NOW), now=NOW) == pytest.approx(0.8)
    judged = memory(1, helpful=1, unhelpful=7)
    assert trust_of(judged, now=NOW) == pytest.approx(wilson(1, 8)[0])
    assert trust_of(memory(1, helpful=2, unhelpful=2), now=NOW) > 0.7


def test_noise_loses_most_of_its_score() -> None:
    clean = score_memory(memory(1), 0.9, now=NOW)
    noisy = score_memory(memory(1, text="The user struggled with reuters.com."), 0.9, now=NOW)
    assert noisy.score == pytest.approx(clean.score * 0.05)


def test_words_of_grammar_are_not_asked_for() -> None:
    assert query_words(call(target_key="", words="All of the weight in it, weights")) == ("weight",)


@given(SHARE, SHARE, SHARE, SHARE)
def test_raising_any_factor_never_lowers_the_score(a: float, b: float, c: float, more: float) -> None:
    def score(relevance: float, unified: float, confidence: float) -> float:
        return score_memory(memory(1, unified=unified, confidence=confidence), relevance, now=NOW).score

    raised = [score(max(a, more), b, c), score(a, max(b, more), c), score(a, b, max(c, more))]
    assert min(raised) >= score(a, b, c)


@given(SHARE, SHARE)
def test_sharing_more_words_never_lowers_relevance(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert relevance_of(call(), memory(1), high) >= relevance_of(call(), memory(1), low)


@given(
    st.lists(
        st.builds(
            lambda text, unified, confidence, target: (text, unified, confidence, target),
            st.sampled_from(["Leave reuters.com alone.", "Fewer reductions of weight, please.", "Weight."]),
            SHARE,
            SHARE,
            st.sampled_from(["reuters.com", "", "bbc.co.uk"]),
        ),
        max_size=14,
    ),
    st.randoms(use_true_random=False),
)
def test_ranking_is_bounded_ordered_and_the_same_in_any_order(rows: list[tuple], chance: object) -> None:
    made = [
        memory(n, text=text, unified=unified, confidence=confidence, target_key=target)
        for n, (text, unified, confidence, target) in enumerate(rows)
    ]
    first = rank(call(), made, now=NOW, relevance_min=FLOOR)
    chance.shuffle(made)  # type: ignore[attr-defined]
    assert [one.memory.id for one in rank(call(), made, now=NOW, relevance_min=FLOOR)] == [
        one.memory.id for one in first
    ]
    assert len(first) <= ITEMS_MAX
    assert [one.score for one in first] == sorted((one.score for one in first), reverse=True)
    assert all(one.score >= RANK_MIN and not elsewhere(call(), one.memory) for one in first)


def test_eight_at_most_are_weighed_and_the_floor_of_relevance_is_tunable() -> None:
    many = [memory(n) for n in range(12)]
    assert len(ranked_ids(many)) == ITEMS_MAX
    assert rank(call(), many, now=NOW, relevance_min=1.01) == []
