"""The one thing that a run may ask its reader: its form, and the rules for a model's words. Pure.

Codes: `invalid_question`, `unsafe_question`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from digest.llm.phishing import Grounds, phishing_problem
from suggestions.proposals import Refusal

ASKED_LATELY = "asked_lately"
TEXT_CHARS, ANSWER_CHARS = 200, 60
ANSWERS_MIN, ANSWERS_MAX = 2, 4
ITEMS_MIN, ITEMS_MAX = 1, 5
# A question is open for so long, and no other is asked before.
OPEN = timedelta(days=14)
# Older answers are no evidence any more.
ANSWER_KEEPS = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """A question as an agent sends it. Values are unchecked; `urls` are the rated items that it is about."""

    text: str
    answers: Sequence[str]
    urls: Sequence[str]


def question_refusal(text: str, answers: Sequence[str], grounds: Grounds) -> Refusal | None:
    """Refuse a question of a wrong form, or one that says more than plain English and its `grounds`."""
    if not (text.endswith("?") and len(text) <= TEXT_CHARS):
        message = f"A question is one line of at most {TEXT_CHARS} characters that ends with a question mark."
        return Refusal("invalid_question", message)
    distinct = {answer.casefold() for answer in answers if answer}
    if not ANSWERS_MIN <= len(answers) <= ANSWERS_MAX or len(distinct) < len(answers):
        message = f"A question has {ANSWERS_MIN} to {ANSWERS_MAX} different answers."
        return Refusal("invalid_question", message)
    if any(len(answer) > ANSWER_CHARS for answer in answers):
        return Refusal("invalid_question", f"An answer has at most {ANSWER_CHARS} characters.")
    for words in (text, *answers):
        if problem := phishing_problem(words, grounds):
            message = f"It cannot be shown for its {problem.kind}: “{problem.piece}”. Use plain English."
            return Refusal("unsafe_question", message)
    return None
