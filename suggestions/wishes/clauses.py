"""Reading one clause of a wish: a change, one question, or a note. Pure.

A clause with two meanings is asked about, never guessed. The answers are the whole sentence with that clause
in words of one meaning.

`clause_read` tries these readings in order, and the first one that fits decides:

| the clause | becomes |
|---|---|
| asks for what no setting can do; has a date that is over | a note; the question until when |
| asks for newer or older (`_fresh`), for a rule for a source (`_source_rule`) | that, a question or a note |
| is a total, or names a time only | a note |
| names nothing, or all (`_no_target`) | a question or a note |
| ends a mute, limits a source (`_source_rule`), mutes within a source (`_muted_within`) | that |
| has a condition or two halves (`_bound`) | a question, if one helps |
| has a target of no (`_unknown`), several (`_ask_which`) or one meaning (`_meant`) | a change, if of one |
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ranking.common.text import FUNCTION_WORDS, TOPIC_MAX_CHARS, fold, topic_key
from ranking.language import gettext as _
from ranking.language import gettext_noop
from ranking.source_rules import DAILY_LIMIT_MAX, SHELF_HOURS_MAX
from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.changes.daily_limits import LIMIT
from suggestions.changes.never_missed import KEEP
from suggestions.changes.shelf_lives import AGE
from suggestions.wishes import lexicon, limits
from suggestions.wishes.grammar import Clause
from suggestions.wishes.last_days import NUMBERS
from suggestions.wishes.lexicon import AGAINST, UNCLEAR, target_special
from suggestions.wishes.lookup import OFFERED_MAX, Lookup, means_nothing
from suggestions.wishes.offers import lead
from suggestions.wishes.questions import IS_THIS, WHICH, Asker, target_words
from suggestions.wishes.rule_words import ALWAYS_SHOWN, NEVER_MISS, OUT_OF_TODAY, SHELF
from suggestions.wishes.tokens import TOTAL
from suggestions.wishes.unknown import (
    INHERITED_WORDS_MAX,
    NAME_WORDS_MAX,
    is_bare,
    is_plain,
    is_worded,
)
from suggestions.wishes.ways import PLAIN_WAYS
from suggestions.wishes.wish import (
    AUTHOR,
    CATEGORY,
    FRESHNESS,
    SOURCE,
    TASTE,
    TOPIC,
    WORD,
    Choice,
    Question,
    Target,
    Wish,
)

ALL_FRESH, ALL_TASTE = Target(FRESHNESS, FRESHNESS, FRESHNESS), Target(TASTE, TASTE, TASTE)
LENGTH_NOTE = gettext_noop("“{}”: settings know nothing of an item’s length, so that was left out.")
# What a clause becomes that is not understood.
MISSED = ""
# A name this close is taken for the intended one. The change is shown before it is made.
TAKEN_SHARE = 0.9
# What only a source can have, and the changes that a word can have instead.
_ONLY_SOURCES = {
    LIMIT: (gettext_noop("Only a source has a daily limit, from 1 to 10. Would less of it do?"), (LESS,)),
    SHELF: (gettext_noop("Only a source has a shelf life. Would less of it do?"), (LESS, NONE)),
    NEVER_MISS: (gettext_noop("Only a source can be never missed. Is more of it what you mean?"), (MORE,)),
    OUT_OF_TODAY: (
        gettext_noop("Only a source can be kept out of Today. Would less of it do?"),
        (LESS, NONE),
    ),
}
_NO_SOURCE = {
    LIMIT: limits.LIMITS[limits.COUNT],
    SHELF: gettext_noop("A shelf life is for one source: “nothing older than two days from Gazette”."),
    NEVER_MISS: gettext_noop("Name the source that you never want to miss: “never miss Gazette”."),
    OUT_OF_TODAY: gettext_noop("Name the source that should stay out of Today."),
}
IS_OUT_OF_TODAY = gettext_noop(
    "“{source}” stays out of Today, but in All, if you switch off “In Today, if it is among the best” on the "
    "page of the source."
)
NO_AGE = gettext_noop(
    "A shelf life is from 1 hour to {days} days: “nothing older than two days from Gazette”."
)


def clause_read(asker: Asker, today: date) -> Wish | Question | str:
    """Return the wish, the question or the note that the clause of `asker` becomes; `MISSED` for none."""
    clause = asker.clause
    if clause.limit:
        return _impossible(asker)
    if clause.dated and (clause.until is None or clause.until < today):
        return _ask_until(asker)
    special = target_special(clause.target)
    is_fresh = clause.direction in (FRESHER, OLDER) or special in (FRESHER, OLDER)
    if is_fresh and (special or not clause.rule):
        return _fresh(special, asker)
    if (rule := _source_rule(asker)) is not None:
        return rule
    words = set(clause.target.split())
    if (
        words & lexicon.SETS["times"]
        and words <= lexicon.SETS["times"] | lexicon.FILLERS
        and not clause.about
    ):
        # "No football this week or weekend": a time that was not read is no word to mute.
        return MISSED
    # "Bring back what I muted."
    is_all = special == "all" or (clause.direction == UNMUTE and words <= lexicon.CARRYING)
    if not clause.target or is_all:
        return _no_target(asker)
    if clause.direction == UNMUTE and not clause.condition:
        return _unmute(asker)
    if (wish := _muted_within(asker)) is not None:
        return wish
    if clause.condition or clause.halves:
        bound = _bound(asker)
        if bound is not None:
            return bound
    if len(clause.target) > TOPIC_MAX_CHARS or (words <= lexicon.CARRYING and is_bare(asker)):
        return MISSED
    found = asker.found
    if len(found) > 1:
        return _ask_which(asker, found)
    return _meant(asker, found[0]) if found else _unknown(asker)


# How much ratings count, by the direction of a clause about them.
_BY_TASTE = {**dict.fromkeys((MORE, ADD), MORE), LESS: LESS, **dict.fromkeys((NONE, AGAINST, REMOVE), NONE)}


def _impossible(asker: Asker) -> Wish | Question | str:
    """Return the sentence about a limit; after a question about something known, what can be wished of it.

    How much taste counts is said in as many ways as what settings cannot do, so it is read here, too.
    """
    clause, text = asker.clause, _(limits.LIMITS[asker.clause.limit])
    muted = asker.lookup.muted(clause.target) if clause.limit == limits.UNDO and clause.target else []
    if len(muted) == 1:
        # "I hid chess by mistake."
        return Wish(UNMUTE, muted[0])
    if clause.limit == limits.TASTE and clause.direction in _BY_TASTE:
        return Wish(_BY_TASTE[clause.direction], ALL_TASTE, clause.amount)
    if clause.limit == limits.TASTE:
        return asker.ask(text, [asker.alike(TASTE, MORE), asker.alike(TASTE, LESS)])
    if clause.limit != limits.PRAISE and asker.part != asker.sentence.strip(" .!?"):
        text = f"“{asker.part}”: {text}"
    if clause.limit not in (limits.QUESTION, limits.VARIETY):
        return text
    target = " ".join(word for word in clause.target.split() if word not in limits.ASKING)
    found = replace(asker, clause=replace(clause, target=target)).found
    named = found[0] if len(found) == 1 else asker.lookup.named_in(target)
    ways = (LESS, MORE, NONE) if clause.limit == limits.QUESTION else (LESS,)
    return asker.ask(text, asker.changes(ways, [named])) if named else text


def _source_rule(asker: Asker) -> Wish | Question | str | None:
    """Return the rule for one source that is wished for; `None` if the clause asks for no such rule."""
    clause, lookup, rule = asker.clause, asker.lookup, asker.clause.rule
    kind, _space, number = rule.partition(" ")
    if not kind or (kind == LIMIT and clause.condition):
        return None
    if kind == SHELF and not (number.isdecimal() and 1 <= int(number) <= SHELF_HOURS_MAX):
        return _(NO_AGE).format(days=SHELF_HOURS_MAX // 24)
    found = asker.found
    sources = [target for target in found if target.kind == SOURCE]
    among = None if sources else lookup.source_among(clause.target)
    sources = [among[0]] if among and not among[1] else sources
    if kind == ALWAYS_SHOWN and not sources:
        return None
    is_kind = clause.target in lexicon.KIND_WORDS or clause.target in ("quelle", "seite")
    if not clause.target or is_kind or target_special(clause.target) == "all":
        return _(_NO_SOURCE[kind])
    if number.startswith(TOTAL):
        return _(limits.LIMITS[limits.COUNT])
    most = NUMBERS.get(number) or (int(number) if number.isdecimal() else 0)
    if kind == LIMIT and (len(found or sources) > 1 or not sources or not 1 <= most <= DAILY_LIMIT_MAX):
        choices = asker.changes([LESS], _named(asker))
        return asker.ask(_(_ONLY_SOURCES[LIMIT][0]), choices) if choices else MISSED
    if len(sources) > 1:
        return asker.ask(_(WHICH), [asker.rule(rule, source) for source in sources[:OFFERED_MAX]])
    if not sources:
        return _rule_of_none(rule, asker, among[0] if among else None)
    if kind == OUT_OF_TODAY:
        return _(IS_OUT_OF_TODAY).format(source=sources[0].label)
    wish = Wish(KEEP, sources[0], clause.amount, clause.until)
    if kind == LIMIT:
        return replace(wish, direction=LIMIT, most=most)
    return replace(wish, direction=AGE, hours=int(number)) if kind == SHELF else wish


def _named(asker: Asker) -> list[Target]:
    """Return what the target may mean, or nearly, or the words themselves if they are few."""
    target = asker.clause.target
    among = asker.lookup.source_among(target)
    found = asker.found or ([among[0]] if among else asker.lookup.nearest(target))
    return found or ([asker.lookup.word(target)] if len(target.split()) <= NAME_WORDS_MAX else [])


def _rule_of_none(rule: str, asker: Asker, among: Target | None) -> Question | str:
    """Return the question about a rule for something that is no source of the reader's."""
    clause, lookup, kind = asker.clause, asker.lookup, rule.partition(" ")[0]
    if parts := _source_of(asker):
        # A rule for something in one source, which only a mute knows.
        what, where = parts
        other = asker.change(MORE, lookup.word(what)) if kind == NEVER_MISS else asker.muted_in(what, where)
        text = _("A change is about one thing: “{}” or “{}”?").format(asker.quoted(what), where.label)
        return asker.ask(text, [asker.rule(rule, where), other])
    if among:
        return asker.ask(_(IS_THIS), [asker.rule(rule, among)])
    found = asker.found
    near = [] if found else [one for one in lookup.nearest(clause.target) if one.kind == SOURCE]
    if near:
        text = _("I found no source called “{short}”. What do you mean?")
        return asker.ask(text, [asker.rule(rule, source) for source in near])
    text, ways = _ONLY_SOURCES[kind]
    if not found and len(clause.target.split()) > NAME_WORDS_MAX:
        return MISSED
    targets = found or [lookup.word(clause.target)]
    return asker.ask(f"“{{short}}”: {_(text)}", asker.changes(ways, targets[:2]))


