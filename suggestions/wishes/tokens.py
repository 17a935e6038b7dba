"""The tokens of a wish: words, names of the reader's own, last days, counts, phrases of the grammar. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

from ranking.common.text import fold
from suggestions.changes.daily_limits import LIMIT
from suggestions.wishes import lexicon
from suggestions.wishes.german import GERMAN_WORDS, german_words, is_german
from suggestions.wishes.last_days import COUNT_DIGITS, NUMBERS, SHORT_MIN, UNTIL_WORDS, start_at, until_at
from suggestions.wishes.rule_words import DROPPED, NAME_MARK, rule_found

_TOKEN = re.compile(
    r"max\.(?= ?\w)|(?:(?<=\bam )|(?<=\bzum )|(?<=\bden )|(?<=\bvom ))\d{1,2}\.(?= )"
    r"|\d{1,3}(?=x\b|/(?:[dD]ay|[tT]ag)\b)|\b(?:[^\W\d_]\.){2,}|\"[^\"\n]*\"|“[^“”\n]*”"
    r"|(?<!\w)'[^'\n]+'(?!\w)|\w+(?:[.'’@/+#-]\w+)*[+#]*|[^\w\s]|\n"
)
QUOTES = "\"“”'"
WORD, NAME, DIRECTION, AMOUNT, BETWEEN, UNTIL = "word", "name", "direction", "amount", "between", "until"
CONDITION, RULE, START = "condition", "rule", "start"
# A number of articles of all sources, and one a week: no setting knows them.
TOTAL, WEEKLY = "total", "weekly"
# A misspelled word is read as a known word that is this close.
TYPO_SHARE, TYPO_CHARS_MIN = 0.85, 7


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a name, or a phrase of the grammar (`value` names it), and its place in the sentence."""

    kind: str
    text: str
    begin: int
    end: int
    value: str = ""
    day: date | None = None
    own: str | None = None

    @property
    def typed(self) -> str:
        """Return the folded word as the reader typed it."""
        return self.text if self.own is None else self.own


@dataclass(frozen=True, slots=True)
class KnownNames:
    """A reader's own names, ready to be found in any number of sentences.

    `worded` are names, each with its way to be looked up, and `lengths` their numbers of words by the first
    one, the longest first. `spelled` are names that in any other spelling are words of the grammar. `own` are
    single words that name something.
    """

    worded: Mapping[tuple[str, ...], str]
    lengths: Mapping[str, Sequence[int]]
    spelled: frozenset[str]
    own: frozenset[str]


def names_known(names: Iterable[str], ways: Iterable[str] = ()) -> KnownNames:
    """Return a reader's own names as `tokens_read` needs them, and single words that name a source."""
    worded: dict[tuple[str, ...], str] = {}
    spelled, own = set(), {*ways}
    for name in names:
        words = tuple(token.text for token in _tokens(name))
        if len(words) == 1 and words[0] in lexicon.FILLERS:
            # "TIME" is a source, but "time" is not.
            spelled.add(name)
        if words and not _is_grammar(words):
            worded |= {way: " ".join(words) for way in _spellings(words) if worded.get(way) != " ".join(way)}
        own |= {word for word in words if len(word) >= SHORT_MIN}
    lengths: dict[str, set[int]] = {}
    for words in worded:
        lengths.setdefault(words[0], set()).add(len(words))
    ordered = {first: sorted(counts, reverse=True) for first, counts in lengths.items()}
    return KnownNames(worded, ordered, frozenset(spelled), frozenset(own - lexicon.FILLERS))


