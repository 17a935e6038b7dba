"""The effect of a change on a reader's last week: which articles would have been in the first ten of a day.

A change is worth asking about only if its effect would have been seen (`visibility_refusal`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from uuid import UUID

from digest.daily.replay import FIRST, Replay, replay_load
from digest.models import Feedback, Reader
from ranking.common.text import fold
from ranking.entities import EffectiveConfig
from suggestions.changes.change import Aspects, Change
from suggestions.models import Suggestion
from suggestions.proposals import WEEK_DAYS, WeekEffect, WeekItem

# An article's id, and its aspects by its title.
Title = tuple[int, Aspects]


@dataclass(frozen=True, slots=True)
class Week:
    """A reader's last seven days under the settings `before`, to try changes on."""

    reader: Reader
    before: EffectiveConfig
    replay: Replay
    now: datetime

    def effects(self, changes: Sequence[Change]) -> list[WeekEffect]:
        """Return the effect of each change alone.

        Of a kind with rare effects, such as a topic, it replays more days if the week shows nothing.
        """
        found: dict[int, WeekEffect] = {}
        titles = [
            (c.item_id, Aspects.of(c.source, fold(c.title), c.categories, c.author))
            for c in self.replay.days[-1].pool.candidates
        ]
        replay, wanted = self.replay, list(range(len(changes)))
        while wanted:
            old = replay.pages(self.before, self.before)
            for n in wanted:
                after = changes[n].applied(self.before)
                effect = _effect(replay, old, replay.pages(after, self.before))
                found[n] = self._about_first(effect, changes[n], titles)
            days = len(replay.days)
            wanted = [n for n in wanted if not found[n].places and changes[n].kind.effect_days > days]
            if wanted:
                days = max(changes[n].kind.effect_days for n in wanted)
                # With the terms of all changes, as before, so that no text is searched again.
                afters = [change.applied(self.before) for change in changes]
                replay = replay_load(
                    reader=self.reader, now=self.now, configs=[self.before, *afters], days=days
                )
        return [found[n] for n in range(len(changes))]

    def _about_first(self, effect: WeekEffect, change: Change, titles: Sequence[Title]) -> WeekEffect:
        """Return the effect with `about` and `unsaid`, by the candidates of the last seven days.

        The articles that the change is about come first: others only make room for them, or fill it. Those of
        a source that is never missed do not leave: if five of them stand on a page, the next wait for a day.
        """
        today = self.replay.days[-1]
        every = today.pool.candidates
        candidates = every if today.rows is None else [every[row] for row in today.rows.tolist()]
        finds = change.named_in(self.before).finder
        about = {item_id for item_id, title in titles if finds(title)}
        alone = {name: replace(change, label=name, names=()) for name in change.names}
        unsaid = tuple(name for name, one in alone.items() if not any(map(one.touches, candidates)))
        enters, leaves = (
            tuple(sorted(items, key=lambda one: one.item_id not in about))
            for items in (effect.enters, effect.leaves)
        )
        if change.kind.keeps_all:
            leaves = tuple(one for one in leaves if one.item_id not in about)
        return replace(
            effect,
            enters=enters,
            leaves=leaves,
            about=sum(c.item_id in about for c in candidates),
            unsaid=unsaid,
        )


def week_for(*, reader_id: UUID, before: EffectiveConfig, changes: Sequence[Change], now: datetime) -> Week:
    """Load the reader's last seven days, to try `changes` of the settings `before` on; ~12 queries."""
    reader = Reader.objects.get(pk=reader_id)
    configs = [before, *(change.applied(before) for change in changes)]
    return Week(reader, before, replay_load(reader=reader, now=now, configs=configs, days=WEEK_DAYS), now)


def suggestion_weeks(
    *, reader_id: UUID, before: EffectiveConfig, suggestions: Sequence[Suggestion], now: datetime
) -> dict[int, WeekEffect]:
    """Return by id what each suggestion, accepted alone with the settings `before`, would have done last
    week; none without any.

    Articles that the reader has rated against it come last: those that enter and were not useful, and those
    that leave and were.
    """
    if not suggestions:
        return {}
    changes = [row.change for row in suggestions]
    week = week_for(reader_id=reader_id, before=before, changes=changes, now=now)
    effects = week.effects(changes)
    ids = {one.item_id for effect in effects for one in (*effect.enters, *effect.leaves)}
    rows = Feedback.objects.filter(reader_id=reader_id, item_id__in=ids)
    useful = dict(rows.values_list("item_id", "useful"))
    return {
        row.pk: replace(
            effect,
            enters=tuple(sorted(effect.enters, key=lambda one: useful.get(one.item_id) is False)),
            leaves=tuple(sorted(effect.leaves, key=lambda one: useful.get(one.item_id) is True)),
        )
        for row, effect in zip(suggestions, effects, strict=True)
    }


def _effect(replay: Replay, before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> WeekEffect:
    old, new = ([page[:FIRST] for page in pages] for pages in (before, after))
    was, becomes = ({item for ten in tens for item in ten} for tens in (old, new))
    return WeekEffect(
        enters=_items(replay, [item for ten in reversed(new) for item in ten if item not in was]),
        leaves=_items(replay, [item for ten in reversed(old) for item in ten if item not in becomes]),
        shown=len(was),
        places=sum(max(len({*b} - {*a}), len({*a} - {*b})) for a, b in zip(old, new, strict=True)),
        reordered=sum(
            one != other for a, b in zip(before, after, strict=True) for one, other in zip_longest(a, b)
        ),
        days=len(old),
        items_a_day=replay.items_a_day,
    )


def _items(replay: Replay, ids: Sequence[int]) -> tuple[WeekItem, ...]:
    """Return these items in order, each once."""
    if not ids:
        return ()
    wanted = {*ids}
    found = {c.item_id: c for c in replay.days[-1].pool.candidates if c.item_id in wanted}
    return tuple(WeekItem(item, found[item].title, found[item].source) for item in dict.fromkeys(ids))
