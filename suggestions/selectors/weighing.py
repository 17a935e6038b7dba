"""What a reader's thumbs say of one change: the same numbers for whoever proposes, tests or checks it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from ranking.entities import EffectiveConfig
from ranking.forecast import Forecast
from suggestions.beliefs import confidence_of, p_of_direction
from suggestions.entities import LIKED_TYPES, SOURCE_WEIGHTS
from suggestions.forecasts import change_applied
from suggestions.selectors.evidence import Evidence, evidence_for, forecast_for, overall_p


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

    `p_helpful` is the probability that it helps on the thumbs that choose, `forecast` its measured effect on
    others, `p_overall` the direction on all thumbs together, `after` the config with it.
    """

    p_helpful: float
    confidence: str
    forecast: Forecast
    p_overall: float
    after: EffectiveConfig
    case: Evidence


def change_weigh(*, reader_id: UUID, change: Change, effective: EffectiveConfig, now: datetime) -> Weighed:
    """Weigh one change of the reader's ranking; six queries whatever the number of thumbs."""
    is_source, liked = change.field == SOURCE_WEIGHTS, change.suggestion_type in LIKED_TYPES
    topics = dict.fromkeys([*effective.config.topics, *([] if is_source else [change.label])])
    case = evidence_for(reader_id=reader_id, topics=topics, now=now)
    beliefs = case.beliefs.sources if is_source else case.beliefs.topics
    p_helpful = p_of_direction(beliefs.get(change.target_key), liked)
    after = change_applied(effective, change.suggestion_type, change.target_key, change.suggested_value)
    forecast = forecast_for(
        reader_id=reader_id,
        field=change.field,
        key=change.target_key,
        before=effective,
        after=after,
        later=case.split.later,
        now=now,
    )
    return Weighed(
        p_helpful=p_helpful,
        confidence=confidence_of(p_helpful, forecast.gain, forecast.high),
        forecast=forecast,
        p_overall=overall_p(case, change.field, change.target_key, change.label, liked, now),
        after=after,
        case=case,
    )
