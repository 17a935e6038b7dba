"""Readers with known tastes, built from other vectors than any ranking has.

Words of all items are reduced by latent semantic analysis and grouped by k-means into 16, 28 and 40 groups,
six times each with different starts. A reader has one of these eighteen groupings. (One grouping for all
readers moved every arm together, by its luck: on the first morning .16 to .22 without taste, .32 to .45 with
articles named.) They like an item of two or three groups with P = .85, of one with .15, and of the others
with .35 to .45. The liked groups hold 10 to 25 % of the items of their feeds, if possible. Two readers in
five also like or dislike a fifth of their sources, by 1 in log-odds. 15 % of thumbs are flipped. An item is
*to taste* if P >= .6.

An item's thumb is drawn once, so all arms share a reader's luck. Readers with *shuffled* thumbs like every
item with the same probability. Readers *without preferences* have P = .45 everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from ranking.pool import Floats, Ids
from tests.lab.page.feeds import Stream

GRAINS, LSA_DIMENSIONS = (16, 28, 40), 120
# How often each number of groups is grouped again.
GROUPINGS = 6
LIKED, DISLIKED, REST, NO_TASTE = 0.85, 0.15, (0.35, 0.45), 0.45
LIKED_SHARE = (0.10, 0.25)
FLIPPED = 0.15
SOURCES_MATTER, SOURCE_LEAN = 0.4, 1.0
TO_TASTE = 0.6
# Thumbs of a day: from five to nine, on the first fifteen places, the upper ones rather.
THUMBS = (5, 10)
PLACES = 15
# The least items of a feed, by how many feeds a reader has: six quiet ones would fill no page.
ITEMS_MIN = {6: 40, 50: 3}
REAL, SHUFFLED, NO_PREFERENCES = "real", "shuffled", "no preferences"
Mask = NDArray[np.bool_]


def groups_of(stream: Stream) -> list[Ids]:
    """Return the group of each item in each grouping of each grain."""
    texts = [f"{i.title} {i.title} {' '.join(i.categories)} {i.text[:2000]}" for i in stream.items]
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.2, stop_words="english").fit_transform(
        texts
    )
    found = TruncatedSVD(min(LSA_DIMENSIONS, words.shape[1] - 1), random_state=0).fit_transform(words)
    found /= np.linalg.norm(found, axis=1, keepdims=True) + 1e-9
    return [
        KMeans(k, n_init=2, random_state=k + 1_000 * n).fit_predict(found).astype(np.int64)
        for n in range(GROUPINGS)
        for k in GRAINS
    ]


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader's rows in the stream, P(like) of every item, and the thumb they would give it.

    `groups` is the group of every item; `liked` has the groups the reader likes.
    """

    seed: int
    size: int
    rows: Ids
    likes: Floats
    thumbs: Mask
    groups: Ids
    liked: frozenset[int]
    law: str = REAL

    @property
    def name(self) -> str:
        """Return the name that seeds the novelty draw."""
        return f"reader-{self.seed}-{self.size}"

    @property
    def to_taste(self) -> Mask:
        """Return which items are to the reader's taste."""
        return self.likes >= TO_TASTE

    def rated_on(self, day: int, places: Sequence[int], rated: set[int]) -> list[int]:
        """Return which items of the first places get a thumb on this day: 5 to 9, none twice."""
        rng = np.random.default_rng([self.seed, self.size, 11, day])
        count = rng.integers(*THUMBS)
        # One lot for a place, so that all arms share it.
        lots = rng.random(PLACES) ** ((1 + np.arange(PLACES)) ** 0.6)
        open_ = [n for n, item in enumerate(places[:PLACES]) if item not in rated]
        chosen = sorted(open_, key=lambda n: -lots[n])[:count]
        return [places[n] for n in sorted(chosen)]


def reader_draw(stream: Stream, groups: Sequence[Ids], *, seed: int, size: int, law: str = REAL) -> Reader:
    """Draw a reader of `size` feeds. Under every law a seed has the same feeds and groups."""
    rng = np.random.default_rng([seed, size])
    able = [n for n, rows in enumerate(stream.feeds) if len(rows) >= ITEMS_MIN.get(size, 1)]
    feeds = rng.choice(able, min(size, len(able)), replace=False)
    rows = np.sort(np.concatenate([stream.feeds[feed] for feed in feeds]))
    of_item = groups[rng.integers(len(groups))]
    liked, odds = _tastes(of_item, rows, rng)
    if rng.random() < SOURCES_MATTER:
        for feed in rng.choice(feeds, max(1, len(feeds) // 5), replace=False):
            odds[stream.feeds[feed]] += rng.choice((-SOURCE_LEAN, SOURCE_LEAN))
    likes = np.full(len(odds), NO_TASTE) if law == NO_PREFERENCES else expit(odds)
    luck = np.random.default_rng([seed, size, 7])
    thumbs = (luck.random(len(likes)) < likes) ^ (luck.random(len(likes)) < FLIPPED)
    if law == SHUFFLED:
        thumbs = luck.random(len(likes)) < thumbs[rows].mean()
    return Reader(seed, size, rows, likes, thumbs, of_item, liked, law)


def _tastes(of_item: Ids, rows: Ids, rng: np.random.Generator) -> tuple[frozenset[int], Floats]:
    """Return the groups a reader likes, and the log-odds of every item."""
    ids, counts = np.unique(of_item[rows], return_counts=True)
    share = dict(zip(ids.tolist(), (counts / counts.sum()).tolist(), strict=True))
    for _ in range(200):
        liked = rng.choice(ids, min(len(ids) - 1, int(rng.integers(2, 4))), replace=False).tolist()
        if LIKED_SHARE[0] <= sum(share[group] for group in liked) <= LIKED_SHARE[1]:
            break
    others = [group for group in ids.tolist() if group not in liked]
    disliked = rng.choice([group for group in others if share[group] > 0.02] or others)
    of_group = rng.uniform(*REST, int(of_item.max()) + 1)
    of_group[liked], of_group[disliked] = LIKED, DISLIKED
    return frozenset(liked), logit(of_group)[of_item]
