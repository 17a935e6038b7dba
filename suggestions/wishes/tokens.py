"""The tokens of a wish: words, names of the reader's own, last days, counts, phrases of the grammar. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

from ranking.common.text import fold
from suggestions.wishes.german import GERMAN_WORDS, german_words, is_german
from suggestions.wishes.last_days import COUNT_DIGITS, NUMBERS, SHORT_MIN, UNTIL_WORDS, until_at
from suggestions.wishes.lexicon import (
    CAP_BEGINS,
    CAP_ENDS,
    CAP_TOTALS,
    DIRECTION_WORDS,
    FILLERS,
    PHRASES,
    phrase_at,
    starts,
)

_TOKEN = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|\w+(?:[.'’@/+#-]\w+)*[+#]*|[^\w\s]|\n")
QUOTES = '"“”'
WORD, NAME, DIRECTION, AMOUNT, BETWEEN, UNTIL = "word", "name", "direction", "amount", "between", "until"
CONDITION, CAP = "condition", "cap"
# Ends the value of a cap on what a week may bring.
WEEKLY = "weekly"
# A misspelled word is taken for the one that is as close as this.
TYPO_SHARE = 0.85


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a name, or a phrase of the grammar (`value` says which), and where it is in the sentence."""

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


def tokens_read(sentence: str, names: Iterable[str], today: date) -> list[Token]:
    """Return the tokens of a wish; no name among `names`, which are the reader's own, is split."""
    tokens = _translated(_corrected(_named(list(_tokens(sentence)), names, sentence)))
    return list(_phrases(_capped(list(_dated(tokens, today)))))


def _tokens(sentence: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(sentence):
        typed = match.group()
        if typed[0] in QUOTES and len(typed) > 1:
            yield Token(NAME, fold(typed.strip(QUOTES)), match.start(), match.end())
        elif typed == "\n":
            yield Token(WORD, ".", match.start(), match.end())
        else:
            yield Token(WORD, fold(typed).replace("’", "'"), match.start(), match.end())


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
    """Return the tokens, those of German parts in the words of the grammar."""
    found, begin = [], 0
    for end, token in enumerate(tokens, start=1):
        if end == len(tokens) or (token.kind == WORD and token.text in _SEPARATORS):
            found += _part_translated(tokens[begin:end])
            begin = end
    return found


def _part_translated(tokens: list[Token]) -> list[Token]:
    words = ["" if token.kind == NAME else token.text for token in tokens]
    if not is_german(word for word in words if word):
        return tokens
    found, at = [], 0
    for row, read in german_words(words):
        begin, end = tokens[at].begin, tokens[at + read - 1].end
        is_name = tokens[at].kind == NAME
        found += [tokens[at]] if is_name else [Token(WORD, w.text, begin, end, own=w.own) for w in row]
        at += read
    return found


def _capped(tokens: list[Token]) -> list[Token]:
    """Return the tokens, "at most two a day" and the like as one, wherever its halves are."""
    words = ["" if token.kind in (NAME, UNTIL) else token.text for token in tokens]
    for at in range(len(words)):
        total = starts(CAP_TOTALS, words, at)
        number = at + (total or starts(CAP_BEGINS, words, at))
        if number == at or number >= len(words) or not _number(words[number]):
            continue
        stop = next((n for n in range(number, len(words)) if words[n] in _SEPARATORS), len(words))
        for end in range(number + 1, stop):
            if length := starts(CAP_ENDS, words, end):
                value = f"total {words[number]}" if total else words[number]
                if any("week" in word for word in words[end : end + length]):
                    value = f"{value} {WEEKLY}"
                cap = Token(CAP, value, tokens[at].begin, tokens[end + length - 1].end, value)
                return [*tokens[:at], cap, *tokens[number + 1 : end], *_capped(tokens[end + length :])]
    return tokens


def _number(word: str) -> bool:
    return word in NUMBERS or (word.isdecimal() and len(word) <= COUNT_DIGITS)


def _named(tokens: list[Token], names: Iterable[str], sentence: str) -> list[Token]:
    """Return the tokens with those of one name in a row as one; the longest name first."""
    known: dict[str, list[tuple[str, ...]]] = {}
    spelled = set()
    for name in names:
        words = tuple(token.text for token in _tokens(name))
        if len(words) == 1 and words[0] in FILLERS:
            # "TIME" is a source, where "time" says nothing.
            spelled.add(name)
        if len(words) > 1 and not _is_grammar(words):
            known.setdefault(words[0], []).append(words)
    for rows in known.values():
        rows.sort(key=len, reverse=True)
    found, at = [], 0
    while at < len(tokens):
        rows = known.get(tokens[at].text, []) if tokens[at].kind == WORD else []
        words = next((w for w in rows if tuple(t.text for t in tokens[at : at + len(w)]) == w), ())
        if not words:
            is_name = sentence[tokens[at].begin : tokens[at].end] in spelled
            found.append(replace(tokens[at], kind=NAME) if is_name else tokens[at])
            at += 1
            continue
        last = tokens[at + len(words) - 1]
        found.append(Token(NAME, " ".join(words), tokens[at].begin, last.end))
        at += len(words)
    return found


def _is_grammar(words: Sequence[str]) -> bool:
    """Return whether a name is nothing but words of the grammar, such as "More or Less"."""
    return all(word in FILLERS or (word,) in PHRASES for word in words)


def _dated(tokens: list[Token], today: date) -> Iterator[Token]:
    # A name ends a day: no word is read across it.
    words = ["" if token.kind == NAME else token.text for token in tokens]
    at = 0
    while at < len(tokens):
        found = until_at(words, at, today) if words[at] else None
        if found is None:
            yield tokens[at]
            at += 1
            continue
        day, read = found
        text = tokens[at].text if tokens[at].text in UNTIL_WORDS else "for"
        yield Token(UNTIL, text, tokens[at].begin, tokens[at + read - 1].end, day=day)
        at += read


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
