"""Explanations in plain words: an item's age, score and place, a summary's origin, a feed's health. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from digest.build.compose import NOVELTY, NOVELTY_EVERY
from digest.build.exclusion import RANKED, RATED
from digest.entities import ITEM_WINDOW_DAYS
from digest.feeds.health import FeedCondition
from ranking.entities import WEIGHT_DEFAULT
from ranking.explain import weight_words
from ranking.scoring import COMMUNITY_GAMMA, INTEREST_MIN, agreement

LEDE_CHARS = 320
# Counting days in one's head ends here.
# The smallest figure that is shown as one.
FIGURE_MIN = 0.0001
DATED_AFTER = timedelta(days=7)
# Signals weaker than this move nothing a reader would notice, so they get no chip.
SIGNAL_MIN = 0.2
HALF_RECENCY, HIGH_RECENCY = 0.5, 0.8
CHIPS_MAX = 4
# What two decimals would show as nothing gets no line.
SHOWN_MIN = 0.005
# The slot of an item that is in no digest here.
FOUND = "found"
DRAWN = "from a source you rarely see"
LATEST = "latest of a source you added"


@dataclass(frozen=True, slots=True)
class BreakdownLine:
    """One line of a score breakdown, in words and as a figure; `part` lines add up to the one above them."""

    label: str
    words: str
    figure: str
    part: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item has its score: a few chips, and the whole score breakdown."""

    chips: tuple[str, ...]
    lines: tuple[BreakdownLine, ...]
    total: str


def score_explain(
    parts: Mapping[str, Any],
    score: float,
    source: str,
    slot: str = "ranked",
    found: Mapping[str, str] | None = None,
) -> Explanation:
    """Explain one score of an item of `source` (its title). `parts` are `Parts.as_dict()`.

    `found` holds, by topic or keyword, how it was found if not by its own words. `slot` is the impression's:
    an item drawn for novelty says so first. The chips of one that is in no digest here (`FOUND`) compare it
    to no other.
    """
    interest = _interest_lines(parts, found or {})
    every = "1, as for every item, plus what follows" if interest else "1, as for every item"
    age = age_phrase(parts["age_hours"]) + (", too old to rank" if parts["recency"] < FIGURE_MIN else "")
    base, learned = parts["config_weight"], parts["learned_delta"]
    weight = f"{base:.2f} in your settings" if base != WEIGHT_DEFAULT else "the usual weight"
    if learned:
        weight += f", {learned:+.2f} learned from your thumbs"
    source_label = f"{source}, {weight_words(parts['source_weight'])}"
    lines = (
        BreakdownLine(source_label, weight, f"{parts['source_weight']:.2f}"),
        BreakdownLine("Freshness", age, f"× {_figure(parts['recency'])}"),
        BreakdownLine("Interest", every, f"× {_figure(parts['interest'])}"),
        *interest,
    )
    return Explanation(_chips(parts, source, slot), lines, _figure(score))


