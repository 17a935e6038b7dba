"""The parts of a stored score (`Parts.as_dict()`) that its explanations read. Pure.

A score that was stored before a part existed has the part's neutral value.
"""

from collections.abc import Mapping
from math import log
from typing import Any

from ranking.meaning.topics import ABOUT_WORTH
from ranking.scoring import COMMUNITY_GAMMA, INTEREST_MIN, agreement
from ranking.taste.entities import ARTICLE, STRENGTH, TasteReason

# Factors of taste between these are too small to notice on a page.
TASTE_UNSEEN = (0.87, 1.15)
# Weaker leans are no reason worth showing. Of the others, at most this many.
LEAN_SHOWN_MIN, TASTE_REASONS_MAX = 0.02, 3


def taste_factor(parts: Mapping[str, Any]) -> float:
    """Return the factor of the reader's taste; 1 if it does not count."""
    return float(parts.get("taste", 1.0))


def leans_shown(parts: Mapping[str, Any]) -> list[TasteReason]:
    """Return up to three reasons for the factor of taste, those for its direction first."""
    up = taste_factor(parts) >= 1
    reasons = [TasteReason(*one) for one in parts.get("tastes", ())]
    strong = [one for one in reasons if abs(one.lean) >= LEAN_SHOWN_MIN]
    strong.sort(key=lambda one: ((one.lean > 0) is not up, -abs(one.lean)))
    return strong[:TASTE_REASONS_MAX]


def lean_chosen(parts: Mapping[str, Any]) -> TasteReason | None:
    """Return the reason of taste to give if there is room for one, or `None` if none deserves it.

    It is the strongest one for the direction of the factor that names something: a source, a topic, a label
    or an article. Likeness to no article in particular is given only if nothing is named, and if it alone
    would be seen.
    """
    up = taste_factor(parts) >= 1
    leans = [one for one in leans_shown(parts) if (one.lean > 0) is up]
    named = next((one for one in leans if one.kind != ARTICLE or one.label), None)
    return named or next((one for one in leans if is_seen_alone(one)), None)


def is_seen_alone(reason: TasteReason) -> bool:
    """Return whether this reason by itself would make a factor that is seen on a page."""
    low, high = TASTE_UNSEEN
    return not log(low) < STRENGTH * reason.lean < log(high)


def reported_by(parts: Mapping[str, Any]) -> int:
    """Return how many of the reader's sources reported the item."""
    return int(parts.get("reported_by", 1))


def topics_about(parts: Mapping[str, Any]) -> list[str]:
    """Return the topics that the item is about by meaning, without saying them."""
    return list(parts.get("about", ()))


def about_worth(parts: Mapping[str, Any], topic: str) -> float:
    """Return the interest that a topic adds to an item about it; a half if its score was stored without."""
    return float(parts.get("about_worths", {}).get(topic, ABOUT_WORTH))


def community_part(parts: Mapping[str, Any]) -> float:
    """Return the interest that other readers' ratings add."""
    return float(COMMUNITY_GAMMA * parts["community"])


def agreement_part(parts: Mapping[str, Any]) -> float:
    """Return the interest that other sources' reports of the story add."""
    return float(agreement(reported_by(parts)))


def reading_part(parts: Mapping[str, Any]) -> float:
    """Return the interest that the reader's opens add."""
    return float(parts.get("reading", 0.0))


def topics_part(parts: Mapping[str, Any]) -> float:
    """Return the interest that the reader's topics add, by word and by meaning."""
    return len(parts["topics"]) + sum(about_worth(parts, topic) for topic in topics_about(parts))


def similarity_part(parts: Mapping[str, Any]) -> float:
    """Return the interest that similarity adds: the rest that the other parts leave. 0 at the least interest,
    which is no sum."""
    if not parts["similarity"] or parts["interest"] <= INTEREST_MIN:
        return 0.0
    others = topics_part(parts) + sum(parts["boosts"].values()) + community_part(parts)
    return float(parts["interest"] - 1 - others - agreement_part(parts) - reading_part(parts))
