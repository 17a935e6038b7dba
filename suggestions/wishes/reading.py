"""Reading a wish: what the clauses of a sentence become, together. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from digest.llm.phishing import word_known
from ranking.common.text import fold, search_terms
from ranking.language import date_words, gettext_noop
from ranking.language import gettext as _
from suggestions.changes.change import LESS, MORE, NONE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.changes.never_missed import KEEP
from suggestions.changes.shelf_lives import AGE
from suggestions.wishes import lexicon, limits
from suggestions.wishes.clauses import LENGTH_NOTE, MISSED, clause_read
from suggestions.wishes.grammar import Clause, clauses_read
from suggestions.wishes.last_days import is_week_stretched
from suggestions.wishes.left import left_note, with_direction, words_from
from suggestions.wishes.lookup import OFFERED_MAX, Lookup, carries
from suggestions.wishes.offers import CHOICES_MAX, HOW_MEANT, offered_by
from suggestions.wishes.questions import Asker
from suggestions.wishes.stance import ABSENCE, IRONY, SILENCE, Stance, sentences_in, stances_in
from suggestions.wishes.tokens import Token
from suggestions.wishes.unknown import EVERYDAY, is_clear, is_vague
from suggestions.wishes.wish import (
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

NOTHING = gettext_noop(
    "Nothing there could be understood. Say more or less, and of what: “less crypto, more from Gazette”."
)
NOT_UNDERSTOOD = gettext_noop(
    "Not understood: “{}”. Say more, less, mute, newer or older, and of what: "
    "“less crypto, more from Gazette”."
)
UNREAD = gettext_noop("I did not understand {words}, so that was left out.")
STAYS = gettext_noop("“{}” stays as it is.")
THE_WEEK = gettext_noop("This week is nearly over, so I took the next seven days: until {day}.")

# The likely deeds of a sentence that does not ask for what it says.
WAYS_OF = {IRONY: (LESS, NONE, MORE), SILENCE: (NONE, LESS, MORE), ABSENCE: (MORE, LESS, NONE)}
# With so many words of a sentence not understood, its wishes are asked about.
UNREAD_MAX = 3
# Each part of a sentence is looked for in every text of the last days, which takes up to half a second.
CLAUSES_MAX = 16


def wishes_read(sentence: str, names: Names, today: date) -> Reading:
    """Read `sentence`: at most three changes, the first open question, notes on the rest.

    An answer to the question contains the other open parts, and not the understood ones.
    """
    return wishes_look_up(Lookup(names, sentence), today)


def wishes_look_up(lookup: Lookup, today: date, *, is_line: bool = False) -> Reading:
    """Read the sentence of `lookup`, as `wishes_read` does. `is_line`: what is unclear is not asked about."""
    sentence = lookup.sentence
    read, telling = clauses_read(sentence, lookup.known, today)
    typed = _sources_first(read, lookup)
    clauses = [_plain(one, lookup) for one in typed[:CLAUSES_MAX]]
    later = typed[CLAUSES_MAX:]
    answers = _Answers(lookup, today, stances_in(sentence), is_line=is_line)
    answers.add_all([Asker(sentence, clause, lookup, is_clear=False) for clause in clauses])
    pairs = [pair for pair in zip(typed, (*clauses, *later), strict=True) if not answers.is_open(pair[1])]
    known = fold(" ".join([*answers.notes, *(_read_words(*pair, lookup) for pair in pairs)]))
    unread = [one for one in telling if one.typed not in known and not carries(one.typed)]
    answers.settle(unread)
    chosen, notes, asked = [*answers.wishes.values()], answers.notes, answers.asked_now()
    if is_week_stretched(sentence, today) and (ends := [wish.until for wish in chosen if wish.until]):
        notes.append(_(THE_WEEK).format(day=date_words(ends[0])))
    beyond = [*[asker.clause for asker in answers.parts.values()][WISHES_MAX:], *later]
    labels = [wish.target.label for wish in chosen[WISHES_MAX:]]
    if labels := [*labels, *(clause.target for clause in later if clause.target)]:
        notes.append(left_note(labels))
    if chosen or asked or len(set(notes)) > 1:
        # Thanks around a wish are not worth an answer.
        notes = [note for note in notes if note != _(limits.LIMITS[limits.PRAISE])]
    if not (chosen or notes or asked):
        notes.append(_(NOTHING))
    answer = fold(" ".join([*notes, *(sentence[slice(*one.clause.span)] for one, _question in asked)]))
    if words := [lookup.typed(one.typed) for one in unread if one.typed not in answer]:
        notes.append(_(UNREAD).format(words=_quoted(words[:OFFERED_MAX])))
    undoes = bool(answers.undoing) and all(map(limits.UNDO_ALL.isdisjoint, answers.undoing))
    left = words_from(beyond[0], typed, [one.clause for one, _question in asked], sentence) if beyond else ""
    notes_once, question = tuple(dict.fromkeys(notes)), _first_asked(asked, typed)
    wishes, likely = tuple(chosen[:WISHES_MAX]), _likely(asked, lookup, today, WISHES_MAX - len(chosen))
    return Reading(wishes, question, notes_once, left, undoes, () if is_line else likely)


def _likely(
    asked: Sequence[tuple[Asker, Question]], lookup: Lookup, today: date, most: int
) -> tuple[Wish, ...]:
    """Return the wishes of the answers that lead, or none if they are more than `most`."""
    leads = [
        question.choices[0].words
        for _asker, question in asked
        if question.choices[:1] and question.choices[0].leads
    ]
    wishes = [wish for words in leads for wish in wishes_look_up(lookup.of_sentence(words), today).wishes]
    return tuple(dict.fromkeys(wishes)) if len(wishes) <= most else ()


# A wish is in the key twice if a source has a rule and a weight by it.
_Key = tuple[Target, str, str]


@dataclass(slots=True)
class _Answers:
    """What the clauses of a sentence become, in order. `limits` are those told of already.

    `stances` are its sentences that do not ask for what they say, `missed` the clauses not understood, and
    `answers` the places of those that no setting can fulfil. `is_line`: what is unclear is not asked about.
    `was_open`: the last clause was about nothing known.
    """

    lookup: Lookup
    today: date
    stances: Sequence[Stance] = ()
    wishes: dict[_Key, Wish] = field(default_factory=dict)
    asked: list[tuple[Asker, Question]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    limits: set[str] = field(default_factory=set)
    parts: dict[_Key, Asker] = field(default_factory=dict)
    undoing: list[list[str]] = field(default_factory=list)
    missed: list[Asker] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    is_line: bool = False
    was_open: bool = False

    def is_stance(self, at: int) -> bool:
        """Return whether the character `at` belongs to a sentence with a stance."""
        return any(one.begin <= at < one.end for one in self.stances)

    def is_open(self, clause: Clause) -> bool:
        """Return whether a clause was not understood, or is about nothing known."""
        guesses = (one for one, _question in self.asked if _is_guess(one))
        return any(one.clause.span == clause.span for one in (*self.missed, *guesses))

    def add_all(self, askers: Sequence[Asker]) -> None:
        """Add what the clauses become that stand in no sentence with a stance."""
        read = [asker for asker in askers if not self.is_stance(asker.clause.span[0])]
        every_clear = all(map(is_clear, read))
        for asker in read:
            self.add(replace(asker, is_clear=every_clear))

    def settle(self, unread: Sequence[Token]) -> None:
        """Ask about each sentence with a stance, and about those of which much is `unread`.

        Of other sentences that were not understood the answer says so, or asks if nothing else is understood.
        """
        if len(unread) >= UNREAD_MAX:
            # A story: what its unknown words were taken for is no better than any of its other words.
            self.missed += [one for one, _question in self.asked if _is_guess(one)]
            self.asked = [row for row in self.asked if not _is_guess(row[0])]
        bare = [row for row in self.asked if not (row[0].clause.target or row[1].text == self._how(row[0]))]
        if bare and (self.wishes or self.answers or (self.missed and self._ask(self._whole, (), ()))):
            # "Can that go? (Trump)": what is asked about stands elsewhere.
            self.asked = [row for row in self.asked if row not in bare]
            self.missed += [one for one, _question in bare]
        self._drop_answered()
        for stance in self.stances:
            span = stance.begin, stance.end
            if not self._ask(span, (), WAYS_OF.get(stance.kind, ()), is_denied=stance.kind not in WAYS_OF):
                self.missed.append(self._asker(span))
        for begin, end in sentences_in(self.lookup.sentence):
            here = [one.typed for one in unread if begin <= one.begin < end]
            wished = [key[0] for key, one in self.parts.items() if begin <= one.clause.span[0] < end]
            # "I broke up with my phone": an everyday word is the target only if all others are understood.
            least = 1 if any(map(_is_everyday, wished)) else UNREAD_MAX
            # Without a "never" that was not read, a wish may be the opposite.
            is_muddled = len(here) >= least or not lexicon.SETS["negations"].isdisjoint(here)
            if is_muddled and not self.is_stance(begin):
                self._muddle(begin, end)
        is_missed = bool(self.missed) or not self.notes
        if is_missed and not (self.wishes or self.asked or self.answers):
            self._ask(self._whole, (), (), unknown=True)
        if missed := [one.part for one in self.missed if not self._is_asked(one)]:
            self.notes.append(_(NOT_UNDERSTOOD).format("”, “".join(dict.fromkeys(missed))))

    def _drop_answered(self) -> None:
        """Leave out questions what to do with a name in a sentence that has an answer already."""
        for begin, end in sentences_in(self.lookup.sentence):
            if any(begin <= at < end for at in self.answers):
                self.asked = [
                    row
                    for row in self.asked
                    if row[0].clause.direction
                    or not row[0].clause.target
                    or not begin <= row[0].clause.begin < end
                ]

    def _is_asked(self, asker: Asker) -> bool:
        begin, end = asker.clause.span
        return any(one.clause.span[0] <= begin and end <= one.clause.span[1] for one, _question in self.asked)

    def _muddle(self, begin: int, end: int) -> None:
        """Ask about all that was understood of a sentence, in place of making it."""
        keys = [key for key, asker in self.parts.items() if begin <= asker.clause.span[0] < end]
        asked = [row for row in self.asked if begin <= row[0].clause.span[0] < end]
        choices = [self.parts[key].meaning(self.wishes[key]) for key in keys]
        for key in keys:
            del self.wishes[key], self.parts[key]
        has_answer = any(begin <= at < end for at in self.answers)
        for row in asked if not has_answer else ():
            self.asked.remove(row)
            choices += row[1].choices
        if choices:
            self._ask((begin, end), choices, (), unknown=True, is_offering=not has_answer)

    def _ask(
        self,
        span: tuple[int, int],
        choices: Sequence[Choice],
        ways: Sequence[str],
        *,
        unknown: bool = False,
        is_offering: bool = True,
        is_denied: bool = False,
    ) -> bool:
        """Add a question about the part `span` of the sentence. Return whether there is one.

        Its answers are `choices`, then with `is_offering` likely deeds on the things that the part names,
        those of `ways` first. Without any answer nothing is asked. The likeliest deed leads, unless the part
        `is_denied`, or was read as something else.
        """
        asker, text = self._asker(span), self.lookup.sentence[slice(*span)]
        offered = [] if self.is_line or not is_offering else offered_by(asker, text, self.today, ways)
        leads = [one for one in offered if one.leads and not is_denied]
        if choices:
            leads = [one for one in choices if leads and len(choices) == 1 and _is_alike(one, leads[0])]
            leads = [replace(one, leads=True) for one in leads]
        every = {one.words: replace(one, leads=False) for one in (*leads, *choices, *offered)}
        every |= {one.words: one for one in leads}
        if every:
            question = asker.ask(self._how(asker), [*every.values()][:CHOICES_MAX])
            self.asked.append((asker, replace(question, unknown=unknown)))
        return bool(every)

    @property
    def _whole(self) -> tuple[int, int]:
        return 0, len(self.lookup.sentence)

    def _how(self, asker: Asker) -> str:
        return _(HOW_MEANT).format(asker.part)

    def _asker(self, span: tuple[int, int]) -> Asker:
        clause = Clause("", "", *span, *span, span=span)
        return Asker(self.lookup.sentence, clause, self.lookup, is_clear=False)

    def asked_now(self) -> list[tuple[Asker, Question]]:
        """Return the questions in the order of the text, beside a wish without those that are vague."""
        asked = sorted(self.asked, key=lambda one: one[0].clause.span)
        if not self.wishes:
            return asked
        # "Less Gazette, it isn't funny": words around a wish are told, and not asked about.
        self.notes += [_(NOT_UNDERSTOOD).format(one.part) for one, _question in asked if is_vague(one)]
        return [(one, question) for one, question in asked if not is_vague(one)]

    def add(self, asker: Asker) -> None:
        """Add what a clause becomes."""
        clause, lookup = asker.clause, asker.lookup
        if clause.length and clause.target and not clause.limit:
            self.notes.append(_(LENGTH_NOTE).format(clause.length))
        is_hidden = clause.direction == NONE and not clause.limit
        if is_hidden and not limits.FORM_WORDS.isdisjoint(clause.target.split()[-1:]):
            self.notes.append(f"“{asker.quoted(clause.target)}”: {_(limits.LIMITS[limits.FORMS])}")
        stays = lookup.named_in(clause.condition) if clause.keeps else None
        if stays and fold(stays.label) != clause.target:
            self.notes.append(_(STAYS).format(stays.label))
            self.answers.append(clause.span[0])
            if not clause.target:
                return
            asker = replace(asker, clause=replace(clause, condition=""))
        # "What I care about more than chess" says nothing of chess if the first half was not understood.
        names = {*clause.target.split()} - lexicon.EVERYTHING
        is_left = clause.is_contrast and self.was_open
        found = MISSED if is_left else clause_read(asker, self.today)
        self.was_open = found == MISSED or (isinstance(found, Question) and _is_guess(asker))
        if isinstance(found, Wish):
            if found.direction == MORE and not clause.is_more and lookup.is_muted(found.target):
                # "I muted Gazette, but I want it."
                found = replace(found, direction=UNMUTE, amount=USUAL)
            rule = found.direction if found.direction in (LIMIT, AGE, KEEP) else ""
            self.wishes[found.target, found.within, rule] = found
            self.parts.setdefault((found.target, found.within, rule), asker)
            if found.direction == LIMIT and clause.is_more:
                # "More from Gazette, at most four a day."
                self.wishes[found.target, found.within, ""] = replace(found, direction=MORE, most=None)
                self.parts.setdefault((found.target, found.within, ""), asker)
        elif found == MISSED:
            self.missed.append(asker)
        elif isinstance(found, str):
            # Undoing and mixing are told once: "that was wrong, undo it".
            self.notes += [found] if clause.limit not in {limits.UNDO, limits.VARIETY} & self.limits else []
            self.limits.add(clause.limit)
            is_answer = clause.limit not in (limits.PRAISE, limits.QUESTION) and not clause.length
            self.answers += [clause.span[0]] if is_answer else []
            words = search_terms(asker.sentence)
            self.undoing += [words] if clause.limit == limits.UNDO else []
            if clause.limit == limits.EARLIER:
                self._ask(clause.span, (), (UNMUTE, MORE, LESS))
        elif not names and (self.answers or (self.wishes and clause.direction == UNMUTE)):
            # "I hid Gazette by mistake, show it again" is wished already.
            return
        elif names or not self._ask(clause.span, (), ()):
            self.asked.append((asker, found))


def _is_alike(one: Choice, other: Choice) -> bool:
    """Return whether two answers ask for less of one thing, or for the same of it."""
    (way, _space, thing), (another, _space, same) = one.words.partition(" "), other.words.partition(" ")
    return thing == same and (way == another or {way, another} <= {LESS, "mute"})


def _is_guess(asker: Asker) -> bool:
    """Return whether a clause is about words that nothing of the reader's is called."""
    clause = asker.clause
    halves = " ".join(clause.halves[:2]) if clause.halves else ""
    return bool(clause.target) and not asker.found and not (halves and asker.lookup.named_in(halves))


