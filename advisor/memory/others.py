"""What other readers make of a reader's sources, in words without a number of anybody. Pure.

The deviations come from the one selector that may ask (`digest.selectors.peers`): at least five readers
behind each, in steps of 0.05, none for a reader who does not share. They hold for a week. They are a hint,
not an outcome of this reader's: evidence stays 0 and nothing louder than a note comes of it.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, time, timedelta

from advisor.guidance.distilling import Draft
from advisor.guidance.entities import Kind, Level
from advisor.memory.phrases import advice, memory_key, this_change
from suggestions.entities import BOOST_SOURCE, REDUCE_SOURCE

PEER_LIFE = timedelta(days=7)
# Smaller ones are within what five readers differ by; the largest there are is 0.2 (`ranking.crowd`).
DEVIATION_MIN = 0.1
SOURCES_MAX = 8
OTHERS = "readers who share"


def peer_drafts(deviations: Mapping[str, float], sources: Collection[str], *, now: datetime) -> list[Draft]:
    """A hint for and one against each of the eight `sources` of the reader that others differ on most."""
    clear = [
        (source, lean)
        for source, lean in deviations.items()
        if source in sources and abs(lean) >= DEVIATION_MIN
    ]
    clear.sort(key=lambda pair: (-abs(pair[1]), pair[0]))
    today = datetime.combine(now.astimezone(UTC).date(), time.min, UTC)
    return [
        _draft(source, lean, kind, today)
        for source, lean in clear[:SOURCES_MAX]
        for kind in (BOOST_SOURCE, REDUCE_SOURCE)
    ]


def _draft(source: str, lean: float, kind: str, today: datetime) -> Draft:
    agrees = (lean > 0) is (kind == BOOST_SOURCE)
    change, more = this_change(kind), "more" if lean > 0 else "less"
    deed = "count it as one light sign for it" if agrees else "ask for more evidence of this reader's own"
    return Draft(
        kind=Kind.PEER,
        key=memory_key(kind, source),
        title=f"Others like this source {more}: {change}",
        text=advice(f"weighing {change}", deed, f"five or more readers who share like it {more} than usual"),
        suggestion_type=kind,
        target_key=source,
        polarity=1 if agrees else -1,
        confidence=round(0.5 + abs(lean), 4),
        data={"deviation": round(lean, 2)},
        source_ref=OTHERS,
        ceiling=Level.NOTE,
        valid_from=today,
        expires_at=today + PEER_LIFE,
    )
