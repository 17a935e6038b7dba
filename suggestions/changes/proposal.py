"""A change that passed every rule, as its reviewers see it, and their verdict. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from suggestions.changes.change import Change


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that passed every rule, with the server's own numbers and sentences, for reviewers.

    `label` is the reader's name for the target. `forecast` is the body that a suggestion stores. `reason` and
    `expected_impact` are the server's sentences for the reader, and `model_note` is the agent's addition to
    the reason ("": nothing). `likes` and `ratings` count the reader's ratings of the target, `likes_all` and
    `ratings_all` all of them.
    """

    reader_id: UUID
    run_id: UUID
    change: Change
    label: str
    reason: str
    expected_impact: str
    confidence: str
    p_helpful: float
    forecast: Mapping[str, Any]
    likes: int
    ratings: int
    now: datetime
    likes_all: int = 0
    ratings_all: int = 0
    model_note: str = ""

    @property
    def wording(self) -> str:
        """Return the agent's note or, without one, the reason; "" if that quotes the reader."""
        return self.model_note or ("" if self.change.words else self.reason)


@dataclass(frozen=True, slots=True)
class Review:
    """The verdict of the reviewers on a proposal.

    `verdict`: "pass" stores it as pending, "draft" stores it for an operator, "improve" gives `message` back
    to the agent for another round, "refuse" ends it under `code`. `p_helpful` replaces the proposal's own if
    a reviewer revised it. `notes` are added to the suggestion's validation notes.
    """

    verdict: str
    code: str = ""
    message: str = ""
    p_helpful: float | None = None
    notes: tuple[str, ...] = ()


PASS, IMPROVE, DRAFT, REFUSE = "pass", "improve", "draft", "refuse"
# Reviews a proposal before it is stored; called outside any transaction, since it may ask a model.
Reviewer = Callable[[Proposal], Review]
