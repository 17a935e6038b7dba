"""The repeat guard."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.agent.loop import RepeatGuard, Verdict

KEYS = st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("12"))


def test_the_second_equal_failure_drops_and_the_third_ends():
    guard = RepeatGuard()
    verdicts = [guard.verdict(tool="write", code="cooldown", target="theverge") for _ in range(3)]
    assert verdicts == [Verdict.GO_ON, Verdict.DROP, Verdict.END]


def test_another_code_or_target_is_another_failure():
    guard = RepeatGuard()
    for code, target in [("cooldown", "a"), ("cooldown", "b"), ("weak_evidence", "a")]:
        assert guard.verdict(tool="write", code=code, target=target) is Verdict.GO_ON


@given(st.lists(KEYS, max_size=30))
def test_the_verdict_depends_only_on_how_often_this_very_failure_was_seen(failures):
    guard = RepeatGuard()
    for n, (tool, code, target) in enumerate(failures):
        seen = failures[: n + 1].count((tool, code, target))
        expected = {1: Verdict.GO_ON, 2: Verdict.DROP}.get(seen, Verdict.END)
        assert guard.verdict(tool=tool, code=code, target=target) is expected
