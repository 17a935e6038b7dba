"""Why an item has its place in a digest, in plain words. Pure."""

from digest.compose import NOVELTY, NOVELTY_EVERY
from digest.passing import KEPT

DRAWN = "from a source you rarely see"


def drawn(slot: str, propensity: float) -> bool:
    """Whether an item came by the draw; one that was rated since is kept in place with its probability."""
    return slot == NOVELTY or propensity < 1


def place_words(slot: str, propensity: float) -> str:
    """Why an item stands at its rank. `propensity` is the probability with which it was shown there."""
    if slot == KEPT and drawn(slot, propensity):
        return f"It was drawn, {DRAWN}, and keeps its place since you rated it."
    if slot == KEPT:
        return "It keeps its place since you rated it."
    if slot == NOVELTY:
        chance = f" It had a chance of {propensity:.0%}." if 0.005 <= propensity < 0.995 else ""
        return f"It was drawn, {DRAWN}: every {NOVELTY_EVERY}th place is, whatever the score.{chance}"
    return "Its score earned it that place."