def _is_everyday(target: Target) -> bool:
    words = fold(target.key).split()
    everyday = lexicon.SETS["everyday nouns"]
    return target.kind == WORD and all(word in everyday or word_known(word, EVERYDAY) for word in words)


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def _read_words(typed: Clause, clause: Clause, lookup: Lookup) -> str:
    """Return the words of a clause that are read; if it is about a part of them, without the others."""
    part = fold(lookup.sentence[slice(*clause.span)])
    condition = "" if clause.limit and typed.condition not in part else typed.condition
    if clause.keeps:
        condition = " ".join(word for word in condition.split() if lookup.named_in(word))
    is_part = {*clause.target.split()} < {*typed.target.split()}
    target = clause.target if is_part else typed.target
    return " ".join([target, condition, *(clause.halves or ())])


def _plain(clause: Clause, lookup: Lookup) -> Clause:
    """Return the clause with the name of its target as settings or articles know it, if they know one."""
    if not clause.target or clause.limit not in ("", limits.QUESTION, limits.VARIETY):
        return clause
    target = lookup.plain(clause.target)
    owner, its, what = target.partition("'s ")
    if its and not clause.halves and lookup.sources_exact(owner):
        # "The Guardian's football."
        return replace(clause, halves=(what, owner, "from"))
    about, form, between = clause.halves or ("", "", "")
    if between == "about" and form in limits.FORM_WORDS and clause.direction == MORE:
        # "More essays about chess": the form is told, because no setting knows it.
        return replace(clause, target=lookup.plain(about), about="about", halves=None)
    return clause if target == clause.target else replace(clause, target=target)


