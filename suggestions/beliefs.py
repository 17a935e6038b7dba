"""How sure a change may be called, in words that mean something. Pure."""

# Thresholds of confidence in words; "high" also needs measuring thumbs that agree.
P_HIGH = 0.95
P_MEDIUM = 0.7
# What each word is worth, measured on simulated readers (`docs/planner.md`).
MEANING = {
    "high": "nearly all such changes helped, and thumbs that had no part in choosing it lean the same way",
    "medium": "about 1 in 10 such changes did not help",
    "low": "this may well be chance",
}


def confidence_of(p_helpful: float, gain: float | None, high: float | None) -> str:
    """Confidence in words from the thumbs that chose a change and the ones that measured it.

    "low" below 0.7 or when the whole 90 % interval of the measured gain lies below zero; "high" from 0.95
    when the measured thumbs also show a gain; "medium" in between.
    """
    if p_helpful < P_MEDIUM or (high is not None and high < 0):
        return "low"
    return "high" if p_helpful >= P_HIGH and gain is not None and gain > 0 else "medium"
