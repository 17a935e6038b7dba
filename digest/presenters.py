"""A digest in plain words: how old an item is, why it stands where it stands, how a feed is doing. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from digest.health import Condition
from ranking.entities import WEIGHT_DEFAULT
from ranking.presenters import weight_words
from ranking.scoring import COMMUNITY_GAMMA, INTEREST_MIN

LEDE_CHARS = 320
# Signals weaker than this move nothing a reader would notice, so they get no chip.
SIGNAL_MIN = 0.2
FOUND = "found"
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


def why_of(
    parts: Mapping[str, Any],
    score: float,
    source: str,
    slot: str = "ranked",
    named: Mapping[str, str] | None = None,
) -> Why:
    """The reasons for one score of an item of `source` (its title). `parts` are `Parts.as_dict()`.

    `named` holds, by topic, the other name that it was found by. `slot` is the impression's: an item that
    came by way of the novelty slot says so first. Of one that stands in no digest here (`FOUND`), nothing is
    said of its neighbours.
    """
    interest = _interest_lines(parts, named or {})
    every = "1 for every item, and what follows" if interest else "1 for every item"
    lines = (
        Line(f"{source}, {weight_words(parts['source_weight'])}", *_weight_sum(parts)),
        Line("Freshness", age_phrase(parts["age_hours"]), f"× {_figure(parts['recency'])}"),
        Line("Interest", every, f"× {_figure(parts['interest'])}"),
        *interest,
    )
    return Why(_chips(parts, source, slot), lines, _figure(score))


def since_words(then: Mapping[str, Any], now: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """What the reader's settings say of an item of `source` now and did not when its sum was made, as chips.

    Both are `Parts.as_dict()`. Freshness and what others found useful change by themselves and are no news.
    """
    before, after = _wishes(then, source), _wishes(now, source)
    gone = [f"no longer {wish}" for wish in before if wish not in after]
    return (*(f"now {wish}" for wish in after if wish not in before), *gone)


def only_learned(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nothing the reader set themselves differs between two sums (`Parts.as_dict()`) of one item, but
    what was learned from their thumbs does."""
    own = ("config_weight", "topics", "boosts")
    return then["learned_delta"] != now["learned_delta"] and all(then[name] == now[name] for name in own)


def _wishes(parts: Mapping[str, Any], source: str) -> list[str]:
    """What of a score the reader set themselves, in chips."""
    wishes = [f"your topic: {topic}" for topic in parts["topics"]]
    wishes += [f"{'more' if boost > 0 else 'less'} of “{word}”" for word, boost in parts["boosts"].items()]
    words = weight_words(parts["source_weight"])
    return wishes + ([f"{words.removesuffix(' than usual')} from {source}"] if words != "as usual" else [])


def _figure(value: float) -> str:
    """Two decimals; as many as the first that is not zero needs where those say nothing."""
    return f"{value:.2f}" if value >= 0.1 or value <= 0 else f"{value:.2g}"


def _weight_sum(parts: Mapping[str, Any]) -> tuple[str, str]:
    base, learned, weight = parts["config_weight"], parts["learned_delta"], parts["source_weight"]
    words = f"{base:.2f} in your settings" if base != WEIGHT_DEFAULT else "the usual weight"
    if learned:
        words += f", {learned:+.2f} learned from your thumbs"
    return words, f"{weight:.2f}"


def _interest_lines(parts: Mapping[str, Any], other: Mapping[str, str]) -> list[Line]:
    """What joined the 1 every item starts from; similarity is what the named terms leave of the whole."""
    community = COMMUNITY_GAMMA * parts["community"]
    named = len(parts["topics"]) + sum(parts["boosts"].values()) + community
    lines = [_added("Topic", _topic_words(topic, other.get(topic, "")), 1.0) for topic in parts["topics"]]
    lines += [_added("Keyword", f"“{word}”", boost) for word, boost in parts["boosts"].items()]
    if parts["similarity"] and parts["interest"] > INTEREST_MIN:
        words = f"{parts['similarity']:.0%} like what you found useful"
        lines.append(_added("Similarity", words, parts["interest"] - 1 - named))
    if community:
        lines.append(_added("Other readers", "how they rated it", community))
    if parts["interest"] <= INTEREST_MIN:
        lines.append(Line("Floor", "interest never falls below this", f"{INTEREST_MIN:.2f}", part=True))
    return lines