def settings_changes(then: Mapping[str, Any], now: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """Return as chips what the reader's settings do to an item of `source` now and did not then, or reverse.

    Both are `Parts.as_dict()`. Freshness and other readers' ratings change by themselves and are left out.
    """
    before, after = _preferences(then, source), _preferences(now, source)
    gone = [f"no longer {chip}" for chip in before if chip not in after]
    return (*(f"now {chip}" for chip in after if chip not in before), *gone)


def changed_by_learning(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether two scores of an item (`Parts.as_dict()`) differ in learned weights alone."""
    own = ("config_weight", "topics", "boosts")
    return then["learned_delta"] != now["learned_delta"] and all(then[name] == now[name] for name in own)


def _preferences(parts: Mapping[str, Any], source: str) -> list[str]:
    """Return as chips what of a score comes from the reader's settings and ratings."""
    chips = [f"your topic: {topic}" for topic in parts["topics"]]
    chips += [f"{'more' if boost > 0 else 'less'} of “{word}”" for word, boost in parts["boosts"].items()]
    weight = weight_words(parts["source_weight"])
    return chips + ([f"{weight.removesuffix(' than usual')} from {source}"] if weight != "as usual" else [])


def _figure(value: float) -> str:
    """Return two decimals, or two significant digits where those would show nothing; no powers of ten."""
    if 0 < value < FIGURE_MIN:
        return "almost 0"
    return f"{value:.2f}" if value >= 0.1 or value <= 0 else f"{value:.2g}"


def _interest_lines(parts: Mapping[str, Any], found: Mapping[str, str]) -> list[BreakdownLine]:
    """Return what is added to the 1 of every item; similarity is what the other lines leave of the whole."""
    community, sources = COMMUNITY_GAMMA * parts["community"], reported_by(parts)
    agreed = float(agreement(sources))
    reading = parts.get("reading", 0.0)
    named = len(parts["topics"]) + sum(parts["boosts"].values()) + community + agreed + reading
    matched = {term: f", matched {how}" for term, how in found.items()}
    lines = []
    for topic in parts["topics"]:
        lines.append(_added("Topic", f"“{topic}” is one of yours{matched.get(topic, '')}", 1.0))
    boosts = parts["boosts"].items()
    lines += [_added("Keyword", f"“{word}”{matched.get(word, '')}", boost) for word, boost in boosts]
    if parts["similarity"] and parts["interest"] > INTEREST_MIN:
        words = f"{parts['similarity']:.0%} like what you found useful"
        lines.append(_added("Similarity", words, parts["interest"] - 1 - named))
    if community:
        lines.append(_added("Readers here", "how they rated it", community))
    if agreed:
        lines.append(_added("Agreement", f"{sources} of your sources report it", agreed))
    if abs(reading) >= SHOWN_MIN:
        lines.append(_added("Reading", _reading_words(parts), reading))
    if parts["interest"] <= INTEREST_MIN:
        floor = BreakdownLine("Floor", "interest never falls below this", f"{INTEREST_MIN:.2f}", part=True)
        lines.append(floor)
    return lines


def _reading_words(parts: Mapping[str, Any]) -> str:
    """Return what the reader's opens say, with the counts of the source where it has any."""
    if not parts["shown"]:
        return "from what you open: its category"
    return f"from what you open: {parts['opened']} opened of {parts['shown']} you saw from here"


def reported_by(parts: Mapping[str, Any]) -> int:
    """Return how many of the reader's sources reported the item; one where its score was stored without."""
    return int(parts.get("reported_by", 1))


def _added(label: str, words: str, value: float) -> BreakdownLine:
    return BreakdownLine(label, words, f"{'+' if value >= 0 else '−'} {abs(value):.2f}", part=True)


def _chips(parts: Mapping[str, Any], source: str, slot: str) -> tuple[str, ...]:
    """Return the strongest reasons in a few words each, the reader's own preferences first."""
    chips = [DRAWN] if slot == NOVELTY else []
    # What is older than a digest's window is in one by a single way (digest.items.selectors.items_latest).
    if slot in (RANKED, NOVELTY) and parts["age_hours"] > ITEM_WINDOW_DAYS * 24:
        chips.append(LATEST)
    chips += _preferences(parts, source)
    if (sources := reported_by(parts)) > 1:
        chips.append(f"{sources} of your sources")
    if parts["similarity"] >= SIGNAL_MIN:
        chips.append("like what you found useful")
    if parts["community"] >= SIGNAL_MIN:
        chips.append("useful to readers here")
    if parts["recency"] >= HIGH_RECENCY:
        chips.append("fresh")
    elif parts["recency"] < HALF_RECENCY and not chips:
        weight = f"{weight_words(parts['source_weight'])} from {source}"
        chips.append(weight if slot == FOUND else "still among the best")
    return tuple(chips[:CHIPS_MAX]) or ("recent",)


def was_drawn(slot: str, propensity: float) -> bool:
    """Return whether an item was drawn for novelty; one that was rated since keeps its probability."""
    return slot == NOVELTY or propensity < 1


def place_explain(slot: str, propensity: float, moved: int = 0) -> str:
    """Return why an item has its rank. `propensity` is the probability with which it was shown there.

    `moved` is how many places lower it stands than by score (below 0: higher), as sources alternate.
    """
    if slot == RATED and was_drawn(slot, propensity):
        return f"It was drawn, {DRAWN}, and keeps its place since you rated it."
    if slot == RATED:
        return "It keeps its place since you rated it."
    if slot == NOVELTY:
        chance = f" It had a chance of {propensity:.0%}." if 0.005 <= propensity < 0.995 else ""
        return f"It was drawn, {DRAWN}: every {NOVELTY_EVERY}th place is, whatever the score.{chance}"
    if moved:
        places = f"{abs(moved)} place{'s' * (abs(moved) != 1)} {'down' if moved > 0 else 'up'}"
        return f"It has that place by its score, moved {places} so that sources alternate."
    return "It has that place by its score."


def age_words(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was: "just now", "3 hours ago", "yesterday", "5 days ago"."""
    phrase = age_phrase((now - then) / timedelta(hours=1))
    return phrase if phrase in {"just now", "yesterday"} else phrase.replace(" old", " ago")


def item_age_words(then: datetime, now: datetime, zone: tzinfo) -> str:
    """Return how long ago an item is of; its date in `zone` from a week on: "18 March 2026"."""
    if now - then < DATED_AFTER:
        return age_words(then, now)
    local = then.astimezone(zone)
    return f"{local.day} {local:%B %Y}"


def age_phrase(hours: float) -> str:
    """Return an age in hours in the largest unit that fits: "40 minutes old", "yesterday"."""
    if hours < 1 / 30:
        return "just now"
    if 24 <= hours < 48:
        return "yesterday"
    if hours < 1:
        count, unit = int(hours * 60), "minute"
    elif hours < 24:
        count, unit = int(hours), "hour"
    else:
        count, unit = int(hours / 24), "day"
    return f"{count} {unit}{'s' * (count != 1)} old"


def lede_cut(text: str) -> str:
    """Return the opening of an item's text, cut at a word."""
    flat = " ".join(text.split())
    if len(flat) <= LEDE_CHARS:
        return flat
    return f"{flat[:LEDE_CHARS].rsplit(' ', 1)[0].rstrip(',;:–-. ')} …"


def summary_origin(model: str, repaired: bool, by_model: bool) -> str:
    """Return who wrote a summary, for its reader. `model` is `provider:model`."""
    if by_model:
        return f"Written by {model.rpartition(':')[2]}, from the sentences quoted. Check it against the text."
    return "The publisher’s first sentence." if repaired else "Sentences taken from the text."


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
    """Return how the last fetch of a feed went, when it last had something new, and when it is checked next.

    For a healthy feed, how often it is checked stands in place of the next time.
    """
    if state == FeedCondition.IMPORTED:
        read = f"; last read {age_words(fetched, now)}" if fetched else ""
        return f"Imported from files{read}. {error}".strip()
    if state == FeedCondition.GONE:
        return error or "The publisher took this feed down for good."
    if state == FeedCondition.REFUSED:
        return f"{error} It is not asked again until you type another.".strip()
    if state == FeedCondition.PAUSED:
        return f"Paused. {error}".strip()
    if failures:
        last = f"last tried {age_words(fetched, now)}" if fetched else "not fetched yet"
        tries = "once" if failures == 1 else f"{failures} times in a row"
        again = f"It is tried again {_time_ahead(next_check, now)}." if next_check else ""
        return " ".join(filter(None, (f"Failed {tries}; {last}.", error, again)))
    last = f"Last fetched {age_words(fetched, now)}." if fetched else "Not fetched yet."
    news = f"The last new item came {age_words(last_new, now)}." if last_new else ""
    often = f"Checked every {_span(every_minutes)}." if every_minutes and fetched else ""
    return " ".join(filter(None, (last, news, often)))


def _time_ahead(then: datetime, now: datetime) -> str:
    minutes = (then - now) / timedelta(minutes=1)
    return "within minutes" if minutes < 10 else f"in about {_span(round(minutes))}"


def _span(minutes: int) -> str:
    return f"{minutes} min" if minutes < 55 else f"{round(minutes / 60)} h"
