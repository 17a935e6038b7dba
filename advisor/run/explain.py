"""Runs in plain English for readers: progress and result. Pure."""

from typing import Any

STARTING = "Getting ready…"
# Shown while each tool runs; `THINKING` at any other time.
TOOLS = {
    "query_user_feedback": "Reading your feedback…",
    "query_user_config": "Looking at your settings…",
    "get_user_profile": "Recalling what you decided before…",
    "get_suggestion_outcomes": "Checking how earlier changes worked out…",
    "write_suggestion": "Checking an idea…",
    "test_suggestion": "Trying an idea on your thumbs…",
    "self_critique": "Looking for weak spots…",
    "get_acceptance_history": "Going through your earlier answers…",
    "compare_configs": "Comparing the digest before and after…",
}
THINKING = "Thinking it over…"
STATUSES = {
    "ready": "Suggestions are switched off on this installation.",
    "completed": "Done.",
    "blocked_pending": "Please answer the suggestions you have first.",
    "already_generated": "The advisor has already looked today. It looks again tomorrow.",
    "in_progress": "A run is under way; this page shows its result once it is done.",
    "skipped": "Not enough feedback yet. Keep rating articles and check back later.",
    "budget_exceeded": "Daily suggestion limit reached. Try again tomorrow.",
    "agent_timeout": "Suggestion generation took too long. Please try again.",
    "agent_error": "Something went wrong generating suggestions. Please try again.",
}
ERROR_OTHER = "Something went wrong. Please try again."
SILENT = "Nothing worth asking today"


def status_message(status: str, created: int = 0, reason: str = "") -> str:
    """Return how a request for suggestions ended; a run without suggestions gives its reason."""
    if status == "completed" and not created:
        return _silence(reason)
    if created and status in {"completed", "budget_exceeded", "agent_timeout", "agent_error"}:
        return f"{created} new suggestion{'s' * (created != 1)}."
    if status == "skipped" and reason:
        return reason
    return STATUSES.get(status, ERROR_OTHER)


def last_run_message(status: str, created: int, reason: str) -> str:
    """Return how the last run ended, for a page without a suggestion of it that waits; `created` is the run's
    own count, without copies that came back when an answer was undone."""
    if created:
        return (
            "It made one suggestion; it is settled."
            if created == 1
            else f"It made {created}; all are settled."
        )
    return status_message(status, 0, reason)


def _silence(reason: str) -> str:
    """Return "Nothing worth asking today" with the reason, unless the reason begins like that."""
    if reason.startswith("Nothing"):
        return reason
    if reason.startswith("Finished"):  # how a model's run ends that proposed nothing, or only a draft
        reason = ""
    return f"{SILENT}: {reason}" if reason else f"{SILENT}."


def script_messages() -> dict[str, Any]:
    """Return the texts that the page's script needs, from the same tables as the page itself."""
    return {
        "tools": TOOLS,
        "thinking": THINKING,
        "starting": STARTING,
        "statuses": STATUSES,
        "other": ERROR_OTHER,
        "silent": SILENT,
    }
