"""Reading a wish: each clause of the sentence becomes a change, one question, or a note. Pure.

What may mean two things is asked, never guessed; the answers are the whole sentence with that clause in words
that mean one thing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from functools import cached_property

from ranking.common.categories import author_names, category_key, category_keys, label_keys, topic_finder
from ranking.common.text import TOPIC_MAX_CHARS, fold, fold_lightly, search_terms, term_finder, topic_key
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.source_rules import DAILY_LIMIT_MAX
from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.wishes.grammar import Clause, clauses_read, target_special
from suggestions.wishes.last_days import NUMBERS
from suggestions.wishes.lexicon import AGAINST, SO_MUCH, UNCLEAR
from suggestions.wishes.limits import ASKING, COUNT, LIMITS, QUESTION
from suggestions.wishes.wish import (
    AUTHOR,
    BIG,
    CATEGORY,
    FRESHNESS,
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

ALL_FRESH = Target(FRESHNESS, FRESHNESS, FRESHNESS)
SAYS = {MORE: "more", LESS: "less", NONE: "mute", ADD: "add", REMOVE: "remove"}
SAYS_AMOUNT = {SMALL: "a bit", USUAL: "", BIG: "much"}
LENGTH_NOTE = gettext_noop("“{}”: settings know nothing of an item’s length, so that was left out.")
NOT_UNDERSTOOD = gettext_noop(
    "Not understood: “{}”. Say more, less, mute, newer or older, and of what: "
    "“less crypto, more from Gazette”."
)
NOTHING = gettext_noop(
    "Nothing there could be understood. Say more or less, and of what: “less crypto, more from Gazette”."
)
TARGETS = {
    SOURCE: gettext_noop("the source “{label}”"),
    TOPIC: gettext_noop("the topic “{label}”"),
    WORD: gettext_noop("the word “{label}”"),
    CATEGORY: gettext_noop("the category “{label}”"),
    AUTHOR: gettext_noop("the author “{label}”"),
    FRESHNESS: gettext_noop("the freshness “{label}”"),
}
QUOTED_MAX = 80
# So many of one kind are offered in a question.
OFFERED_MAX = 4
NEAR_SHARE = 0.75
# A name this close is taken for the one that is meant: the change is shown before it is made.
TAKEN_SHARE = 0.9
TYPO_CHARS_MIN = 5
# A phrase with more words is no name of anything.
NAME_WORDS_MAX = 4
INHERITED_WORDS_MAX = 2
ARTICLE = "the "


class Lookup:
    """The names of one reader, ready to be looked up; each part is made when it is first needed."""

    def __init__(self, names: Names) -> None:
        """Take the reader's names."""
        self.names = names

    @cached_property
    def texts(self) -> list[str]:
        """Return the folded texts of the items."""
        return [fold_lightly(f"{item.title}\n{item.text}") for item in self.names.items]

    @cached_property
    def categories(self) -> list[frozenset[str]]:
        """Return the keys of the items' categories."""
        return [category_keys(item.categories) for item in self.names.items]

    @cached_property
    def labels(self) -> list[frozenset[str]]:
        """Return the keys of the items' labels, by which a topic or a keyword finds them as by words."""
        return [label_keys(item.categories, item.author) for item in self.names.items]

    @cached_property
    def authors(self) -> dict[str, str]:
        """Return the authors of the items by folded name, each of several by their own."""
        typed = (item.author.strip() for item in self.names.items)
        return {fold(name): name for one in typed for name in author_names(one) or (one,) if name}

    @cached_property
    def titles(self) -> dict[str, list[str]]:
        """Return the keys of sources by each way to name one exactly."""
        found: dict[str, list[str]] = {}
        for key, title in self.names.sources.items():
            folded = fold(title)
            ways = {folded, folded.removeprefix(ARTICLE), fold(key), fold(key).partition(".")[0]}
            for way in ways:
                found.setdefault(way, []).append(key)
        for name, key in self.names.called.items():
            if key in self.names.sources:
                found.setdefault(fold(name), []).append(key)
        return found

    def multiword(self) -> list[str]:
        """Return the names that may have several words: a sentence is not split inside one."""
        titles = [*self.names.sources.values(), *self.names.called]
        bare = [title[len(ARTICLE) :] for title in titles if fold(title).startswith(ARTICLE)]
        return [*titles, *bare, *self.names.topics, *self.authors.values()]

    def source(self, key: str) -> Target:
        """Return the source with this key as a target."""
        return Target(SOURCE, key, self.names.sources[key])

    def sources_exact(self, phrase: str) -> list[Target]:
        """Return the sources called exactly `phrase`, with or without an article."""
        keys = [*self.titles.get(phrase, []), *self.titles.get(phrase.removeprefix(ARTICLE), [])]
        return [self.source(key) for key in dict.fromkeys(keys)]

    def sources_partly(self, phrase: str) -> list[Target]:
        """Return the sources with every word of `phrase` and others in their title."""
        words = set(search_terms(phrase))
        exact = {target.key for target in self.sources_exact(phrase)}
        found = [
            self.source(key)
            for key, title in self.names.sources.items()
            if words and key not in exact and words <= set(search_terms(title))
        ]
        return sorted(found, key=lambda target: target.label)

    def topic(self, phrase: str) -> Target | None:
        """Return the interest or boosted keyword that `phrase` is, in the reader's spelling."""
        wanted = topic_key(phrase)
        own = next((topic for topic in self.names.topics if topic_key(topic) == wanted), None)
        return None if own is None else Target(TOPIC, own, own)

    def is_found(self, phrase: str) -> bool:
        """Return whether an item of the last days has `phrase` in words or as a label, as in ranking."""
        return any(map(topic_finder(phrase), self.texts, self.labels))

    def is_found_beyond(self, phrase: str, sources: Iterable[str]) -> bool:
        """Return whether an item that is of none of `sources` has `phrase` in words or as a label."""
        finds, left_out = topic_finder(phrase), set(sources)
        rows = zip(self.names.items, self.texts, self.labels, strict=True)
        return any(item.source not in left_out and finds(text, keys) for item, text, keys in rows)

    def is_category(self, phrase: str) -> bool:
        """Return whether a publisher filed an item of the last days under `phrase`."""
        return any(category_key(phrase) in keys for keys in self.categories)

    def mute_kinds(self, phrase: str) -> list[str]:
        """Return the kinds of mutes that hide items with `phrase`, each some that the others leave.

        Other than topics and keywords, a mute of a word knows no labels.
        """
        finds, key = term_finder(phrase), category_key(phrase)
        kinds = [WORD] if any(map(finds, self.texts)) else []
        rows = zip(self.texts, self.categories, strict=True)
        if any(key in keys and not finds(text) for text, keys in rows):
            kinds.append(CATEGORY)
        if not kinds and fold(phrase) in self.authors:
            kinds.append(AUTHOR)
        return kinds or [WORD]

    def authors_named(self, phrase: str, *, partly: bool) -> list[Target]:
        """Return the authors named `phrase`; `partly`: with all its words in their name."""
        if phrase in self.authors:
            return [Target(AUTHOR, self.authors[phrase], self.authors[phrase])]
        words = set(phrase.split())
        names = [name for folded, name in self.authors.items() if words and words <= set(folded.split())]
        return [Target(AUTHOR, name, name) for name in sorted(names)] if partly else []

    def meanings(self, phrase: str, about: str, *, subject: bool) -> list[Target]:
        """Return all that `phrase` may mean, with `about` a kind of `KIND_WORDS` or ""; none: unknown."""
        if about in ("topic", "word"):
            return self._texts(phrase, certain=True)
        if about == "category":
            return [Target(CATEGORY, phrase, phrase)]
        if about == "about":
            return self._texts(phrase, certain=False) or self._publishers(phrase)
        if about == "source":
            found = self._publishers(phrase) or self.authors_named(phrase, partly=True)
            # What is read "from" may be a section of several publishers.
            return found or (self._texts(phrase, certain=True) if self.is_category(phrase) else [])
        if about == "author":
            return self.authors_named(phrase, partly=True) or self._publishers(phrase)
        return self._bare(phrase, subject=subject)

    def _texts(self, phrase: str, *, certain: bool) -> list[Target]:
        own = self.topic(phrase)
        if own is not None:
            return [own]
        return [Target(WORD, phrase, phrase)] if certain or self.is_found(phrase) else []

    def _publishers(self, phrase: str) -> list[Target]:
        return self.sources_exact(phrase) or self.sources_partly(phrase)

    def _bare(self, phrase: str, *, subject: bool) -> list[Target]:
        exact = self.sources_exact(phrase)
        own = self.topic(phrase)
        if exact:
            keys = [target.key for target in exact]
            worded = " " not in phrase and self.is_found_beyond(phrase, keys)
            word = Target(WORD, phrase, phrase) if worded else None
            text = own or word
            return [*exact, text] if text else exact
        texts = self._texts(phrase, certain=False)
        authors = self.authors_named(phrase, partly=False)
        if subject and texts:
            return texts
        if authors:
            # A name that stands in texts too is still a person's.
            return authors
        found = [*texts, *self.sources_partly(phrase)]
        return found or self.authors_named(phrase, partly=True)

    def nearest(self, phrase: str, share: float = NEAR_SHARE) -> list[Target]:
        """Return names that are spelled nearly like `phrase`: sources, interests, words of titles."""
        by_name = {fold(title): self.source(key) for key, title in self.names.sources.items()}
        by_name |= {name.removeprefix(ARTICLE): target for name, target in by_name.items()}
        by_name |= {fold(topic): Target(TOPIC, topic, topic) for topic in self.names.topics}
        near = get_close_matches(phrase, by_name, OFFERED_MAX - 1, share)
        found = list(dict.fromkeys(by_name[name] for name in near))
        if not found and len(phrase) >= TYPO_CHARS_MIN:
            # Letters that changed places, as in "gamign": the same ones, and the same first.
            words = {word for text in self.texts for word in search_terms(text) if word[:1] == phrase[:1]}
            same = sorted(word for word in words if sorted(word) == sorted(phrase))
            found = [Target(WORD, word, word) for word in same[:1]]
        return found


