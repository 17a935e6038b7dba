"""What a reader may mean where the grammar cannot tell: the things their words name, the likely deeds. Pure.

The things are looked for in this order of sureness: sources, interests and authors of the reader's, words of
the week's articles, and other words that stand where a subject stands. The deeds are ordered by whether the
words around lean to less or to more.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby, pairwise

from digest.llm.phishing import word_known
from ranking.common.text import FUNCTION_WORDS, TOPIC_MAX_CHARS, fold
from ranking.language import gettext_noop
from suggestions.changes.change import ADD, FRESHER, LESS, MORE, NONE, OLDER, REMOVE, UNMUTE
from suggestions.wishes import lexicon
from suggestions.wishes.german import GERMAN_WORDS
from suggestions.wishes.last_days import DAYS, MONTHS
from suggestions.wishes.lookup import CARRIERS, NOTHING_MEANT, Lookup
from suggestions.wishes.questions import Asker
from suggestions.wishes.rule_words import NEVER_MISS
from suggestions.wishes.stance import sentences_in
from suggestions.wishes.tokens import (
    BETWEEN,
    CONDITION,
    DIRECTION,
    NAME,
    RULE,
    START,
    UNTIL,
    WORD,
    Token,
    tokens_read,
)
from suggestions.wishes.unknown import EVERYDAY, NAME_WORDS_MAX
from suggestions.wishes.wish import SOURCE, WISHES_MAX, Choice, Target
from suggestions.wishes.wish import WORD as WORD_KIND

HOW_MEANT = gettext_noop("I am not sure how you mean “{}”. Is one of these right?")
# So many things, and choices, in one question.
NAMED_MAX, CHOICES_MAX = 4, 8
# A word this near after a direction is what it is about, as in "more the space".
GAP_CHARS_MAX = 5
# So much of a title tells it, if a half-remembered second word stands after a hyphen.
HALF_CHARS_MIN = 4
# A thing this much less sure than the surest is left out, and anything less sure beside one that only stands
# where a subject stands.
SURE_SPAN = 1
_KNOWN, _PARTLY, _FOUND, _RARE = 6, 5, 3, 1
_AFTER_ABOUT, _CAPITAL = 2, 1
_WAYS = {-2: (NONE, LESS, MORE), -1: (LESS, NONE, MORE), 0: (LESS, MORE, NONE), 1: (MORE, LESS, NONE)}
# After them the words before tell no lean.
_NEW_PARTS = frozenset({".", "!", "?", "but"})
_LESS_WAYS = {LESS, NONE, REMOVE, lexicon.AGAINST, lexicon.SO_MUCH}
_MORE_WAYS = {MORE, ADD, UNMUTE, lexicon.WEAK, lexicon.MISS}
# A thing this sure leads, if it is the only one; any, and several, lead in a text with so few tokens.
_SURE, SHORT_TOKENS_MAX = 2, 16


def offered_by(asker: Asker, text: str, today: date, ways: Sequence[str] = ()) -> list[Choice]:
    """Return what may be wished of the things that `text`, a part of the sentence, names.

    `ways` are the deeds to offer, the likeliest first; without any the words around the things tell.
    """
    tokens = tokens_read(text, asker.lookup.known, today)
    things = things_in(text, tokens, asker.lookup)
    days = [token.day for token in tokens if token.kind == UNTIL and token.day]
    dated = replace(asker, clause=replace(asker.clause, until=days[-1] if days else None))
    found: list[Choice] = []
    likeliest: list[Choice] = []
    for one in things:
        likely = ways or _WAYS[max(one.lean, -1) if one.thing.kind == SOURCE else one.lean]
        here = [*_deeds(asker, one.thing, likely[: 3 if len(things) < NAMED_MAX else 2])]
        if one.beside and likely[0] != MORE:
            here.insert(0, asker.muted_in(one.beside, one.thing))
        if days and likely[0] != MORE:
            # Only a mute ends by itself.
            here.insert(0, dated.change(NONE, one.thing))
        likeliest.append(here[0])
        found += here
    is_short = len(tokens) <= SHORT_TOKENS_MAX
    least = _FOUND if things[1:] else _RARE if is_short else _SURE
    leads = (is_short or not things[1:]) and all(one.sure >= least for one in things)
    lookup, words = (
        asker.lookup,
        [one.thing.key for one in things[1:] and things if one.thing.kind == WORD_KIND],
    )
    leads = leads and all(lookup.is_found(fold(word)) for word in words)
    leads = leads and (bool(ways) or all(one.is_clear for one in things)) and _is_free(tokens)
    if (ways or all(one.lean for one in things)) and 1 < len(likeliest) <= WISHES_MAX:
        both = "; ".join(one.label for one in likeliest), "; ".join(one.words for one in likeliest)
        return [Choice(*both, leads), *found]
    if len(things) == 1:
        found[0] = replace(found[0], leads=leads)
    return found


def _deeds(asker: Asker, thing: Target, ways: Sequence[str]) -> Iterator[Choice]:
    """Yield the choices of `ways` for a thing, and of a source the rule that goes with the likeliest."""
    yield asker.change(ways[0], thing)
    if thing.kind == SOURCE and ways[0] == MORE:
        yield asker.rule(NEVER_MISS, thing)
    yield from asker.changes(ways[1:], [thing])
    if thing.kind == SOURCE and ways[0] != MORE:
        yield asker.limit(thing, 1)


def _lean(tokens: Sequence[Token]) -> int:
    """Return -1 if the words lean to less, -2 to none, 1 to more, and 0 if nothing tells."""
    less, more = _signs(tokens)
    spoken = {token.typed for token in tokens}
    if less == more == 0:
        return -bool(spoken & lexicon.SETS["hints of less"])
    if less > more:
        return -2 if any(token.value in (NONE, REMOVE) for token in tokens) else -1
    return int(more > less)


def _signs(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return how many words lean to less, and how many to more. Denied, those for more lean to less."""
    values = {token.value for token in tokens if token.kind == DIRECTION}
    spoken = {word for token in tokens for word in (token.typed, token.text)}
    is_denied = lexicon.NOT in values or not lexicon.SETS["denials"].isdisjoint(spoken)
    if is_denied and not lexicon.SETS["bothers"].isdisjoint(spoken):
        # "I don't mind chess."
        return 0, 0
    if is_denied and not spoken.isdisjoint(("enough", "genug")):
        return 0, 1
    less = len(values & _LESS_WAYS) + len(spoken & lexicon.SETS["leaning to less"]) + _is_too(tokens)
    more = len(values & _MORE_WAYS) + len(spoken & lexicon.SETS["leaning to more"])
    if values & {LESS, NONE, REMOVE}:
        # "I want to read no more of it."
        more = len(values & {MORE, ADD, UNMUTE, lexicon.MISS})
    if lexicon.UNCLEAR in values and not is_denied and not less:
        # "Hardly any books", "where is the chess".
        more += 1
    return (
        (less + more, 0)
        if is_denied and (less == 0 or more == 0) and less + more
        else (less + is_denied, more)
    )


