"""Questions about a clause of a wish, and answers in words of one meaning. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ranking.common.text import topic_key
from ranking.language import date_words, gettext_noop
from ranking.language import gettext as _
from ranking.source_rules import hours_words, limit_words
from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.changes.never_missed import KEEP
from suggestions.changes.shelf_lives import AGE
from suggestions.wishes.grammar import Clause
from suggestions.wishes.lookup import OFFERED_MAX, Lookup
from suggestions.wishes.rule_words import NEVER_MISS, OUT_OF_TODAY, SHELF
from suggestions.wishes.ways import OUT, plain, wish_words
from suggestions.wishes.wish import (
    AUTHOR,
    BIG,
    CATEGORY,
    FRESHNESS,
    SMALL,
    SOURCE,
    TASTE,
    TOPIC,
    USUAL,
    WISH_CHARS_MAX,
    WORD,
    Choice,
    Question,
    Target,
    Wish,
)

SAYS_AMOUNT = {SMALL: "a bit", USUAL: "", BIG: "much"}
TARGETS = {
    SOURCE: gettext_noop("the source “{label}”"),
    TOPIC: gettext_noop("the topic “{label}”"),
    WORD: gettext_noop("the word “{label}”"),
    CATEGORY: gettext_noop("the category “{label}”"),
    AUTHOR: gettext_noop("the author “{label}”"),
    FRESHNESS: gettext_noop("the freshness “{label}”"),
}
_VERBS = {
    MORE: gettext_noop("more of {target}"),
    LESS: gettext_noop("less of {target}"),
    NONE: gettext_noop("mute {target}"),
    UNMUTE: gettext_noop("show {target} again"),
    ADD: gettext_noop("add to your interests: {target}"),
    REMOVE: gettext_noop("take off your interests: {target}"),
}
# What concerns all articles: each change of it in words, and the wish for it.
ALIKE = {
    FRESHNESS: {
        FRESHER: (gettext_noop("Newer items first"), "newer"),
        OLDER: (gettext_noop("Items stay longer"), "older"),
    },
    TASTE: {
        MORE: (gettext_noop("My ratings count more"), "my ratings count more"),
        LESS: (gettext_noop("My ratings count less"), "my ratings count less"),
        NONE: (gettext_noop("My ratings do not count"), "ignore my ratings"),
    },
}
QUOTED_MAX = 80
WHICH = gettext_noop("Which “{short}” do you mean?")
IS_THIS = gettext_noop("“{short}”: is this what you mean?")


def target_words(target: Target) -> str:
    """Return a target in words, with its kind."""
    return _(TARGETS[target.kind]).format(label=target.label)


@dataclass(frozen=True, slots=True)
class Asker:
    """Makes questions about one clause of a sentence. `is_clear`: each of its clauses has a direction."""

    sentence: str
    clause: Clause
    lookup: Lookup
    is_clear: bool

    def choice(self, label: str, given: str) -> Choice:
        """Return the answer that says `given` in the place of the clause."""
        if not (until := self.clause.until):
            return Choice(label, given)
        label = _("{change}, until {day}").format(change=label, day=date_words(until))
        return Choice(label, f"{given} until {until.isoformat()}")

    @property
    def found(self) -> list[Target]:
        """Return all that the target of the clause may mean; none: unknown."""
        clause = self.clause
        return (
            self.lookup.meanings(clause.target, clause.about, subject=clause.subject) if clause.target else []
        )

    def meaning(self, wish: Wish) -> Choice:
        """Return the answer that means `wish`."""
        asker = replace(self, clause=replace(self.clause, until=wish.until, amount=wish.amount))
        if wish.most is not None:
            return asker.limit(wish.target, wish.most)
        if wish.hours is not None:
            return asker.rule(f"{SHELF} {wish.hours}", wish.target)
        if wish.direction == KEEP:
            return asker.rule(NEVER_MISS, wish.target)
        if wish.target.kind in ALIKE:
            return asker.alike(wish.target.kind, wish.direction)
        within = self.lookup.source(wish.within) if wish.within else None
        return asker.change(wish.direction, wish.target, within)

    def alike(self, kind: str, direction: str) -> Choice:
        """Return the answer that means `direction` of all articles, by freshness or taste."""
        label, given = ALIKE[kind][direction]
        return self.choice(_(label), given)

    def changes(self, directions: Sequence[str], targets: Sequence[Target]) -> list[Choice]:
        """Return the answers that mean each of `directions` of the first of `targets`."""
        return [self.change(way, target) for target in targets[:OFFERED_MAX] for way in directions]

    def change(self, direction: str, target: Target, within: Target | None = None) -> Choice:
        """Return the answer that means `direction` of `target`, in the source `within` alone if given."""
        is_text = target.kind in (TOPIC, WORD) and direction == NONE
        target = self.worded(target) if is_text else target
        kind = self.lookup.mute_kind(target.key) if is_text else target.kind
        named = target_words(Target(kind, target.key, target.label))
        amount = SAYS_AMOUNT[self.clause.amount]
        given = f"{amount} {wish_words(direction, kind, target.label)}".strip()
        if within:
            named = _("{label} in {source}").format(label=named, source=within.label)
            given = f'{given} in source "{plain(self.lookup.name(within))}"'
        label = _(_VERBS[direction]).format(target=named)
        return self.choice(label[0].upper() + label[1:], given)

    def worded(self, target: Target) -> Target:
        """Return the reader's word for a topic, "Politik" for "politics", because a mute knows no topics."""
        typed = self.clause.target
        is_topic = target.kind == TOPIC and self.lookup.topic(typed) == target
        return self.lookup.word(typed) if is_topic and topic_key(typed) != topic_key(target.key) else target

    def rule(self, rule: str, source: Target) -> Choice:
        """Return the answer that means this rule for `source`."""
        kind, _space, hours = rule.partition(" ")
        name, label = self.lookup.name(source), source.label
        if kind == SHELF:
            words = _("Nothing older than {age} from {source}")
            words = words.format(age=hours_words(int(hours)), source=label)
            return self.choice(words, wish_words(AGE, SOURCE, name, int(hours)))
        if kind == OUT_OF_TODAY:
            words = _("Keep {source} out of Today").format(source=label)
            return self.choice(words, wish_words(OUT, SOURCE, name))
        return self.choice(_("Never miss {source}").format(source=label), wish_words(KEEP, SOURCE, name))

    def limit(self, source: Target, most: int) -> Choice:
        """Return the answer that means at most so many articles a day of `source`."""
        label = f"{source.label}: {limit_words(most)}"
        return self.choice(label, wish_words(LIMIT, SOURCE, self.lookup.name(source), most))

    def muted_in(self, what: str, where: Target) -> Choice:
        """Return the answer that hides articles of the source `where` if they say the word `what`."""
        return self.change(NONE, self.lookup.word(what, self.lookup.mute_kind(what)), where)

    @property
    def part(self) -> str:
        """Return the beginning of the clause as the reader typed it."""
        return _shorten(self.sentence[slice(*self.clause.span)])

    def quoted(self, words: str) -> str:
        """Return the beginning of folded words as the reader typed them."""
        return _shorten(self.lookup.typed(words))

    def ask(self, text: str, choices: Sequence[Choice]) -> Question:
        """Return the question with those answers that are short enough to be sent again.

        `{short}` in it is the target as typed.
        """
        text = text.replace("{short}", self.quoted(self.clause.target))
        text = text[0].upper() + text[1:]
        by_label: dict[str, Choice] = {}
        for choice in choices:
            if len(choice.words) <= WISH_CHARS_MAX:
                by_label.setdefault(choice.label, choice)
        return Question(text, tuple(by_label.values()))


def _shorten(text: str) -> str:
    return text if len(text) <= QUOTED_MAX else f"{text[: QUOTED_MAX - 1]}…"