def target_words(target: Target) -> str:
    """Return a target in words, with its kind."""
    return _(TARGETS[target.kind]).format(label=target.label)


@dataclass(frozen=True, slots=True)
class _Asker:
    """Makes questions about one clause of a sentence; `is_clear`: each of its clauses has a direction."""

    sentence: str
    clause: Clause
    lookup: Lookup
    is_clear: bool

    def choice(self, label: str, given: str) -> Choice:
        """Return the answer that says `given` in the place of the clause."""
        until = f" until {self.clause.until.isoformat()}" if self.clause.until else ""
        return Choice(label, f"{given}{until}")

    def change(self, direction: str, target: Target) -> Choice:
        """Return the answer that means `direction` of `target`."""
        is_text = target.kind in (TOPIC, WORD) and direction == NONE
        kind = self.lookup.mute_kinds(target.key)[0] if is_text else target.kind
        label = _(_VERBS[direction]).format(target=target_words(Target(kind, target.key, target.label)))
        amount = SAYS_AMOUNT[self.clause.amount]
        given = f'{amount} {SAYS[direction]} {kind} "{plain(target.label)}"'.strip()
        return self.choice(label[0].upper() + label[1:], given)

    def ask(self, text: str, choices: Sequence[Choice]) -> Question:
        """Return the question with those answers that are not too long to be sent again."""
        text = text[0].upper() + text[1:]
        choices = [choice for choice in choices if len(choice.words) <= WISH_CHARS_MAX]
        return Question(text, tuple(dict.fromkeys(choices)))