def _spellings(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the ways to write a name other than by one word of it: "Ledger and Line", "giga wow"."""
    if len(words) > 1:
        yield words
        yield from (tuple(word if one in "&+" else one for one in words) for word in ("and", "und"))
        yield (*words[:-1], f"{words[-1]}s")
    together = "".join(words)
    if len(together) >= TYPO_CHARS_MIN - 1 and together.isalpha():
        ways: list[tuple[str, ...]] = [(together,)] if len(words) > 1 else []
        ways += [(together[:n], together[n:]) for n in range(SHORT_MIN, len(together) - SHORT_MIN + 1)]
        yield from (way for way in ways if not _is_grammar(way))


def tokens_read(sentence: str, names: KnownNames, today: date) -> list[Token]:
    """Return the tokens of a wish; none of the reader's own `names` is split."""
    named = _named(list(_tokens(sentence)), names, sentence)
    tokens = _translated(_corrected(_ruled(named)))
    return _compounded(list(_phrases(_apart(_capped(list(_dated(tokens, today)))))))


def _tokens(sentence: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(sentence):
        typed = match.group()
        if typed[0] in QUOTES and len(typed) > 1:
            yield Token(NAME, fold(typed.strip(QUOTES)), match.start(), match.end())
        elif typed == "\n":
            yield Token(WORD, ".", match.start(), match.end())
        else:
            begin = match.start()
            for part in _HYPHENS.split(typed):
                text = fold(part).replace("’", "'")
                yield Token(WORD, _SPELLED.get(text, text), begin, begin + len(part))
                begin += len(part) + 1


# Before the second half of a German compound, which is no part of the name before it: "Trump-Sperre".
_HYPHENS = re.compile(
    r"-(?=(?:them(?:a|en)|nachrichten|artikeln?|beitr(?:ag|äge)|news|kram|meldung(?:en)?|geschichten|"
    r"sachen|zeug|posts|texte|berichte?|debatte|posts?|sperre|stummschaltung|filter|ausblendung|comics?|folgen?|"
    r"seite|blog|feed|eintr(?:ag|äge)|schas|mist|quatsch|gejammer|gedöns|schei(?:ss|ß))\b)",
    re.IGNORECASE,
)
_SPELLED = {"and/or": "or"} | dict(pair.split("=") for pair in lexicon.SETS["spelled so"])
_TWO, _BARE = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"}), str.maketrans("äöü", "aou")
# Words typed without umlauts: "ueber", and longer ones as "hochstens".
_SPELLED |= {
    word.translate(table): word
    for word in GERMAN_WORDS
    for table, chars_min in ((_TWO, 1), (_BARE, 6))
    if len(word) >= chars_min and word.translate(table) not in GERMAN_WORDS
}


def _ruled(tokens: list[Token]) -> list[Token]:
    """Return the tokens, "older than two days" and other rules for one source as one token each."""
    words = [NAME_MARK if token.kind == NAME else token.text for token in tokens]
    for _ in tokens:
        found = rule_found(words)
        if found is None:
            break
        begin, end = tokens[found.first].begin, tokens[found.last].end
        mark = [] if found.value == DROPPED else [Token(RULE, "", begin, end, found.value)]
        middle = slice(found.middle.start, found.middle.stop)
        here = slice(found.first, found.last + 1)
        tokens[here], words[here] = [*tokens[middle], *mark], [*words[middle], *[NAME_MARK for _ in mark]]
    return tokens


def _corrected(tokens: list[Token]) -> list[Token]:
    """Return the tokens, with misspelled directions as they are spelled."""
    found = []
    for n, token in enumerate(tokens):
        begins = not n or tokens[n - 1].text in _SEPARATORS
        is_known = (token.text,) in lexicon.PHRASES or token.text in GERMAN_WORDS | lexicon.FILLERS
        long = len(token.text) >= (SHORT_MIN if begins else TYPO_CHARS_MIN)
        if token.kind == WORD and long and not is_known:
            near = get_close_matches(token.text, lexicon.DIRECTION_WORDS, 1, TYPO_SHARE) or [
                word for word in lexicon.DIRECTION_WORDS if begins and sorted(word) == sorted(token.text)
            ]
            # "Animals" is no misspelled "niemals".
            token = replace(token, text=near[0]) if near and near[0][0] == token.text[0] else token
        found.append(token)
    return found


_SEPARATORS = frozenset({",", ";", ".", "!", "?", "and", "but", "und", "aber"})


def _translated(tokens: list[Token]) -> list[Token]:
    """Return the tokens, with German parts in the words of the grammar."""
    found, begin = [], 0
    for end, token in enumerate(tokens, start=1):
        if end == len(tokens) or (token.kind == WORD and token.text in _SEPARATORS):
            found += _part_translated(tokens[begin:end])
            begin = end
    return found


def _part_translated(tokens: list[Token]) -> list[Token]:
    words = ["" if token.kind in (NAME, RULE) else token.text for token in tokens]
    if not is_german(word for word in words if word):
        return tokens
    found, at = [], 0
    for row, read in german_words(words):
        begin, end = tokens[at].begin, tokens[at + read - 1].end
        is_name = tokens[at].kind in (NAME, RULE)
        found += [tokens[at]] if is_name else [Token(WORD, w.text, begin, end, own=w.own) for w in row]
        at += read
    return found


def _compounded(tokens: list[Token]) -> list[Token]:
    """Return the tokens; "time" of "less time travel" is a part of a name, alone it is none."""
    found = list(tokens)
    for n, (before, token, after) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False), start=1):
        leads = before.kind == DIRECTION or before.text in ("the", "of", "about")
        is_word = after.kind == WORD and after.text not in lexicon.FILLERS | lexicon.KIND_WORDS.keys()
        is_named = after.kind == NAME or (is_word and after.text[:1].isalpha())
        if leads and token.kind == WORD and token.text in lexicon.COMPOUNDING and is_named:
            found[n] = replace(token, kind=NAME)
    return found


