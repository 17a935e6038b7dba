"""The reflector's two rounds as arithmetic: what a judge knows, and the verdict it comes to. Pure.

Round 1 forecasts from the reader's own data: P(it helps) as the thumbs that chose the change say it, and
P(the reader accepts) from their answers to changes of its type, Beta(2, 2) before the first.

Round 2 adds what round 1 did not have, in log-odds of "it helps":

    logit p2 = logit p1 + direction * (PEERS_SLOPE * peers + COMMUNITY_SLOPE * community) + forecast

where peers and community are deviations of at least five other readers (steps of 0.05, at most 0.2), and
the forecast is half its distance from zero in standard errors (its 90 % interval is 3.29 wide), at most 1.5.
Each part alone is too weak to turn a clear round 1 round.

COMMUNITY_SLOPE is what a deviation is worth at even odds, 1 / (p (1 - p)) = 4; a logistic regression on
MovieLens-100k asked for 6.5 (about items; a change is about a source, so we keep to 4). PEERS_SLOPE is what
the same regression left to similar readers beside the community: 1.0 with a standard error of 1.3. They are
shown and stored and decide next to nothing: on open data they have not earned more (`evaluate_reflector`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
class Own:
    """What round 1 knows: `p_helpful` of the proposal, and the reader's answers to changes of its type."""

    p_helpful: float
    accepted: int = 0
    rejected: int = 0

    @property
    def p_accepts(self) -> float:
        """The posterior mean of the acceptance rate."""
        return (self.accepted + ACCEPT_PRIOR) / (self.accepted + self.rejected + 2 * ACCEPT_PRIOR)


@dataclass(frozen=True, slots=True)
class News:
    """What only round 2 knows: other readers' opinions of the target, and the effect on thumbs kept apart.

    `gain`, `low` and `high` are of nDCG@10 with a 90 % interval; `None` where there is nothing to tell.
    """

    peers: Opinion | None = None
    community: Opinion | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def any(self) -> bool:
        """Whether there is anything new at all."""
        return self.peers is not None or self.community is not None or self._measured is not None

    @property
    def _measured(self) -> tuple[float, float] | None:
        """The gain and its standard error, where both were measured."""
        if self.gain is None or self.low is None or self.high is None:
            return None
        return self.gain, max(INTERVAL_MIN, (self.high - self.low) / INTERVAL_90)

    def shift(self, liked: bool) -> float:
        """The log-odds by which this speaks for (+) or against (-) the change."""
        direction = 1.0 if liked else -1.0
        peers = PEERS_SLOPE * self.peers.deviation if self.peers else 0.0
        community = COMMUNITY_SLOPE * self.community.deviation if self.community else 0.0
        return direction * (peers + community) + self._forecast_shift()

    def _forecast_shift(self) -> float:
        if self._measured is None or self._measured[0] == 0:
            return 0.0
        gain, error = self._measured
        return max(-FORECAST_MAX, min(FORECAST_MAX, FORECAST_WEIGHT * gain / error))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, as a judge is shown them and as they are stored; empty without news."""
        told: dict[str, Any] = {
            name: asdict(said) for name in ("peers", "community") if (said := getattr(self, name))
        }
        if self._measured is not None:
            told["later_thumbs"] = {"ndcg_gain": self.gain, "ndcg_low": self.low, "ndcg_high": self.high}
        return told


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a round came to: will it help, will the reader accept, how sure, and why."""

    helps: bool
    accepts: bool
    confidence: float
    p_helpful: float
    reasoning: str

    @property
    def yes(self) -> bool:
        """Both."""
        return self.helps and self.accepts

    @property
    def refuses(self) -> bool:
        """A no that is sure enough to end the proposal."""
        return not self.yes and self.confidence >= REFUSE_CONFIDENCE - 1e-9


def judge_first(own: Own) -> Verdict:
    """Round 1, from the reader's own data."""
    told = f"the thumbs that chose it say {own.p_helpful:.2f}"
    return _verdict(own.p_helpful, own, f"{told}; {_answers(own)}")


def judge_second(own: Own, news: News, liked: bool) -> Verdict:
    """Round 2. Without news it repeats round 1 and says so."""
    if not news.any:
        first = judge_first(own)
        return Verdict(
            first.helps, first.accepts, first.confidence, first.p_helpful, "nothing new; as in round 1"
        )
    p = float(expit(logit(_held(own.p_helpful)) + news.shift(liked)))
    return _verdict(p, own, f"{_words(news)}; {own.p_helpful:.2f} becomes {p:.2f}; {_answers(own)}")


def doubted(p_helpful: float, *, helps: bool, confidence: float) -> float:
    """`p_helpful` after a model's verdict: a no takes it halfway, in log-odds, to that doubt; a yes keeps it.

    What a reader is told of our confidence rests on our own figures; a model may only take from them.
    """
    if helps:
        return p_helpful
    return min(p_helpful, float(expit((logit(_held(p_helpful)) + logit(_held(1.0 - confidence))) / 2)))


def _verdict(p_helpful: float, own: Own, reasoning: str) -> Verdict:
    p = _held(p_helpful)
    helps, accepts = p >= 0.5, own.p_accepts >= 0.5
    doubts = [1 - q for q, yes in ((p, helps), (own.p_accepts, accepts)) if not yes]
    confidence = max(doubts) if doubts else min(p, own.p_accepts)
    return Verdict(helps, accepts, confidence, p_helpful, reasoning)


def _held(p: float) -> float:
    return min(P_MAX, max(P_MIN, p))


def _answers(own: Own) -> str:
    answered = own.accepted + own.rejected
    if not answered:
        return "the reader has not answered such a change yet"
    return f"the reader accepted {own.accepted} of {answered} such changes"


def _words(news: News) -> str:
    """The news in one line: who leans which way."""
    told: Mapping[str, Opinion | None] = {"similar readers": news.peers, "all readers": news.community}
    parts = [f"{who} {_lean(said.deviation)} ({said.deviation:+.2f})" for who, said in told.items() if said]
    if news.gain is not None:
        parts.append(f"thumbs kept apart measure {news.gain:+.3f} nDCG@10")
    return ", ".join(parts)


def _lean(deviation: float) -> str:
    return "as usual" if not deviation else "like it more than usual" if deviation > 0 else "less than usual"
