"""Reading a wish: each clause of the sentence becomes a change, one question, or a note. Pure.

What may mean two things is asked, never guessed; the answers are the whole sentence with that clause in words
that mean one thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from suggestions.wishes.entities import (
    ADD,
    AUTHOR,
    BIG,
    FRESHER,
    FRESHNESS,
    LESS,
    MORE,
    NONE,
    OLDER,
    REMOVE,
    SMALL,
    SOURCE,
    TOPIC,
    USUAL,
    WISH_CHARS_MAX,
    WISHES_MAX,
    WORD,
    Choice,
    Names,
    Question,
    Reading,
    Target,
    Wish,
)
from suggestions.wishes.grammar import Clause, clauses_read, target_special
from suggestions.wishes.lexicon import AGAINST, SO_MUCH, UNCLEAR
from suggestions.wishes.targets import OFFERED_MAX, Lookup, target_words

ALL_FRESH = Target(FRESHNESS, FRESHNESS, FRESHNESS)
SAYS = {MORE: "more", LESS: "less", NONE: "mute", ADD: "add", REMOVE: "remove"}
SAYS_AMOUNT = {SMALL: "a bit", USUAL: "", BIG: "much"}
LENGTH_NOTE = "“{}”: settings know nothing of an item’s length, so that was left out."
EXAMPLE = "“less crypto, more from Gazette”"
NOT_UNDERSTOOD = f"Not understood: “{{}}”. Say more, less, mute, newer or older, and of what: {EXAMPLE}."
NOTHING = f"Nothing there could be understood. Say more or less, and of what: {EXAMPLE}."
QUOTED_MAX = 80


@dataclass(frozen=True, slots=True)
class _Asker:
    """Makes questions about one clause of a sentence."""

    sentence: str
    clause: Clause

    def choice(self, label: str, said: str) -> Choice:
        """Return the answer that puts `said` in the place of the clause."""
        until = f" until {self.clause.until.isoformat()}" if self.clause.until else ""
        before, after = self.sentence[: self.clause.first], self.sentence[self.clause.last :]
        return Choice(label, f"{before}{said}{until}{after}".strip())

    def change(self, direction: str, target: Target) -> Choice:
        """Return the answer that means `direction` of `target`."""
        kind = WORD if target.kind == TOPIC and direction in (NONE,) else target.kind
        label = f"{_VERBS[direction]} {target_words(Target(kind, target.key, target.label))}"
        amount = SAYS_AMOUNT[self.clause.amount]
        said = f'{amount} {SAYS[direction]} {kind} "{_plain(target.label)}"'.strip()
        return self.choice(label[0].upper() + label[1:], said)

    def ask(self, text: str, choices: Sequence[Choice]) -> Question:
        """Return the question with those answers that are not too long to be sent again."""
        text = text[0].upper() + text[1:]
        return Question(text, tuple(choice for choice in choices if len(choice.words) <= WISH_CHARS_MAX))


_VERBS = {
    MORE: "more of",
    LESS: "less of",
    NONE: "mute",
    ADD: "add to your interests:",
    REMOVE: "take off your interests:",
}


def wishes_read(sentence: str, names: Names, today: date) -> Reading:
    """Return what `sentence` asks for: at most three changes, or one question, with notes on the rest."""
    lookup = Lookup(names)
    wishes: dict[tuple[str, str], Wish] = {}
    notes: list[str] = []
    for clause in clauses_read(sentence, lookup.multiword(), today):
        if clause.length and clause.target:
            notes.append(LENGTH_NOTE.format(clause.length))
        found = _clause_read(clause, _Asker(sentence, clause), lookup, today)
        if isinstance(found, Question):
            return Reading(question=found, notes=tuple(notes))
        if isinstance(found, str):
            notes.append(found)
        else:
            wishes[found.target.kind, found.target.key] = found
    chosen = [*wishes.values()]
    if left := [wish.target.label for wish in chosen[WISHES_MAX:]]:
        named = ", ".join(f"“{label}”" for label in left)
        notes.append(f"At most {WISHES_MAX} changes at a time. Left for the next time: {named}."[:300])
    if not wishes and not notes:
        notes.append(NOTHING)
    return Reading(tuple(chosen[:WISHES_MAX]), None, tuple(dict.fromkeys(notes)))


def _clause_read(clause: Clause, asker: _Asker, lookup: Lookup, today: date) -> Wish | Question | str:
    if clause.dated and (clause.until is None or clause.until < today):
        return _ask_until(clause, asker)
    special = target_special(clause.target)
    if clause.direction in (FRESHER, OLDER) or special in (FRESHER, OLDER):
        return _fresh(clause, special, asker, lookup)
    if not clause.target or special == "all":
        return _no_target(clause, asker, lookup)
    if len(clause.target) > TOPIC_MAX_CHARS:
        return NOT_UNDERSTOOD.format(_short(clause.target))
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    if not found:
        return _unknown(clause, asker, lookup)
    if len(found) > 1:
        return _ask_which(clause, asker, found)
    return _meant(clause, asker, found[0], lookup)


def _meant(clause: Clause, asker: _Asker, target: Target, lookup: Lookup) -> Wish | Question | str:
    """Return the wish about a known target, or what has to be asked about its direction."""
    about = target_words(target)
    if clause.only:
        choices = [asker.change(MORE, target)]
        return asker.ask(f"Settings cannot show {about} alone. Is more of it what you mean?", choices)
    asked = _directions_open(clause, target, lookup)
    if asked:
        text, directions = asked
        return asker.ask(text.format(about), [asker.change(direction, target) for direction in directions])
    return Wish(clause.direction, target, clause.amount, clause.until)


def _directions_open(clause: Clause, target: Target, lookup: Lookup) -> tuple[str, tuple[str, ...]] | None:
    """Return the question to ask on the direction, and its answers; `None` where it is clear."""
    direction, kind = clause.direction, target.kind
    if kind == AUTHOR and direction != NONE:
        return "Settings can mute {}, and nothing else. Is that what you mean?", (NONE,)
    if direction in ("", UNCLEAR, SO_MUCH):
        return "More or less of {}?", (MORE, LESS, NONE)
    if direction == AGAINST:
        return "Less of {}, or nothing of it?", (LESS, NONE)
    listed = topic_key(target.key) in map(topic_key, lookup.names.listed)
    if direction == ADD and kind == SOURCE:
        return "You read {} already. Do you mean more of it?", (MORE,)
    if direction == REMOVE and not (kind == TOPIC and listed):
        return "Less of {}, or nothing of it?", (LESS, NONE)
    if direction == NONE and kind == TOPIC and listed:
        return "{} is one of your interests. What do you mean?", (REMOVE, NONE)
    return None


def _fresh(clause: Clause, special: str, asker: _Asker, lookup: Lookup) -> Wish | Question | str:
    """Return the wish about freshness, which counts for all items alike."""
    choices = [asker.choice("Newer items first", "newer"), asker.choice("Items stay longer", "older")]
    opposite = {FRESHER: OLDER, OLDER: FRESHER}
    if clause.direction in (FRESHER, OLDER) and (not clause.target or special):
        return Wish(clause.direction, ALL_FRESH, clause.amount, clause.until)
    if special in opposite and clause.direction == MORE:
        return Wish(special, ALL_FRESH, clause.amount, clause.until)
    if special in opposite and clause.direction in (LESS, NONE):
        return Wish(opposite[special], ALL_FRESH, clause.amount, clause.until)
    if special in opposite:
        return asker.ask("Newer items first, or items that stay longer?", choices)
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    choice = choices[0] if clause.direction == FRESHER else choices[1]
    more = [asker.change(MORE, target) for target in found[:OFFERED_MAX] if target.kind != AUTHOR]
    return asker.ask("Freshness counts for all items alike. What do you mean?", [choice, *more])


def _no_target(clause: Clause, asker: _Asker, lookup: Lookup) -> Question | str:
    if clause.length:
        return LENGTH_NOTE.format(clause.length)
    said = asker.sentence[clause.first : clause.last]
    if clause.direction not in SAYS:
        return NOT_UNDERSTOOD.format(_short(said))
    known = [Target(TOPIC, topic, topic) for topic in lookup.names.topics[:2]]
    known += [lookup.source(key) for key in sorted(lookup.names.sources)[:2]]
    direction = LESS if clause.direction == REMOVE else MORE if clause.direction == ADD else clause.direction
    text = f"“{_short(said)}”: of what? Name a source, an interest or a word."
    return asker.ask(text, [asker.change(direction, target) for target in known])


def _unknown(clause: Clause, asker: _Asker, lookup: Lookup) -> Question | str:
    """Ask for what nothing of the last days has; without a direction it is no wish at all."""
    if clause.direction not in SAYS:
        return NOT_UNDERSTOOD.format(_short(asker.sentence[clause.first : clause.last]))
    direction = MORE if clause.direction == ADD else LESS if clause.direction == REMOVE else clause.direction
    choices = [asker.change(direction, target) for target in lookup.nearest(clause.target)]
    choices.append(asker.change(clause.direction, Target(WORD, clause.target, clause.target)))
    text = f"Nothing of the last seven days, and no source of yours, is called “{_short(clause.target)}”."
    return asker.ask(f"{text} What do you mean?", choices)


def _ask_which(clause: Clause, asker: _Asker, found: Sequence[Target]) -> Question:
    if clause.direction not in SAYS:
        pairs = [(direction, t) for t in found[:2] if t.kind != AUTHOR for direction in (MORE, LESS)]
        choices = [asker.change(direction, target) for direction, target in pairs]
        return asker.ask(f"Which “{_short(clause.target)}” do you mean, and more or less of it?", choices)
    direction = clause.direction
    offered = [t for t in found[:OFFERED_MAX] if not (direction in (ADD, REMOVE) and t.kind == SOURCE)]
    choices = [asker.change(NONE if t.kind == AUTHOR else direction, t) for t in offered]
    return asker.ask(f"Which “{_short(clause.target)}” do you mean?", choices)


def _ask_until(clause: Clause, asker: _Asker) -> Question:
    text = "Until when? That day is over, or is none." if clause.until else "Until when?"
    return Question(f"{text} Write a day like 2026-03-18, “until Friday” or “for two weeks”.")


def _short(text: str) -> str:
    return text if len(text) <= QUOTED_MAX else f"{text[: QUOTED_MAX - 1]}…"


def _plain(text: str) -> str:
    return text.replace('"', "'").replace("\n", " ")
