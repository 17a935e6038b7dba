"""Reading a wish: each clause of the sentence becomes a change, one question, or a note. Pure.

A clause with two meanings is asked about, never guessed. The answers are the whole sentence with that clause
in words of one meaning.

`_clause_read` tries these readings in order, and the first one that fits decides:

| the clause | becomes |
|---|---|
| asks for what no setting can do; has a date that is over | a note; the question until when |
| asks for newer or older (`_fresh`), for a rule for a source (`_source_rule`) | that, a question or a note |
| is a total, or names a time only | a note |
| names nothing, or all (`_no_target`) | a question or a note |
| ends a mute, limits a source (`_daily_limit`), mutes within a source (`_muted_within`) | that |
| has a cap, a condition or two halves (`_bound`) | a question, if one helps |
| has a target of no (`_unknown`), several (`_ask_which`) or one meaning (`_meant`) | a change, if of one |
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ranking.common.text import TOPIC_MAX_CHARS, fold, topic_key
from ranking.language import date_words, gettext_noop
from ranking.language import gettext as _
from ranking.source_rules import DAILY_LIMIT_MAX, SHELF_HOURS_MAX
from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.changes.never_missed import KEEP
from suggestions.changes.shelf_lives import AGE
from suggestions.wishes.grammar import Clause, clauses_read, target_special
from suggestions.wishes.last_days import NUMBERS, is_week_stretched
from suggestions.wishes.left import left_note, words_from
from suggestions.wishes.lexicon import AGAINST, CARRYING, FILLERS, SO_MUCH, UNCLEAR
from suggestions.wishes.limits import ASKING, COUNT, LIMITS, PRAISE, QUESTION
from suggestions.wishes.lookup import OFFERED_MAX, Lookup
from suggestions.wishes.questions import Asker, target_words
from suggestions.wishes.rule_words import ALWAYS_SHOWN, NEVER_MISS, OUT_OF_TODAY, SHELF
from suggestions.wishes.tokens import QUOTES
from suggestions.wishes.ways import PLAIN_WAYS
from suggestions.wishes.wish import (
    AUTHOR,
    CATEGORY,
    FRESHNESS,
    SOURCE,
    TOPIC,
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
LENGTH_NOTE = gettext_noop("“{}”: settings know nothing of an item’s length, so that was left out.")
NOT_UNDERSTOOD = gettext_noop(
    "Not understood: “{}”. Say more, less, mute, newer or older, and of what: "
    "“less crypto, more from Gazette”."
)
NOTHING = gettext_noop(
    "Nothing there could be understood. Say more or less, and of what: “less crypto, more from Gazette”."
)
# A name this close is taken for the intended one. The change is shown before it is made.
TAKEN_SHARE = 0.9
# A phrase with more words is no name of anything.
NAME_WORDS_MAX = 4
INHERITED_WORDS_MAX = 2
TIME_WORDS = frozenset(
    ["week", "weekend", "weeks", "weekends", "woche", "wochen", "month", "months", "monat", "monate"]
)
IN, ABOUT = "in", "about"
# What only a source can have, and the changes that a word can have instead.
_ONLY_SOURCES = {
    SHELF: (gettext_noop("Only a source has a shelf life. Would less of it do?"), (LESS, NONE)),
    NEVER_MISS: (gettext_noop("Only a source can be never missed. Is more of it what you mean?"), (MORE,)),
    OUT_OF_TODAY: (
        gettext_noop("Only a source can be kept out of Today. Would less of it do?"),
        (LESS, NONE),
    ),
}
_NO_SOURCE = {
    SHELF: gettext_noop("A shelf life is for one source: “nothing older than two days from Gazette”."),
    NEVER_MISS: gettext_noop("Name the source that you never want to miss: “never miss Gazette”."),
    OUT_OF_TODAY: gettext_noop("Name the source that should stay out of Today."),
}
IS_OUT_OF_TODAY = gettext_noop(
    "“{source}” stays out of Today, but in All, if you switch off “In Today, if it is among the best” on the "
    "page of the source."
)
THE_WEEK = gettext_noop("This week is nearly over, so I took the next seven days: until {day}.")
NO_AGE = gettext_noop(
    "A shelf life is from 1 hour to {days} days: “nothing older than two days from Gazette”."
)

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
    wishes: dict[tuple[str, str, str], Wish] = {}
    parts: dict[tuple[str, str, str], Clause] = {}
    notes: list[str] = []
    asked: list[tuple[Clause, Question]] = []
    every = _sources_first(clauses_read(sentence, lookup.known, today), lookup)
    clauses, later = every[:CLAUSES_MAX], every[CLAUSES_MAX:]
    is_clear = all(_is_clear(clause, lookup) for clause in clauses)
    for clause in clauses:
        if clause.length and clause.target and not clause.limit:
            notes.append(_(LENGTH_NOTE).format(clause.length))
        found = _clause_read(clause, Asker(sentence, clause, lookup, is_clear), lookup, today)
        if isinstance(found, Question):
            asked.append((clause, found))
        elif isinstance(found, str):
            notes.append(found)
        else:
            key = found.target.kind, found.target.key, found.within
            wishes[key] = found
            parts.setdefault(key, clause)
    chosen = [*wishes.values()]
    if is_week_stretched(sentence, today) and (ends := [wish.until for wish in chosen if wish.until]):
        notes.append(_(THE_WEEK).format(day=date_words(ends[0])))
    beyond = [*[*parts.values()][WISHES_MAX:], *later]
    labels = [wish.target.label for wish in chosen[WISHES_MAX:]]
    if labels := [*labels, *(clause.target for clause in later if clause.target)]:
        notes.append(left_note(labels))
    if wishes or asked or len(set(notes)) > 1:
        # Thanks around a wish are not worth an answer.
        notes = [note for note in notes if note != _(LIMITS[PRAISE])]
    if not wishes and not notes and not asked:
        notes.append(_(NOTHING))
    question = _first_asked(sentence, asked)
    left = words_from(beyond[0], every, [one for one, _ in asked], sentence) if beyond else ""
    return Reading(tuple(chosen[:WISHES_MAX]), question, tuple(dict.fromkeys(notes)), left)


def _sources_first(clauses: Sequence[Clause], lookup: Lookup) -> list[Clause]:
    """Return the clauses, "in Gazette, no chess" as one, "no chess in Gazette and Herald" as two of chess."""
    found: list[Clause] = []
    for clause in clauses:
        before = found[-1] if found else None
        if before is None or clause.direction != NONE or not clause.target or clause.halves:
            found.append(clause)
        elif before.halves and clause.inherited and lookup.sources_exact(clause.target):
            halves = (before.halves[0], clause.target, IN)
            found.append(replace(clause, halves=halves, about=before.about))
        elif _leads(before, clause) and len(lookup.sources_exact(before.target)) == 1:
            halves, span = (clause.target, before.target, IN), (before.span[0], clause.span[1])
            found[-1] = replace(clause, halves=halves, span=span)
        else:
            found.append(clause)
    return found


def _leads(before: Clause, clause: Clause) -> bool:
    """Return whether a source named first may limit the wish after it."""
    if before.only or before.cap or before.condition:
        return False
    # "Show me in Gazette no chess": no comma stands between them.
    return not before.direction or before.last + 1 >= clause.first


def _first_asked(sentence: str, asked: Sequence[tuple[Clause, Question]]) -> Question | None:
    """Return the first question. Each of its answers leaves the others to be asked next."""
    if not asked:
        return None
    question = asked[0][1]
    rest = "".join(f"; {sentence[slice(*clause.span)]}" for clause, _ in asked[1:])
    choices = [replace(one, words=f"{one.words}{rest}") for one in question.choices]
    fitting = tuple(one for one in choices if len(one.words) <= WISH_CHARS_MAX)
    unknown = all(other.unknown for _, other in asked)
    return replace(question, choices=fitting, unknown=unknown)


def _clause_read(clause: Clause, asker: Asker, lookup: Lookup, today: date) -> Wish | Question | str:
    if clause.limit:
        return _impossible(clause, asker, lookup)
    if clause.dated and (clause.until is None or clause.until < today):
        return _ask_until(clause, asker, lookup)
    special = target_special(clause.target)
    if clause.direction in (FRESHER, OLDER) or special in (FRESHER, OLDER):
        return _fresh(clause, special, asker, lookup)
    if (rule := _source_rule(clause, asker, lookup)) is not None:
        return rule
    if clause.is_total or (clause.cap and not clause.target):
        return _(LIMITS[COUNT])
    words = set(clause.target.split())
    if words & TIME_WORDS and words <= TIME_WORDS | FILLERS and not clause.about:
        # "No football this week or weekend": a time that was not read is no word to mute.
        return _(NOT_UNDERSTOOD).format(asker.part)
    if not clause.target or special == "all":
        return _no_target(clause, asker, lookup)
    if clause.direction == UNMUTE and not clause.condition:
        what, where = _source_of(clause, lookup) or (clause.target, None)
        sources = [] if where else lookup.sources_exact(what)
        target = sources[0] if len(sources) == 1 else lookup.word(what)
        return Wish(UNMUTE, target, within=where.key if where else "")
    if (limit := _daily_limit(clause, lookup)) is not None:
        return limit
    if (wish := _muted_within(clause, asker, lookup)) is not None:
        return wish
    if clause.cap or clause.condition or clause.halves:
        bound = _bound(clause, asker, lookup)
        if bound is not None:
            return bound
    if len(clause.target) > TOPIC_MAX_CHARS or (words <= CARRYING and _is_bare(clause, asker)):
        return _(NOT_UNDERSTOOD).format(asker.quoted(clause.target))
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    if not found:
        return _unknown(clause, asker, lookup)
    if len(found) > 1:
        return _ask_which(clause, asker, found)
    return _meant(clause, asker, found[0], lookup)


def _impossible(clause: Clause, asker: Asker, lookup: Lookup) -> Question | str:
    """Return the sentence about a limit; after a question about something known, what can be wished of it."""
    text = _(LIMITS[clause.limit])
    if clause.limit != PRAISE and asker.part != asker.sentence.strip(" .!?"):
        text = f"“{asker.part}”: {text}"
    target = " ".join(word for word in clause.target.split() if word not in ASKING)
    found = lookup.meanings(target, clause.about, subject=clause.subject) if target else []
    if clause.limit != QUESTION or len(found) != 1:
        return text
    return asker.ask(text, [asker.change(direction, found[0]) for direction in (LESS, MORE, NONE)])


def _source_rule(clause: Clause, asker: Asker, lookup: Lookup) -> Wish | Question | str | None:
    """Return the rule for one source that is wished for; `None` if the clause asks for no such rule."""
    kind, _space, hours = clause.rule.partition(" ")
    if not kind:
        return None
    if kind == SHELF and not (hours.isdecimal() and 1 <= int(hours) <= SHELF_HOURS_MAX):
        return _(NO_AGE).format(days=SHELF_HOURS_MAX // 24)
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject) if clause.target else []
    sources = [target for target in found if target.kind == SOURCE]
    among = None if sources else lookup.source_among(clause.target)
    if among and among[1]:
        sources = [among[0]]
    if kind == ALWAYS_SHOWN and not sources:
        return None
    if not clause.target or target_special(clause.target) == "all":
        return _(_NO_SOURCE[kind])
    if len(sources) > 1:
        choices = [asker.rule(clause.rule, source) for source in sources[:OFFERED_MAX]]
        return asker.ask(_("Which “{short}” do you mean?").format(short=asker.quoted(clause.target)), choices)
    if not sources:
        return _rule_of_part(kind, clause, asker) or _rule_of_none(kind, clause, asker, found)
    if kind == OUT_OF_TODAY:
        return _(IS_OUT_OF_TODAY).format(source=sources[0].label)
    if kind == SHELF:
        return Wish(AGE, sources[0], until=clause.until, hours=int(hours))
    return Wish(KEEP, sources[0], until=clause.until)


def _rule_of_part(kind: str, clause: Clause, asker: Asker) -> Question | None:
    """Return the question about a rule for something in one source, which only a mute knows."""
    parts = _source_of(clause, asker.lookup)
    if parts is None:
        return None
    what, where = parts
    target = asker.lookup.word(what, asker.lookup.mute_kinds(what)[0])
    others = [asker.change(MORE, target)] if kind == NEVER_MISS else [asker.change(NONE, target, where)]
    text = _("A change is about one thing: “{}” or “{}”?").format(asker.quoted(what), where.label)
    return asker.ask(text, [asker.rule(clause.rule, where), *others])


def _rule_of_none(kind: str, clause: Clause, asker: Asker, found: Sequence[Target]) -> Question | str:
    """Return the question about a rule for something that is no source of the reader's."""
    among = asker.lookup.source_among(clause.target)
    if among:
        text = _("“{short}”: is this what you mean?").format(short=asker.quoted(clause.target))
        return asker.ask(text, [asker.rule(clause.rule, among[0])])
    near = [] if found else [one for one in asker.lookup.nearest(clause.target) if one.kind == SOURCE]
    if near:
        text = _("I found no source called “{short}”. What do you mean?").format(
            short=asker.quoted(clause.target)
        )
        return asker.ask(text, [asker.rule(clause.rule, source) for source in near])
    text, directions = _ONLY_SOURCES[kind]
    if not found and len(clause.target.split()) > NAME_WORDS_MAX:
        return _(NOT_UNDERSTOOD).format(asker.part)
    targets = found or [asker.lookup.word(clause.target)]
    choices = [asker.change(way, target) for target in targets[:2] for way in directions]
    return asker.ask(f"“{asker.quoted(clause.target)}”: {_(text)}", choices)