def _capped(tokens: list[Token]) -> list[Token]:
    """Return the tokens, "at most two a day" and the like as one, in whatever order its words are."""
    words = ["" if token.kind in (NAME, UNTIL, RULE) else token.text for token in tokens]
    found, begin = list[Token](), 0
    stops = [
        n
        for n, word in enumerate(words)
        if word in _SEPARATORS and not lexicon.starts(lexicon.CAP_WORDS, words, n + 1)
    ]
    for stop in (*stops, len(words)):
        here = tokens[begin:stop]
        if cap := _cap(words[begin:stop]):
            value, taken = cap
            parts = [here[n] for n in sorted(taken)]
            token = Token(RULE, value, parts[0].begin, parts[-1].end, f"{LIMIT} {value}")
            here = [
                token if n == max(taken) else one
                for n, one in enumerate(here)
                if n not in taken or n == max(taken)
            ]
        found += [*here, *tokens[stop : stop + 1]]
        begin = stop + 1
    return found


def _cap(words: Sequence[str]) -> tuple[str, set[int]] | None:
    """Return the count of "two a day, at most" and the numbers of its words; `None` if it is no limit."""
    ends = _spans(lexicon.CAP_ENDS, words) or _cap_bare(words)
    if not ends:
        return None
    numbers = [n for n, word in enumerate(words) if _number(word) and not any(n in end for end in ends)]
    begin = ends[0].start
    numbers = [n for n in numbers if words[n] not in ("once", "twice") or n + 1 == begin]
    if not numbers:
        return None
    number = min(numbers, key=lambda n: (words[n] in ("a", "an"), n))
    negated = [("more", "than")] if {"not", "don't", "no", "never"} & {*words} else []
    totals = [span for span in _spans(lexicon.CAP_TOTALS, words) if span.stop == number]
    limits = [*_spans((*lexicon.CAP_WORDS, *negated), words), *totals]
    limits += [span for span in _spans(lexicon.CAP_BEGINS, words) if span.stop == number]
    if not limits and lexicon.CAP_UNLIKE & {*words}:
        return None
    value = f"{TOTAL} {words[number]}" if totals else words[number]
    if any("week" in words[n] for n in ends[0]):
        value = f"{value} {WEEKLY}"
    return value, {number, *ends[0], *(n for span in limits for n in span)}


def _cap_bare(words: Sequence[str]) -> list[range]:
    """Return the place after "keep it to two", where "a day" is meant; none if it says something else."""
    at = next((n for n, word in enumerate(words) if n and _number(word) and words[n - 1] in ("to", "at")), 0)
    after = [word for word in words[at + 1 :] if (word,) not in lexicon.CAP_WORDS]
    is_cap = at and not lexicon.SETS["capping"].isdisjoint(words) and {*after} <= lexicon.FILLERS
    return [range(at + 1, at + 1)] if is_cap else []


def _spans(phrases: Sequence[tuple[str, ...]], words: Sequence[str]) -> list[range]:
    """Return the places of all of `phrases` in `words`, of several at one place the longest."""
    lengths = [lexicon.starts(phrases, words, at) for at in range(len(words))]
    return [range(at, at + length) for at, length in enumerate(lengths) if length]


def _number(word: str) -> bool:
    return word in NUMBERS or (word.isdecimal() and len(word) <= COUNT_DIGITS)


