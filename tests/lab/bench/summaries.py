"""What extracts cost in time: `python -m tests.lab bench.summaries [--json]`.

Data: items of the captured feeds below `TIDINGS_DATA`, twelve of one feed at most. Each text is extracted
once; beside it, on the same texts, the floor: telling the sentences apart and one TF-IDF over them, without
any choice. The ratio is what choosing adds. Reasons and the grounding check are timed on the same texts.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles

from sklearn.feature_extraction.text import TfidfVectorizer

from digest.feedback.reasons import reasons_offline
from digest.summaries.grounding import content_stems, grounding_of
from digest.summaries.summarise import SENTENCES_READ, extract_of, sentences_of
from tests.lab.summaries.standfirsts import feed_texts

Row = dict[str, float | str | int]
Work = Callable[[str, str], object]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    items = list(feed_texts(Path(os.environ["TIDINGS_DATA"]) / "feeds"))
    rows = [
        timed("floor: sentences and TF-IDF", _floor, items),
        timed("extract", extract_of, items),
        timed("reasons", reasons_offline, items),
        timed("grounding check", _checked, items),
    ]
    floor = float(rows[0]["total_s"])
    rows[1]["times_the_floor"] = round(float(rows[1]["total_s"]) / floor, 2)
    result = {
        "command": "python -m tests.lab bench.summaries",
        "data": f"{len(items)} items of feeds/real-*",
        "rows": rows,
    }
    print(json.dumps(result) if options.json else table(rows))


def timed(name: str, work: Work, items: Sequence[tuple[str, str]]) -> Row:
    """`work` on every item: processor time in all, and the spread of a single text."""
    taken = []
    for title, text in items:
        began = time.process_time()
        work(title, text)
        taken.append((time.process_time() - began) * 1000)
    cuts = quantiles(taken, n=20)
    return {
        "name": name,
        "total_s": round(sum(taken) / 1000, 2),
        "p50_ms": round(cuts[9], 2),
        "p95_ms": round(cuts[18], 2),
        "texts_per_s": round(len(taken) / (sum(taken) / 1000)),
    }


def _floor(title: str, text: str) -> None:
    sentences = [*sentences_of(text)[:SENTENCES_READ], title]
    vectorizer = TfidfVectorizer(analyzer=lambda told: list(content_stems(told)), sublinear_tf=True)
    try:
        vectorizer.fit_transform(sentences)
    except ValueError:
        return  # no word that carries meaning


def _checked(title: str, text: str) -> None:
    grounding_of(text[:300], [text[:100]], title=title, text=text[:2400])


def table(rows: Sequence[Row]) -> str:
    """One line for each row."""
    return "\n".join("  ".join(f"{key} {value}" for key, value in row.items()) for row in rows)


if __name__ == "__main__":
    main()
