"""A reader's thumbs as the case for or against changes: who proposes and who checks weighs them alike."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zlib import crc32

from digest.entities import RatedItem
from digest.selectors import feedback_recent, feedback_tallies, items_candidates, source_titles
from digest.selectors.peers import community_deviation, peer_deviations
from ranking.entities import EffectiveConfig, SourceTally
from ranking.forecast import Forecast
from suggestions.attributes import (
    POOL_DAYS,
    POOLS,
    Attributes,
    attributes_of,
    design_of,
    reasons_given,
    stock_of,
)
from suggestions.entities import SOURCE_WEIGHTS
from suggestions.forecasts import Split, forecast_of, split_by_time
from suggestions.gains import Judge, Stock
from suggestions.hypotheses import Change, Choice, judged
from suggestions.joint import posterior_draws
from suggestions.rules import concerns

# Enough to replay a week of a busy reader; more would only cost time.
CANDIDATES_MAX = 600


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reader's thumbs, weighed.

    `rated` are the newest ones, newest first, `split` the same in two parts; `judge` knows what the choosing
    part says of changes, `overall` what all of them say; both are `None` where there is nothing to order.
    `titles` are the sources' names.
    """

    split: Split
    rated: tuple[RatedItem, ...]
    attributes: Attributes
    judge: Judge | None
    overall: Judge | None
    titles: dict[str, str]


def evidence_for(
    *, reader_id: UUID, effective: EffectiveConfig, topics: Iterable[str] = (), now: datetime
) -> Evidence:
    """The reader's thumbs and what they say; a fixed number of queries whatever their number.

    `topics` are weighed besides the config's own and the phrases found in titles. The newest 500 thumbs are
    the sample; older ones count by source. The same data give the same answer.
    """
    rated = tuple(feedback_recent(reader_id=reader_id))
    older = feedback_tallies(reader_id=reader_id, now=now, until=rated[-1].at) if rated else []
    candidates = items_candidates(reader_id=reader_id, now=now, days=POOLS + POOL_DAYS, limit=CANDIDATES_MAX)
    sources = {*(tally.source for tally in older), *(candidate.source for candidate in candidates)}
    titles = source_titles(keys={*sources, *(item.source for item in rated)})
    split = split_by_time(rated)
    wanted = [*effective.config.topics, *topics]
    attributes = attributes_of(rated, sources=sorted(sources), topics=wanted, titles=titles)
    stock = stock_of(candidates, rated, attributes, effective, now) if rated else None
    judge = overall = None
    if stock is not None:
        deviation = deviations_for(reader_id=reader_id, now=now)
        seed = crc32(str(reader_id).encode())
        judge, overall = (
            _judge(stock, part, attributes, older, deviation, seed, now) for part in (split.choosing, rated)
        )
    return Evidence(split, rated, attributes, judge, overall, titles)


def deviations_for(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """How much more or less than usual others like a source: the nearest peers, else the community.

    Empty for a reader who does not share, or where fewer than five others do.
    """
    return {
        **community_deviation(reader_id=reader_id, now=now),
        **peer_deviations(reader_id=reader_id, now=now),
    }


def _judge(
    stock: Stock,
    rated: Sequence[RatedItem],
    attributes: Attributes,
    older: Sequence[SourceTally],
    deviation: Mapping[str, float],
    seed: int,
    now: datetime,
) -> Judge:
    design = design_of(rated, attributes, older=older, deviation=deviation, now=now)
    return Judge(stock, posterior_draws(design, seed), seed, reasons_given(rated))


def overall_p(evidence: Evidence, change: Change, effective: EffectiveConfig) -> float:
    """P(for the better rather than the worse) on all the reader's thumbs; without any, one half."""
    if evidence.overall is None or not _known(evidence, change):
        return 0.5
    return judged(change, evidence.overall, evidence.attributes, effective).p_better


def worth_of(evidence: Evidence, change: Change, effective: EffectiveConfig) -> Choice | None:
    """What the choosing thumbs say of one change; `None` where there is nothing to go by."""
    if evidence.judge is None or not _known(evidence, change):
        return None
    return judged(change, evidence.judge, evidence.attributes, effective)


def _known(evidence: Evidence, change: Change) -> bool:
    """Whether the target is among what the thumbs weigh: a source that is read but was never rated is not."""
    return change.field != SOURCE_WEIGHTS or change.key in evidence.attributes.sources


def forecast_for(
    *,
    reader_id: UUID,
    field: str,
    key: str,
    before: EffectiveConfig,
    after: EffectiveConfig,
    measuring: tuple[RatedItem, ...],
    now: datetime,
) -> Forecast:
    """The measured change of nDCG@10 over `measuring` thumbs; the same question gets the same answer."""
    return forecast_of(measuring, before, after, now=now, seed=f"{reader_id}:{field}:{key}")


def label_of(evidence: Evidence, field: str, label: str) -> str:
    """The words for a target: the source's title, or the topic itself."""
    return evidence.titles.get(label, label) if field == SOURCE_WEIGHTS else label


def counts_of(evidence: Evidence, field: str, key: str, label: str) -> tuple[int, int]:
    """(likes, thumbs) on the target among the newest thumbs."""
    found = [item for item in evidence.rated if concerns(item, field, key, label)]
    return sum(item.useful for item in found), len(found)