_VERBS = {
    MORE: gettext_noop("more of {target}"),
    LESS: gettext_noop("less of {target}"),
    NONE: gettext_noop("mute {target}"),
    ADD: gettext_noop("add to your interests: {target}"),
    REMOVE: gettext_noop("take off your interests: {target}"),
}


def wishes_read(sentence: str, names: Names, today: date) -> Reading:
    """Read `sentence`: at most three changes, the first open question, notes on the rest.

    An answer to the question has in its words what else is open, and not what was understood.
    """
    lookup = Lookup(names)
    wishes: dict[tuple[str, str], Wish] = {}
    notes: list[str] = []
    asked: list[tuple[Clause, Question]] = []
    clauses = list(clauses_read(sentence, lookup.multiword(), today))
    is_clear = all(_is_clear(clause, lookup) for clause in clauses)
    for clause in clauses:
        if clause.length and clause.target:
            notes.append(_(LENGTH_NOTE).format(clause.length))
        found = _clause_read(clause, _Asker(sentence, clause, lookup, is_clear), lookup, today)
        if isinstance(found, Question):
            asked.append((clause, found))
        elif isinstance(found, str):
            notes.append(found)
        else:
            wishes[found.target.kind, found.target.key] = found
    chosen = [*wishes.values()]
    if left := [wish.target.label for wish in chosen[WISHES_MAX:]]:
        named = ", ".join(f"“{label}”" for label in left)
        notes.append(
            _("At most {wishes_max} changes at a time. Left for the next time: {named}.").format(
                wishes_max=WISHES_MAX, named=named
            )[:300]
        )
    if not wishes and not asked and sentence.split()[0].casefold() in ASKING:
        notes = [_(LIMITS[QUESTION])]
    if not wishes and not notes and not asked:
        notes.append(_(NOTHING))
    question = _first_asked(sentence, asked)
    return Reading(tuple(chosen[:WISHES_MAX]), question, tuple(dict.fromkeys(notes)))


