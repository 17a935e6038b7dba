"""What a model is asked in each round of a reflection, and the form of its answer. Pure but for the files."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from advisor.prompts import prompt_load
from advisor.review.case import ReviewCase
from advisor.review.reflector_judge import News, Own, Verdict
from digest.llm.model_text import preview
from digest.llm.typed import fenced
from suggestions.entities import Proposal

PROMPTS = Path(__file__).parent.parent / "prompts"
FIRST, SECOND = PROMPTS / "reflect_first.md", PROMPTS / "reflect_second.md"


def _told(value: object) -> object:
    return preview(value) if isinstance(value, str) else value


class Answer(BaseModel):
    """A model's verdict on one round."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    helps: StrictBool
    accepts: StrictBool
    confidence: float = Field(ge=0, le=1)
    reasoning: Annotated[str, BeforeValidator(_told)] = ""

    def verdict(self, p_helpful: float) -> Verdict:
        """The answer as a verdict that leaves the probability at `p_helpful`."""
        return Verdict(self.helps, self.accepts, self.confidence, p_helpful, self.reasoning)


def first_question(proposal: Proposal, own: Own) -> tuple[str, str]:
    """(instructions, material) of round 1: the reader's own data, without the effect on thumbs kept apart.

    Raises `PromptUnusable`.
    """
    return prompt_load(FIRST), fenced(_material(proposal, own))


def second_question(proposal: Proposal, own: Own, first: Verdict, news: News) -> tuple[str, str]:
    """(instructions, material) of round 2: that of round 1, its verdict, and the new evidence.

    Raises `PromptUnusable`.
    """
    verdict = {
        "helps": first.helps,
        "accepts": first.accepts,
        "confidence": round(first.confidence, 2),
        "reasoning": first.reasoning,
    }
    body = _material(proposal, own) | {"round_1": verdict, "new_evidence": news.as_dict()}
    return prompt_load(SECOND), fenced(body)


def _material(proposal: Proposal, own: Own) -> dict[str, Any]:
    body = ReviewCase(proposal).body
    kept = ("change", "reason", "counts", "evidence", "today")
    return {name: body[name] for name in kept} | {
        "p_helpful": round(own.p_helpful, 2),
        "answers_to_this_type": {"accepted": own.accepted, "rejected": own.rejected},
    }