def _named(tokens: list[Token], names: KnownNames, sentence: str) -> list[Token]:
    """Return the tokens, with the words of one name joined, the longest name first."""
    spelled = names.spelled if sentence.isupper() else names.spelled | lexicon.ABBREVIATIONS
    found, at = [], 0
    while at < len(tokens):
        lengths = names.lengths.get(tokens[at].text, ()) if tokens[at].kind == WORD else ()
        here = tuple(token.text for token in tokens[at : at + max(lengths, default=0)])
        words = next((here[:count] for count in lengths if here[:count] in names.worded), ())
        if not words:
            typed = sentence[tokens[at].begin : tokens[at].end]
            # "No time for politics."
            is_word = typed.islower() and [one.text for one in tokens[at + 1 : at + 2]] == ["for"]
            is_name = (typed in spelled and not is_word) or _is_country(tokens, at)
            # "Kriege" are wars, but not in "Kriege ich mehr davon?".
            is_name |= is_german_noun(typed) and [one.text for one in tokens[at + 1 : at + 2]] != ["ich"]
            found.append(replace(tokens[at], kind=NAME) if is_name else tokens[at])
            at += 1
            continue
        last = tokens[at + len(words) - 1]
        found.append(Token(NAME, names.worded[words], tokens[at].begin, last.end))
        at += len(words)
    return found


def is_german_noun(typed: str) -> bool:
    """Return whether a word with a capital names something: "Kriege", but not "kriege"."""
    return typed[:1].isupper() and typed.casefold() in lexicon.SETS["german nouns"]


def _is_country(tokens: Sequence[Token], at: int) -> bool:
    """Return whether "us" is the country here: "us politics: less", "no us news"."""
    return tokens[at].text == "us" and (not at or tokens[at - 1].text in lexicon.BEFORE_NAMES)


def _is_grammar(words: Sequence[str]) -> bool:
    """Return whether a name is nothing but words of the grammar, such as "More or Less"."""
    return all(word in lexicon.FILLERS or (word,) in lexicon.PHRASES for word in words)


def _dated(tokens: list[Token], today: date) -> Iterator[Token]:
    # A name ends a day: no word is read across it.
    words = ["" if token.kind in (NAME, RULE) else token.text for token in tokens]
    at = 0
    while at < len(tokens):
        found = until_at(words, at, today) if words[at] else None
        start = start_at(words, at, today) if words[at] and not found else None
        if start:
            is_later, read = start
            if is_later:
                typed = " ".join(token.typed for token in tokens[at : at + read] if token.typed)
                yield Token(START, typed, tokens[at].begin, tokens[at + read - 1].end)
            at += read
        elif found is None:
            yield tokens[at]
            at += 1
        else:
            day, read = found
            text = tokens[at].text if tokens[at].text in UNTIL_WORDS else "for"
            yield Token(UNTIL, text, tokens[at].begin, tokens[at + read - 1].end, day=day)
            at += read


def _apart(tokens: list[Token]) -> list[Token]:
    """Return the tokens; "give chess a rest" is "chess" and a direction."""
    words = [token.text if token.kind == WORD else "" for token in tokens]
    for first, typed in enumerate(words):
        halves = (
            []
            if words[first - 1 : first] in (["never"], ["don't"], ["not"])
            else lexicon.APART.get(typed, [])
        )
        found = [
            (at, half, direction)
            for half, direction in halves
            for at in range(first + 2, len(words))
            if tuple(words[at : at + len(half)]) == half and not _SEPARATORS & set(words[first:at])
        ]
        if found:
            at, half, direction = max(found, key=lambda one: len(one[1]))
            end = at + len(half)
            own = " ".join(token.typed for token in tokens[at:end] if token.typed)
            token = Token(DIRECTION, own, tokens[at].begin, tokens[end - 1].end, direction, own=own)
            verb = replace(tokens[first], text="please", own=tokens[first].typed)
            return [*tokens[:first], verb, *tokens[first + 1 : at], token, *_apart(tokens[end:])]
    return tokens


def _phrases(tokens: Sequence[Token]) -> Iterator[Token]:
    rest = tokens
    words = [token.text if token.kind == WORD else "" for token in rest]
    at = 0
    while at < len(rest):
        found = lexicon.phrase_at(lexicon.PHRASES, words, at) if words[at] else None
        if found is None:
            yield rest[at]
            at += 1
            continue
        (kind, value), length = found
        own = " ".join(token.typed for token in rest[at : at + length] if token.typed)
        begin, end = rest[at].begin, rest[at + length - 1].end
        yield Token(kind, " ".join(words[at : at + length]), begin, end, value, own=own)
        at += length