def _first_asked(sentence: str, asked: Sequence[tuple[Clause, Question]]) -> Question | None:
    """Return the first question; each of its answers leaves the others to be asked next."""
    if not asked:
        return None
    question = asked[0][1]
    rest = "".join(f"; {sentence[slice(*clause.span)]}" for clause, _ in asked[1:])
    choices = [replace(one, words=f"{one.words}{rest}") for one in question.choices]
    fitting = tuple(one for one in choices if len(one.words) <= WISH_CHARS_MAX)
    unknown = all(other.unknown for _, other in asked)
    return replace(question, choices=fitting, unknown=unknown)


def _clause_read(clause: Clause, asker: _Asker, lookup: Lookup, today: date) -> Wish | Question | str:
    if clause.limit:
        return _(LIMITS[clause.limit])
    if clause.dated and (clause.until is None or clause.until < today):
        return _ask_until(clause, asker)
    special = target_special(clause.target)
    if clause.direction in (FRESHER, OLDER) or special in (FRESHER, OLDER):
        return _fresh(clause, special, asker, lookup)
    if clause.is_total or (clause.cap and not clause.target):
        return _(LIMITS[COUNT])
    if not clause.target or special == "all":
        return _no_target(clause, asker, lookup)
    if clause.direction == UNMUTE:
        return Wish(UNMUTE, Target(WORD, clause.target, clause.target))
    if (limit := _daily_limit(clause, lookup)) is not None:
        return limit
    if clause.cap or clause.condition or clause.halves:
        bound = _bound(clause, asker, lookup)
        if bound is not None:
            return bound
    if len(clause.target) > TOPIC_MAX_CHARS:
        return _(NOT_UNDERSTOOD).format(_short(clause.target))
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    if not found:
        return _unknown(clause, asker, lookup)
    if len(found) > 1:
        return _ask_which(clause, asker, found)
    return _meant(clause, asker, found[0], lookup)


def _daily_limit(clause: Clause, lookup: Lookup) -> Wish | None:
    """Return the daily limit that is wished for one source, `None` if it is no such limit."""
    if not clause.cap or clause.condition or clause.halves:
        return None
    most = NUMBERS.get(clause.cap) or (int(clause.cap) if clause.cap.isdecimal() else 0)
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    if len(found) != 1 or found[0].kind != SOURCE or not 1 <= most <= DAILY_LIMIT_MAX:
        return None
    return Wish(LIMIT, found[0], clause.amount, clause.until, most)


def _bound(clause: Clause, asker: _Asker, lookup: Lookup) -> Question | None:
    """Return the question about a count, a condition, or two things at once, which settings do not have.

    `None` where a target of two halves names no source: it is one phrase then.
    """
    directions = (clause.direction,) if clause.direction in (MORE, LESS, NONE, ADD) else (MORE, LESS)
    about = clause.about
    phrases: Sequence[str] = (clause.target,)
    if clause.cap:
        directions = (LESS,)
        text = _("Only a source has a daily limit, from 1 to 10. Would less of it do?")
    elif clause.condition:
        text = _("Settings has no conditions such as “{condition}”. What do you mean without it?").format(
            condition=_short(clause.condition)
        )
        directions = (LESS, NONE) if clause.direction == NONE else directions
    else:
        assert clause.halves is not None
        phrases, about = clause.halves, ""
        if not any(lookup.sources_exact(p) or lookup.sources_partly(p) for p in phrases):
            return None
        text = _("A change is about one thing: “{}” or “{}”?").format(*map(_short, phrases))
    choices = []
    for phrase in phrases:
        found = lookup.meanings(phrase, about, subject=clause.subject) or lookup.nearest(phrase)
        if not found and len(phrase.split()) <= NAME_WORDS_MAX:
            found = [Target(WORD, phrase, phrase)]
        choices += [asker.change(way, target) for target in found[:OFFERED_MAX] for way in directions]
    return asker.ask(text, choices)