def _is_too(tokens: Sequence[Token]) -> bool:
    """Return whether something is "too dry"; "me, too" and "zu Hause" say nothing of that."""
    befores = lexicon.SETS["before too"]
    return any(one.typed in befores and other.typed in ("too", "zu") for one, other in pairwise(tokens))


def lead(asker: Asker, choices: Sequence[Choice], ways: Sequence[str]) -> list[Choice]:
    """Return the choices of `ways`, one each, first the one that the sentence clearly leans to."""
    sentence, direction = asker.sentence, asker.clause.direction
    tokens, at = tokens_read(sentence, asker.lookup.known, date.min), asker.clause.begin
    here = next((part for part in _parts(tokens) if part[-1].end > at), [])
    likely = _WAYS[_lean(here)][0] if is_clear(here, at) else ""
    is_bound = direction in (NONE, ADD) or not _is_free(tokens)
    if is_bound or not lexicon.SETS["bothers"].isdisjoint(token.typed for token in here):
        return [*choices]
    likely = {lexicon.AGAINST: LESS, lexicon.SO_MUCH: LESS, REMOVE: NONE}.get(direction, likely)
    if likely not in ways or direction == lexicon.UNCLEAR:
        return [*choices]
    place = ways.index(likely)
    return [replace(choices[place], leads=True), *choices[:place], *choices[place + 1 :]]


def _parts(tokens: Sequence[Token]) -> list[list[Token]]:
    groups = groupby(tokens, key=lambda token: token.kind == BETWEEN)
    return [[*group] for joins, group in groups if not joins]


def _is_free(tokens: Sequence[Token]) -> bool:
    """Return whether words set no condition, and no time but a last day."""
    spoken = {token.typed for token in tokens} | {token.text for token in tokens}
    is_set = any(token.kind in (CONDITION, RULE, START) and token.text != "since" for token in tokens)
    return not is_set and spoken.isdisjoint(_TIMES | lexicon.SETS["times set"])