def _topic_words(topic: str, named: str) -> str:
    return f"“{topic}” is one of yours" + (f", matched as “{named}”" if named else "")


def _added(label: str, words: str, value: float) -> Line:
    return Line(label, words, f"{'+' if value >= 0 else '−'} {abs(value):.2f}", part=True)


def _chips(parts: Mapping[str, Any], source: str, slot: str) -> tuple[str, ...]:
    """The strongest reasons in a few words each, the reader's own wishes first."""
    chips = ["from a source you rarely see"] if slot == "novelty" else []
    chips += _wishes(parts, source)
    if parts["similarity"] >= SIGNAL_MIN:
        chips.append("like what you found useful")
    if parts["community"] >= SIGNAL_MIN:
        chips.append("useful to other readers")
    if parts["recency"] >= HIGH_RECENCY:
        chips.append("fresh")
    elif parts["recency"] < HALF_RECENCY and not chips:
        words = f"{weight_words(parts['source_weight'])} from {source}"
        chips.append(words if slot == FOUND else "little else is newer")
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


def summary_words(model: str, repaired: bool, by_model: bool) -> str:
    """Whose words a summary is, for its reader. `model` is `provider:model`."""
    if by_model:
        return f"Written by {model.rpartition(':')[2]}, from the sentences quoted. Check it against the text."
    return "The publisher’s first sentence." if repaired else "Sentences taken from the text."


def href_of(url: str) -> str:
    """`url` if a browser may follow it, else nothing: items without an address have a `urn:` identity."""
    return url if urlsplit(url).scheme in {"http", "https"} else ""


def feed_health(
    state: str,
    error: str,
    failures: int,
    fetched: datetime | None,
    now: datetime,
    *,
    last_new: datetime | None = None,
    next_check: datetime | None = None,
    every_minutes: int | None = None,
) -> str:
    """How a feed is doing, in a few sentences: how the last fetch went, when it last brought something new,
    and when it is asked again (or, for a healthy one, how often).
    """
    if state == Condition.IMPORTED:
        read = f"; last read {age_words(fetched, now)}" if fetched else ""
        return f"Imported from files{read}. {error}".strip()
    if state == Condition.GONE:
        return error or "The publisher took this feed down for good."
    if state == Condition.PAUSED:
        return f"Paused. {error}".strip()
    if failures:
        last = f"last tried {age_words(fetched, now)}" if fetched else "not fetched yet"
        tries = "once" if failures == 1 else f"{failures} times in a row"
        again = f"It is tried again {_ahead(next_check, now)}." if next_check else ""
        return " ".join(filter(None, (f"Failed {tries}; {last}.", error, again)))
    last = f"Last fetched {age_words(fetched, now)}." if fetched else "Not fetched yet."
    news = f"The last new item came {age_words(last_new, now)}." if last_new else ""
    often = f"Looked at every {_span(every_minutes)}." if every_minutes and fetched else ""
    return " ".join(filter(None, (last, news, often)))


def _ahead(then: datetime, now: datetime) -> str:
    """How far `then` lies ahead: "within minutes", "in about 3 hours"."""
    minutes = (then - now) / timedelta(minutes=1)
    if minutes < 10:
        return "within minutes"
    span = _span(round(minutes))
    return f"in about {'an hour' if span == 'hour' else span}"


def _span(minutes: int) -> str:
    """A span of minutes in words: "5 minutes", "hour", "3 hours"."""
    if minutes < 55:
        return f"{minutes} minutes"
    hours = round(minutes / 60)
    return "hour" if hours == 1 else f"{hours} hours"
