"""Reading a wish: what the clauses of a sentence become, together. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from ranking.common.text import fold
from ranking.language import date_words, gettext_noop
from ranking.language import gettext as _
from suggestions.changes.change import MORE, NONE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.changes.never_missed import KEEP
from suggestions.changes.shelf_lives import AGE
from suggestions.wishes import lexicon, limits
from suggestions.wishes.clauses import LENGTH_NOTE, NOT_UNDERSTOOD, clause_read
from suggestions.wishes.grammar import Clause, clauses_read
from suggestions.wishes.last_days import is_week_stretched
from suggestions.wishes.left import left_note, with_direction, words_from
from suggestions.wishes.lookup import OFFERED_MAX, Lookup, carries
from suggestions.wishes.questions import Asker
from suggestions.wishes.unknown import is_clear, is_vague
from suggestions.wishes.wish import (
    USUAL,
    WISH_CHARS_MAX,
    WISHES_MAX,
    Names,
    Question,
    Reading,
    Target,
    Wish,
)

NOTHING = gettext_noop(
    "Nothing there could be understood. Say more or less, and of what: “less crypto, more from Gazette”."
)
UNREAD = gettext_noop("I did not understand {words}, so that was left out.")
STAYS = gettext_noop("“{}” stays as it is.")
THE_WEEK = gettext_noop("This week is nearly over, so I took the next seven days: until {day}.")

# So much of a sentence in a note.
SENTENCE_CHARS = 100
# Each part of a sentence is looked for in every text of the last days, which takes up to half a second.
CLAUSES_MAX = 16


def wishes_read(sentence: str, names: Names, today: date) -> Reading:
    """Read `sentence`: at most three changes, the first open question, notes on the rest.

    An answer to the question contains the other open parts, and not the understood ones.
    """
    return wishes_look_up(Lookup(names, sentence), today)


def wishes_look_up(lookup: Lookup, today: date) -> Reading:
    """Read the sentence of `lookup`, as `wishes_read` does."""
    sentence = lookup.sentence
    read, telling = clauses_read(sentence, lookup.known, today)
    typed = _sources_first(read, lookup)
    clauses = [_plain(one, lookup) for one in typed[:CLAUSES_MAX]]
    askers = [Asker(sentence, clause, lookup, is_clear=False) for clause in clauses]
    every_clear = all(map(is_clear, askers))
    answers = _Answers()
    for asker in askers:
        answers.add(replace(asker, is_clear=every_clear), today)
    chosen, notes, asked = [*answers.wishes.values()], answers.notes, answers.asked
    if chosen:
        # "Less Gazette, it isn't funny": words around a wish are told, and not asked about.
        notes += [_(NOT_UNDERSTOOD).format(asker.part) for asker, _question in asked if is_vague(asker)]
        asked = [(asker, question) for asker, question in asked if not is_vague(asker)]
    if is_week_stretched(sentence, today) and (ends := [wish.until for wish in chosen if wish.until]):
        notes.append(_(THE_WEEK).format(day=date_words(ends[0])))
    later = typed[CLAUSES_MAX:]
    beyond = [*[*answers.parts.values()][WISHES_MAX:], *later]
    labels = [wish.target.label for wish in chosen[WISHES_MAX:]]
    if labels := [*labels, *(clause.target for clause in later if clause.target)]:
        notes.append(left_note(labels))
    if chosen or asked or len(set(notes)) > 1:
        # Thanks around a wish are not worth an answer.
        notes = [note for note in notes if note != _(limits.LIMITS[limits.PRAISE])]
    if not (chosen or notes or asked):
        notes.append(_(NOTHING))
    pairs = zip(typed, (*clauses, *later), strict=True)
    known = fold(" ".join([*notes, *(_read_words(*pair, lookup) for pair in pairs)]))
    if unread := [lookup.typed(word) for word in telling if word not in known and not carries(word)]:
        notes.append(_(UNREAD).format(words=_quoted(unread[:OFFERED_MAX])))
    if not lexicon.SETS["negations"].isdisjoint(map(fold, unread)):
        # Without a "never" that was not read, a wish may be the opposite.
        return Reading(notes=(_(NOT_UNDERSTOOD).format(sentence[:SENTENCE_CHARS]),))
    undoes = bool(answers.undoing) and all(map(limits.UNDO_ALL.isdisjoint, answers.undoing))
    question = _first_asked(asked, typed)
    left = words_from(beyond[0], typed, [one.clause for one, _question in asked], sentence) if beyond else ""
    notes_once = tuple(dict.fromkeys(notes))
    return Reading(tuple(chosen[:WISHES_MAX]), question, notes_once, left, undoes)


@dataclass(slots=True)
class _Answers:
    """What the clauses of a sentence become, in order. `limits` are those told of already."""

    wishes: dict[tuple[Target, str, str], Wish] = field(default_factory=dict)
    asked: list[tuple[Asker, Question]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    limits: set[str] = field(default_factory=set)
    parts: dict[tuple[Target, str, str], Clause] = field(default_factory=dict)
    undoing: list[list[str]] = field(default_factory=list)

    def add(self, asker: Asker, today: date) -> None:
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
            if not clause.target:
                return
            asker = replace(asker, clause=replace(clause, condition=""))
        found = clause_read(asker, today)
        if isinstance(found, Wish):
            if found.direction == MORE and not clause.is_more and lookup.is_muted(found.target):
                # "I muted Gazette, but I want it."
                found = replace(found, direction=UNMUTE, amount=USUAL)
            rule = found.direction if found.direction in (LIMIT, AGE, KEEP) else ""
            self.wishes[found.target, found.within, rule] = found
            self.parts.setdefault((found.target, found.within, rule), clause)
            if found.direction == LIMIT and clause.is_more:
                # "More from Gazette, at most four a day."
                self.wishes[found.target, found.within, ""] = replace(found, direction=MORE, most=None)
                self.parts.setdefault((found.target, found.within, ""), clause)
        elif isinstance(found, str):
            # Undoing and mixing are told once: "that was wrong, undo it".
            self.notes += [found] if clause.limit not in {limits.UNDO, limits.VARIETY} & self.limits else []
            self.limits.add(clause.limit)
            words = fold(asker.sentence[slice(*clause.span)]).split()
            self.undoing += [words] if clause.limit == limits.UNDO else []
        elif not (self.wishes and clause.direction == UNMUTE and not clause.target):
            # "I hid Gazette by mistake, show it again" is wished already.
            self.asked.append((asker, found))


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
