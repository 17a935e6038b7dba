"""How a digest is put together from a ranked list: one telling of a story, a share per source, novelty. Pure.

Only what is shown is chosen here. The order among what is shown by score stays that of the score.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from digest.entities import DIGEST_SIZE
from digest.passing import KEPT, RANKED, Reason, left_out
from digest.placement import place
from digest.shares import Choice, by_share
from ranking.entities import EffectiveConfig
from ranking.pool import Ids, Pool

# Each tenth place is drawn from sources little is known about: exploration in one of ten slots.
NOVELTY_EVERY = 10
# A source is known from as many thumbs on as the learning loop wants before it moves (ranking.learning), or
# after so many showings in the last 30 days: who passes something by ten times has seen it.
KNOWN_THUMBS = 5
KNOWN_SHOWINGS = 10
SHOWINGS_DAYS = 30
# From a source below this effective weight nothing is drawn: who wants half of it wants no more of it to try.
# It moves nothing that has a place by its score.
DRAWN_WEIGHT_MIN = 0.5

NOVELTY: Final = "novelty"


@dataclass(frozen=True, slots=True)
class Stood:
    """An item that stood in this day's digest before: rated ones stay, drawn ones stay while they may."""

    item_id: int
    source: str
    story: int | None = None
    propensity: float = 1.0


@dataclass(frozen=True, slots=True)
class Chances:
    """What the novelty draw needs: who reads which day, and what is known of the reader's sources.

    `closed` are sources that are never drawn: known ones and those the reader wants kept out of it.
    """

    seed: str = ""
    closed: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How a digest is composed."""

    size: int = DIGEST_SIZE
    stories: bool = True
    cap: bool = True
    novelty: bool = True

    @classmethod
    def plain(cls, size: int) -> "Rules":
        """The best by score and nothing else."""
        return cls(size, stories=False, cap=False, novelty=False)


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a digest, in order of rank."""

    item_id: int
    slot: str
    propensity: float = 1.0


@dataclass(frozen=True, slots=True)
class Composed:
    """A digest's places, and why each other candidate is left out."""

    places: tuple[Place, ...]
    left_out: Mapping[int, Reason] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """How many were left out, by reason."""
        return dict(sorted(Counter(reason.value for reason in self.left_out.values()).items()))


def muted_in(pool: Pool, effective: EffectiveConfig, rows: Ids | None = None) -> set[int]:
    """The items of `pool` (at `rows`) whose keyword boosts add up to less than nothing."""
    boosts = effective.config.keyword_boosts
    if not any(boost < 0 for boost in boosts.values()):
        return set()
    at = np.arange(len(pool)) if rows is None else rows
    total = np.zeros(len(at))
    for word, boost in boosts.items():
        total += boost * pool.held(word)[at]
    return set(pool.ids[at[total < 0]].tolist())


def chances_of(seed: str, known: Collection[str], effective: EffectiveConfig) -> Chances:
    """The draw for one reader and day: neither from `known` sources nor from those pinned as avoided, nor
    from those of an effective weight below 0.5."""
    less = {source for source, weight in effective.weights().items() if weight < DRAWN_WEIGHT_MIN}
    return Chances(seed, frozenset({*known, *effective.config.avoided, *less}))


