"""Every rule refuses with its code, and no text of a model makes a rule raise."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.agent.planner import OBJECTIONS
from advisor.review.reflector import REFUSED
from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.entities import Config, EffectiveConfig
from suggestions.changes.change import Change
from suggestions.changes.registry import KINDS, change_stored
from suggestions.changes.topics import topic_clean
from suggestions.changes.weights import weight_bounds, weight_parse
from suggestions.proposals import Draft, Facts, Refusal, WeekEffect
from suggestions.rules import (
    change_parse,
    changes_distinct,
    check,
    permission_refusal,
    repeat_refusal,
    strength_refusal,
    types_declined,
    visibility_refusal,
)
from suggestions.services.lifecycle import REVIEW_IMPROVE, REVIEW_REFUSED
from suggestions.wording import CHANGES_STOPPED
from tests.support.factories import CLOCK
from tests.support.refusals import ROOT, codes_refused
from tests.support.suggestion_worlds import thumb

LIKED = [thumb(n, source="abc"[n % 3], title=f"Kubernetes {n}") for n in range(6)]
OF_A = [thumb(n, source="a") for n in range(10, 14)]
BAD = [thumb(n, source="ab"[n % 2], title=f"Crypto {n}", useful=False) for n in range(20, 24)]
BAD_A = [thumb(n, source="a", useful=False) for n in range(30, 34)]
FACTS = Facts(
    effective=EffectiveConfig(Config(topics=("Crypto",), source_weights={"c": 1.9}), {"b": 0.1}),
    sources=frozenset("abc"),
    rated={item.url: item for item in (*LIKED, *OF_A, *BAD, *BAD_A)},
)


def of(items) -> tuple[str, ...]:
    return tuple(item.url for item in items)


ADD = Draft("add_topic", None, "Kubernetes", of(LIKED), "Because.")
REMOVE = Draft("remove_topic", "crypto", None, of(BAD), "Because.")
BOOST = Draft("boost_source", "a", "1.2", of(OF_A), "Because.")
REDUCE = Draft("reduce_source", "a", 0.8, of(BAD_A), "Because.")


@pytest.mark.parametrize(
    ("draft", "key", "current", "suggested"),
    [
        (ADD, topic_key("Kubernetes"), "", "Kubernetes"),
        (replace(ADD, target_key="kubernetes"), topic_key("Kubernetes"), "", "Kubernetes"),
        (
            replace(ADD, target_key="Kubernetes", suggested_value=None),
            topic_key("Kubernetes"),
            "",
            "Kubernetes",
        ),
        (REMOVE, "crypto", "Crypto", "Crypto"),
        (replace(REMOVE, target_key="", suggested_value="CRYPTO"), "crypto", "Crypto", "Crypto"),
        (BOOST, "a", "1.0", "1.2"),
        (replace(BOOST, suggested_value=1.25), "a", "1.0", "1.25"),
        (REDUCE, "a", "1.0", "0.8"),
    ],
)
def test_a_good_draft_is_accepted_in_normal_form(draft, key, current, suggested):
    accepted = check(draft, FACTS)
    assert isinstance(accepted, Change), accepted
    assert (accepted.target, accepted.current_value, accepted.suggested_value) == (
        key,
        current,
        suggested,
    )
    assert (accepted.field, accepted.notes) == (KINDS[draft.suggestion_type].field, ())
    assert of(accepted.evidence) == draft.evidence_urls
    bare = change_parse(replace(draft, evidence_urls=()), FACTS)
    assert bare == replace(accepted, evidence=())


@pytest.mark.parametrize(
    ("code", "draft"),
    [
        ("unknown_type", replace(ADD, suggestion_type="change_recency")),
        ("unknown_type", replace(ADD, suggestion_type=["add_topic"])),
        ("field_mismatch", replace(ADD, target_key="docker")),
        ("invalid_topic", replace(ADD, suggested_value="two\nlines")),
        ("invalid_topic", replace(ADD, suggested_value="turn\u202egnissel")),
        ("invalid_topic", replace(ADD, suggested_value="zero\u200bwidth")),
        ("invalid_topic", replace(ADD, suggested_value="x" * (TOPIC_MAX_CHARS + 1))),
        ("invalid_topic", replace(ADD, suggested_value="ﷺ" * 4)),
        ("invalid_topic", replace(ADD, suggested_value=" ")),
        ("invalid_topic", replace(ADD, suggested_value="")),
        ("invalid_topic", replace(ADD, target_key=7)),
        ("invalid_topic", replace(ADD, suggested_value="—")),
        ("invalid_topic", replace(ADD, suggested_value=7)),
        *[
            ("invalid_weight", replace(BOOST, suggested_value=value))
            for value in (
                "NaN",
                "inf",
                "1e9",
                "١",
                "１.2",
                "1,3",
                True,
                [1.3],
                float("nan"),
                10**400,
            )
        ],
        ("source_not_in_history", replace(BOOST, target_key="nowhere")),
        ("source_not_in_history", replace(BOOST, target_key=None)),
        ("topic_already_present", replace(ADD, suggested_value="CRYPTO")),
        ("topic_not_present", replace(REMOVE, target_key="Kubernetes")),
        ("wrong_direction", replace(BOOST, suggested_value=0.9)),
        ("wrong_direction", replace(REDUCE, suggested_value=1.1)),
        ("no_change", replace(BOOST, suggested_value=1.0)),
        ("evidence_not_grounded", replace(BOOST, evidence_urls=(*of(OF_A), "https://made.up/1"))),
        ("insufficient_evidence", replace(BOOST, evidence_urls=of(OF_A[:2]))),
        ("insufficient_evidence", replace(BOOST, evidence_urls=of(OF_A[:1]) * 5)),
        ("insufficient_evidence", replace(BOOST, evidence_urls=("", "", ""))),
        ("evidence_off_target", replace(BOOST, target_key="c", suggested_value="2.0")),
        ("evidence_off_target", replace(ADD, suggested_value="Kube")),
        ("evidence_wrong_polarity", replace(BOOST, evidence_urls=of(BAD_A))),
        ("evidence_wrong_polarity", replace(REDUCE, evidence_urls=of(OF_A))),
    ],
)
def test_a_draft_that_breaks_a_rule_is_refused_by_its_code(code, draft):
    refusal = check(draft, FACTS)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == code
    assert refusal.message


MANY, KUBE = "x" * (TOPIC_MAX_CHARS + 1), topic_key("Kubernetes")
BUSY = replace(FACTS, written=("topics", "topics"))


@pytest.mark.parametrize(
    ("draft", "facts", "target", "said"),
    [
        (
            replace(ADD, suggestion_type="x"),
            FACTS,
            "Kubernetes",
            "add_topic, remove_topic, boost_source, red",
        ),
        (replace(BOOST, suggestion_type="x", target_key=MANY), FACTS, MANY[:-1], "must be one of"),
        (replace(BOOST, suggestion_type="x", target_key=None, suggested_value=None), FACTS, "", "must be"),
        (replace(ADD, suggested_value="two\nlines"), FACTS, "two\nlines", "one line of 1 to 64 visible"),
        (replace(ADD, target_key="docker"), FACTS, "docker", "different topics"),
        (replace(ADD, suggested_value="CRYPTO"), FACTS, "CRYPTO", "“Crypto” is already one"),
        (replace(REMOVE, target_key="Rust"), FACTS, "Rust", "“Rust” is not one"),
        (replace(BOOST, target_key="x"), FACTS, "x", "not a source of this reader"),
        (replace(BOOST, suggested_value="1,3"), FACTS, "a", "plain number such as 1.3"),
        (
            replace(BOOST, suggested_value=0.9),
            FACTS,
            "a",
            "boost_source needs a weight above the current 1.0",
        ),
        (
            replace(REDUCE, suggested_value=1.1),
            FACTS,
            "a",
            "reduce_source needs a weight below the current 1",
        ),
        (replace(BOOST, suggested_value=1), FACTS, "a", "already 1.0"),
        (ADD, replace(FACTS, waiting=frozenset({("topics", KUBE)})), KUBE, "already waits"),
        (replace(REMOVE, target_key="CRYPTO"), BUSY, "crypto", "2 suggestions that change topics"),
        (BOOST, replace(BUSY, written=BUSY.written * 2), "a", "written 3 suggestions"),
        (BOOST, replace(FACTS, declined=frozenset({"boost_source"})), "a", "each of 6 or more boost_source"),
        (replace(BOOST, evidence_urls=(*of(OF_A), "?", "!")), FACTS, "a", "2 of 6 evidence items are not"),
        (replace(BOOST, evidence_urls=of(OF_A[:2])), FACTS, "a", "at least 3 different items, got 2"),
        (replace(ADD, suggested_value="Kube"), FACTS, "kube", "6 evidence items are not about “Kube”"),
        (replace(BOOST, evidence_urls=of(LIKED[:4])), FACTS, "a", "2 evidence items are not about “a”"),
        (
            replace(BOOST, evidence_urls=of(BAD_A)),
            FACTS,
            "a",
            "rests on liked items; 4 of these are not liked",
        ),
        (
            replace(REDUCE, evidence_urls=of(OF_A)),
            FACTS,
            "a",
            "on disliked items; 4 of these are not disliked",
        ),
    ],
)
def test_a_refusal_names_its_target_and_what_is_wrong(draft, facts, target, said):
    refusal = check(draft, facts)
    assert refusal.target == target
    assert said in refusal.message


def test_a_topic_needs_evidence_from_two_sources():
    facts = replace(FACTS, rated={u: replace(i, source="a") for u, i in FACTS.rated.items()})
    assert check(ADD, facts).code == "too_few_sources"
    assert "from 2 sources" in check(ADD, facts).message


def test_an_author_needs_no_second_source():
    signed = {u: replace(i, source="a", title="Plain", author="Harbour") for u, i in FACTS.rated.items()}
    author = replace(ADD, suggested_value="Harbour")
    assert getattr(check(author, replace(FACTS, rated=signed)), "code", "") != "too_few_sources"


@pytest.mark.parametrize("pins", [{"locked": ("a",)}, {"avoided": ("a",)}])
def test_a_pinned_source_is_left_alone(pins):
    effective = replace(FACTS.effective, config=replace(FACTS.effective.config, **pins))
    assert check(BOOST, replace(FACTS, effective=effective)).code == "pinned"


def test_a_pinned_topic_is_left_alone_in_any_spelling():
    config = replace(FACTS.effective.config, avoided=("KUBERNETES",))
    assert check(ADD, replace(FACTS, effective=EffectiveConfig(config))).code == "pinned"


def test_a_refused_permission_names_the_target_and_another_kind_of_the_same_name_is_free():
    config = replace(FACTS.effective.config, locked=("Kubernetes", "a"))
    facts = replace(FACTS, effective=EffectiveConfig(config))
    for target in (("topics", topic_key("kubernetes")), ("source_weights", "a")):
        refusal = permission_refusal(target, facts)
        assert (refusal.code, refusal.target) == ("pinned", target[1])
        assert target[1] in refusal.message
    assert permission_refusal(("source_weights", topic_key("kubernetes")), facts) is None


@pytest.mark.parametrize("draft", [BOOST, REDUCE])
def test_a_target_rests_whatever_the_type(draft):
    cooling = {("source_weights", "a"): CLOCK + timedelta(days=3)}
    refusal = check(draft, replace(FACTS, cooling=cooling))
    assert refusal.code == "on_cooldown"
    assert "2026-03-21" in refusal.message


def test_what_already_waits_is_not_suggested_twice():
    waiting = frozenset({("topics", topic_key("Kubernetes"))})
    assert check(ADD, replace(FACTS, waiting=waiting)).code == "duplicate_pending"
    assert isinstance(check(BOOST, replace(FACTS, waiting=waiting)), Change)


@pytest.mark.parametrize(
    ("written", "source", "topic"),
    [
        ((), True, True),
        (("topics",), True, True),
        (("topics", "topics"), True, False),
        (("source_weights", "source_weights"), False, True),
        (("source_weights", "topics", "topics"), False, False),
    ],
)
def test_a_run_has_one_slot_for_each_kind_and_one_for_either(written, source, topic):
    facts = replace(FACTS, written=written)
    for target, allowed in ((("source_weights", "a"), source), (("topics", "kubernetes"), topic)):
        refusal = permission_refusal(target, facts)
        assert (refusal is None) is allowed
        assert refusal is None or refusal.code == "run_cap"


def test_a_long_step_is_shortened_with_a_note():
    accepted = check(replace(BOOST, suggested_value="1.9"), FACTS)
    assert accepted.suggested_value == "1.3"
    assert "clamped from 1.9 to 1.3" in accepted.notes[0]


def test_the_step_counts_from_the_effective_weight_not_from_what_the_draft_says():
    facts = replace(FACTS, rated={i.url: replace(i, source="b") for i in LIKED})
    draft = replace(BOOST, target_key="b", suggested_value=1.5, evidence_urls=of(LIKED[:3]))
    accepted = check(draft, facts)
    assert (accepted.current_value, accepted.suggested_value) == ("1.1", "1.4")


def strength(accepted, p_overall, confidence, minimum, *, supported=True):
    return strength_refusal(
        accepted, p_overall=p_overall, supported=supported, confidence=confidence, minimum=minimum
    )


def test_ratings_that_contradict_or_are_too_weak_are_not_enough():
    accepted = check(BOOST, FACTS)
    assert strength(accepted, 0.49, "high", "low").code == "evidence_contradicts"
    assert strength(accepted, 0.9, "low", "medium").code == "weak_evidence"
    assert strength(accepted, 0.9, "medium", "medium") is None
    assert strength(accepted, 0.9, "high", "low", supported=False).code == "weak_evidence"


@pytest.mark.parametrize(
    ("effect", "refused"),
    [
        (WeekEffect(shown=70, places=2, reordered=9, items_a_day=40), True),  # a weight moves three
        (WeekEffect(shown=70, places=3, items_a_day=40), False),
        (WeekEffect(shown=40, reordered=0, items_a_day=8), True),
        (WeekEffect(shown=40, reordered=1, items_a_day=8), False),  # all are among the ten: the order counts
        (WeekEffect(shown=4, items_a_day=1), False),  # quiet feeds, or everything is rated
    ],
)
def test_a_weight_has_to_move_three_places_of_last_week_and_one_for_a_small_reader(effect, refused):
    refusal = visibility_refusal(check(BOOST, FACTS), effect)
    assert (refusal.code if refusal else "") == ("moves_nothing" if refused else "")


def test_a_topic_has_to_move_one_place():
    accepted = check(ADD, FACTS)
    assert visibility_refusal(accepted, WeekEffect(shown=70, places=1, items_a_day=40)) is None
    assert visibility_refusal(accepted, WeekEffect(shown=70, items_a_day=40)).code == "moves_nothing"


# German articles of two sources, English ones of two others, one in both languages, and one in neither.
SPOKEN = [
    *(thumb(n, source="ab"[n % 2], title=f"German {n}") for n in range(10)),
    *(thumb(n, source="cd"[n % 2], title=f"English {n}", useful=False) for n in range(10, 20)),
    thumb(20, source="a", title="German and English"),
    thumb(21, source="a"),
]


def asks(kind: str, target: str, value: str = "") -> Change:
    return change_stored(kind=kind, target=target, value=value or target)


@pytest.mark.parametrize(
    ("asked", "then", "is_one"),
    [
        (asks("reduce_source", "a", "0.7"), asks("daily_limit", "a", "2"), True),
        (asks("daily_limit", "a", "2"), asks("reduce_source", "a", "0.7"), True),
        (asks("boost_source", "a", "1.3"), asks("never_miss", "a", "yes"), True),
        (asks("reduce_source", "a", "0.7"), asks("daily_limit", "b", "2"), False),
        (asks("remove_topic", "english"), asks("mute_word", "english"), True),
        (asks("add_topic", "German"), asks("remove_topic", "english"), True),
        (asks("remove_topic", "english"), asks("add_topic", "German"), True),
        (asks("add_topic", "German"), asks("add_topic", "English"), False),
        (asks("add_topic", "German"), asks("reduce_source", "c", "0.7"), False),
        (asks("order_by_taste", "page", "on"), asks("age_faster", "page", "12"), False),
        (asks("add_topic", "chess"), asks("add_topic", "music"), False),
    ],
)
def test_one_thing_is_asked_about_once_however_it_is_put(asked: Change, then: Change, is_one: bool):
    facts = replace(FACTS, asked=(asked,))
    refusal = repeat_refusal(then, facts, SPOKEN)
    assert (refusal.code if refusal else "") == ("asked_already" if is_one else "")
    assert changes_distinct([asked, then], (), SPOKEN) == ([asked] if is_one else [asked, then])


def test_a_source_is_asked_about_once_though_none_of_its_ratings_is_among_the_newest():
    asked = (asks("reduce_source", "z", "0.7"),)
    assert repeat_refusal(asks("shelf_life", "z", "24"), replace(FACTS, asked=asked), []) is not None


def test_the_least_support_is_enough_and_a_refusal_names_the_change():
    accepted = check(ADD, FACTS)
    assert strength(accepted, 0.5, "low", "low") is None
    against = strength(accepted, 0.4, "high", "low")
    soft = strength(accepted, 0.9, "low", "high")
    assert against.target == soft.target == accepted.target
    assert "contradict add_topic for “Kubernetes”" in against.message
    assert "add_topic for “Kubernetes” is low; high is needed" in soft.message


@pytest.mark.parametrize(
    ("draft", "wanted", "agreed"),
    [
        (BOOST, 1.009, "1.01"),
        (BOOST, 1.004, "no_change"),
        (BOOST, 0.995, "wrong_direction"),  # nearly the present value, but a step down in hundredths
        (REDUCE, 0.991, "0.99"),
        (REDUCE, 1.0051, "wrong_direction"),
        (BOOST, 1.3049, "1.3"),
        (REDUCE, 0.7, "0.7"),
    ],
)
def test_a_step_of_a_hundredth_is_the_smallest_and_needs_no_note(draft, wanted, agreed):
    change = change_parse(replace(draft, suggested_value=wanted), FACTS)
    assert (change.suggested_value if isinstance(change, Change) else change.code) == agreed
    assert isinstance(change, Refusal) or change.notes == ()


def test_what_is_clamped_is_said_with_the_limits():
    (note,) = change_parse(replace(BOOST, suggested_value=1.315), FACTS).notes
    assert note == "Weight clamped from 1.315 to 1.3 (at most 0.3 from 1.0, within 0.1 and 2.0)."


junk = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80) | st.lists(st.integers())
)


@given(
    kind=st.sampled_from(["add_topic", "remove_topic", "boost_source", "reduce_source"]) | junk,
    target=st.sampled_from(["a", "b", "crypto"]) | junk,
    value=junk,
    evidence=st.lists(st.sampled_from(of(FACTS.rated.values())) | junk, max_size=6),
)
def test_junk_is_judged_and_never_raises(kind, target, value, evidence):
    verdict = check(Draft(kind, target, value, tuple(evidence), ""), FACTS)
    assert isinstance(verdict, Change | Refusal)


@given(
    wanted=st.floats(-1e6, 1e6),
    base=st.floats(0.1, 2.0),
    delta=st.floats(-1, 1),
    draft=st.sampled_from([BOOST, REDUCE]),
)
def test_an_accepted_weight_is_within_reach_within_bounds_and_in_the_right_direction(
    wanted, base, delta, draft
):
    effective = EffectiveConfig(Config(source_weights={"a": base}), {"a": delta})
    accepted = check(replace(draft, suggested_value=wanted), replace(FACTS, effective=effective))
    if isinstance(accepted, Change):
        current, agreed = effective.weight("a"), float(accepted.suggested_value)
        low, high = weight_bounds(current)
        assert agreed == accepted.weight
        assert low - 1e-6 <= agreed <= high + 1e-6
        assert 0.1 <= agreed <= 2.0
        assert (agreed > current) is (draft is BOOST)
    else:
        assert accepted.code in ("wrong_direction", "no_change")


@given(st.text())
def test_a_clean_topic_is_one_short_line_and_stays_clean(text):
    topic = topic_clean(text)
    if topic is not None:
        assert topic.isprintable()
        assert len(topic) <= TOPIC_MAX_CHARS
        assert topic_clean(topic) == topic


@given(st.text() | st.floats() | st.integers())
def test_only_plain_finite_numbers_are_weights(value):
    number = weight_parse(value)
    assert number is None or abs(number) < float("inf")


@pytest.mark.parametrize(
    ("answers", "declined"), [((0, 5), False), ((0, 6), True), ((1, 30), False), ((0, 0), False)]
)
def test_a_type_is_declined_after_six_refusals_without_a_yes(answers, declined):
    assert ("boost_source" in types_declined({"boost_source": answers})) is declined


def test_a_declined_type_is_refused_whatever_its_evidence_and_no_other():
    facts = replace(FACTS, declined=frozenset({"reduce_source"}))
    assert check(REDUCE, facts).code == "type_declined"
    assert isinstance(check(BOOST, facts), Change)
    assert isinstance(change_parse(REDUCE, facts), Change)


# --- The codes --------------------------------------------------------------------------------------------


def test_every_code_that_refuses_a_draft_has_a_sentence_for_readers_and_a_row_in_the_docs():
    codes = codes_refused() | {REVIEW_IMPROVE, REVIEW_REFUSED, REFUSED}
    assert codes | OBJECTIONS.keys() - {"refused"} == set(CHANGES_STOPPED)
    table = (ROOT / "docs/suggestions.md").read_text().split("| code | rule |")[1].split("\n\n")[0]
    rows = [row.split(" | ")[0] for row in table.splitlines()]
    assert set(re.findall(r"`(\w+)`", "".join(rows))) == codes
