"""What a change would do to today's digest, as building it again would: what was rated keeps its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from digest.days import day_of
from digest.entities import DIGEST_SIZE
from digest.models import Impression, Reader
from digest.placement import place
from digest.selectors import items_candidates
from ranking.entities import Candidate, EffectiveConfig
from ranking.matching import fold, term_matches
from ranking.scoring import rank
from ranking.selectors import config_effective
from suggestions.entities import SOURCE_WEIGHTS, Preview, PreviewItem
from suggestions.forecasts import change_applied
from suggestions.models import Suggestion


@dataclass(frozen=True, slots=True)
class _Today:
    """What the reader's digest of today is made of.

    `kept` holds the rated items by the rank at which they stay, `names` (title, source) by item.
    """

    now: datetime
    candidates: Sequence[Candidate]
    kept: Mapping[int, int]
    names: Mapping[int, tuple[str, str]]


def suggestion_preview(*, suggestion: Suggestion, now: datetime) -> Preview:
    """What accepting `suggestion` now would change; five queries."""
    previews = suggestion_previews(reader_id=suggestion.reader_id, suggestions=[suggestion], now=now)
    return previews[suggestion.pk]


def suggestion_previews(
    *, reader_id: UUID, suggestions: Sequence[Suggestion], now: datetime
) -> dict[int, Preview]:
    """What accepting each of the reader's `suggestions` alone would change, by id; five queries or none."""
    if not suggestions:
        return {}
    before, today = config_effective(reader_id=reader_id), _today(reader_id, now)
    old = _order(today, before)
    return {row.pk: _preview(today, old, _order(today, _accepted(before, row))) for row in suggestions}


def preview_of(*, reader_id: UUID, before: EffectiveConfig, after: EffectiveConfig, now: datetime) -> Preview:
    """The items of today's digest that differ in place between two configs; three queries."""
    today = _today(reader_id, now)
    return _preview(today, _order(today, before), _order(today, after))


def preview_matching(
    *,
    reader_id: UUID,
    before: EffectiveConfig,
    after: EffectiveConfig,
    field: str,
    key: str,
    label: str,
    now: datetime,
) -> tuple[Preview, int]:
    """`preview_of`, and how many of the candidates are about the target; three queries."""
    today = _today(reader_id, now)
    if field == SOURCE_WEIGHTS:
        about = sum(c.source == key for c in today.candidates)
    else:
        about = sum(term_matches(label, fold(c.title)) for c in today.candidates)
    return _preview(today, _order(today, before), _order(today, after)), about


def _accepted(before: EffectiveConfig, row: Suggestion) -> EffectiveConfig:
    return change_applied(before, row.suggestion_type, row.target_key, row.suggested_value)


def _today(reader_id: UUID, now: datetime) -> _Today:
    candidates = items_candidates(reader_id=reader_id, now=now)
    date = day_of(now, Reader.objects.get(pk=reader_id).zone)
    rated = Impression.objects.filter(
        digest__reader_id=reader_id, digest__date=date, item__feedback__reader_id=reader_id
    ).values_list("rank", "item_id", "item__title", "item__source_id")
    kept = list(rated)
    names = {c.item_id: (c.title, c.source) for c in candidates}
    names |= {item: (title, source) for _, item, title, source in kept}
    return _Today(now, candidates, {stood: item for stood, item, *_ in kept}, names)


def _order(today: _Today, config: EffectiveConfig) -> list[int]:
    """The items of the digest under `config`, by rank."""
    ranked = [score.candidate.item_id for score in rank(today.candidates, config, today.now)]
    return place(ranked, today.kept, DIGEST_SIZE)


def _preview(today: _Today, old: Sequence[int], new: Sequence[int]) -> Preview:
    before, after = ({item: n for n, item in enumerate(order, start=1)} for order in (old, new))
    changed = [
        PreviewItem(item, *today.names[item], before.get(item), after.get(item))
        for item in {**before, **after}
        if before.get(item) != after.get(item)
    ]
    return Preview(
        enters=tuple(sorted((i for i in changed if i.before is None), key=lambda i: i.after or 0)),
        leaves=tuple(sorted((i for i in changed if i.after is None), key=lambda i: i.before or 0)),
        moves=tuple(sorted((i for i in changed if i.before and i.after), key=lambda i: i.after or 0)),
    )