def compose(
    ranked: Sequence[Choice],
    rules: Rules,
    chances: Chances,
    *,
    rated: Mapping[int, Stood] | None = None,
    drawn: Mapping[int, Stood] | None = None,
) -> Composed:
    """The digest of `rules.size` places from `ranked`, best first.

    `rated` (rank from 1 -> item) stay at their rank whatever they score. `drawn` are novelty items of an
    earlier build of the same day: they stay at theirs as long as they may be drawn at all. The same input
    always gives the same digest.
    """
    rated, drawn = rated or {}, drawn or {}
    standing = {stood.item_id for stood in rated.values()}
    tellers = {stood.story: stood.item_id for stood in rated.values() if stood.story is not None}
    choices = [choice for choice in ranked if choice.item_id not in standing]
    if rules.stories:
        choices = _told_once(choices, tellers)
    kept = [stood.source for stood in rated.values()]
    order = by_share(choices, kept, rules.size).order if rules.cap else choices
    picked, novel = _picked(order, choices, rules, chances, rated, drawn)
    at = {rank: stood.item_id for rank, stood in rated.items()}
    at |= {rank: place_.item_id for rank, place_ in novel.items()}
    placed = place([c.item_id for c in choices if c.item_id in picked], at, rules.size)
    slots = {p.item_id: p for p in novel.values()}
    slots |= {s.item_id: Place(s.item_id, KEPT, s.propensity) for s in rated.values()}
    shown = tuple(slots.get(item, Place(item, RANKED)) for item in placed)
    slot_of = {place_.item_id: place_.slot for place_ in shown}
    told = {story: item for story, item in tellers.items() if rules.stories and item in slot_of}
    return Composed(shown, left_out(ranked, slot_of, told, kept=kept, cap=rules.cap))


def _told_once(choices: Sequence[Choice], tellers: dict[int, int]) -> list[Choice]:
    """The best telling of each story: what the reader has rated tells its story already.

    `tellers` (story -> item) is filled in on the way.
    """
    return [
        choice
        for choice in choices
        if choice.story is None or tellers.setdefault(choice.story, choice.item_id) == choice.item_id
    ]


def _picked(
    order: Sequence[Choice],
    choices: Sequence[Choice],
    rules: Rules,
    chances: Chances,
    rated: Mapping[int, Stood],
    drawn: Mapping[int, Stood],
) -> tuple[set[int], dict[int, Place]]:
    """The items that get a place by score, and those drawn, by rank."""
    places = max(0, rules.size - len(rated))
    ranks = [rank for rank in range(NOVELTY_EVERY, rules.size + 1, NOVELTY_EVERY) if rank not in rated]
    spent = sum(stood.propensity < 1 for stood in rated.values())
    most = min(len(ranks), rules.size // NOVELTY_EVERY - spent, places)
    if not rules.novelty or len(order) <= places:
        most = 0
    # Fewer slots where fewer sources may be drawn: what they leave goes to the score.
    for count in range(most, 0, -1):
        picked = {choice.item_id for choice in order[: places - count]}
        closed = {c.source for c in order[: places - count]} | {s.source for s in rated.values()}
        closed.update(chances.closed)
        open_ = [c for c in choices if c.source not in closed and not c.muted]
        if len({choice.source for choice in open_}) >= count:
            return picked, _draw(open_, ranks, count, chances.seed, drawn)
    return {choice.item_id for choice in order[:places]}, {}


def _draw(
    choices: Sequence[Choice], ranks: Sequence[int], count: int, seed: str, drawn: Mapping[int, Stood]
) -> dict[int, Place]:
    """`count` of the sources of `choices`, each as likely as any other, by the best item of each.

    So a quiet source has the chance of a loud one: count / sources. Sources go by a hash of the seed and
    their name, so that one more of them moves none of the others. What was drawn earlier that day stays at
    its rank, with the probability it was drawn with.
    """
    best: dict[str, Choice] = {}
    for choice in choices:
        best.setdefault(choice.source, choice)
    source_of = {choice.item_id: choice.source for choice in choices}
    stays = [(rank, s) for rank, s in sorted(drawn.items()) if rank in ranks and s.item_id in source_of]
    novel = {rank: Place(s.item_id, NOVELTY, s.propensity) for rank, s in stays[:count]}
    taken = {source_of[p.item_id] for p in novel.values()}
    lots = sorted(
        best.keys() - taken, key=lambda source: hashlib.sha256(f"{seed}|{source}".encode()).digest()
    )
    free = [rank for rank in ranks if rank not in novel]
    for rank, source in zip(free, lots[: count - len(novel)], strict=False):
        novel[rank] = Place(best[source].item_id, NOVELTY, count / len(best))
    return novel