def _lean_of_all(tokens: Sequence[Token]) -> int:
    """Return the lean of words that all lean one way, the strongest; 0 if they do not."""
    leans = {_lean(part) for part in _parts(tokens)}
    return 0 if 1 in leans and leans & {-1, -2} else 1 if 1 in leans else min(leans, default=0)


def is_clear(tokens: Sequence[Token], at: int) -> bool:
    """Return whether the words around the place `at` lean one way alone.

    Other parts count if they speak of it: "Gazette again. I can't stand it."
    """
    less = more = False
    for part in _parts(tokens):
        signs = _signs(part)
        is_here = part[0].begin <= at < part[-1].end
        if any(signs) and not is_here and lexicon.SETS["of it"].isdisjoint(token.typed for token in part):
            return False
        less, more = less or bool(signs[0]), more or bool(signs[1])
    return less != more


@dataclass(frozen=True, slots=True)
class Named:
    """A thing that words name: how sure that is, the lean of the words around, and a word beside a source.

    `is_clear`: nothing around its place `at` leans another way.
    """

    thing: Target
    sure: int
    lean: int
    beside: str = ""
    is_clear: bool = False
    at: int = 0


def things_in(text: str, tokens: Sequence[Token], lookup: Lookup) -> list[Named]:
    """Return up to `NAMED_MAX` things that `text` names, the surest first, and those about as sure."""
    found: dict[Target, Named] = {}
    whole = lean = _lean(tokens)
    for joins, group in groupby(tokens, key=lambda token: token.kind == BETWEEN):
        part = [*group]
        lean = whole if joins and part[-1].text in _NEW_PARTS else lean
        lean = _lean(part) or lean
        here: list[Named] = []
        for run, way, is_about in _runs(part, text):
            near = _lean([way]) if way else lean
            # A verb stands after "not": "does not belong".
            is_led = way is not None and way.value != lexicon.NOT and way.end + GAP_CHARS_MAX >= run[0].begin
            is_about = is_about or is_led
            # Words after "about" or "über" are what a sentence is about.
            about = _AFTER_ABOUT * is_about
            here += [
                Named(
                    thing,
                    max(sure, min(sure + about, _FOUND)),
                    near,
                    is_clear=is_clear(part, run[0].begin),
                    at=run[0].begin,
                )
                for thing, sure in _things(run, text, lookup, is_about=is_about)
            ]
        words = [one.thing.key for one in here if one.thing.kind == WORD_KIND and one.sure >= _FOUND]
        for one in here:
            beside = words[0] if one.thing.kind == SOURCE and len(words) == 1 else ""
            if one.sure > found.get(one.thing, one).sure or one.thing not in found:
                found[one.thing] = replace(one, beside=beside)
    most = max((one.sure for one in found.values()), default=0)
    least = most - SURE_SPAN if most >= _FOUND else most
    named = sorted(found.values(), key=lambda one: -one.sure)
    named = [one for one in named if one.sure >= least][:NAMED_MAX]
    if len(named) == 1:
        [one] = named
        every = _lean_of_all(tokens)
        lean = min(every, one.lean) if every * one.lean > 0 else one.lean or every
        return [replace(one, lean=lean, is_clear=is_clear(tokens, one.at) and every * lean > 0)]
    return named


def _runs(tokens: Sequence[Token], text: str) -> Iterator[tuple[list[Token], Token | None, bool]]:
    """Yield words that stand together and mean something.

    With the direction right before them, if any, and whether an "about" stands before them.
    """
    run: list[Token] = []
    is_about, way = False, None
    for token in tokens:
        # "Black Friday", "Formel 1": a day or a number may end a name.
        is_end = token.kind == WORD and (token.text.isdecimal() or token.text in _TIMES)
        if _means(token, text) or (run and is_end):
            run.append(token)
            continue
        if run:
            yield run, way, is_about
            run, is_about, way = [], False, None
        way = token if token.kind == DIRECTION else way
        if not lexicon.SETS["leaving out"].isdisjoint((token.text, token.typed)):
            # "Everything away except chess."
            way = replace(token, kind=DIRECTION, value=MORE)
        if token.typed not in lexicon.SETS["articles"] and token.value not in (FRESHER, OLDER):
            is_about = not lexicon.SETS["about"].isdisjoint((token.text, token.typed))
    if run:
        yield run, way, is_about


