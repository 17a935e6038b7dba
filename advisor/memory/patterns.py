"""Patterns over many readers: how often each type of suggestion is accepted, and how often it helps. Pure.

A pattern rests on more than five readers, so that whoever reads it sees at least five others. Each reader
counts once, by their own rate, so that nobody's long history is the pattern. Rates are rounded to 5 points
and the number of readers down to fives: one reader who joins or leaves can seldom be told from the change.
No text, no ids, no targets.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from advisor.memory.phrases import advice, any_change
from ranking.crowd import READERS_MIN

ACCEPTED, HELPED = "accepted", "helped"
# Rates and numbers of readers are published in these steps.
RATE_STEP, READERS_STEP = 0.05, 5
NAMES = {
    "add_topic": "new topics",
    "remove_topic": "removing topics",
    "boost_source": "more from a source",
    "reduce_source": "less from a source",
}
TITLES = {ACCEPTED: "How often readers accept {}", HELPED: "How often {} helps"}
# From here on, and from as far below one half, a rate speaks for or against a type.
LEAN = 0.6
DEEDS = {
    1: "count it as one light sign for it, unless this reader's own answers say otherwise",
    0: "expect neither yes nor no, and go by this reader's own answers",
    -1: "ask for plainer evidence than usual, unless this reader's own answers say otherwise",
}
REASONS = {
    ACCEPTED: "a reader accepts about {:.0%} of such suggestions on average, over {} readers or more",
    HELPED: "of such changes with a clear effect {:.0%} helped on average, over {} readers or more",
}


@dataclass(frozen=True, slots=True)
class Share:
    """One reader's own figures for one statistic of one type: so many of so many."""

    statistic: str
    suggestion_type: str
    hits: int
    total: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """One statistic of one type over enough readers, as it may be shown to any of them."""

    key: str
    title: str
    text: str
    suggestion_type: str
    rate: float
    readers: int
    polarity: int


def patterns_of(shares: Iterable[Share]) -> list[Pattern]:
    """The patterns that rest on more than five readers, by key; each share is of another reader."""
    rates: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for share in shares:
        if share.total:
            rates[share.statistic, share.suggestion_type].append(share.hits / share.total)
    return [_pattern(*key, own) for key, own in sorted(rates.items()) if len(own) > READERS_MIN]


def _pattern(statistic: str, kind: str, own: list[float]) -> Pattern:
    rate = round(round(sum(own) / len(own) / RATE_STEP) * RATE_STEP, 2)
    readers = len(own) // READERS_STEP * READERS_STEP
    lean = (rate >= LEAN) - (rate <= round(1 - LEAN, 2))
    return Pattern(
        key=f"{statistic}:{kind}",
        title=TITLES[statistic].format(NAMES[kind]),
        text=advice(f"weighing {any_change(kind)}", DEEDS[lean], REASONS[statistic].format(rate, readers)),
        suggestion_type=kind,
        rate=rate,
        readers=readers,
        polarity=lean,
    )
