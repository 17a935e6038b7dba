"""The score: a product, so that weights scale and nothing escapes recency.

score = weight x 0.5^(age / half-life) x (1 + topics + boosts + alpha x similarity + gamma x community)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ranking.entities import WEIGHT_DEFAULT, Candidate, EffectiveConfig, Parts, Score
from ranking.matching import fold, terms_matching

COMMUNITY_GAMMA = 0.5
# Interest below this is a mistake of negative boosts, not a wish to bury an item under dead ones.
INTEREST_MIN = 0.05


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of items beyond their text, by id: similarity to the reader's profile, community rate."""

    similarity: Mapping[int, float] = field(default_factory=dict)
    community: Mapping[int, float] = field(default_factory=dict)


def rank(
    candidates: Sequence[Candidate], effective: EffectiveConfig, now: datetime, signals: Signals | None = None
) -> list[Score]:
    """`candidates` best first, each with its parts. Ties: the newer, then the lower id."""
    scores = score_all(candidates, effective, now, signals or Signals())
    return sorted(scores, key=lambda s: (-s.total, -s.candidate.dated_at.timestamp(), s.candidate.item_id))


def score_all(
    candidates: Sequence[Candidate], effective: EffectiveConfig, now: datetime, signals: Signals
) -> list[Score]:
    """The score of each candidate, in the given order; the arithmetic runs on arrays."""
    if not candidates:
        return []
    matched = [_matches(candidate, effective) for candidate in candidates]
    weights = np.array([effective.weight(c.source) for c in candidates])
    hours = np.array([max(0.0, (now - c.dated_at).total_seconds() / 3600) for c in candidates])
    recency = 0.5 ** (hours / effective.config.recency_half_life_hours)
    similarity = np.array([signals.similarity.get(c.item_id, 0.0) for c in candidates])
    community = np.array([signals.community.get(c.item_id, 0.0) for c in candidates])
    plain = np.array([len(topics) + sum(boosts.values()) for topics, boosts in matched])
    interest = np.maximum(
        INTEREST_MIN,
        1 + plain + effective.config.ai_score_alpha * similarity + COMMUNITY_GAMMA * community,
    )
    totals = weights * recency * interest
    return [
        Score(
            candidate,
            float(totals[i]),
            Parts(
                source_weight=float(weights[i]),
                config_weight=effective.config.source_weights.get(candidate.source, WEIGHT_DEFAULT),
                learned_delta=effective.deltas.get(candidate.source, 0.0),
                age_hours=float(hours[i]),
                recency=float(recency[i]),
                topics=matched[i][0],
                boosts=matched[i][1],
                similarity=float(similarity[i]),
                community=float(community[i]),
                interest=float(interest[i]),
            ),
        )
        for i, candidate in enumerate(candidates)
    ]


def _matches(candidate: Candidate, effective: EffectiveConfig) -> tuple[tuple[str, ...], dict[str, float]]:
    config = effective.config
    if not config.topics and not config.keyword_boosts:
        return (), {}
    folded = fold(f"{candidate.title}\n{candidate.text}")
    keywords = terms_matching(config.keyword_boosts, folded)
    return terms_matching(config.topics, folded), {word: config.keyword_boosts[word] for word in keywords}
