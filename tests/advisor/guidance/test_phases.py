"""A run's phase is told by its tool, and by writes that failed."""

from advisor.guidance.situations import PHASE_OF_TOOL, Phase, phase_of
from advisor.tools.registry import TOOLS


def test_each_tool_has_its_phase() -> None:
    assert set(PHASE_OF_TOOL) == set(TOOLS)
    assert phase_of("query_user_feedback", 0) is Phase.EXPLORE
    assert phase_of("compare_configs", 0) is Phase.ANALYZE
    assert phase_of("test_suggestion", 0) is Phase.HYPOTHESIZE
    assert phase_of("write_suggestion", 1) is Phase.WRITE
    assert phase_of("self_critique", 0) is Phase.CRITIQUE


def test_after_two_failed_writes_in_a_row_a_run_repairs_whatever_it_calls() -> None:
    assert {phase_of(tool, 2) for tool in TOOLS} == {Phase.REPAIR}


def test_an_unknown_tool_explores() -> None:
    assert phase_of("no_such_tool", 0) is Phase.EXPLORE
