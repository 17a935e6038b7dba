"""The tool that ends a run, and with it may ask the reader one thing."""

from typing import Annotated, Any

from pydantic import Field

from advisor.prompts import quotes_prompt
from advisor.result_size import error_result
from advisor.run_values import ToolContext
from advisor.tools import Arguments
from advisor.tools.references import evidence_addresses
from suggestions.proposals import Refusal
from suggestions.questions import ANSWERS_MAX, ASKED_LATELY, ITEMS_MAX, QuestionDraft
from suggestions.services.questions import question_ask


class SkippedHypothesis(Arguments):
    """A hypothesis that was weighed and left out."""

    hypothesis: str
    reason_skipped: str


class QuestionArguments(Arguments):
    """One thing to ask the reader."""

    text: str
    answers: Annotated[list[str], Field(max_length=ANSWERS_MAX, description="Two to four.")]
    items: Annotated[list[str], Field(max_length=ITEMS_MAX, description="Rated items it is about.")]


class FinishArguments(Arguments):
    """What a run has to say at its end."""

    reason: Annotated[str, Field(description="Why nothing is proposed, in one sentence; else empty.")] = ""
    skipped: Annotated[list[SkippedHypothesis], Field(description="Every hypothesis left out.")] = []
    question: Annotated[QuestionArguments | None, Field(description="Only if no tool can tell.")] = None


def finish(context: ToolContext, arguments: FinishArguments) -> dict[str, Any]:
    """Return that the run is over, after its question is stored, or the refusal of the question.

    A question too soon after another one is left out, and no reason to go on. The loop ends the run,
    and keeps the arguments as its summary.
    """
    asked = arguments.question
    if asked is None:
        return {"success": True}
    urls = evidence_addresses(context, asked.items)
    words = "" if quotes_prompt(" ".join((asked.text, *asked.answers))) else asked.text
    draft = QuestionDraft(words, asked.answers, urls)
    stored = question_ask(
        reader_id=context.reader_id, run_id=context.run_id, draft=draft, now=context.now, fence=context.fence
    )
    if isinstance(stored, Refusal) and stored.code != ASKED_LATELY:
        return error_result(stored.code, stored.message)
    return {"success": True}