def _sources_first(clauses: Sequence[Clause], lookup: Lookup) -> list[Clause]:
    """Return the clauses, "in Gazette, no chess" as one, "no chess in Gazette and Herald" as two of chess."""
    found: list[Clause] = []
    for clause in clauses:
        before = found[-1] if found else None
        if before is None or clause.direction != NONE or not clause.target or clause.halves:
            found.append(clause)
        elif before.halves and clause.inherited and lookup.sources_exact(clause.target):
            halves = (before.halves[0], clause.target, "in")
            found.append(replace(clause, halves=halves, about=before.about))
        elif _leads(before, clause, lookup.sentence) and len(lookup.sources_exact(before.target)) == 1:
            halves, span = (clause.target, before.target, "in"), (before.span[0], clause.span[1])
            found[-1] = replace(clause, halves=halves, span=span)
        else:
            found.append(clause)
    return found


def _leads(before: Clause, clause: Clause, sentence: str) -> bool:
    """Return whether a source named first may limit the wish after it."""
    if before.only or before.rule or before.condition:
        return False
    # "Gazette, yes, but without chess." "Show me in Gazette no chess": no comma stands between them.
    if sentence[clause.first :].casefold().startswith(("without", "ohne")):
        return True
    is_place = not lexicon.SETS["places"].isdisjoint(sentence[: before.begin].casefold().split()[-2:])
    return is_place and (not before.direction or before.last + 1 >= clause.first)


def _first_asked(asked: Sequence[tuple[Asker, Question]], every: Sequence[Clause]) -> Question | None:
    """Return the first question. Each of its answers leaves the others to be asked next."""
    if not asked:
        return None
    question = asked[0][1]
    spans = [(asker.clause, asker.sentence[slice(*asker.clause.span)], asker.sentence) for asker, _ in asked]
    part, *others = (with_direction(words, clause, every, sentence) for clause, words, sentence in spans)
    choices = [replace(one, words="; ".join((one.words, *others))) for one in question.choices]
    fitting = tuple(one for one in choices if len(one.words) <= WISH_CHARS_MAX)
    unknown = all(other.unknown for _, other in asked)
    return replace(question, choices=fitting, unknown=unknown, part=part, others=tuple(others))
