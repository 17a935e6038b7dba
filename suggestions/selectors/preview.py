"""What a change would do to today's top 30."""

from datetime import datetime
from uuid import UUID

from digest.entities import DIGEST_SIZE
from digest.selectors import items_candidates
from ranking.entities import EffectiveConfig, Score
from ranking.scoring import rank
from ranking.selectors import config_effective
from suggestions.entities import Preview, PreviewItem
from suggestions.forecasts import change_applied
from suggestions.models import Suggestion


def suggestion_preview(*, suggestion: Suggestion, now: datetime) -> Preview:
    """What accepting `suggestion` now would change; three queries."""
    before = config_effective(reader_id=suggestion.reader_id)
    after = change_applied(
        before, suggestion.suggestion_type, suggestion.target_key, suggestion.suggested_value
    )
    return preview_of(reader_id=suggestion.reader_id, before=before, after=after, now=now)


def preview_of(*, reader_id: UUID, before: EffectiveConfig, after: EffectiveConfig, now: datetime) -> Preview:
    """The items of today's top 30 that come in, go out or change places between two configs; one query."""
    candidates = items_candidates(reader_id=reader_id, now=now)
    old, new = (_top(rank(candidates, config, now)) for config in (before, after))
    items = {**old, **new}
    changed = [
        PreviewItem(key, title, source, _place(old, key), _place(new, key))
        for key, (_, title, source) in items.items()
        if _place(old, key) != _place(new, key)
    ]
    return Preview(
        enters=tuple(sorted((i for i in changed if i.before is None), key=lambda i: i.after or 0)),
        leaves=tuple(sorted((i for i in changed if i.after is None), key=lambda i: i.before or 0)),
        moves=tuple(sorted((i for i in changed if i.before and i.after), key=lambda i: i.after or 0)),
    )


Top = dict[int, tuple[int, str, str]]


def _top(scores: list[Score]) -> Top:
    shown = enumerate(scores[:DIGEST_SIZE], start=1)
    return {s.candidate.item_id: (place, s.candidate.title, s.candidate.source) for place, s in shown}


def _place(top: Top, item_id: int) -> int | None:
    return top[item_id][0] if item_id in top else None
