"""Explanations in plain words: an item's age, score and place, a summary's origin, a feed's health. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from digest.daily.compose import NOVELTY, NOVELTY_EVERY
from digest.daily.diversity import AGAIN, RATED, RESERVED
from digest.daily.score_parts import (
    TASTE_UNSEEN,
    about_worth,
    agreement_part,
    community_part,
    lean_chosen,
    reading_part,
    reported_by,
    similarity_part,
    taste_factor,
    topics_about,
)
from digest.daily.taste_words import similar_chip, taste_chip, taste_reasons
from digest.daily.why_words import FOUND, why_sentence
from digest.entities import ITEM_WINDOW_DAYS
from digest.feeds.health import FeedCondition
from ranking.config_words import weight_of_source, weight_parts_words
from ranking.entities import WEIGHT_DEFAULT, Config
from ranking.language import date_words, figure, gettext_noop, ngettext, percent, pgettext, quoted, times
from ranking.language import gettext as _
from ranking.scoring import INTEREST_MIN
from ranking.taste.entities import TasteLevel

LEDE_CHARS = 320
# The longest word that is kept whole by cutting before it, in characters.
LEDE_WORD_MAX = 60
# The smallest figure that is shown as a figure.
FIGURE_MIN = 0.0001
# From this age on a date is shown, because nobody counts more days in their head.
DATED_AFTER = timedelta(days=7)
# Signals weaker than this move nothing that a reader would notice, so they get no chip.
SIGNAL_MIN = 0.2
CHIPS_MAX = 4
# A part that two decimals would show as 0.00 gets no line.
SHOWN_MIN = 0.005
DRAWN = gettext_noop("from a source you rarely see")
NEVER_MISSED = gettext_noop("never missed")
LATEST = gettext_noop("latest of a source you added")


@dataclass(frozen=True, slots=True)
class BreakdownLine:
    """One line of a score breakdown, in words and as a figure. Lines with `part` add up to the line above."""

    label: str
    words: str
    figure: str
    part: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of an item's score: a few chips, the whole breakdown, and a sentence with the strongest
    reasons. `by_taste` tells whether taste is a factor of it."""

    chips: tuple[str, ...]
    lines: tuple[BreakdownLine, ...]
    total: str
    sentence: str = ""
    by_taste: bool = False


def score_explain(
    parts: Mapping[str, Any],
    score: float,
    source: str,
    slot: str = "ranked",
    found: Mapping[str, str] | None = None,
    age: str = "",
) -> Explanation:
    """Explain the score of one item of `source` (its title). `parts` are `Parts.as_dict()`.

    `found` tells for a topic or keyword how it was matched, if not by its own words. `slot` is the
    impression's. `age` are words for an age that the score's own hours do not tell. An item drawn for novelty
    says so first. Chips of an item in no digest (`FOUND`) do not
    compare it with others.
    """
    interest = _interest_lines(parts, found or {})
    age = _age_counted(parts, age or age_phrase(parts["age_hours"]))
    sentence = why_sentence(parts, source, slot, age)
    lines = (
        BreakdownLine(
            source,
            _weight_words(parts),
            figure(parts["source_weight"]),
        ),
        BreakdownLine(_("Freshness"), age, times(_figure(parts["recency"]))),
        *([BreakdownLine(_("Interest"), "", times(_figure(parts["interest"])))] if interest else []),
        *interest,
        *_taste_lines(parts, source),
    )
    by_taste = taste_factor(parts) != 1.0
    return Explanation(score_chips(parts, source, slot), lines, _figure(score), sentence, by_taste)


def _age_counted(parts: Mapping[str, Any], age: str) -> str:
    """Return an item's `age` as freshness counts it: by whole days, or by the hour."""
    days = parts.get("age_days")
    if parts["recency"] < FIGURE_MIN:
        return _("{age}, too old to rank").format(age=age)
    if days is None:
        return age
    if days == 0:
        return _("{age}, among the newest").format(age=age)
    words = ngettext("{age}, {n} day behind the newest", "{age}, {n} days behind the newest", days)
    return words.format(age=age, n=days)


