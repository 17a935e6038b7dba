"""What it costs to look guidance's memories up layer by layer, against having them all.

The first layer is an index of the eight best, as whispers are shown: id and title. A careful reader of it
opens the two whose titles share most words with the call, goes on to the other six where neither was about
it, and has all memories where none of the eight was. An answer is sufficient when a memory that is exactly or
nearly about the call was read in full; calls count for which the store has one, so that all always suffice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.evaluation.guidance_metrics import TOP, Judged
from advisor.evaluation.guidance_relevance import WORTH
from advisor.guidance.retrieval import in_force, memories_detail
from advisor.guidance.signature import tokens_of
from advisor.tools.budget import BYTES_PER_TOKEN, as_json
from config.guidance_bench.asking import Prepared
from config.guidance_bench.store import NOW, Store

OPENED = 2
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Looked:
    """Tokens of looking up as far as the second and the eighth memory, and whether each sufficed; of all."""

    two: float
    eight: float
    by_two: bool
    by_eight: bool
    whole: float

    @property
    def until_found(self) -> float:
        """Tokens until something about the call was read, all memories if need be."""
        return self.two if self.by_two else self.eight if self.by_eight else self.eight + self.whole


def layers_row(store: Store, calls: Sequence[Prepared], judged: Sequence[Judged]) -> Row:
    """Mean tokens of both ways at equal sufficiency, and their ratio.

    `two` and `eight`: where one stops at the second memory or at the eighth, whatever was found.
    """
    whole = {reader: _whole(store, reader) for reader in range(len(store.readers))}
    looked = [
        _looked(store, call, one, whole[one.query.reader])
        for call, one in zip(calls, judged, strict=True)
        if any(one.query.grades.get(number, 0) >= WORTH for number in store.row_of)
    ]
    tokens = _mean([one.until_found for one in looked])
    everything = _mean([one.whole for one in looked])
    two, eight = _mean([one.two for one in looked]), _mean([one.eight for one in looked])
    return {
        "name": "layers",
        "questions": len(looked),
        "tokens": round(tokens, 1),
        "tokens_fetching_all": round(everything, 1),
        "ratio": round(everything / tokens, 2),
        "tokens_two": round(two, 1),
        "sufficiency_two": round(_mean([one.by_two for one in looked]), 4),
        "ratio_two": round(everything / two, 2),
        "tokens_eight": round(eight, 1),
        "sufficiency_eight": round(_mean([one.by_eight or one.by_two for one in looked]), 4),
        "ratio_eight": round(everything / eight, 2),
    }


def _looked(store: Store, call: Prepared, one: Judged, whole: float) -> Looked:
    """The index, then the two most promising in full; the call for them is paid, too."""
    numbers = one.answer.ranked[:TOP]
    titles = {number: store.by_number[number].title for number in numbers}
    index = as_json([{"id": store.row_of[number], "title": titles[number]} for number in numbers])
    wanted = set(tokens_of(call.asked.situation.words))
    order = sorted(numbers, key=lambda number: -len(wanted & set(tokens_of(titles[number]))))
    reader_id = store.readers[one.query.reader]

    def opened(some: Sequence[int]) -> float:
        ids = [store.row_of[number] for number in some]
        detail = memories_detail(reader_id=reader_id, ids=ids, now=NOW)
        return _tokens(as_json({"layer": "detail", "memories": ids})) + _tokens(as_json(detail)) if ids else 0

    def enough(some: Sequence[int]) -> bool:
        return any(one.query.grades.get(number, 0) >= WORTH for number in some)

    first, others = order[:OPENED], order[OPENED:]
    two = _tokens(index) + opened(first)
    return Looked(two, two + opened(others), enough(first), enough(others), whole)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _whole(store: Store, reader: int) -> float:
    """The tokens of every memory that the reader's runs may be told, in full."""
    rows = in_force(reader_id=store.readers[reader], now=NOW).values("id", "title", "text")
    return _tokens(as_json(list(rows)))


def _tokens(text: str) -> float:
    return len(text.encode()) / BYTES_PER_TOKEN
