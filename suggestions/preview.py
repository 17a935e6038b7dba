"""Previews: today's digest rebuilt with a change of settings; rated items stay where they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from digest.build.candidates import DayCandidates, digest_candidates
from digest.build.compose import PlacedItem, Rules, compose
from digest.days import day_of
from digest.models import Feedback, Impression, Reader
from ranking.common.text import fold, term_matches
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective
from suggestions.entities import SOURCE_WEIGHTS, Preview, PreviewItem
from suggestions.models import Suggestion
from suggestions.rules import change_applied

# A digest by rank, each item with its place before and after.
Side = tuple[PreviewItem, ...]


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of today's digest, the same for every config that is tried on it.

    `rated` and `drawn` are the items that stay, by rank; `names` has (title, source) by item.
    """

    material: DayCandidates
    rated: Mapping[int, PlacedItem]
    drawn: Mapping[int, PlacedItem]
    names: Mapping[int, tuple[str, str]]


def suggestion_preview(*, suggestion: Suggestion, now: datetime) -> Preview:
    """Return what accepting `suggestion` now would change; twelve queries at most."""
    previews = suggestion_previews(reader_id=suggestion.reader_id, suggestions=[suggestion], now=now)
    return previews[suggestion.pk]


def suggestion_previews(
    *, reader_id: UUID, suggestions: Sequence[Suggestion], now: datetime
) -> dict[int, Preview]:
    """Return what accepting each of `suggestions` alone would change, by id; the queries of one, or none."""
    if not suggestions:
        return {}
    before, today = config_effective(reader_id=reader_id), _today(reader_id, now)
    old = _order(today, before)
    return {row.pk: _preview(today, old, _order(today, _accepted(before, row))) for row in suggestions}


def suggestion_side_by_side(*, suggestion: Suggestion, now: datetime) -> tuple[Side, Side]:
    """Return today's whole digest as it is and as with `suggestion` accepted; twelve queries at most."""
    before, today = config_effective(reader_id=suggestion.reader_id), _today(suggestion.reader_id, now)
    old, new = _order(today, before), _order(today, _accepted(before, suggestion))
    was, becomes = ({item: n for n, item in enumerate(order, start=1)} for order in (old, new))
    left, right = (
        tuple(PreviewItem(item, *today.names[item], was.get(item), becomes.get(item)) for item in order)
        for order in (old, new)
    )
    return left, right


def preview_of(*, reader_id: UUID, before: EffectiveConfig, after: EffectiveConfig, now: datetime) -> Preview:
    """Return the items of today's digest that differ in place between two configs; ten queries at most."""
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
    """Return `preview_of` and how many candidates are about the target; ten queries at most."""
    today = _today(reader_id, now)
    if field == SOURCE_WEIGHTS:
        about = sum(c.source == key for c in today.material.pool.candidates)
    else:
        about = sum(term_matches(label, fold(c.title)) for c in today.material.pool.candidates)
    return _preview(today, _order(today, before), _order(today, after)), about


def _accepted(before: EffectiveConfig, row: Suggestion) -> EffectiveConfig:
    return change_applied(before, row.suggestion_type, row.target_key, row.suggested_value)


def _today(reader_id: UUID, now: datetime) -> _Inputs:
    reader = Reader.objects.get(pk=reader_id)
    date = day_of(now, reader.zone)
    material = digest_candidates(reader=reader, date=date, now=now)
    rating = Feedback.objects.filter(reader_id=reader_id, item_id=OuterRef("item_id"))
    shown = Impression.objects.filter(digest__reader_id=reader_id, digest__date=date)
    rated: dict[int, PlacedItem] = {}
    drawn: dict[int, PlacedItem] = {}
    names = {c.item_id: (c.title, c.source) for c in material.pool.candidates}
    for row in shown.annotate(is_rated=Exists(rating)).select_related("item").order_by("rank"):
        place = PlacedItem(row.item_id, row.item.source_id, row.item.cluster_id, row.propensity)
        if row.is_rated:
            rated[row.rank] = place
        elif row.slot == Impression.Slot.NOVELTY:
            drawn[row.rank] = place
        names[row.item_id] = (row.item.title, row.item.source_id)
    return _Inputs(material, rated, drawn, names)


def _order(today: _Inputs, config: EffectiveConfig) -> list[int]:
    """Return the items of the digest under `config`, by rank."""
    made = today.material
    composed = compose(
        made.choices(made.ranking(config), config),
        Rules(),
        made.novelty_draw(config),
        rated=today.rated,
        drawn=today.drawn,
    )
    return [place.item_id for place in composed.places]


def _preview(today: _Inputs, old: Sequence[int], new: Sequence[int]) -> Preview:
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
