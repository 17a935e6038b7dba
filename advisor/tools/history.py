"""`get_acceptance_history`: what the reader said yes and no to, in short, with the reasons given."""

from typing import Any

from advisor.entities import ToolContext
from advisor.tools.arguments import HistoryArguments
from advisor.tools.budget import HISTORY_TOKENS, filled
from advisor.tools.changes import NOTE
from suggestions.selectors.acceptance import acceptance_history


def get_acceptance_history(context: ToolContext, arguments: HistoryArguments) -> dict[str, Any]:
    """Counts by type and result over all time, then the newest accepted and rejected suggestions."""
    history = acceptance_history(reader_id=context.reader_id, limit=arguments.limit, now=context.now)
    result = {"by_type": history.by_type, "note": NOTE}
    # Rejections first: what they do not need of the room goes to what was accepted.
    return filled(result, {"rejected": history.rejected, "accepted": history.accepted}, HISTORY_TOKENS)
