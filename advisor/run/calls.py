"""The answers to a run's tool calls: rules that stop them, the tool itself, words beside it, and counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from advisor.conversation import FINISH_TOOL, WRITE_TOOL, json_object_or_empty, thumbs_weighed
from advisor.guidance.engine import Guide
from advisor.guidance.situations import Level
from advisor.guidance.wording import blocked_outcome, with_advice
from advisor.run_values import LEFT_OUT, ToolContext, ToolOutcome
from advisor.tools.registry import dispatch, is_tool
from digest.llm.entities import ToolCall
from ranking.selectors import reading_once
from suggestions.planner.left_out import LeftOut


@dataclass(slots=True)
class RunCalls:
    """Answers the tool calls of one run and counts their results; a model's own counts are not used."""

    context: ToolContext
    guide: Guide | None = None
    items_analyzed: int = 0
    patterns_found: int = 0
    suggestions_generated: int = 0
    left_out: Sequence[LeftOut] = ()

    def answer(self, call: ToolCall) -> ToolOutcome:
        """Answer one call; a call that an operator's rule stops is not run. Raises `FenceLost`.

        A block that the run meets for the first time is no failure; a model that runs into it again is
        failing.
        """
        guide, context = self.guide, replace(self.context, on_left_out=self._note_left_out)
        if guide is None or call.error or not is_tool(call.name) or call.name == FINISH_TOOL:
            guide = None
        elif (advice := guide.before(call)).level is Level.BLOCK:
            return blocked_outcome(advice, call)
        else:
            context = replace(context, facts=guide.facts)
        # A proposal asks several times for other readers' published figures.
        with reading_once():
            outcome = dispatch(context, call)
        self._count(call, outcome)
        if guide is None:
            return outcome
        return replace(outcome, content=with_advice(outcome.content, guide.after(call, outcome)))

    def _count(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Count the result of one call."""
        if call.name == WRITE_TOOL:
            self.suggestions_generated += 1
        elif call.name == "query_user_feedback" and not outcome.error_code:
            meta = json_object_or_empty(outcome.content).get("meta", {})
            self.items_analyzed = thumbs_weighed(meta)
            self.patterns_found = meta.get("patterns_found", 0)

    def _note_left_out(self, changes: Sequence[LeftOut]) -> None:
        self.left_out = changes

    def as_meta(self, suggestions_count: int) -> dict[str, Any]:
        """Return the counts as `Run.meta` stores them; `suggestions_count` suggestions passed the rules.

        With them are the changes that the planner left out, if any.
        """
        left_out = {LEFT_OUT: [one.as_dict() for one in self.left_out]} if self.left_out else {}
        return left_out | {
            "items_analyzed": self.items_analyzed,
            "patterns_found": self.patterns_found,
            "suggestions_generated": self.suggestions_generated,
            "suggestions_after_validation": suggestions_count,
        }
