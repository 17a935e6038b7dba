"""`get_suggestion_outcomes`: earlier decisions in three layers, from a line each to the whole case."""

from typing import Any

from advisor.entities import ToolContext
from advisor.guidance.retrieval import memories_detail
from advisor.tools.arguments import OutcomesArguments
from advisor.tools.budget import OUTCOMES_TOKENS, fitting, left_after
from advisor.tools.changes import NOTE
from suggestions.selectors import outcomes_detail, outcomes_search, outcomes_timeline

ENVELOPE_TOKENS = 20


def get_suggestion_outcomes(context: ToolContext, arguments: OutcomesArguments) -> dict[str, Any]:
    """The rows of one layer that fit the budget; `left_out` counts the others.

    With `memories` in the detail, those too, before the rest. Ids that are another reader's, or nobody's,
    are left out without a word.
    """
    reader_id, now = context.reader_id, context.now
    if arguments.layer == "search":
        rows = outcomes_search(
            reader_id=reader_id,
            now=now,
            types=arguments.types,
            outcomes=arguments.outcomes,
            query=arguments.query,
            limit=arguments.limit,
        )
    elif arguments.layer == "timeline":
        rows = outcomes_timeline(reader_id=reader_id, ids=arguments.ids, now=now)
    else:
        rows = outcomes_detail(reader_id=reader_id, ids=arguments.ids, now=now)
    told = _memories(context, arguments) if arguments.layer == "detail" and arguments.memories else {}
    shown = fitting(rows, left_after(told, OUTCOMES_TOKENS - ENVELOPE_TOKENS))
    return {"layer": arguments.layer, "outcomes": shown, "left_out": len(rows) - len(shown)} | told


def _memories(context: ToolContext, arguments: OutcomesArguments) -> dict[str, Any]:
    rows = memories_detail(reader_id=context.reader_id, ids=arguments.memories, now=context.now)
    return {"memories": fitting(rows, OUTCOMES_TOKENS / 2), "note": NOTE}
