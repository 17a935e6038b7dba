"""A digest in plain words: how old an item is, why it stands where it stands, how a feed is doing. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from ranking.entities import WEIGHT_DEFAULT
from ranking.presenters import weight_words
from ranking.scoring import COMMUNITY_GAMMA, INTEREST_MIN

LEDE_CHARS = 320
# Signals weaker than this move nothing a reader would notice, so they get no chip.
SIGNAL_MIN = 0.2
HALF_RECENCY, HIGH_RECENCY = 0.5, 0.8


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a score's sum, in words and as a figure; `part` lines add up to the whole above them."""

    label: str
    words: str
    figure: str
    part: bool = False


@dataclass(frozen=True, slots=True)
class Why:
    """Why an item stands where it stands: a few chips, and the whole sum behind them."""

    chips: tuple[str, ...]
    lines: tuple[Line, ...]
    total: str


def why_of(parts: Mapping[str, Any], score: float, source: str) -> Why:
    """The reasons for one score of an item of `source` (its title). `parts` are `Parts.as_dict()`."""
    interest = _interest_lines(parts)
    every = "1 for every item, and what follows" if interest else "1 for every item"
    lines = (
        Line(f"{source}, {weight_words(parts['source_weight'])}", *_weight_sum(parts)),
        Line("Freshness", age_phrase(parts["age_hours"]), f"× {_figure(parts['recency'])}"),
        Line("Interest", every, f"× {_figure(parts['interest'])}"),
        *interest,
    )
    return Why(_chips(parts, source), lines, _figure(score))


def _figure(value: float) -> str:
    """Two decimals; as many as the first that is not zero needs where those say nothing."""
    return f"{value:.2f}" if value >= 0.1 or value <= 0 else f"{value:.2g}"


def _weight_sum(parts: Mapping[str, Any]) -> tuple[str, str]:
    base, learned, weight = parts["config_weight"], parts["learned_delta"], parts["source_weight"]
    words = f"{base:.2f} in your settings" if base != WEIGHT_DEFAULT else "the usual weight"
    if learned:
        words += f", {learned:+.2f} learned from your thumbs"
    return words, f"{weight:.2f}"


def _interest_lines(parts: Mapping[str, Any]) -> list[Line]:
    """What joined the 1 every item starts from; similarity is what the named terms leave of the whole."""
    community = COMMUNITY_GAMMA * parts["community"]
    named = len(parts["topics"]) + sum(parts["boosts"].values()) + community
    lines = [_added("Topic", f"“{topic}” is one of yours", 1.0) for topic in parts["topics"]]
    lines += [_added("Keyword", f"“{word}”", boost) for word, boost in parts["boosts"].items()]
    if parts["similarity"] and parts["interest"] > INTEREST_MIN:
        words = f"{parts['similarity']:.0%} like what you found useful"
        lines.append(_added("Similarity", words, parts["interest"] - 1 - named))
    if community:
        lines.append(_added("Other readers", "how they rated it", community))
    if parts["interest"] <= INTEREST_MIN:
        lines.append(Line("Floor", "interest never falls below this", f"{INTEREST_MIN:.2f}", part=True))
    return lines


def _added(label: str, words: str, value: float) -> Line:
    return Line(label, words, f"{'+' if value >= 0 else '−'} {abs(value):.2f}", part=True)


def _chips(parts: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """The strongest reasons in a few words each, the reader's own wishes first."""
    chips = [f"your topic: {topic}" for topic in parts["topics"]]
    chips += [f"{'more' if boost > 0 else 'less'} of “{word}”" for word, boost in parts["boosts"].items()]
    words = weight_words(parts["source_weight"])
    if words != "as usual":
        chips.append(f"{words.removesuffix(' than usual')} from {source}")
    if parts["similarity"] >= SIGNAL_MIN:
        chips.append("like what you found useful")
    if parts["community"] >= SIGNAL_MIN:
        chips.append("useful to other readers")
    if parts["recency"] >= HIGH_RECENCY:
        chips.append("fresh")
    elif parts["recency"] < HALF_RECENCY and not chips:
        chips.append("little else is newer")
    return tuple(chips[:4]) or ("recent",)


def age_words(then: datetime, now: datetime) -> str:
    """How long ago `then` was: "just now", "3 hours ago", "yesterday", "5 days ago"."""
    phrase = age_phrase((now - then) / timedelta(hours=1))
    return phrase if phrase in {"just now", "yesterday"} else phrase.replace(" old", " ago")


def age_phrase(hours: float) -> str:
    """An age in hours, in the largest unit that says something: "40 minutes old", "yesterday"."""
    if hours < 1 / 30:
        return "just now"
    if hours < 1:
        return _count(int(hours * 60), "minute")
    if hours < 24:
        return _count(int(hours), "hour")
    return "yesterday" if hours < 48 else _count(int(hours / 24), "day")


def _count(n: int, unit: str) -> str:
    return f"{n} {unit}{'s' * (n != 1)} old"


def lede_of(text: str) -> str:
    """The opening of an item's text, cut at a word."""
    flat = " ".join(text.split())
    if len(flat) <= LEDE_CHARS:
        return flat
    return f"{flat[:LEDE_CHARS].rsplit(' ', 1)[0].rstrip(',;:–-. ')} …"


def href_of(url: str) -> str:
    """`url` if a browser may follow it, else nothing: items without an address have a `urn:` identity."""
    return url if urlsplit(url).scheme in {"http", "https"} else ""


def feed_health(state: str, error: str, failures: int, fetched: datetime | None, now: datetime) -> str:
    """How a feed is doing, in a sentence."""
    if state == "imported":
        read = f"; last read {age_words(fetched, now)}" if fetched else ""
        return f"Imported from files{read}. {error}".strip()
    fixed = {
        "gone": "The publisher took this feed down for good.",
        "paused": "Paused.",
    }
    if state in fixed:
        return f"{fixed[state]} {error}".strip()
    last = f"last fetched {age_words(fetched, now)}" if fetched else "not fetched yet"
    if failures:
        tries = "once" if failures == 1 else f"{failures} times in a row"
        return f"Failed {tries}; {last}. {error}".strip()
    return f"{last[0].upper()}{last[1:]}."
