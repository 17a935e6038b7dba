"""The reflector's two rounds as arithmetic: what a judge knows, and its verdict.

Round 1 forecasts from the reader's own data: P(it helps) from the ratings that chose the change, and
P(the reader accepts) from their answers to changes of its type, with the prior Beta(2, 2).

Round 2 adds what round 1 did not have, in log-odds of "it helps":

    logit p2 = logit p1 + direction * (PEERS_SLOPE * peers + COMMUNITY_SLOPE * community) + forecast

where peers and community are deviations of at least five other readers (steps of 0.05, at most 0.2), and
the forecast is half its distance from zero in standard errors (its 90 % interval is 3.29 wide), at most
1.5. Each part alone is too weak to reverse a clear round 1.

COMMUNITY_SLOPE is the worth of a deviation at even odds, 1 / (p (1 - p)) = 4; a logistic regression on
MovieLens-100k gave 6.5 (about items; a change is about a source, so we take 4). PEERS_SLOPE is what the same
regression gave similar readers beside the community: 1.0 with a standard error of 1.3. They are shown and
stored and decide next to nothing: open data support no more (`tests.lab reflector`). Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from scipy.special import expit, logit

from ranking.crowd import Opinion

# Log-odds per unit of deviation: at the greatest deviation (0.2) peers weigh 0.2 and the community 0.8.
PEERS_SLOPE, COMMUNITY_SLOPE = 1.0, 4.0
FORECAST_WEIGHT, FORECAST_MAX = 0.5, 1.5
INTERVAL_90 = 3.29
# Below this width an interval is no measurement but a handful of equal draws.
INTERVAL_MIN = 1e-6
ACCEPT_PRIOR = 2.0
P_MIN, P_MAX = 0.02, 0.98
REFUSE_CONFIDENCE = 0.8


@dataclass(frozen=True, slots=True)
class OwnEvidence:
    """What round 1 knows: `p_helpful` of the proposal, and the reader's answers to changes of its type."""

    p_helpful: float
    accepted: int = 0
    rejected: int = 0

    @property
    def p_accepts(self) -> float:
        """Return the posterior mean of the acceptance rate."""
        return (self.accepted + ACCEPT_PRIOR) / (self.accepted + self.rejected + 2 * ACCEPT_PRIOR)

    def as_dict(self) -> dict[str, object]:
        """Return plain JSON values, as the audit stores them."""
        return asdict(self) | {"p_helpful": round(self.p_helpful, 4)}


@dataclass(frozen=True, slots=True)
class NewEvidence:
    """What only round 2 knows: other readers' opinions of the target, and the effect on holdout ratings.

    `gain`, `low` and `high` are of nDCG@10 with a 90 % interval; `None` where nothing was measured.
    """

    peers: Opinion | None = None
    community: Opinion | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def any(self) -> bool:
        """Return whether there is anything new."""
        return self.peers is not None or self.community is not None or self._measured is not None

    @property
    def _measured(self) -> tuple[float, float] | None:
        """Return the gain and its standard error, where both were measured."""
        if self.gain is None or self.low is None or self.high is None:
            return None
        return self.gain, max(INTERVAL_MIN, (self.high - self.low) / INTERVAL_90)

    def shift(self, liked: bool) -> float:
        """Return the log-odds for (+) or against (-) the change."""
        direction = 1.0 if liked else -1.0
        peers = PEERS_SLOPE * self.peers.deviation if self.peers else 0.0
        community = COMMUNITY_SLOPE * self.community.deviation if self.community else 0.0
        gain, error = self._measured or (0.0, 1.0)
        forecast = max(-FORECAST_MAX, min(FORECAST_MAX, FORECAST_WEIGHT * gain / error))
        return direction * (peers + community) + forecast

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values, for a model and for the audit; empty without news."""
        values: dict[str, Any] = {
            name: asdict(opinion) for name in ("peers", "community") if (opinion := getattr(self, name))
        }
        if self._measured is not None:
            values["later_thumbs"] = {"ndcg_gain": self.gain, "ndcg_low": self.low, "ndcg_high": self.high}
        return values


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a round: will it help, will the reader accept, how sure, and why."""

    helps: bool
    accepts: bool
    confidence: float
    p_helpful: float
    reasoning: str

    @property
    def yes(self) -> bool:
        """Return whether both are expected."""
        return self.helps and self.accepts

    @property
    def refuses(self) -> bool:
        """Return whether this is a no that is sure enough to end the proposal."""
        return not self.yes and self.confidence >= REFUSE_CONFIDENCE - 1e-9


def judge_first(own: OwnEvidence) -> Verdict:
    """Return the verdict of round 1, from the reader's own data."""
    reasoning = f"the thumbs that chose it say {own.p_helpful:.2f}; {_answers(own)}"
    return _verdict(own.p_helpful, own, reasoning)


def judge_second(own: OwnEvidence, news: NewEvidence, liked: bool) -> Verdict:
    """Return the verdict of round 2; without news that of round 1."""
    if not news.any:
        return replace(judge_first(own), reasoning="nothing new; as in round 1")
    p = float(expit(logit(_clamped(own.p_helpful)) + news.shift(liked)))
    return _verdict(p, own, f"{_summary(news)}; {own.p_helpful:.2f} becomes {p:.2f}; {_answers(own)}")


def lower_by_doubt(p_helpful: float, *, helps: bool, confidence: float) -> float:
    """Return `p_helpful` after a model's verdict: a no takes it halfway, in log-odds, to that doubt.

    The confidence that a reader sees rests on our own figures; a model may only lower it.
    """
    if helps:
        return p_helpful
    return min(p_helpful, float(expit((logit(_clamped(p_helpful)) + logit(_clamped(1.0 - confidence))) / 2)))


def _verdict(p_helpful: float, own: OwnEvidence, reasoning: str) -> Verdict:
    p = _clamped(p_helpful)
    helps, accepts = p >= 0.5, own.p_accepts >= 0.5
    doubts = [1 - q for q, yes in ((p, helps), (own.p_accepts, accepts)) if not yes]
    confidence = max(doubts) if doubts else min(p, own.p_accepts)
    return Verdict(helps, accepts, confidence, p_helpful, reasoning)


def _clamped(p: float) -> float:
    return min(P_MAX, max(P_MIN, p))


def _answers(own: OwnEvidence) -> str:
    answered = own.accepted + own.rejected
    if not answered:
        return "the reader has not answered such a change yet"
    return f"the reader accepted {own.accepted} of {answered} such changes"


def _summary(news: NewEvidence) -> str:
    """Return the news in one line: who likes the target more or less than usual."""
    opinions: Mapping[str, Opinion | None] = {"similar readers": news.peers, "all readers": news.community}
    parts = [
        f"{who} {_tendency(found.deviation)} ({found.deviation:+.2f})"
        for who, found in opinions.items()
        if found
    ]
    if news.gain is not None:
        parts.append(f"thumbs kept apart measure {news.gain:+.3f} nDCG@10")
    return ", ".join(parts)


def _tendency(deviation: float) -> str:
    return "as usual" if not deviation else "like it more than usual" if deviation > 0 else "less than usual"
