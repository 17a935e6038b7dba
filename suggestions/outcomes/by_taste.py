"""The check of an order by thumbs: did the thumbs up to the accept predict those of the two weeks since?

Taste stays as it was at the accept, because later thumbs would predict themselves. P(it helped) comes from
the z-score of the liked ones among the predicted.
"""

from datetime import timedelta

from digest.daily.tastes import signals_without_items
from ranking.common.probability import normal_above
from ranking.config_body import body_effective
from ranking.other_names import topic_names
from ranking.taste.foretold import foretold_since
from suggestions.models import Outcome
from suggestions.outcomes.effects import (
    P_HARMED,
    P_HELPED,
    REASONS,
    TOO_FEW,
    WINDOW_DAYS,
    WITHIN_CHANCE,
    Effect,
)
from suggestions.outcomes.selectors import outcome_full
from suggestions.proposals import HARMED, HELPED, UNCLEAR

# With fewer thumbs since the accept there is no verdict.
THUMBS_MIN = 10


def taste_effect(*, decision: Outcome) -> Effect:
    """Judge one accepted order by thumbs; eleven queries at most."""
    at, reader_id = decision.decided_at, decision.reader_id
    until = at + timedelta(days=WINDOW_DAYS)
    signal = signals_without_items(reader_ids=[reader_id], now=until)[reader_id]
    body = outcome_full(outcome=decision).config_after
    foretold_thumbs = foretold_since(
        signal.examples,
        at,
        topic_names(body_effective(body).config) if body else {},
        now=at,
        spread=signal.spread,
        centre=signal.centre,
        on_hold=signal.on_hold,
    )
    likes, thumbs = int(foretold_thumbs.liked.sum()), len(foretold_thumbs.liked)
    figures = {"window_days": WINDOW_DAYS, "scope_after": [likes, thumbs], "basis": "thumbs"}
    if thumbs < THUMBS_MIN or likes in (0, thumbs):
        return Effect(UNCLEAR, {**figures, "reason": TOO_FEW, "words": REASONS[TOO_FEW]})
    p_helped = 1 - normal_above(foretold_thumbs.sureness)
    verdict = HELPED if p_helped > P_HELPED else HARMED if p_helped < P_HARMED else UNCLEAR
    reason = WITHIN_CHANCE if verdict == UNCLEAR else ""
    words = f"Since then you rated {thumbs} articles and liked {likes}. {_WORDS[verdict]}"
    return Effect(verdict, {**figures, "p_helped": round(p_helped, 3), "reason": reason, "words": words})


_WORDS = {
    HELPED: "Your earlier thumbs put those you liked higher, more often than chance would.",
    UNCLEAR: "Your earlier thumbs tell them from the others no better than chance may; you can go back.",
    HARMED: "Your earlier thumbs put those you liked lower; you can go back.",
}
