"""The pages after today's: the next best items that are not on it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from digest.daily.compose import NoveltyDraw, Rules, compose
from digest.daily.diversity import Choice, within_limits
from digest.daily.presentation import ScoredItem
from digest.daily.selectors import candidates_then, digest_impressions
from digest.entities import DIGEST_SIZE
from digest.models import Digest, Impression, Item, Reader
from ranking.selectors import config_effective

# Each further page is composed after the ones before it. Nobody reads this many pages a day.
PAGES_MAX = 40


@dataclass(frozen=True, slots=True)
class FurtherPage:
    """One further page of a day: its impressions, which are not stored, and whether another page follows.

    `number` counts from 2, because the digest is the first page.
    """

    number: int
    impressions: Sequence[Impression]
    more: bool

    @property
    def scored(self) -> list[ScoredItem]:
        """Return the items as pages show them."""
        return [ScoredItem(row.item, row.parts, row.score, row.slot) for row in self.impressions]


def further_page(*, reader: Reader, digest: Digest, number: int, now: datetime) -> FurtherPage:
    """Return page `number` of the digest's day: thirty items that are on none of the pages before it.

    Items that stood on two pages of earlier days come here again. Rated and read items do not. Each story
    comes once, and sources have their shares. The pages stay the same until the digest is built again. A
    constant number of queries.
    """
    effective = config_effective(reader_id=reader.pk)
    candidates = candidates_then(reader, digest, now, effective, keep_seen=True)
    ranking = candidates.ranking(effective)
    shown = digest_impressions(digest=digest, now=now)
    items = {row.item_id for row in shown}
    stories = {candidates.story_of(row.item.article) for row in shown}
    places: list[int] = []
    taken = [row.item.source_id for row in shown]
    choices = candidates.choices(ranking, effective)
    late = sum(one.late and one.item_id in items for one in choices)
    rest = within_limits(_left(choices, items, stories), taken, late=late)
    rules = Rules(novelty=False, reserve=False, again=False)
    for _ in range(1, min(number, PAGES_MAX)):
        # Daily limits were already applied, so every item left may come.
        open_ = [one._replace(most=None, late=False) for one in rest]
        places = [place.item_id for place in compose(open_, rules, NoveltyDraw()).places]
        placed = {*places}
        stories = {one.story for one in rest if one.story is not None and one.item_id in placed}
        rest = _left(rest, placed, stories)
    found = Item.objects.select_related("source").in_bulk(places)
    first = (number - 1) * DIGEST_SIZE + 1
    rows = [
        Impression(
            digest=digest,
            item=found[score.candidate.item_id],
            rank=rank,
            score=score.total,
            parts=score.parts.as_dict(),
            slot=Impression.Slot.RANKED,
        )
        for rank, score in enumerate(ranking.scores_of(places), first)
        if score.candidate.item_id in found
    ]
    return FurtherPage(number, rows, bool(rest) and number < PAGES_MAX)


def _left(choices: Sequence[Choice], items: Collection[int], stories: Collection[int]) -> list[Choice]:
    """Return the choices that are none of `items`, and of none of these stories."""
    return [one for one in choices if one.item_id not in items and one.story not in stories]
