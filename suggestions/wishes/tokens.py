"""The tokens of a wish: words, names of the reader's own, last days, counts, phrases of the grammar. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

from ranking.common.text import fold
from suggestions.wishes.german import GERMAN_WORDS, german_words, is_german
from suggestions.wishes.last_days import COUNT_DIGITS, NUMBERS, SHORT_MIN, UNTIL_WORDS, start_at, until_at
from suggestions.wishes.lexicon import (
    ABBREVIATIONS,
    APART,
    BEFORE_NAMES,
    CAP_AFTER,
    CAP_BEFORE,
    CAP_BEGINS,
    CAP_ENDS,
    CAP_TOTALS,
    COMPOUNDING,
    DIRECTION_WORDS,
    FILLERS,
    KIND_WORDS,
    PHRASES,
    phrase_at,
    starts,
)
from suggestions.wishes.rule_words import DROPPED, NAME_MARK, rule_found

_TOKEN = re.compile(
    r"max\.(?= ?\w)|\d{1,3}(?=x\b|/(?:day|tag)\b)|\b(?:[^\W\d_]\.){2,}|\"[^\"\n]*\"|“[^“”\n]*”"
    r"|(?<!\w)'[^'\n]+'(?!\w)|\w+(?:[.'’@/+#-]\w+)*[+#]*|[^\w\s]|\n"
)
QUOTES = "\"“”'"
WORD, NAME, DIRECTION, AMOUNT, BETWEEN, UNTIL = "word", "name", "direction", "amount", "between", "until"
CONDITION, CAP, RULE, START = "condition", "cap", "rule", "start"
# Ends the value of a cap per week.
WEEKLY = "weekly"
# A misspelled word is read as a known word that is this close.
TYPO_SHARE = 0.85


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

    `worded` are the names of several words, and `lengths` their numbers of words by the first one, the
    longest first. `spelled` are names that in any other spelling are words of the grammar.
    """

    worded: frozenset[tuple[str, ...]]
    lengths: Mapping[str, Sequence[int]]
    spelled: frozenset[str]


def names_known(names: Iterable[str]) -> KnownNames:
    """Return a reader's own names as `tokens_read` needs them."""
    worded, spelled = set(), set()
    for name in names:
        words = tuple(token.text for token in _tokens(name))
        if len(words) == 1 and words[0] in FILLERS:
            # "TIME" is a source, but "time" is not.
            spelled.add(name)
        if len(words) > 1 and not _is_grammar(words):
            worded.add(words)
    lengths: dict[str, set[int]] = {}
    for words in worded:
        lengths.setdefault(words[0], set()).add(len(words))
    ordered = {first: sorted(counts, reverse=True) for first, counts in lengths.items()}
    return KnownNames(frozenset(worded), ordered, frozenset(spelled))


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
            text = fold(typed).replace("’", "'")
            yield Token(WORD, _SPELLED.get(text, text), match.start(), match.end())


_SPELLED = {
    "max.": "max",
    "↑": "more",
    "👍": "more",
    "↓": "less",
    "👎": "less",
    "wanna": "want",
    "gonna": "going",
    "abt": "about",
    "and/or": "or",
    "•": ".",
} | {word.replace("'", ""): word for word in ("don't", "doesn't", "can't", "isn't", "shouldn't")}


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
    """Return the tokens; a part that begins on a misspelled direction has it as it is spelled."""
    found = []
    for n, token in enumerate(tokens):
        begins = not n or tokens[n - 1].text in _SEPARATORS
        is_known = (token.text,) in PHRASES or token.text in GERMAN_WORDS | FILLERS
        if begins and token.kind == WORD and len(token.text) >= SHORT_MIN and not is_known:
            near = get_close_matches(token.text, DIRECTION_WORDS, 1, TYPO_SHARE) or [
                word for word in DIRECTION_WORDS if sorted(word) == sorted(token.text)
            ]
            token = replace(token, text=near[0]) if near else token
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
        is_word = after.kind == WORD and after.text not in FILLERS | KIND_WORDS.keys()
        is_named = after.kind == NAME or (is_word and after.text[:1].isalpha())
        if leads and token.kind == WORD and token.text in COMPOUNDING and is_named:
            found[n] = replace(token, kind=NAME)
    return found