def _meant(clause: Clause, asker: _Asker, target: Target, lookup: Lookup) -> Wish | Question | str:
    """Return the wish about a known target, or a question about its direction."""
    about = target_words(target)
    if clause.only:
        choices = [asker.change(MORE, target)]
        return asker.ask(
            _("Settings cannot show {about} alone. Is more of it what you mean?").format(about=about), choices
        )
    asked = _directions_open(clause, target, lookup)
    if asked:
        text, directions = asked
        return asker.ask(text.format(about), [asker.change(direction, target) for direction in directions])
    if clause.direction == NONE and target.kind in (WORD, TOPIC) and clause.about != "word":
        kinds = lookup.mute_kinds(target.key)
        if len(kinds) > 1:
            return _ask_which(clause, asker, [replace(target, kind=kind) for kind in kinds])
        target = replace(target, kind=kinds[0])
    return Wish(clause.direction, target, clause.amount, clause.until)


def _directions_open(clause: Clause, target: Target, lookup: Lookup) -> tuple[str, tuple[str, ...]] | None:
    """Return the question about the direction, and its answers; `None` if it is clear."""
    direction, kind = clause.direction, target.kind
    if direction in ("", UNCLEAR, SO_MUCH):
        return _("More or less of {}?"), (MORE, LESS, NONE)
    if direction == AGAINST:
        return _("Less of {}, or nothing of it?"), (LESS, NONE)
    listed = topic_key(target.key) in map(topic_key, lookup.names.listed)
    if direction == ADD and kind == SOURCE:
        return _("You read {} already. Do you mean more of it?"), (MORE,)
    if direction == REMOVE and not (kind == TOPIC and listed):
        return _("Less of {}, or nothing of it?"), (LESS, NONE)
    if direction == NONE and kind == TOPIC and listed and clause.about != "word":
        return _("{} is one of your interests. What do you mean?"), (REMOVE, NONE)
    return None


def _fresh(clause: Clause, special: str, asker: _Asker, lookup: Lookup) -> Wish | Question | str:
    """Return the wish about freshness, which counts for all items alike."""
    choices = [asker.choice(_("Newer items first"), "newer"), asker.choice(_("Items stay longer"), "older")]
    opposite = {FRESHER: OLDER, OLDER: FRESHER}
    if clause.direction in (FRESHER, OLDER) and (not clause.target or special):
        return Wish(clause.direction, ALL_FRESH, clause.amount, clause.until)
    if special in opposite and clause.inherited:
        return asker.ask(_("Newer items first, or items that stay longer?"), choices)
    if special in opposite and clause.direction == MORE:
        return Wish(special, ALL_FRESH, clause.amount, clause.until)
    if special in opposite and clause.direction in (LESS, NONE):
        return Wish(opposite[special], ALL_FRESH, clause.amount, clause.until)
    if special in opposite:
        return asker.ask(_("Newer items first, or items that stay longer?"), choices)
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    choice = choices[0] if clause.direction == FRESHER else choices[1]
    more = [asker.change(MORE, target) for target in found[:OFFERED_MAX]]
    return asker.ask(_("Freshness counts for all items alike. What do you mean?"), [choice, *more])


def _no_target(clause: Clause, asker: _Asker, lookup: Lookup) -> Question | str:
    if clause.length:
        return _(LENGTH_NOTE).format(clause.length)
    given = asker.sentence[slice(*clause.span)]
    if clause.direction not in SAYS:
        return _(NOT_UNDERSTOOD).format(_short(given))
    known = [Target(TOPIC, topic, topic) for topic in lookup.names.topics[:2]]
    known += [lookup.source(key) for key in sorted(lookup.names.sources)[:2]]
    direction = LESS if clause.direction == REMOVE else MORE if clause.direction == ADD else clause.direction
    text = _("“{short}”: of what? Name a source, an interest or a word.").format(short=_short(given))
    return asker.ask(text, [asker.change(direction, target) for target in known])