def _taste_lines(parts: Mapping[str, Any], source: str) -> list[BreakdownLine]:
    """Return the line for the factor of the reader's taste; none if it does not count."""
    factor = taste_factor(parts)
    if factor == 1.0:
        return []
    words = "; ".join(taste_reasons(parts, source)) or _("by your ratings")
    return [BreakdownLine(_("Your taste"), words, times(_figure(factor)))]


def _weight_words(parts: Mapping[str, Any]) -> str:
    """Return the origin of an effective weight: the reader's setting, and the part learned from thumbs."""
    learned = parts["learned_delta"]
    return weight_parts_words(parts["config_weight"], figure(learned, "+.2f") if learned else "")


def settings_changes(then: Mapping[str, Any], now: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """Return chips for the effects of the reader's settings on an item that began or ended since `then`.

    `then` and `now` are `Parts.as_dict()`. Freshness and other readers' ratings change by themselves and are
    left out.
    """
    before, after = _preferences(then, source), _preferences(now, source)
    new = tuple(_("now {chip}").format(chip=chip) for chip in after if chip not in before)
    return (*new, *settings_ended(then, now, source))


def settings_ended(then: Mapping[str, Any], now: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """Return chips for the effects of the reader's settings on an item that have ended since `then`."""
    after = _preferences(now, source)
    ended = [chip for chip in _preferences(then, source) if chip not in after]
    return tuple(_("no longer {chip}").format(chip=chip) for chip in ended)


def page_settings_changed(then: Config, now: Config) -> str:
    """Return what settings for the whole page changed for every article, in a few words; "" for nothing."""
    if then.taste is not now.taste:
        if now.taste is TasteLevel.OFF:
            return _("no longer by your taste")
        return _("your taste counts differently")
    if then.recency_half_life_hours != now.recency_half_life_hours:
        slower = now.recency_half_life_hours > then.recency_half_life_hours
        return _("age counts less now") if slower else _("age counts more now")
    return ""


def changed_by_learning(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether two scores of an item (`Parts.as_dict()`) differ only in learned weights."""
    own = ("config_weight", "topics", "boosts")
    return then["learned_delta"] != now["learned_delta"] and all(then[name] == now[name] for name in own)


def _preferences(parts: Mapping[str, Any], source: str) -> list[str]:
    """Return chips for the parts of a score that come from the reader's settings and ratings."""
    chips = [_("your topic: {topic}").format(topic=topic) for topic in parts["topics"]]
    chips += [_("about {topic}, by meaning").format(topic=topic) for topic in topics_about(parts)]
    for word, boost in parts["boosts"].items():
        by_words = _("more of “{word}”") if boost > 0 else _("less of “{word}”")
        by_meaning = (
            _("more about “{word}”, by meaning") if boost > 0 else _("less about “{word}”, by meaning")
        )
        chips.append((by_meaning if word in parts.get("boosts_about", ()) else by_words).format(word=word))
    weight = weight_of_source(parts["source_weight"], source)
    return [*chips, weight] if weight else chips


def _figure(value: float) -> str:
    """Return `value` with two decimals, or with two significant digits if it is below 0.1.

    Never in powers of ten; below 0.0001 it is "almost 0".
    """
    if 0 < value < FIGURE_MIN:
        return _("almost 0")
    return figure(value) if value >= 0.1 or value <= 0 else figure(value, ".2g")


def _interest_lines(parts: Mapping[str, Any], found: Mapping[str, str]) -> list[BreakdownLine]:
    """Return the lines for the parts that are added to the base interest of 1.

    Similarity has no part of its own: it is the rest that the other lines leave.
    """
    community, sources = community_part(parts), reported_by(parts)
    agreed, reading = agreement_part(parts), reading_part(parts)
    worths = {topic: about_worth(parts, topic) for topic in topics_about(parts)}
    matched = {term: ", " + _("matched {how}").format(how=how) for term, how in found.items()}
    lines = []
    for topic in parts["topics"]:
        words = _("“{topic}” is one of yours").format(topic=topic) + matched.get(topic, "")
        lines.append(_part_line(_("Topic"), words, 1.0))
    for topic, worth in worths.items():
        words = _("about “{topic}” by meaning, without the word").format(topic=topic)
        lines.append(_part_line(_("Topic"), words, worth))
    for word, boost in parts["boosts"].items():
        words = f"{quoted(word)}{matched.get(word, '')}"
        if word in parts.get("boosts_about", ()):
            words = _("about “{topic}” by meaning, without the word").format(topic=word)
        lines.append(_part_line(_("Keyword"), words, boost))
    if parts["similarity"] and parts["interest"] > INTEREST_MIN:
        alike = parts["similarity"]
        share = percent(alike) if alike >= 0.005 else _("under {share}").format(share=percent(0.01))
        words = _("its words are {share} like those you found useful").format(share=share)
        lines.append(_part_line(_("Similarity"), words, similarity_part(parts)))
    if community:
        lines.append(_part_line(_("Readers here"), _("how they rated it"), community))
    if agreed:
        words = ngettext("{n} of your sources report it", "{n} of your sources report it", sources)
        lines.append(_part_line(_("Agreement"), words.format(n=sources), agreed))
    if abs(reading) >= SHOWN_MIN:
        lines.append(_part_line(_("Reading"), _reading_words(parts), reading))
    if parts["interest"] <= INTEREST_MIN:
        words = _("interest never falls below this")
        lines.append(BreakdownLine(_("Floor"), words, figure(INTEREST_MIN), part=True))
    return lines


def _reading_words(parts: Mapping[str, Any]) -> str:
    """Return the words for implicit feedback, with the source's counts if it has any."""
    if not parts["shown"]:
        return _("from what you open: its category")
    words = _("from what you open: {opened} opened of {shown} you saw from here")
    return words.format(opened=parts["opened"], shown=parts["shown"])


def _part_line(label: str, words: str, value: float) -> BreakdownLine:
    """Return the line of a part. What rounds to 0 has a third place, for it orders articles of one age."""
    size = figure(abs(value), ".3f") if 0 < abs(value) < 0.005 else figure(abs(value))
    return BreakdownLine(label, words, f"{'+' if value >= 0 else '−'} {size}", part=True)


def score_chips(parts: Mapping[str, Any], source: str, slot: str = "ranked") -> tuple[str, ...]:
    """Return the strongest reasons in a few words each, the reader's own preferences first.

    An item that only its date brought has none. Its age stands beside it anyway.
    """
    chips = [_(DRAWN)] if slot == NOVELTY else [_(NEVER_MISSED)] if slot == RESERVED else []
    # An item older than a digest's window can only come from `digest.items.selectors.items_latest`.
    if slot not in (RATED, FOUND) and parts["age_hours"] > ITEM_WINDOW_DAYS * 24:
        chips.append(_(LATEST))
    chips += _preferences(parts, source)
    if (sources := reported_by(parts)) > 1:
        chips.append(_("{n} of your sources").format(n=sources))
    if not TASTE_UNSEEN[0] < taste_factor(parts) < TASTE_UNSEEN[1]:
        chips += [taste_chip(lean)] if (lean := lean_chosen(parts)) else []
    elif parts["similarity"] >= SIGNAL_MIN:
        chips.append(similar_chip(parts))
    if parts["community"] >= SIGNAL_MIN:
        chips.append(_("useful to readers here"))
    return tuple(chips[:CHIPS_MAX])


def is_impersonal(parts: Mapping[str, Any]) -> bool:
    """Return whether nothing that a score's reader set, rated or read counts in it."""
    named = parts["topics"] or topics_about(parts) or parts["boosts"]
    weighed = parts["source_weight"] != WEIGHT_DEFAULT or taste_factor(parts) != 1.0
    return not (named or weighed or parts["similarity"] or abs(parts.get("reading", 0.0)) >= SHOWN_MIN)


def was_drawn(slot: str, propensity: float) -> bool:
    """Return whether an item was drawn for novelty. One rated since then keeps its probability below 1."""
    return slot == NOVELTY or propensity < 1


def place_explain(slot: str, propensity: float, moved: int = 0) -> str:
    """Return why an item has its rank, in a sentence or two.

    `propensity` is the probability with which it was shown there. `moved` is how many places lower than by
    score it stands (below 0: higher), because sources alternate.
    """
    if slot == RATED and was_drawn(slot, propensity):
        return _("It was drawn, from a source you rarely see, and keeps its place since you rated it.")
    if slot == RATED:
        return _("It keeps its place since you rated it.")
    if slot == RESERVED:
        return _("Its source is never missed: it has a place until a digest has shown it.")
    if slot == AGAIN:
        return _("It was high on an earlier page of yours, so it stands below what is new to you.")
    if slot == NOVELTY:
        drawn = _(
            "It was drawn, from a source you rarely see: every {n}th place is, whatever the score."
        ).format(n=NOVELTY_EVERY)
        if not 0.005 <= propensity < 0.995:
            return drawn
        chance = _("It had a chance of {share}.").format(share=percent(propensity))
        return f"{drawn} {chance}"
    if moved > 0:
        words = ngettext(
            "It has that place by its score, moved {n} place down so that sources alternate.",
            "It has that place by its score, moved {n} places down so that sources alternate.",
            moved,
        )
        return words.format(n=moved)
    if moved:
        words = ngettext(
            "It has that place by its score, moved {n} place up so that sources alternate.",
            "It has that place by its score, moved {n} places up so that sources alternate.",
            -moved,
        )
        return words.format(n=-moved)
    return _("It has that place by its score.")


def score_since(then: float, now: float) -> str:
    """Return an item's score in its digest and the one right now, in a sentence; "" if they read the same."""
    before, after = _figure(then), _figure(now)
    if before == after:
        return ""
    words = _("In that digest its score was {before}; right now it is {after}.")
    return words.format(before=before, after=after)


def age_words(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was: "just now", "3 hours ago", "yesterday", "5 days ago"."""
    unit, count = _age((now - then) / timedelta(hours=1))
    match unit:
        case "minute":
            words = ngettext("{n} minute ago", "{n} minutes ago", count)
        case "hour":
            words = ngettext("{n} hour ago", "{n} hours ago", count)
        case "day":
            words = ngettext("{n} day ago", "{n} days ago", count)
        case "yesterday":
            return _("yesterday")
        case other:
            assert other == "now"
            return _("just now")
    return words.format(n=count)


def item_age_words(then: datetime, now: datetime, zone: tzinfo, *, is_late: bool = False) -> str:
    """Return an item's age; from a week on its date in `zone`, such as "18 March 2026".

    If it is an old item that came at `then` (`is_late`), tell the day on which it came: "came today".
    """
    if now - then >= DATED_AFTER:
        words = date_words(then.astimezone(zone))
        return _("came {date}").format(date=words) if is_late else words
    if not is_late:
        return age_words(then, now)
    days = (now.astimezone(zone).date() - then.astimezone(zone).date()).days
    if days < 1:
        return _("came today")
    return ngettext("came yesterday", "came {n} days ago", days).format(n=days)


def seen_words(seen: datetime, now: datetime, zone: tzinfo) -> str:
    """Return when an item without a date came: "came 5 minutes ago"; later with its date.

    "seen" would read as if the reader had seen it.
    """
    if now - seen >= DATED_AFTER:
        return _("came {date}").format(date=date_words(seen.astimezone(zone)))
    return _("came {ago}").format(ago=age_words(seen, now))


def age_phrase(hours: float) -> str:
    """Return an age in hours in the largest unit that fits: "40 minutes old", "yesterday"."""
    unit, count = _age(hours)
    match unit:
        case "minute":
            words = ngettext("{n} minute old", "{n} minutes old", count)
        case "hour":
            words = ngettext("{n} hour old", "{n} hours old", count)
        case "day":
            words = ngettext("{n} day old", "{n} days old", count)
        case "yesterday":
            return _("yesterday")
        case other:
            assert other == "now"
            return _("just now")
    return words.format(n=count)


def age_short(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was in at most seven characters: "now", "6 min", "3 h", "2 d"."""
    unit, count = _age((now - then) / timedelta(hours=1))
    if unit == "now":
        return _("now")
    if unit == "minute":
        return _("{n} min").format(n=count)
    return (_("{n} h") if unit == "hour" else _("{n} d")).format(n=count)


def _age(hours: float) -> tuple[str, int]:
    if hours < 1 / 30:
        return "now", 0
    if 24 <= hours < 48:
        return "yesterday", 1
    if hours < 1:
        return "minute", int(hours * 60)
    return ("hour", int(hours)) if hours < 24 else ("day", int(hours / 24))


def lede_cut(text: str) -> str:
    """Return the beginning of an item's text, cut after at most 320 characters, at a word if one ends there.

    Some languages write no spaces between words.
    """
    flat = " ".join(text.split())
    if len(flat) <= LEDE_CHARS:
        return flat
    at = flat.rfind(" ", LEDE_CHARS - LEDE_WORD_MAX, LEDE_CHARS)
    return f"{flat[: at if at > 0 else LEDE_CHARS].rstrip(',;:–-. ')} …"


def summary_origin(model: str, repaired: bool, by_model: bool) -> str:
    """Return who wrote a summary, in words for its reader. `model` is `provider:model`."""
    if by_model:
        words = _("Written by {model}, from the sentences quoted. Check it against the text.")
        return words.format(model=model.rpartition(":")[2])
    return _("The publisher’s first sentence.") if repaired else _("Sentences taken from the text.")


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
    note: str = "",
) -> str:
    """Return how a feed's last fetch went, when it last had something new, and when it is checked next.

    `error` is what went wrong, and `note` what is odd, in words for readers. For a healthy feed the interval
    of checks is named instead of the next time.
    """
    if state == FeedCondition.IMPORTED:
        words = _("Imported from files.")
        if fetched:
            words = _("Imported from files; last read {ago}.").format(ago=age_words(fetched, now))
        return f"{words} {error}".strip()
    if state == FeedCondition.GONE:
        return error or _("The publisher took this feed down for good.")
    if state == FeedCondition.REFUSED:
        return f"{error} {_('It is not asked again until you type another.')}".strip()
    if state == FeedCondition.PAUSED:
        return f"{pgettext('a feed', 'Paused.')} {error}".strip()
    if failures:
        again = _("It is tried again {when}.").format(when=_time_ahead(next_check, now)) if next_check else ""
        return " ".join(filter(None, (_failed_words(failures, fetched, now), error, again)))
    last = _("Not fetched yet.")
    if fetched:
        last = _("Last fetched {ago}.").format(ago=age_words(fetched, now))
    news = _("The last new item came {ago}.").format(ago=age_words(last_new, now)) if last_new else ""
    often = _("Checked every {span}.").format(span=_span(every_minutes)) if every_minutes and fetched else ""
    return " ".join(filter(None, (last, note, news, often)))


def _failed_words(failures: int, fetched: datetime | None, now: datetime) -> str:
    """Return how often a feed failed in a row, and when it was last tried."""
    if not fetched:
        words = ngettext(
            "Failed once; not fetched yet.", "Failed {n} times in a row; not fetched yet.", failures
        )
        return words.format(n=failures)
    words = ngettext(
        "Failed once; last tried {ago}.", "Failed {n} times in a row; last tried {ago}.", failures
    )
    return words.format(n=failures, ago=age_words(fetched, now))


def _time_ahead(then: datetime, now: datetime) -> str:
    minutes = (then - now) / timedelta(minutes=1)
    if minutes < 10:
        return _("within minutes")
    return _("in about {span}").format(span=_span(round(minutes)))


def _span(minutes: int) -> str:
    if minutes < 55:
        return _("{n} min").format(n=minutes)
    return _("{n} h").format(n=round(minutes / 60))
