"""How a digest is put together from a ranked list: one telling of a story, a share per source, novelty. Pure.

Only what is shown is chosen here. The order among what is shown by score stays that of the score.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from digest.entities import DIGEST_SIZE
from digest.placement import place
from ranking.entities import EffectiveConfig
from ranking.pool import Ids, Pool

# A source gets a third of the places, or an equal part where there are fewer than three sources.
SOURCE_PARTS = 3
# Each tenth place is drawn from sources little is known about: exploration in one of ten slots.
NOVELTY_EVERY = 10
# A source is known from as many thumbs on as the learning loop wants before it moves (ranking.learning), or
# after so many showings in the last 30 days: who passes something by ten times has seen it.
KNOWN_THUMBS = 5
KNOWN_SHOWINGS = 10
SHOWINGS_DAYS = 30
# Below this effective weight a source is one the reader, or their thumbs, asked to see less of.
LOW_WEIGHT = 0.5

RANKED: Final = "ranked"
NOVELTY: Final = "novelty"
KEPT: Final = "kept"


class Reason(StrEnum):
    """Why a candidate is not in the digest; the first that applies."""

    SAME_STORY = "same_story"
    SOURCE_CAP = "source_cap"
    LOW_WEIGHT = "low_weight"
    KEYWORD = "keyword"
    BELOW = "below"


class Choice(NamedTuple):
    """One candidate as it is chosen from: its source and story (`None`: nobody else tells it).

    `low`: its source's effective weight is below 0.5. `muted`: a keyword counts against it.
    """

    item_id: int
    source: str
    story: int | None = None
    low: bool = False
    muted: bool = False


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


def source_cap(size: int, sources: int) -> int:
    """How many of `size` places one of a reader's `sources` may take while the others have anything."""
    return math.ceil(size / max(1, min(SOURCE_PARTS, sources)))


def choices_of(
    ids: Iterable[int],
    about: Mapping[int, tuple[str, int | None]],
    effective: EffectiveConfig,
    muted: Collection[int] = (),
) -> list[Choice]:
    """What `compose` chooses from, in the order of `ids`.

    `about` tells source and story (`None`: nobody else tells it) of each item, `muted` are those that
    keywords count against.
    """
    low = {source for source, weight in effective.weights().items() if weight < LOW_WEIGHT}
    return [Choice(item_id, *about[item_id], about[item_id][0] in low, item_id in muted) for item_id in ids]


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
    """The draw for one reader and day: neither from `known` sources nor from those pinned as avoided."""
    return Chances(seed, frozenset({*known, *effective.config.avoided}))


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
    order = _by_share(choices, rated, rules) if rules.cap else choices
    picked, novel = _picked(order, choices, rules, chances, rated, drawn)
    at = {rank: stood.item_id for rank, stood in rated.items()}
    at |= {rank: place_.item_id for rank, place_ in novel.items()}
    placed = place([c.item_id for c in choices if c.item_id in picked], at, rules.size)
    slots = {p.item_id: p for p in novel.values()}
    slots |= {s.item_id: Place(s.item_id, KEPT, s.propensity) for s in rated.values()}
    shown = tuple(slots.get(item, Place(item, RANKED)) for item in placed)
    slot_of = {place_.item_id: place_.slot for place_ in shown}
    told = {story: item for story, item in tellers.items() if rules.stories and item in slot_of}
    return Composed(shown, left_out(ranked, slot_of, told))


def _told_once(choices: Sequence[Choice], tellers: dict[int, int]) -> list[Choice]:
    """The best telling of each story: what the reader has rated tells its story already.

    `tellers` (story -> item) is filled in on the way.
    """
    return [
        choice
        for choice in choices
        if choice.story is None or tellers.setdefault(choice.story, choice.item_id) == choice.item_id
    ]


def _by_share(choices: Sequence[Choice], rated: Mapping[int, Stood], rules: Rules) -> list[Choice]:
    """`choices` in the order in which they get a place: what is beyond its source's share comes last.

    So does what the reader wants less of: it takes no place from what merely comes often.
    """
    sources = {c.source for c in choices} | {s.source for s in rated.values()}
    cap = source_cap(rules.size, len(sources))
    taken = Counter(stood.source for stood in rated.values())
    within: list[Choice] = []
    beyond: list[Choice] = []
    for choice in choices:
        wanted = taken[choice.source] < cap and not choice.low and not choice.muted
        (within if wanted else beyond).append(choice)
        taken[choice.source] += 1
    return within + beyond


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
        open_ = [c for c in choices if c.source not in closed and not c.low and not c.muted]
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


def left_out(
    ranked: Sequence[Choice], shown: Mapping[int, str], tellers: Mapping[int, int]
) -> dict[int, Reason]:
    """Each of `ranked` that is not `shown` (item -> slot), with the reason, best first.

    `tellers` names the item shown for a story. What the score alone would have given a place, one telling of
    a story each, gave way to other sources.
    """
    places = sum(slot == RANKED for slot in shown.values())
    reasons: dict[int, Reason] = {}
    told = 0
    for choice in ranked:
        again = choice.story is not None and tellers.get(choice.story, choice.item_id) != choice.item_id
        if choice.item_id not in shown:
            reasons[choice.item_id] = Reason.SAME_STORY if again else _reason(choice, told < places)
        if not again and shown.get(choice.item_id) != KEPT:
            told += 1
    return reasons


def _reason(choice: Choice, gave_way: bool) -> Reason:
    if gave_way and not choice.low and not choice.muted:
        return Reason.SOURCE_CAP
    if choice.low:
        return Reason.LOW_WEIGHT
    return Reason.KEYWORD if choice.muted else Reason.BELOW
