"""Why an article stands where it does, in one plain sentence with the one or two strongest reasons. Pure."""

from collections.abc import Iterator, Mapping
from math import log
from typing import Any, Final, NamedTuple

from digest.daily.compose import NOVELTY
from digest.daily.diversity import AGAIN, RATED, RESERVED
from digest.daily.score_parts import (
    agreement_part,
    community_part,
    lean_chosen,
    reading_part,
    reported_by,
    similarity_part,
    topics_about,
    topics_part,
)
from digest.daily.taste_words import taste_clause
from digest.entities import ITEM_WINDOW_DAYS
from ranking.config_words import AS_USUAL
from ranking.entities import WEIGHT_DEFAULT
from ranking.language import gettext as _
from ranking.language import ngettext, quoted
from ranking.scoring import INTEREST_MIN
from ranking.taste.entities import STRENGTH

# The slot of an item that is in no digest here.
FOUND: Final = "found"
REASONS_MAX = 2
# The least change of a score, in log, that is a reason: two hundredths. Smaller ones move an article only
# among those of its age, and are told if there is no other reason. What is below the second bound moves none.
STRENGTH_MIN, STRENGTH_LEAST = 0.02, 1e-5


class Reason(NamedTuple):
    """A reason as a main clause. `strength` is the log of its factor of the score: below 0, it lowers it."""

    strength: float
    words: str


def why_sentence(parts: Mapping[str, Any], source: str, slot: str, age: str) -> str:
    """Return the sentence of an item of `source` (its title). `parts` are `Parts.as_dict()`.

    What gave the item a place of its own comes first, then what changes its score most. `age` are words for
    its age, which is the reason if nothing else is.
    """
    found = sorted(_reasons(parts, source), key=lambda one: -abs(one.strength))
    score = [one for one in found if abs(one.strength) >= STRENGTH_MIN]
    reasons = [*_of_slot(parts, slot), *score][:REASONS_MAX]
    if not reasons and found and abs(found[0].strength) >= STRENGTH_LEAST:
        words = _("Its age counts: {age}. Among articles of that age this counts a little: {reason}.")
        return words.format(age=age, reason=found[0].words)
    if not reasons:
        words = _("Nothing that you set or rated counts for it or against it, only its age: {age}.")
        return words.format(age=age)
    if len(reasons) == 1:
        words = _("{first}.").format(first=reasons[0].words)
    else:
        first, second = reasons
        agree = (first.strength > 0) is (second.strength > 0)
        both = _("{first}, and {second}.") if agree else _("{first}, but {second}.")
        words = both.format(first=first.words, second=second.words)
    return words[:1].upper() + words[1:]


def _of_slot(parts: Mapping[str, Any], slot: str) -> list[Reason]:
    """Return what gave the item its place beside its score."""
    if slot == NOVELTY:
        return [Reason(1.0, _("it was drawn, from a source that you rarely see"))]
    if slot == RESERVED:
        return [Reason(1.0, _("its source is never missed"))]
    if slot == AGAIN:
        return [Reason(-1.0, _("it was high on an earlier page of yours, so it stands below what is new"))]
    # An item older than a digest's window can only come from `digest.items.selectors.items_latest`.
    if slot not in (RATED, FOUND) and parts["age_hours"] > ITEM_WINDOW_DAYS * 24:
        return [Reason(1.0, _("it is the latest of a source that you added"))]
    return []


def _reasons(parts: Mapping[str, Any], source: str) -> Iterator[Reason]:
    """Yield the reasons of a score: its source's weight, the parts of its interest, the reader's taste."""
    weight = parts["source_weight"]
    if abs(weight - WEIGHT_DEFAULT) > AS_USUAL:
        yield Reason(log(weight), _weight_words(parts, source))
    for part, words in _interest_reasons(parts, source):
        yield Reason(_strength_of(part, parts["interest"]), words)
    if lean := lean_chosen(parts):
        yield Reason(STRENGTH * lean.lean, taste_clause(lean, source))


def _strength_of(part: float, interest: float) -> float:
    """Return the log of the factor by which a part changes the interest that it is in."""
    return log(interest / max(INTEREST_MIN, interest - part))


def _weight_words(parts: Mapping[str, Any], source: str) -> str:
    more, own = parts["source_weight"] > WEIGHT_DEFAULT, parts["config_weight"] - WEIGHT_DEFAULT
    if abs(own) > AS_USUAL and (own > 0) is more:
        words = _("you want more from {source}") if more else _("you want less from {source}")
    else:
        words = _("your ratings speak for {source}") if more else _("your ratings speak against {source}")
    return words.format(source=source)


def _interest_reasons(parts: Mapping[str, Any], source: str) -> Iterator[tuple[float, str]]:
    """Yield each part of the interest with its words."""
    topics = [*parts["topics"], *topics_about(parts)]
    if topics:
        words = ngettext("it is about your topic {topics}", "it is about your topics {topics}", len(topics))
        yield topics_part(parts), words.format(topics=", ".join(map(quoted, topics)))
    for word, boost in parts["boosts"].items():
        words = _("you want more of “{word}”") if boost > 0 else _("you want less of “{word}”")
        yield boost, words.format(word=word)
    yield similarity_part(parts), _("it is like what you found useful")
    community = community_part(parts)
    yield (
        community,
        (
            _("other readers here found it useful")
            if community > 0
            else _("other readers here seldom found it useful")
        ),
    )
    sources = reported_by(parts)
    words = ngettext("{n} of your sources report it", "{n} of your sources report it", sources)
    yield agreement_part(parts), words.format(n=sources)
    reading = reading_part(parts)
    if parts.get("shown"):
        words = (
            _("you often open what {source} brings")
            if reading > 0
            else _("you seldom open what {source} brings")
        )
    else:
        words = _("you often open its category") if reading > 0 else _("you seldom open its category")
    yield reading, words.format(source=source)
