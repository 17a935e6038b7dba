"""The nouns of summaries: a text to summarise, what was made of it, what it is worth. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

OFFLINE = "offline"
NO_EVIDENCE, GROUNDING_FAIL = "NO_EVIDENCE", "GROUNDING_FAIL"
# Four answers of about 250 tokens fit into the 1,500 that a call may put out.
BATCH = 4
# About 600 tokens: the lead of a story and what follows from it. What a model was not shown it cannot cite.
SHOWN_CHARS = 2_400
# A shorter text is read as fast as its summary, so its extract serves.
WORTH_CHARS = 600
# As the digest ages its items, by default (`ranking`).
HALF_LIFE_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Text:
    """One text to summarise, and its value to the readers who may see what a model makes of it."""

    item_id: int
    fingerprint: str
    title: str
    text: str

    @property
    def shown(self) -> str:
        """What of the text goes to a model."""
        return self.text[:SHOWN_CHARS]


@dataclass(frozen=True, slots=True)
class Made:
    """What is kept of one text: a summary with its citations, or the reason why there is none.

    `fault` says what was wrong with a summary that was repaired or refused.
    """

    text: str = ""
    citations: tuple[str, ...] = ()
    repaired: bool = False
    refusal: str = ""
    fault: str = ""


def value_of(weight: float, dated_at: datetime, now: datetime) -> float:
    """What a summary is worth: the summed weight its source has for its readers, halved with each day."""
    age_hours = max(0.0, (now - dated_at) / timedelta(hours=1))
    return float(weight * 0.5 ** (age_hours / HALF_LIFE_HOURS))
