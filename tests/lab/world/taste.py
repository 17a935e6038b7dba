"""The factor of taste for items of a simulated world, with the product's own arithmetic. Pure.

The leans are those of the source and of the reader's own topics, the two strongest of an item. Likeness comes
from the vectors of titles. There are neither categories nor authors here.
"""

from collections.abc import Sequence

import numpy as np

from ranking.common.text import fold
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.meaning.table import usual_centre
from ranking.taste.entities import TasteLevel
from ranking.taste.learn import STRONGEST
from ranking.taste.likeness import likeness_of
from ranking.taste.signal import EXAMPLES_MAX, factors_of
from tests.lab.world.truth import WHOLE
from tests.lab.world.words import SOURCES, TOPICS
from tests.lab.world.world import Batch, Floats


def taste_factors(
    stream: Batch,
    given: Sequence[tuple[int, bool, int]],
    leans: Sequence[float],
    topics: Sequence[str],
    day: int,
    batch: Batch,
    part: slice = WHOLE,
) -> Floats:
    """Return the factor of each item in `part` of `batch`.

    `given` are the thumbs on items of the `stream` as (item, liked, day), the newest last. `leans` are those
    towards the sources and topics, and `topics` the reader's own.
    """
    newest = given[-EXAMPLES_MAX:]
    liked = np.array([like for _, like, _ in newest], dtype=np.float64)
    weights = 0.5 ** ((day - np.array([at for _, _, at in newest])) / FEEDBACK_HALF_LIFE_DAYS)
    examples = stream.vectors[[item for item, _, _ in newest]]
    alike = likeness_of(batch.vectors[part], examples, weights, liked, usual_centre())
    own = {fold(topic) for topic in topics}
    mine = np.array([fold(topic) in own for topic in TOPICS])
    about = batch.topics[part] * np.where(mine, np.asarray(leans[len(SOURCES) :]), 0.0)
    order = np.argsort(-np.abs(about), axis=1)[:, :STRONGEST]
    strongest = np.take_along_axis(about, order, axis=1).sum(axis=1)
    sources = np.asarray(leans[: len(SOURCES)])[batch.source[part]]
    factors: Floats = factors_of(sources + strongest + alike, TasteLevel.ON)
    return factors
