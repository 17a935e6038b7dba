"""What a run is doing, told by the tool it calls. Pure."""

from advisor.guidance.entities import Phase

# So many failed writes in a row, and whatever the run calls next is for mending them.
REPAIR_AT = 2
PHASE_OF_TOOL = {
    "query_user_feedback": Phase.EXPLORE,
    "query_user_config": Phase.EXPLORE,
    "get_user_profile": Phase.EXPLORE,
    "get_acceptance_history": Phase.ANALYZE,
    "get_suggestion_outcomes": Phase.ANALYZE,
    "compare_configs": Phase.ANALYZE,
    "test_suggestion": Phase.HYPOTHESIZE,
    "write_suggestion": Phase.WRITE,
    "self_critique": Phase.CRITIQUE,
}


def phase_of(tool: str, failed_writes: int) -> Phase:
    """The phase of a call to `tool` after `failed_writes` in a row; a tool it does not know explores."""
    if failed_writes >= REPAIR_AT:
        return Phase.REPAIR
    return PHASE_OF_TOOL.get(tool, Phase.EXPLORE)
