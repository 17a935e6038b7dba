"""Two configs beside each other: what differs, what it does to today's digest, what it would have done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from digest.selectors import feedback_recent
from ranking.body import Body, body_changes, body_default, body_effective, body_of
from ranking.entities import EffectiveConfig
from ranking.forecast import Forecast
from ranking.selectors import config_bodies
from suggestions.entities import Draft, Preview, Refusal
from suggestions.forecasts import change_applied, forecast_of, split_by_time
from suggestions.rules import Facts, change_of
from suggestions.selectors.facts import facts_for
from suggestions.selectors.preview import preview_of
from suggestions.selectors.trials import with_value

Names = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configs by name, their differences, the measured effect, and the digest before and after.

    The effect is measured on the sixth of the newest thumbs that never chooses; between two versions of the
    past it is a description, since those thumbs may have led to the change.
    """

    names: Names
    changes: list[dict[str, Any]]
    forecast: Forecast
    preview: Preview


def configs_compare(
    *, reader_id: UUID, before: int | None, after: int | None, drafts: Sequence[Draft], now: datetime
) -> Comparison | Refusal:
    """Two versions of the reader's config, or the current one with the changes of `drafts` made together.

    Without numbers the current config is compared with the one before it. Refuses with `version_not_found`
    whatever is no version of this reader, and with a rule's code what is no change. At most twenty queries.
    """
    facts = facts_for(reader_id=reader_id, now=now)
    pair = _proposed(drafts, facts) if drafts else _versions(reader_id, before, after, facts)
    if isinstance(pair, Refusal):
        return pair
    names, old, new = pair
    left, right = body_effective(old), body_effective(new)
    measuring = split_by_time(feedback_recent(reader_id=reader_id)).measuring
    return Comparison(
        names,
        body_changes(old, new),
        forecast_of(measuring, left, right, now=now, seed=f"{reader_id}:{names}"),
        preview_of(reader_id=reader_id, before=left, after=right, now=now),
    )


def _proposed(drafts: Sequence[Draft], facts: Facts) -> tuple[Names, Body, Body] | Refusal:
    effective = facts.effective
    for draft in drafts:
        change = change_of(with_value(draft, facts), facts)
        if isinstance(change, Refusal):
            return change
        effective = change_applied(
            effective, change.suggestion_type, change.target_key, change.suggested_value
        )
    return ("current", "proposed"), _body(facts.effective), _body(effective)


def _versions(
    reader_id: UUID, before: int | None, after: int | None, facts: Facts
) -> tuple[Names, Body, Body] | Refusal:
    current = facts.effective.config.version
    newer = current if after is None else after
    older = max(0, newer - 1) if before is None else before
    bodies = {0: body_default()} | config_bodies(reader_id=reader_id, versions=[older, newer])
    bodies[current] = _body(facts.effective)
    for number in (older, newer):
        if number not in bodies:
            return Refusal(
                "version_not_found",
                f"There is no version {number}; the current one is {current}.",
                str(number),
            )
    return (f"version {older}", f"version {newer}"), bodies[older], bodies[newer]


def _body(effective: EffectiveConfig) -> Body:
    return body_of(effective.config, effective.deltas)