def _unmute(asker: Asker) -> Wish:
    what, where = _source_of(asker) or (asker.clause.target, None)
    found = [] if where else asker.lookup.muted(what) or asker.lookup.sources_exact(what)
    target = found[0] if len(found) == 1 else asker.lookup.word(what)
    return Wish(UNMUTE, target, within=where.key if where else "")


def _source_of(asker: Asker) -> tuple[str, Target] | None:
    """Return the halves of "chess in Gazette": its kind, and the source. `None` if it names no source."""
    if not asker.clause.halves:
        return None
    (what, where, between), lookup = asker.clause.halves, asker.lookup
    # "In Germany" is a place more often than a part of a source's name.
    found = lookup.sources_exact(where) or ([] if between == "in" else lookup.sources_partly(where))
    return (what, found[0]) if len(found) == 1 and not lookup.sources_exact(what) else None


def _muted_within(asker: Asker) -> Wish | str | None:
    """Return the mute of something in one source, or `None` if the clause does not ask for one."""
    clause, lookup, parts = asker.clause, asker.lookup, _source_of(asker)
    if parts is None or clause.direction != NONE or clause.rule or clause.condition:
        return None
    what, where = lookup.plain(parts[0]), parts[1]
    if target_special(what) in (FRESHER, OLDER):
        return _(NO_AGE).format(days=SHELF_HOURS_MAX // 24)
    if len(what) > TOPIC_MAX_CHARS:
        return None
    kind = clause.about if clause.about in (WORD, AUTHOR, CATEGORY) else lookup.mute_kind(what)
    typed = lookup.typed(what)
    target = Target(kind, typed, lookup.authors.get(what, typed))
    return Wish(NONE, target, clause.amount, clause.until, within=where.key)


def _bound(asker: Asker) -> Question | None:
    """Return the question about a condition, or two things at once, which settings cannot express.

    `None` if a target of two halves names no source, because it is one phrase then, or if nothing is named.
    """
    clause, lookup = asker.clause, asker.lookup
    ways = (clause.direction,) if clause.direction in (MORE, LESS, NONE, ADD, UNMUTE) else (MORE, LESS)
    ways = (LESS, NONE) if clause.direction == AGAINST else ways
    if clause.condition:
        phrases: Sequence[str] = (clause.target,)
        text = _("Settings has no conditions such as “{condition}”. What do you mean without it?").format(
            condition=asker.quoted(clause.condition)
        )
        ways = (LESS, NONE) if clause.direction == NONE else ways
    else:
        assert clause.halves is not None
        phrases = [*clause.halves[1::-1]] if clause.halves[2] == "about" else [*clause.halves[:2]]
        if not any(lookup.sources_exact(p) or lookup.sources_partly(p) for p in phrases):
            return None
        text = _("A change is about one thing: “{}” or “{}”?").format(*(asker.quoted(one) for one in phrases))
    about = clause.about if clause.condition else ""
    halves = [replace(asker, clause=replace(clause, target=phrase, about=about)) for phrase in phrases]
    choices = [choice for half in halves for choice in asker.changes(ways, _named(half))]
    if (parts := _source_of(asker)) and LESS in ways:
        # Less of something in one source: only a mute knows both.
        choices.append(asker.muted_in(*parts))
    where = lookup.source_among(clause.condition)
    if where and lexicon.SETS["leaving out"].isdisjoint(clause.condition.split()):
        choices.append(asker.muted_in(clause.target, where[0]))
    return asker.ask(text, choices) if choices else None


def _meant(asker: Asker, target: Target) -> Wish | Question | str:
    """Return the wish about a known target, or a question about its direction."""
    clause, about = asker.clause, target_words(target)
    if clause.direction == REMOVE and clause.until:
        # "Remove Gazette for a week": only a mute ends by itself.
        asker = replace(asker, clause=(clause := replace(clause, direction=NONE)))
    if clause.only:
        text = _("Settings cannot show {about} alone. Is more of it what you mean?").format(about=about)
        return asker.ask(text, asker.changes((LESS, MORE) if "?" in asker.sentence else (MORE,), [target]))
    if asked := _directions_open(clause, target, asker.lookup):
        text, ways = asked
        # A name among other words, and no direction: a model may read more of it.
        is_among = len(asker.sentence[clause.begin : clause.end].split()) > len(clause.target.split())
        unknown = is_among and not clause.direction
        choices = asker.changes(ways, [target])
        everyday = lexicon.SETS["everyday nouns"]
        if (asker.found or is_plain(asker)) and not everyday.issuperset(clause.target.split()):
            choices = lead(asker, choices, ways)
        return replace(asker.ask(text.format(about), choices), unknown=unknown)
    if clause.direction == NONE and target.kind in (WORD, TOPIC):
        is_word = clause.about == "word"
        target = target if is_word else asker.worded(target)
        target = replace(target, kind=WORD if is_word else asker.lookup.mute_kind(target.key))
    return Wish(clause.direction, target, clause.amount, clause.until)


def _directions_open(clause: Clause, target: Target, lookup: Lookup) -> tuple[str, tuple[str, ...]] | None:
    """Return the question about the direction, and its answers; `None` if it is clear."""
    direction, kind = clause.direction, target.kind
    if direction in ("", UNCLEAR, lexicon.SO_MUCH):
        return _("More or less of {}?"), (MORE, LESS, NONE)
    listed = kind == TOPIC and topic_key(target.key) in map(topic_key, lookup.names.listed)
    if direction == AGAINST or (direction == REMOVE and not listed):
        return _("Less of {}, or nothing of it?"), (LESS, NONE)
    if direction == ADD and kind == SOURCE:
        return _("You read {} already. Do you mean more of it?"), (MORE,)
    if direction == NONE and listed and clause.about != "word" and not clause.until:
        return _("{} is one of your interests. What do you mean?"), (REMOVE, NONE)
    return None


def _fresh(special: str, asker: Asker) -> Wish | Question | str:
    """Return the wish about freshness, which counts for all items equally."""
    clause, opposite = asker.clause, {FRESHER: OLDER, OLDER: FRESHER}
    ways = {way: asker.alike(FRESHNESS, way) for way in opposite}
    if clause.direction not in opposite and special:
        wanted = {MORE: special, LESS: opposite[special], NONE: opposite[special]}.get(clause.direction)
        if wanted and not clause.inherited:
            return Wish(wanted, ALL_FRESH, clause.amount, clause.until)
        return asker.ask(_("Newer items first, or items that stay longer?"), [*ways.values()])
    found = [] if special else asker.found
    if not found and (special or all(map(_is_generic, clause.target.split()))):
        return Wish(clause.direction, ALL_FRESH, clause.amount, clause.until)
    text = _("Freshness counts for all items alike. What do you mean?")
    return asker.ask(text, [ways[clause.direction], *asker.changes([MORE], found)])


def _is_generic(word: str) -> bool:
    return word in lexicon.SUBJECT_WORDS | lexicon.TELLING or means_nothing(word)


def _no_target(asker: Asker) -> Question | str:
    clause, lookup = asker.clause, asker.lookup
    if clause.length:
        return _(LENGTH_NOTE).format(clause.length)
    if clause.direction not in (*PLAIN_WAYS, AGAINST, UNMUTE):
        return MISSED
    known = [Target(TOPIC, topic, topic) for topic in lookup.names.topics[:2]]
    known += [lookup.source(key) for key in sorted(lookup.names.sources)[:2]]
    known = lookup.muted("") if clause.direction == UNMUTE else known
    way = {REMOVE: LESS, AGAINST: LESS, ADD: MORE}.get(clause.direction, clause.direction)
    text = _("“{short}”: of what? Name a source, an interest or a word.").format(short=asker.part)
    return asker.ask(text, asker.changes([way], known))


def _unknown(asker: Asker) -> Wish | Question | str:
    """Return the wish for words that no recent item has. Without a direction there is no wish.

    A word that resembles nothing known stands for itself if the sentence is clear, because wishes are about
    the future, and the change is shown with how few items it is about.
    """
    clause, lookup = asker.clause, asker.lookup
    direction, words = clause.direction, clause.target.split()
    taken = lookup.nearest(clause.target, TAKEN_SHARE) if direction in (MORE, LESS) else []
    if len(taken) == 1:
        return Wish(direction, taken[0], clause.amount, clause.until)
    if among := lookup.source_among(clause.target):
        ways = (direction,) if direction in (MORE, LESS, NONE) else (MORE, LESS)
        choices = asker.changes(ways, [among[0]])
        if direction == NONE and among[1] and is_worded(among[1]):
            # "No Gazette opinion".
            choices.append(asker.muted_in(among[1], among[0]))
        asked = replace(asker.ask(_(IS_THIS), choices), unknown=not direction)
        return asked if among[1] else _meant(asker, among[0])
    form = clause.halves[1] if clause.halves else words[-1]
    if form in limits.FORM_WORDS and (direction != NONE or clause.halves):
        return f"“{asker.part}”: {_(limits.LIMITS[limits.FORMS])}"
    is_short = len(words) <= (NAME_WORDS_MAX if direction else INHERITED_WORDS_MAX)
    if is_short and (direction == AGAINST or (not direction and (clause.about or clause.only))):
        found = _meant(asker, lookup.word(clause.target))
        return replace(found, unknown=not direction) if isinstance(found, Question) else found
    # "And it annoys me" is a sentence of its own, and goes on with no wish before it.
    spoken = fold(asker.sentence[slice(*clause.span)]).split()
    is_sentence = clause.inherited and not lexicon.SETS["sentences"].isdisjoint(spoken)
    is_everyday = is_bare(asker) and {*words} <= FUNCTION_WORDS | lexicon.SETS["everyday nouns"]
    if direction not in PLAIN_WAYS or is_everyday or (is_sentence and len(words) <= NAME_WORDS_MAX):
        return MISSED
    if len(words) > NAME_WORDS_MAX:
        return _long(asker)
    near = lookup.nearest(clause.target) or lookup.interests_in(clause.target)
    if not near and asker.is_clear and is_plain(asker):
        return Wish(direction, lookup.word(clause.target), clause.amount, clause.until)
    way = {ADD: MORE, REMOVE: LESS}.get(direction, direction)
    ways = (LESS, NONE) if direction == REMOVE else (direction,)
    choices = [*asker.changes([way], near), *asker.changes(ways, [lookup.word(clause.target)])]
    text = _("I found no source or recent article about “{short}”. What do you mean?")
    if len(choices) == 1:
        text = _("I found no source or recent article about “{short}”. Is this what you mean?")
    return replace(asker.ask(text, choices), unknown=True)


def _long(asker: Asker) -> Question | str:
    """Return the question whether a name in a long phrase is meant; `MISSED` if none has a capital."""
    clause = asker.clause
    typed = asker.sentence[clause.begin : clause.end].split()
    named = [word.strip(",.!?'’") for word in typed if word[:1].isupper()]
    if not named or len(named[:OFFERED_MAX]) * 2 > len(typed) or clause.direction not in (MORE, LESS, NONE):
        return MISSED
    choices = asker.changes([clause.direction], [asker.lookup.word(fold(name)) for name in named])
    return replace(asker.ask(_(IS_THIS), choices), unknown=True)


def _ask_which(asker: Asker, found: Sequence[Target]) -> Question:
    direction = asker.clause.direction
    if direction == AGAINST:
        return asker.ask(_(WHICH), asker.changes((LESS, NONE), found[:2]))
    if direction not in PLAIN_WAYS:
        text = _("Which “{short}” do you mean, and more or less of it?")
        return asker.ask(text, asker.changes((MORE, LESS), found[:2]))
    listed = map(topic_key, asker.lookup.names.listed)
    if direction == REMOVE and not {topic_key(one.key) for one in found}.intersection(listed):
        return asker.ask(_(WHICH), asker.changes((LESS, NONE), found[:2]))
    offered = [t for t in found if not (direction in (ADD, REMOVE) and t.kind == SOURCE)]
    return asker.ask(_(WHICH), asker.changes([direction], offered))


def _ask_until(asker: Asker) -> Question:
    clause, found = asker.clause, asker.found
    text = _("Until when? That day is over, or is none.") if clause.until else _("Until when?")
    text = f"{text} {_('Write a day like 2026-03-18, “until Friday” or “for two weeks”.')}"
    if not found and is_worded(clause.target) and len(clause.target.split()) in (1, INHERITED_WORDS_MAX):
        found = [asker.lookup.word(clause.target)]
    if clause.direction != NONE or len(found) != 1 or clause.halves:
        return Question(text)
    mute = replace(asker, clause=replace(clause, until=None)).change(NONE, found[0]).words
    spans = {"for a week": _("For a week"), "for a month": _("For a month"), "": _("Until I change it")}
    return asker.ask(text, [Choice(label, f"{mute} {span}".strip()) for span, label in spans.items()])