def _capped(tokens: list[Token]) -> list[Token]:
    """Return the tokens, "at most two a day" and the like as one, in whatever order its words are."""
    words = ["" if token.kind in (NAME, UNTIL, RULE) else token.text for token in tokens]
    found, begin = list[Token](), 0
    stops = [n for n, word in enumerate(words) if word in _SEPARATORS and not starts(CAP_AFTER, words, n + 1)]
    for stop in (*stops, len(words)):
        here = tokens[begin:stop]
        if cap := _cap(words[begin:stop]):
            value, taken = cap
            parts = [here[n] for n in sorted(taken)]
            token = Token(CAP, value, parts[0].begin, parts[-1].end, value)
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
    ends = _spans(CAP_ENDS, words)
    if not ends:
        return None
    sums, begins, after, before = (
        _spans(phrases, words) for phrases in (CAP_TOTALS, CAP_BEGINS, CAP_AFTER, CAP_BEFORE)
    )
    numbers = [n for n, word in enumerate(words) if _number(word) and not any(n in end for end in ends)]
    for number in sorted(numbers, key=lambda n: words[n] in ("a", "an")):
        totals = [span for span in sums if span.stop == number]
        limits = totals or [span for span in begins if span.stop == number]
        limits = limits or [span for span in after if span.start > number]
        limits = limits or [span for span in before if span.stop <= number]
        if limits:
            value = f"total {words[number]}" if totals else words[number]
            if any("week" in words[n] for n in ends[0]):
                value = f"{value} {WEEKLY}"
            return value, {number, *ends[0], *limits[0]}
    return None


def _spans(phrases: Sequence[tuple[str, ...]], words: Sequence[str]) -> list[range]:
    """Return the places of all of `phrases` in `words`, of several at one place the longest."""
    lengths = [starts(phrases, words, at) for at in range(len(words))]
    return [range(at, at + length) for at, length in enumerate(lengths) if length]


def _number(word: str) -> bool:
    return word in NUMBERS or (word.isdecimal() and len(word) <= COUNT_DIGITS)


def _named(tokens: list[Token], names: KnownNames, sentence: str) -> list[Token]:
    """Return the tokens, with the words of one name joined, the longest name first."""
    spelled = names.spelled if sentence.isupper() else names.spelled | ABBREVIATIONS
    found, at = [], 0
    while at < len(tokens):
        lengths = names.lengths.get(tokens[at].text, ()) if tokens[at].kind == WORD else ()
        here = tuple(token.text for token in tokens[at : at + max(lengths, default=0)])
        words = next((here[:count] for count in lengths if here[:count] in names.worded), ())
        if not words:
            is_name = sentence[tokens[at].begin : tokens[at].end] in spelled or _is_country(tokens, at)
            found.append(replace(tokens[at], kind=NAME) if is_name else tokens[at])
            at += 1
            continue
        last = tokens[at + len(words) - 1]
        found.append(Token(NAME, " ".join(words), tokens[at].begin, last.end))
        at += len(words)
    return found


def _is_country(tokens: Sequence[Token], at: int) -> bool:
    """Return whether "us" is the country here: "us politics: less", "no us news"."""
    return tokens[at].text == "us" and (not at or tokens[at - 1].text in BEFORE_NAMES)


def _is_grammar(words: Sequence[str]) -> bool:
    """Return whether a name is nothing but words of the grammar, such as "More or Less"."""
    return all(word in FILLERS or (word,) in PHRASES for word in words)


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
        found = [
            (at, half, direction)
            for half, verbs, direction in APART
            if typed in verbs and words[first - 1 : first] not in (["never"], ["don't"], ["not"])
            for at in range(first + 2, len(words))
            if tuple(words[at : at + len(half)]) == half and not _SEPARATORS & set(words[first:at])
        ]
        if found:
            at, half, direction = max(found, key=lambda one: len(one[1]))
            end = at + len(half)
            own = " ".join(token.typed for token in tokens[at:end] if token.typed)
            token = Token(DIRECTION, own, tokens[at].begin, tokens[end - 1].end, direction, own=own)
            verb = replace(tokens[first], text="please")
            return [*tokens[:first], verb, *tokens[first + 1 : at], token, *_apart(tokens[end:])]
    return tokens


def _phrases(tokens: Sequence[Token]) -> Iterator[Token]:
    rest = tokens
    words = [token.text if token.kind == WORD else "" for token in rest]
    at = 0
    while at < len(rest):
        found = phrase_at(words, at) if words[at] else None
        if found is None:
            yield rest[at]
            at += 1
            continue
        kind, value, length = found
        own = " ".join(token.typed for token in rest[at : at + length] if token.typed)
        begin, end = rest[at].begin, rest[at + length - 1].end
        yield Token(kind, " ".join(words[at : at + length]), begin, end, value, own=own)
        at += length
