"""`get_user_profile`: what the reader's past decisions add up to."""

from typing import Any

from advisor.entities import ToolContext
from advisor.tools.arguments import NoArguments
from advisor.tools.budget import PROFILE_TOKENS, fitting_items
from suggestions.selectors import profile_for


def get_user_profile(context: ToolContext, arguments: NoArguments) -> dict[str, Any]:
    """Acceptance by type, patterns and trends; `{"first_run": true}` before any decision."""
    profile = profile_for(reader_id=context.reader_id)
    if profile is None:
        return {"first_run": True}
    first = ("patterns", "acceptance_stats", "trends")
    ordered = {key: profile[key] for key in first if key in profile} | profile
    return fitting_items(ordered, PROFILE_TOKENS)
