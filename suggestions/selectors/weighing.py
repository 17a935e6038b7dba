"""What a reader's thumbs say of one change: the same numbers for whoever proposes, tests or checks it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ranking.entities import EffectiveConfig
from ranking.forecast import Forecast
from suggestions.beliefs import confidence_of
from suggestions.entities import SOURCE_WEIGHTS
from suggestions.forecasts import change_applied
from suggestions.hypotheses import Change as Tried
from suggestions.selectors.evidence import Evidence, evidence_for, forecast_for, overall_p, worth_of


class Change(Protocol):
    """One change in normal form; `suggestions.rules.Accepted` is one."""

    @property
    def suggestion_type(self) -> str: ...

    @property
    def field(self) -> str: ...

    @property
    def target_key(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def suggested_value(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Weighed:
    """A change with what the thumbs say of it.

    `p_helpful` is the probability that it helps on the thumbs that choose (0 where nothing can be ordered),
    `forecast` its measured effect on others, `p_overall` the probability on all thumbs together, `after` the
    config with it; `expected_gain` of nDCG@10 is what the posterior expects.
    """

    p_helpful: float
    confidence: str
    forecast: Forecast
    p_overall: float
    after: EffectiveConfig
    case: Evidence
    expected_gain: float = 0.0


def change_weigh(*, reader_id: UUID, change: Change, effective: EffectiveConfig, now: datetime) -> Weighed:
    """Weigh one change of the reader's ranking; a fixed number of queries whatever the number of thumbs."""
    topics = () if change.field == SOURCE_WEIGHTS else (change.label,)
    case = evidence_for(reader_id=reader_id, effective=effective, topics=topics, now=now)
    tried = Tried(
        change.suggestion_type, change.field, change.target_key, change.label, change.suggested_value, ()
    )
    worth = worth_of(case, tried, effective)
    p_helpful = worth.p_helpful if worth else 0.0
    after = change_applied(effective, change.suggestion_type, change.target_key, change.suggested_value)
    forecast = forecast_for(
        reader_id=reader_id,
        field=change.field,
        key=change.target_key,
        before=effective,
        after=after,
        measuring=case.split.measuring,
        now=now,
    )
    return Weighed(
        p_helpful=p_helpful,
        confidence=confidence_of(p_helpful, forecast.gain, forecast.high),
        forecast=forecast,
        p_overall=overall_p(case, tried, effective),
        after=after,
        case=case,
        expected_gain=worth.expected_gain if worth else 0.0,
    )
