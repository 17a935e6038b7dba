"""A reader's thumbs as the case for or against changes: who proposes and who checks weighs them alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from digest.entities import RatedItem
from digest.selectors import feedback_recent, feedback_tallies, source_titles
from ranking.entities import EffectiveConfig
from ranking.forecast import Forecast
from ranking.posterior import base_rate, posterior
from suggestions.entities import SOURCE_WEIGHTS
from suggestions.forecasts import Split, decayed, forecast_of, split_by_time
from suggestions.hypotheses import Beliefs, beliefs_form
from suggestions.rules import concerns


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reader's thumbs, weighed: the newest ones split by time, and the beliefs the earlier ones form.

    `tallies` count (likes, thumbs) of all thumbs by source, decayed; `titles` are the sources' names.
    """

    split: Split
    rated: tuple[RatedItem, ...]
    beliefs: Beliefs
    tallies: dict[str, tuple[float, float]]
    titles: dict[str, str]


def evidence_for(*, reader_id: UUID, topics: Iterable[str], now: datetime) -> Evidence:
    """The reader's thumbs and what they say; five queries whatever their number.

    `topics` are weighed besides the phrases found in titles.
    """
    rated = tuple(feedback_recent(reader_id=reader_id))
    split = split_by_time(rated)
    earlier = feedback_tallies(reader_id=reader_id, now=now, until=split.at)
    overall = feedback_tallies(reader_id=reader_id, now=now)
    titles = source_titles(keys=[tally.source for tally in overall])
    beliefs = beliefs_form(earlier, split.earlier, topics=topics, titles=titles, now=now)
    return Evidence(split, rated, beliefs, {t.source: (t.likes, t.n) for t in overall}, titles)


def overall_p(evidence: Evidence, field: str, key: str, label: str, liked: bool, now: datetime) -> float:
    """P(the direction is right) on all the reader's thumbs: decayed for a source, the newest for a topic.

    A target nobody has rated yet is as likely either way.
    """
    likes, n = (sum(pair[i] for pair in evidence.tallies.values()) for i in (0, 1))
    base = base_rate(likes, n)
    if field == SOURCE_WEIGHTS:
        own_likes, own_n = evidence.tallies.get(key, (0.0, 0.0))
    else:
        found = [item for item in evidence.rated if concerns(item, field, key, label)]
        own_n = sum(decayed(item.at, now) for item in found)
        own_likes = sum(decayed(item.at, now) for item in found if item.useful)
    p_better = posterior(own_likes, own_n, base).p_better
    return p_better if liked else 1 - p_better


def forecast_for(
    *,
    reader_id: UUID,
    field: str,
    key: str,
    before: EffectiveConfig,
    after: EffectiveConfig,
    later: tuple[RatedItem, ...],
    now: datetime,
) -> Forecast:
    """The measured change of nDCG@10 over `later` thumbs; the same question gets the same answer."""
    return forecast_of(later, before, after, now=now, seed=f"{reader_id}:{field}:{key}")


def label_of(evidence: Evidence, field: str, label: str) -> str:
    """The words for a target: the source's title, or the topic itself."""
    return evidence.titles.get(label, label) if field == SOURCE_WEIGHTS else label


def counts_of(evidence: Evidence, field: str, key: str, label: str) -> tuple[int, int]:
    """(likes, thumbs) on the target among the newest thumbs."""
    found = [item for item in evidence.rated if concerns(item, field, key, label)]
    return sum(item.useful for item in found), len(found)