def _unknown(clause: Clause, asker: _Asker, lookup: Lookup) -> Wish | Question | str:
    """Return the wish for words that no recent item has. Without a direction there is no wish.

    What is spelled like nothing known means itself if the sentence is clear: wishes are for what is to come,
    and the change is shown with how little it is about.
    """
    if clause.direction == AGAINST and len(clause.target.split()) <= NAME_WORDS_MAX:
        return _meant(clause, asker, Target(WORD, clause.target, clause.target), lookup)
    if clause.direction not in SAYS or len(clause.target.split()) > NAME_WORDS_MAX:
        return _(NOT_UNDERSTOOD).format(_short(asker.sentence[slice(*clause.span)]))
    near = lookup.nearest(clause.target)
    if clause.direction in (MORE, LESS) and len(taken := lookup.nearest(clause.target, TAKEN_SHARE)) == 1:
        return Wish(clause.direction, taken[0], clause.amount, clause.until)
    if not near and asker.is_clear and _is_plain(clause):
        return Wish(clause.direction, Target(WORD, clause.target, clause.target), clause.amount, clause.until)
    direction = MORE if clause.direction == ADD else LESS if clause.direction == REMOVE else clause.direction
    choices = [asker.change(direction, target) for target in near]
    choices.append(asker.change(clause.direction, Target(WORD, clause.target, clause.target)))
    text = _("I found no source or recent article about “{short}”. What do you mean?")
    return replace(asker.ask(text.format(short=_short(clause.target)), choices), unknown=True)


def _is_clear(clause: Clause, lookup: Lookup) -> bool:
    """Return whether a clause names a direction and a target that is known or could be a name."""
    if not (clause.direction or clause.limit or clause.only or clause.cap):
        return False
    most = INHERITED_WORDS_MAX if clause.inherited else NAME_WORDS_MAX
    if _is_worded(clause.target) and len(clause.target.split()) <= most:
        return True
    return bool(lookup.meanings(clause.target, clause.about, subject=clause.subject))


def _is_worded(target: str) -> bool:
    return all(word.isalpha() for word in target.replace("-", " ").split())


def _is_plain(clause: Clause) -> bool:
    """Return whether unknown words can be a clause's target, because the clause names it explicitly."""
    is_way = clause.direction in (MORE, LESS, NONE)
    if not is_way or not _is_worded(clause.target) or clause.about in ("source", "author"):
        return False
    if clause.inherited:
        return len(clause.target.split()) <= INHERITED_WORDS_MAX
    # "What they like": after its target, a direction may be part of any sentence.
    return clause.first < clause.begin or (clause.last > clause.end and clause.direction != MORE)


def _ask_which(clause: Clause, asker: _Asker, found: Sequence[Target]) -> Question:
    if clause.direction not in SAYS:
        pairs = [(direction, t) for t in found[:2] for direction in (MORE, LESS)]
        choices = [asker.change(direction, target) for direction, target in pairs]
        return asker.ask(
            _("Which “{short}” do you mean, and more or less of it?").format(short=_short(clause.target)),
            choices,
        )
    direction = clause.direction
    offered = [t for t in found[:OFFERED_MAX] if not (direction in (ADD, REMOVE) and t.kind == SOURCE)]
    choices = [asker.change(direction, t) for t in offered]
    return asker.ask(_("Which “{short}” do you mean?").format(short=_short(clause.target)), choices)


def _ask_until(clause: Clause, asker: _Asker) -> Question:
    text = _("Until when? That day is over, or is none.") if clause.until else _("Until when?")
    how = _("Write a day like 2026-03-18, “until Friday” or “for two weeks”.")
    return Question(f"{text} {how}")


def _short(text: str) -> str:
    return text if len(text) <= QUOTED_MAX else f"{text[: QUOTED_MAX - 1]}…"


def plain(text: str) -> str:
    """Return a name that can stand between quotation marks in a wish."""
    return text.replace('"', "'").replace("\n", " ")
