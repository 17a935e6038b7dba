"""What is about the call ranks, what is about another does not, and nothing said against a memory is lost."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.entities import Facts, Kind, Phase
from advisor.guidance.ranking import (
    TIERS,
    blended,
    elsewhere,
    quality_of,
    query_words,
    rank,
    relevance_of,
    scored_from,
    trust_of,
)
from advisor.guidance.signature import tokens_of
from ranking.posterior import wilson
from tests.advisor.guidance.memories import NOW, TUNED, call, memory

SHARE = st.floats(0, 1)


def ranked_ids(memories: list, **changed: object) -> list[int]:
    return [one.memory.id for one in rank(call(**changed), memories, now=NOW, tunables=TUNED)]


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


def test_type_tool_and_phase_alone_are_no_relevance() -> None:
    silent = memory(1, target_key="", text="Nothing here shares a word.", tokens=("nothing", "else"))
    assert ranked_ids([silent]) == []


@pytest.mark.parametrize(
    ("words", "ranks"),
    [("what came of reuters.com lately", True), ("what came of reuters.community", False), ("", False)],
)
def test_a_call_that_takes_no_target_may_name_it(words: str, ranks: bool) -> None:
    asked = call(tool="get_suggestion_outcomes", suggestion_type="", target_key="", words=words)
    found = rank(asked, [memory(1)], now=NOW, tunables=TUNED)
    assert [one.memory.id for one in found] == [1] * ranks


def test_what_resembles_the_most_relevant_ranks_with_it_and_keeps_its_own_relevance() -> None:
    about = {"target_key": "", "suggestion_type": "", "tool": "query_user_feedback", "phase": "explore"}
    asked = call(**{**about, "phase": Phase.EXPLORE}, words="imported ratings from another application")
    wordings = (
        "Weigh imported ratings from another application at half, since pages elsewhere differ in kind.",
        "Since pages elsewhere differ in kind, count half of what was imported.",
        "Since elsewhere pages differ in kind, weigh it at half.",
        "Look at the order of weekend digests first.",
    )
    rows = [
        memory(n, title=f"Wording {n}", text=text, tokens=tokens_of(text), **about)
        for n, text in enumerate(wordings)
    ]
    found = {one.memory.id: one for one in rank(asked, rows, now=NOW, tunables=TUNED)}
    assert set(found) == {0, 1, 2}
    assert found[2].relevance < TUNED.note_relevance_min <= found[0].relevance
    alone = rank(asked, rows[2:], now=NOW, tunables=TUNED)
    assert alone == []


def test_what_stands_under_one_heading_is_found_together() -> None:
    about = {"target_key": "", "suggestion_type": "", "tool": "query_user_feedback", "phase": "explore"}
    asked = call(**{**about, "phase": Phase.EXPLORE}, words="every thumb came in one afternoon, one sitting")
    wordings = (
        ("One sitting", "Spread the window, as every thumb came within an afternoon."),
        ("One sitting", "Thumbs of one afternoon: look at several weeks instead."),
        ("One sitting", "Go on as in March."),
        ("Imported ratings", "Weigh them at half, since pages elsewhere differ."),
    )
    rows = [
        memory(n, title=title, text=text, tokens=tokens_of(text), **about)
        for n, (title, text) in enumerate(wordings)
    ]
    assert {one.memory.id for one in rank(asked, rows, now=NOW, tunables=TUNED)} == {0, 1, 2}


def test_what_is_about_a_type_as_a_whole_is_named_to_each_call_of_it_and_not_told() -> None:
    words = ("nothing", "else")
    whole = memory(1, target_key="", title="reduce_source: in general", text="Avoid them.", tokens=words)
    special = memory(2, target_key="", title="Stale proof", text="Prefer newer items.", tokens=words)
    [found] = rank(call(), [whole, special], now=NOW, tunables=TUNED)
    assert found.memory.id == 1 and found.relevance < TUNED.note_relevance_min
    assert ranked_ids([whole], suggestion_type="add_topic") == []


def test_what_is_shared_stands_behind_the_readers_own() -> None:
    assert ranked_ids([memory(1, shared=True), memory(2)]) == [2, 1]


def test_a_memory_for_another_tool_counts_less_and_one_for_any_phase_as_much() -> None:
    here, other = memory(1), memory(1, tool="test_suggestion")
    assert relevance_of(call(), other, 0.0) < relevance_of(call(), here, 0.0)
    assert relevance_of(call(), memory(1, phase=""), 0.0) == relevance_of(call(), here, 0.0)
    assert relevance_of(call(), memory(1, phase="explore"), 0.0) < relevance_of(call(), here, 0.0)
    assert relevance_of(call(phase=Phase.REPAIR), here, 0.0) == relevance_of(call(), here, 0.0)


def test_relevance_adds_up_as_documented() -> None:
    assert relevance_of(call(), memory(1), 1.0) == pytest.approx(1.0)
    assert relevance_of(call(), memory(1, target_key=""), 0.0) == pytest.approx(0.35)
    assert relevance_of(call(suggestion_type=""), memory(1), 0.0) == pytest.approx(0.50)
    tool_alone = memory(1, suggestion_type="", target_key="")
    assert relevance_of(call(), tool_alone, 0.5) == pytest.approx(0.475)


def test_rules_rank_where_their_condition_holds_and_nowhere_else() -> None:
    condition = {"fact": "step", "op": "lt", "value": -0.2}
    rule = memory(
        1, kind=Kind.RULE, predicate=condition, suggestion_type="", target_key="", tool="", tokens=()
    )
    holds, fails = Facts({"step": -0.3}), Facts({"step": -0.1})
    [one] = rank(call(), [rule], now=NOW, tunables=TUNED, facts=holds)
    assert (one.relevance, one.matched) == (1.0, True)
    assert rank(call(), [rule], now=NOW, tunables=TUNED, facts=fails) == []
    assert rank(call(), [rule], now=NOW, tunables=TUNED) == []


def test_trust_is_the_record_once_there_is_one_and_fades_before() -> None:
    fresh, old = memory(1), memory(1, valid_from=NOW - timedelta(days=91))
    assert trust_of(old, now=NOW, tunables=TUNED) == pytest.approx(
        trust_of(fresh, now=NOW, tunables=TUNED) / 2
    )
    assert trust_of(memory(1, valid_from=NOW), now=NOW, tunables=TUNED) == pytest.approx(0.8)
    judged = memory(1, helpful=1, unhelpful=7)
    assert trust_of(judged, now=NOW, tunables=TUNED) == pytest.approx(wilson(1, 8)[0])
    assert trust_of(memory(1, helpful=2, unhelpful=2), now=NOW, tunables=TUNED) > 0.7


def test_the_published_formula_takes_the_better_of_two_and_has_no_floor_of_relevance() -> None:
    poor = memory(1, unified=0.1, confidence=0.2, helpful=0, unhelpful=9, target_key="bbc.co.uk", tokens=())
    assert quality_of(poor, "seed") == TIERS[Kind.PATTERN]
    assert trust_of(poor, now=NOW, tunables=TUNED, profile="seed") == 0.2
    [one] = rank(call(), [poor], now=NOW, tunables=TUNED, profile="seed")
    assert one.score == pytest.approx(0.45 * one.relevance + 0.30 * 0.9 + 0.25 * 0.2)
    assert ranked_ids([poor]) == []


def test_noise_loses_most_of_its_score() -> None:
    clean = scored_from(memory(1), 0.9, now=NOW, tunables=TUNED)
    noisy = scored_from(memory(1, text="The user struggled with reuters.com."), 0.9, now=NOW, tunables=TUNED)
    assert noisy.score == pytest.approx(clean.score * 0.05)


def test_words_of_grammar_are_not_asked_for() -> None:
    assert query_words(call(target_key="", words="All of the weight in it, weights")) == ("weight",)


@given(SHARE, SHARE, SHARE, SHARE)
def test_raising_any_factor_never_lowers_the_score(a: float, b: float, c: float, more: float) -> None:
    base = blended(a, b, c, TUNED)
    raised = [blended(max(a, more), b, c, TUNED), blended(a, max(b, more), c, TUNED)]
    assert all(score >= base for score in [*raised, blended(a, b, max(c, more), TUNED)])


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
    first = rank(call(), made, now=NOW, tunables=TUNED)
    chance.shuffle(made)  # type: ignore[attr-defined]
    assert [one.memory.id for one in rank(call(), made, now=NOW, tunables=TUNED)] == [
        one.memory.id for one in first
    ]
    assert len(first) <= TUNED.items_max
    assert [one.score for one in first] == sorted((one.score for one in first), reverse=True)
    assert all(one.score >= TUNED.rank_min and not elsewhere(call(), one.memory) for one in first)


def test_floors_and_the_number_of_items_are_tunable() -> None:
    many = [memory(n) for n in range(12)]
    assert len(rank(call(), many, now=NOW, tunables=replace(TUNED, items_max=3))) == 3
    assert rank(call(), many, now=NOW, tunables=replace(TUNED, rank_min=1.0)) == []
    assert rank(call(), many, now=NOW, tunables=replace(TUNED, relevance_min=1.01)) == []