def _daily_limit(clause: Clause, lookup: Lookup) -> Wish | None:
    """Return the daily limit that is wished for one source, `None` if it is no such limit."""
    if not clause.cap or clause.condition or clause.halves:
        return None
    most = NUMBERS.get(clause.cap) or (int(clause.cap) if clause.cap.isdecimal() else 0)
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject)
    among = None if found else lookup.source_among(clause.target)
    found = [among[0]] if among and among[1] else found
    if len(found) != 1 or found[0].kind != SOURCE or not 1 <= most <= DAILY_LIMIT_MAX:
        return None
    return Wish(LIMIT, found[0], clause.amount, clause.until, most)


def _source_of(clause: Clause, lookup: Lookup) -> tuple[str, Target] | None:
    """Return the halves of "chess in Gazette": its kind, and the source. `None` if it names no source."""
    if not clause.halves:
        return None
    what, where, between = clause.halves
    # "In Germany" is a place more often than a part of a source's name.
    found = lookup.sources_exact(where) or ([] if between == IN else lookup.sources_partly(where))
    return (what, found[0]) if len(found) == 1 and not lookup.sources_exact(what) else None


def _muted_within(clause: Clause, asker: Asker, lookup: Lookup) -> Wish | Question | str | None:
    """Return the mute of something in one source, or `None` if the clause does not ask for one."""
    parts = _source_of(clause, lookup)
    if parts is None or clause.direction != NONE or clause.cap or clause.condition:
        return None
    what, where = parts
    if target_special(what) in (FRESHER, OLDER):
        return _(NO_AGE).format(days=SHELF_HOURS_MAX // 24)
    if len(what) > TOPIC_MAX_CHARS:
        return None
    given = clause.about if clause.about in (WORD, AUTHOR, CATEGORY) else ""
    kinds = [given] if given else lookup.mute_kinds(what)
    typed = lookup.typed(what)
    targets = [Target(kind, typed, lookup.authors.get(what, typed)) for kind in kinds]
    if len(targets) > 1:
        choices = [asker.change(NONE, target, where) for target in targets]
        return asker.ask(_("Which “{short}” do you mean?").format(short=asker.quoted(what)), choices)
    return Wish(NONE, targets[0], clause.amount, clause.until, within=where.key)


def _bound(clause: Clause, asker: Asker, lookup: Lookup) -> Question | None:
    """Return the question about a count, a condition, or two things at once, which settings cannot express.

    `None` if a target of two halves names no source, because it is one phrase then, or if nothing is named.
    """
    directions = (clause.direction,) if clause.direction in (MORE, LESS, NONE, ADD, UNMUTE) else (MORE, LESS)
    directions = (LESS, NONE) if clause.direction == AGAINST else directions
    about = clause.about
    phrases: Sequence[str] = (clause.target,)
    if clause.cap:
        directions = (LESS,)
        text = _("Only a source has a daily limit, from 1 to 10. Would less of it do?")
    elif clause.condition:
        text = _("Settings has no conditions such as “{condition}”. What do you mean without it?").format(
            condition=asker.quoted(clause.condition)
        )
        directions = (LESS, NONE) if clause.direction == NONE else directions
    else:
        assert clause.halves is not None
        phrases, about = clause.halves[:2], ""
        if clause.halves[2] == ABOUT:
            phrases = phrases[::-1]
        if not any(lookup.sources_exact(p) or lookup.sources_partly(p) for p in phrases):
            return None
        text = _("A change is about one thing: “{}” or “{}”?").format(*(asker.quoted(one) for one in phrases))
    choices = []
    for phrase in phrases:
        found = lookup.meanings(phrase, about, subject=clause.subject) or lookup.nearest(phrase)
        if not found and len(phrase.split()) <= NAME_WORDS_MAX:
            found = [lookup.word(phrase)]
        choices += [asker.change(way, target) for target in found[:OFFERED_MAX] for way in directions]
    if (parts := _source_of(clause, lookup)) and LESS in directions:
        # Less of something in one source: only a mute knows both.
        what, where = parts
        kind = lookup.mute_kinds(what)[0]
        choices.append(asker.change(NONE, lookup.word(what, kind), where))
    return asker.ask(text, choices) if choices else None


def _meant(clause: Clause, asker: Asker, target: Target, lookup: Lookup) -> Wish | Question | str:
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


def _fresh(clause: Clause, special: str, asker: Asker, lookup: Lookup) -> Wish | Question | str:
    """Return the wish about freshness, which counts for all items equally."""
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


def _no_target(clause: Clause, asker: Asker, lookup: Lookup) -> Question | str:
    if clause.length:
        return _(LENGTH_NOTE).format(clause.length)
    if clause.direction not in (*PLAIN_WAYS, AGAINST):
        return _(NOT_UNDERSTOOD).format(asker.part)
    known = [Target(TOPIC, topic, topic) for topic in lookup.names.topics[:2]]
    known += [lookup.source(key) for key in sorted(lookup.names.sources)[:2]]
    direction = LESS if clause.direction in (REMOVE, AGAINST) else clause.direction
    direction = MORE if direction == ADD else direction
    text = _("“{short}”: of what? Name a source, an interest or a word.").format(short=asker.part)
    return asker.ask(text, [asker.change(direction, target) for target in known])


def _unknown(clause: Clause, asker: Asker, lookup: Lookup) -> Wish | Question | str:
    """Return the wish for words that no recent item has. Without a direction there is no wish.

    A word that resembles nothing known stands for itself if the sentence is clear, because wishes are about
    the future, and the change is shown with how few items it is about.
    """
    is_short = len(clause.target.split()) <= (NAME_WORDS_MAX if clause.direction else INHERITED_WORDS_MAX)
    if is_short and (clause.direction == AGAINST or (clause.about and not clause.direction)):
        found = _meant(clause, asker, lookup.word(clause.target), lookup)
        return found if clause.direction or not isinstance(found, Question) else replace(found, unknown=True)
    if clause.length:
        return _(LENGTH_NOTE).format(clause.length)
    if clause.direction not in PLAIN_WAYS:
        return _(NOT_UNDERSTOOD).format(asker.part)
    if len(clause.target.split()) > NAME_WORDS_MAX:
        return _long(clause, asker, lookup)
    if clause.inherited and _SENTENCE & set(fold(asker.sentence[slice(*clause.span)]).split()):
        return _(NOT_UNDERSTOOD).format(asker.part)
    near = lookup.nearest(clause.target)
    if clause.direction in (MORE, LESS) and len(taken := lookup.nearest(clause.target, TAKEN_SHARE)) == 1:
        return Wish(clause.direction, taken[0], clause.amount, clause.until)
    if not near and asker.is_clear and _is_plain(clause):
        return Wish(clause.direction, lookup.word(clause.target), clause.amount, clause.until)
    direction = MORE if clause.direction == ADD else LESS if clause.direction == REMOVE else clause.direction
    choices = [asker.change(direction, target) for target in near]
    ways = (LESS, NONE) if clause.direction == REMOVE else (clause.direction,)
    choices += [asker.change(way, lookup.word(clause.target)) for way in ways]
    text = _("I found no source or recent article about “{short}”. What do you mean?")
    if len(choices) == 1:
        text = _("I found no source or recent article about “{short}”. Is this what you mean?")
    return replace(asker.ask(text.format(short=asker.quoted(clause.target)), choices), unknown=True)


def _long(clause: Clause, asker: Asker, lookup: Lookup) -> Question | str:
    """Return the question whether a name in a long phrase is meant; a note if it has no name in capitals."""
    typed = asker.sentence[clause.begin : clause.end].split()
    named = [word.strip(",.!?'’") for word in typed if word[:1].isupper()][:OFFERED_MAX]
    if not named or len(named) * 2 > len(typed) or clause.direction not in (MORE, LESS, NONE):
        return _(NOT_UNDERSTOOD).format(asker.part)
    choices = [asker.change(clause.direction, lookup.word(fold(name))) for name in named]
    text = _("“{short}”: is this what you mean?").format(short=asker.quoted(clause.target))
    return replace(asker.ask(text, choices), unknown=True)


def _is_clear(clause: Clause, lookup: Lookup) -> bool:
    """Return whether a clause names a direction and a target that is known or could be a name."""
    if not (clause.direction or clause.limit or clause.only or clause.cap or clause.rule):
        return False
    most = INHERITED_WORDS_MAX if clause.inherited else NAME_WORDS_MAX
    if _is_worded(clause.target) and len(clause.target.split()) <= most:
        return True
    return bool(lookup.meanings(clause.target, clause.about, subject=clause.subject))


def _is_bare(clause: Clause, asker: Asker) -> bool:
    """Return whether a target is neither called a word, nor between quotation marks, nor an abbreviation."""
    typed = asker.sentence[clause.begin : clause.end]
    return not clause.about and typed[:1] not in QUOTES and not typed.isupper()


def _is_worded(target: str) -> bool:
    return all(word.isalpha() for word in target.replace("-", " ").split())


def _is_plain(clause: Clause) -> bool:
    """Return whether unknown words can be a clause's target, because the clause names it explicitly."""
    is_way = clause.direction in (MORE, LESS, NONE)
    if not is_way or not _is_worded(clause.target) or clause.about in ("source", "author"):
        return False
    if _PLACED & set(clause.target.split()):
        return False
    if clause.inherited:
        return len(clause.target.split()) <= INHERITED_WORDS_MAX
    # "What they like": after its target, a direction may be part of any sentence.
    return (
        clause.is_contrast
        or clause.first < clause.begin
        or (clause.last > clause.end and clause.direction != MORE)
    )


# A part with one of them is a sentence of its own, "and it annoys me", and goes on with no wish before it.
_SENTENCE = frozenset({"i", "it", "he", "she", "they", "we", "ich", "es", "er", "wir", "das", "man"})
# They place a name in a time, so a phrase with one is no name.
_PLACED = frozenset(
    {"after", "before", "since", "until", "during", "from", "nach", "vor", "seit", "ab", "von"}
)


def _ask_which(clause: Clause, asker: Asker, found: Sequence[Target]) -> Question:
    if clause.direction not in PLAIN_WAYS:
        pairs = [(direction, t) for t in found[:2] for direction in (MORE, LESS)]
        choices = [asker.change(direction, target) for direction, target in pairs]
        return asker.ask(
            _("Which “{short}” do you mean, and more or less of it?").format(
                short=asker.quoted(clause.target)
            ),
            choices,
        )
    direction = clause.direction
    offered = [t for t in found[:OFFERED_MAX] if not (direction in (ADD, REMOVE) and t.kind == SOURCE)]
    choices = [asker.change(direction, t) for t in offered]
    return asker.ask(_("Which “{short}” do you mean?").format(short=asker.quoted(clause.target)), choices)


def _ask_until(clause: Clause, asker: Asker, lookup: Lookup) -> Question:
    text = _("Until when? That day is over, or is none.") if clause.until else _("Until when?")
    how = _("Write a day like 2026-03-18, “until Friday” or “for two weeks”.")
    found = lookup.meanings(clause.target, clause.about, subject=clause.subject) if clause.target else []
    if not found and _is_worded(clause.target) and len(clause.target.split()) in (1, INHERITED_WORDS_MAX):
        found = [lookup.word(clause.target)]
    if clause.direction != NONE or len(found) != 1 or clause.halves:
        return Question(f"{text} {how}")
    mute = replace(asker, clause=replace(clause, until=None)).change(NONE, found[0]).words
    spans = {"for a week": _("For a week"), "for a month": _("For a month"), "": _("Until I change it")}
    return asker.ask(
        f"{text} {how}", [Choice(label, f"{mute} {span}".strip()) for span, label in spans.items()]
    )