_TIMES = {*DAYS, *MONTHS, *lexicon.SETS["day parts"], *lexicon.SETS["periods"]}


def _means(token: Token, text: str) -> bool:
    if token.kind == NAME:
        # "TIME" is a source, "time" is not.
        return token.text not in NOTHING_MEANT or not text[token.begin : token.end].islower()
    word = token.typed
    if token.kind != WORD or token.text != word or not word[:1].isalpha() or len(word) < 2:
        return False
    is_empty = (
        word in FUNCTION_WORDS or word in CARRIERS or word in lexicon.SUBJECT_WORDS or word in GERMAN_WORDS
    )
    return not is_empty and word not in _TIMES and word not in NOTHING_MEANT


def _things(
    run: Sequence[Token], text: str, lookup: Lookup, *, is_about: bool
) -> Iterator[tuple[Target, int]]:
    """Yield the things that a run of words names, the longest known name first, each with how sure it is."""
    spans = [(n, m) for n in range(len(run)) for m in range(n + 1, min(n + NAME_WORDS_MAX, len(run)) + 1)]
    for begin, end in sorted(spans, key=lambda span: span[0] - span[1]):
        phrase = " ".join(token.text for token in run[begin:end])
        if not run[begin].text.isdecimal() and (known := _known(phrase, lookup)):
            yield known
            for rest in (run[:begin], run[end:]):
                yield from _things(rest, text, lookup, is_about=False) if rest else ()
            return
    yield from _unknown(run, text, lookup, is_about=is_about)


def _known(phrase: str, lookup: Lookup) -> tuple[Target, int] | None:
    if len(exact := lookup.sources_exact(phrase)) == 1:
        return exact[0], _KNOWN
    own = lookup.topic(phrase) or next(iter(lookup.authors_named(phrase, partly=False)), None)
    if own:
        return own, _KNOWN
    among = lookup.source_among(phrase) if " " not in phrase else None
    if among and not among[1]:
        return among[0], _PARTLY
    halves = [half for half in phrase.split("-") if len(half) >= HALF_CHARS_MIN] if "-" in phrase else []
    begun = [
        key
        for key, title in lookup.names.sources.items()
        if any(fold(title).startswith(one) for one in halves)
    ]
    if len(begun) == 1:
        # "Netz-something".
        return lookup.source(begun[0]), _FOUND
    plain = lookup.plain(phrase)
    if lookup.is_found(plain) and not word_known(plain, EVERYDAY):
        return lookup.word(plain), _FOUND
    return None


def _unknown(
    run: Sequence[Token], text: str, lookup: Lookup, *, is_about: bool
) -> Iterator[tuple[Target, int]]:
    """Yield the words of a run that nothing of the reader's is called, if they could name a subject."""
    typed = [text[token.begin : token.end] for token in run]
    firsts = {(text[begin:].split() or [""])[0] for begin, _end in sentences_in(text)}
    if lookup.is_german and any(word[:1].isupper() for word in text.split()[1:]):
        # In German a noun has a capital.
        for n, (word, token) in enumerate(zip(typed, run, strict=True)):
            if word[:1].isupper() and token.text not in lexicon.SETS["everyday nouns"]:
                number = [one.text for one in run[n + 1 : n + 2] if one.text.isdecimal()]
                named = " ".join([lookup.plain(token.text), *number])
                yield lookup.word(named), _RARE + _CAPITAL * (word not in firsts)
        return
    words = [*zip(typed, (token.text for token in run), strict=True)]
    while words and not (is_about and words[1:]) and _is_plain(*words[0]):
        words.pop(0)
    while words and not is_about and _is_plain(*words[-1]):
        words.pop()
    phrase = " ".join(word for _typed, word in words)
    if phrase and len(words) <= NAME_WORDS_MAX and len(phrase) <= TOPIC_MAX_CHARS:
        is_name = not words[0][0].islower() and words[0][0] not in firsts
        yield lookup.word(phrase), _RARE + 2 * _CAPITAL * is_name


def _is_plain(typed: str, word: str) -> bool:
    """Return whether a word without a capital names nothing: an everyday word, or a German verb."""
    is_everyday = word in lexicon.SETS["everyday nouns"] or word_known(word, EVERYDAY)
    return typed.islower() and (is_everyday or _VERB.fullmatch(word) is not None)


_VERB = re.compile(r"(?:ge|be|ver|er|zer|ent)\w+(?:t|en)")
