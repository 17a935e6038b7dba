"""What it costs to look guidance's memories up layer by layer, against having them all.

The first layer is an index of the eight best, as whispers are shown: id and title. A careful reader of it
opens the two whose titles share most words with the call. An answer is sufficient when a memory that is
exactly or nearly about the call was read in full; calls count for which the store has one.
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

OPENED, RUN_QUESTIONS = 2, 5
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Looked:
    """What one call's looking up cost in tokens, whether it sufficed, and what all would have cost."""

    tokens: float
    sufficient: bool
    whole: float


def layers_row(store: Store, calls: Sequence[Prepared], judged: Sequence[Judged]) -> Row:
    """Mean tokens of both ways and their ratio; `ratio_shared`: one fetch of all serves five calls."""
    whole = {reader: _whole(store, reader) for reader in range(len(store.readers))}
    looked = [
        _looked(store, call, one, whole[one.query.reader])
        for call, one in zip(calls, judged, strict=True)
        if any(one.query.grades.get(number, 0) >= WORTH for number in store.row_of)
    ]
    tokens = float(np.mean([one.tokens for one in looked]))
    everything = float(np.mean([one.whole for one in looked]))
    return {
        "name": "layers",
        "questions": len(looked),
        "tokens": round(tokens, 1),
        "tokens_fetching_all": round(everything, 1),
        "sufficiency": round(float(np.mean([one.sufficient for one in looked])), 4),
        "ratio": round(everything / tokens, 2),
        "ratio_shared": round(everything / RUN_QUESTIONS / tokens, 2),
    }


def _looked(store: Store, call: Prepared, one: Judged, whole: float) -> Looked:
    """The index, then the two most promising in full; the call for them is paid, too."""
    numbers = one.answer.ranked[:TOP]
    titles = {number: store.by_number[number].title for number in numbers}
    index = as_json([{"id": store.row_of[number], "title": titles[number]} for number in numbers])
    wanted = set(tokens_of(call.asked.situation.words))
    order = sorted(numbers, key=lambda number: -len(wanted & set(tokens_of(titles[number]))))
    ids = [store.row_of[number] for number in order[:OPENED]]
    reader_id = store.readers[one.query.reader]
    detail = as_json(memories_detail(reader_id=reader_id, ids=ids, now=NOW)) if ids else ""
    asked = as_json({"layer": "detail", "memories": ids}) if ids else ""
    enough = any(one.query.grades.get(number, 0) >= WORTH for number in order[:OPENED])
    return Looked(_tokens(index) + _tokens(asked) + _tokens(detail), enough, whole)


def _whole(store: Store, reader: int) -> float:
    """The tokens of every memory that the reader's runs may be told, in full."""
    rows = in_force(reader_id=store.readers[reader], now=NOW).values("id", "title", "text")
    return _tokens(as_json(list(rows)))


def _tokens(text: str) -> float:
    return len(text.encode()) / BYTES_PER_TOKEN
