"""Runs in plain English for readers: progress and result. Pure."""

from typing import Any

from advisor.feedback_needed import MISSING_FORMS
from advisor.run_values import BY_PLANNER, RAN_THIS_WEEK, RUN_MONEY_SPENT, STOP_SENTENCES
from ranking.former_texts import text_today
from ranking.language import gettext as _
from ranking.language import gettext_noop, ngettext, stored_text
from suggestions.planner.hypotheses import SILENCE_SENTENCES
from suggestions.sentences import change_found_split
from suggestions.wording import CHANGES_FOUND, MODEL_ADDS, NO_CHANGE

STARTING = gettext_noop("Getting ready…")
# Shown while each tool runs; `THINKING` at any other time.
TOOLS = {
    "query_user_feedback": gettext_noop("Reading your feedback…"),
    "read_items": gettext_noop("Reading some of the articles you rated…"),
    "query_user_config": gettext_noop("Looking at your settings…"),
    "get_user_profile": gettext_noop("Recalling what you decided before…"),
    "get_suggestion_outcomes": gettext_noop("Checking how earlier changes worked out…"),
    "write_suggestion": gettext_noop("Checking an idea…"),
    "test_suggestion": gettext_noop("Trying an idea on your ratings…"),
    "self_critique": gettext_noop("Looking for weak spots…"),
    "get_acceptance_history": gettext_noop("Going through your earlier answers…"),
    "compare_configs": gettext_noop("Comparing the digest before and after…"),
    "finish": gettext_noop("Almost done…"),
}
THINKING = gettext_noop("Thinking it over…")
STATUSES = {
    "ready": gettext_noop("Suggestions are switched off on this installation."),
    "completed": gettext_noop("Done."),
    "blocked_pending": gettext_noop("Please answer the suggestions you have first."),
    "already_generated": gettext_noop(
        "The advisor has already looked today. You can ask again tomorrow; "
        "by itself it looks about once a week."
    ),
    "in_progress": gettext_noop("A run is under way; this page shows its result once it is done."),
    "skipped": gettext_noop("Not enough feedback yet. Keep rating articles and check back later."),
    "budget_exceeded": gettext_noop("Daily suggestion limit reached. Try again tomorrow."),
    "agent_timeout": gettext_noop("Suggestion generation took too long. Please try again."),
    "agent_error": gettext_noop("Something went wrong generating suggestions. Please try again."),
}
# What an operator reads about a run that they asked for on behalf of a reader.
OPERATORS = {
    "ready": "Suggestions are switched off on this installation.",
    "completed": "The run for {reader} is done.",
    "blocked_pending": "The advisor did not run, because {reader} has suggestions to answer first.",
    "already_generated": "The advisor has already looked today for {reader}. It can run again tomorrow.",
    "in_progress": "A run for {reader} is waiting or under way.",
    "skipped": "The advisor did not run for {reader}.",
    "budget_exceeded": "The run for {reader} stopped: the budget is used up.",
    "agent_timeout": "The run for {reader} stopped: it took too long.",
    "agent_error": "The run for {reader} failed.",
}
OPERATORS_OTHER = "Something went wrong with the run for {reader}."
ERROR_OTHER = gettext_noop("Something went wrong. Please try again.")
SILENT = gettext_noop("Nothing worth asking today")
ENDED = frozenset({"completed", "budget_exceeded", "agent_timeout", "agent_error"})
FAILED = ENDED - {"completed"}
CAPPED = frozenset({RUN_MONEY_SPENT, *STOP_SENTENCES.values()})
# The possible beginnings of a stored reason, before a model's own words.
OURS = (*CHANGES_FOUND, NO_CHANGE, *SILENCE_SENTENCES.values())


def status_message(status: str, created: int = 0, reason: str = "") -> str:
    """Return the result of a request for suggestions. A run without suggestions gives its reason.

    The found change comes before the failure of the run.
    """
    if status == "completed" and not created:
        return _silence(reason)
    if created and status in ENDED:
        made = ngettext("{n} new suggestion.", "{n} new suggestions.", created).format(n=created)
        return f"{made} {_(BY_PLANNER)}" if reason == BY_PLANNER else made
    if status == "skipped" and reason:
        return reason_shown(reason)
    words = _(STATUSES.get(status, ERROR_OTHER))
    if status not in ENDED:
        return words
    found, rest = change_found_split(reason)
    return " ".join(part for part in (_(found), _(rest) if rest in CAPPED else words) if part)


def operator_message(reader: str, status: str, created: int = 0, reason: str = "") -> str:
    """Return the result of a request for suggestions for an operator, who asked on behalf of `reader`.

    A reason is in words to the reader, so it is quoted as such. That of a failure is the error itself.
    """
    if created and status in ENDED:
        return f"The run for {reader} made {created} new suggestion{'s' * (created != 1)}."
    words = OPERATORS.get(status, OPERATORS_OTHER).format(reader=reader)
    if reason == RAN_THIS_WEEK:
        return f"{words} It ran this week."
    if status in FAILED and reason:
        return f"{words} {reason}"
    if status not in ("completed", "skipped") or not reason:
        return words
    return f"{words} Its reader is told: “{status_message(status, 0, reason)}”"


def reason_shown(reason: str) -> str:
    """Return the stored reason of a run in the language in force; a model's own words stay as they are."""
    reason = text_today(reason)
    first = next((one for one in OURS if reason.startswith(f"{one} ")), "")
    rest = stored_text(reason.removeprefix(first).strip(), (*MISSING_FORMS, MODEL_ADDS))
    return f"{_(first)} {rest}" if first else rest


def last_run_message(status: str, created: int, reason: str) -> str:
    """Return how the last run ended, for a page without a suggestion of it that waits; `created` is the run's
    own count, without copies that came back when an answer was undone."""
    if created:
        words = ngettext(
            "It made one suggestion. What became of it stands among your decisions.",
            "It made {n}. What became of them stands among your decisions.",
            created,
        )
        return words.format(n=created)
    return status_message(status, 0, reason)


def _silence(reason: str) -> str:
    """Return "Nothing worth asking today" with the reason, unless it begins like that or names a change."""
    shown = reason_shown(reason)
    if reason.startswith("Nothing") or change_found_split(reason)[0]:
        return shown
    if reason.startswith("Finished"):  # how a model's run ends that proposed nothing
        reason = ""
    return f"{_(SILENT)}: {shown}" if reason else f"{_(SILENT)}."


def script_messages() -> dict[str, Any]:
    """Return the texts that the page's script needs, from the same tables as the page itself."""
    return {
        "tools": {name: _(words) for name, words in TOOLS.items()},
        "thinking": _(THINKING),
        "starting": _(STARTING),
        "statuses": {status: _(words) for status, words in STATUSES.items()},
        "other": _(ERROR_OTHER),
        "silent": _(SILENT),
        "busy": _("Generating…"),
        "turns": [_("{n} turn"), _("{n} turns")],
        "calls": [_("{n} tool call"), _("{n} tool calls")],
        "so_far": _("{turns}, {calls} so far."),
    }
