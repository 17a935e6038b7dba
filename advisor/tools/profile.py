"""`get_user_profile`: what the reader's past decisions add up to, and what was learnt beyond them."""

from typing import Any

from advisor.entities import ToolContext
from advisor.memory.recall import memories_recall
from advisor.tools.arguments import NoArguments
from advisor.tools.budget import PROFILE_TOKENS, fitting, fitting_items, left_after
from suggestions.selectors import profile_for

MEMORIES_KEY_TOKENS = 8


def get_user_profile(context: ToolContext, arguments: NoArguments) -> dict[str, Any]:
    """Acceptance by type, patterns and trends; `{"first_run": true}` before any decision.

    What room is left holds `insights`: curated ones and patterns over many readers, if there are any.
    """
    profile = profile_for(reader_id=context.reader_id)
    if profile is None:
        result: dict[str, Any] = {"first_run": True}
    else:
        first = ("patterns", "acceptance_stats", "trends")
        ordered = {key: profile[key] for key in first if key in profile} | profile
        result = fitting_items(ordered, PROFILE_TOKENS)
    types = list(result.get("acceptance_stats", {}))
    recalled = memories_recall(reader_id=context.reader_id, now=context.now, types=types)
    rows = [{"title": memory.title, "text": memory.text} for memory in recalled]
    insights = fitting(rows, left_after(result, PROFILE_TOKENS) - MEMORIES_KEY_TOKENS)
    return result | ({"insights": insights} if insights else {})
