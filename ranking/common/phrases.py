"""Find many terms in an article in one pass (Aho and Corasick, over words). Pure.

One pattern after the other takes minutes for a page if a reader has hundreds of terms whose words are in
every text. Here a text costs the same for any number of terms.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from ranking.common.text import TOPIC_MAX_CHARS, first_words, subject_end, subject_finder, term_spellings

# Words, white space, and single signs. They cover every text.
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_WORD = re.compile(r"\w+")
# Up to so many terms that may be in a text are looked for one by one, which is quicker for few.
FINDERS_MAX = 24
# More than the longest word of a term, with the ending of a plural.
WORD_MAX_CHARS = 2 * TOPIC_MAX_CHARS
Search = Callable[[str], Collection[str]]
_SEARCHES: ContextVar[dict[frozenset[str], Search] | None] = ContextVar("searches", default=None)


@contextmanager
def searching_once() -> Iterator[None]:
    """Search each text only once for the same terms, until the block ends: several pools may hold it."""
    token = _SEARCHES.set({})
    try:
        yield
    finally:
        _SEARCHES.reset(token)


def terms_search(terms: Collection[str]) -> Search:
    """Return a function that returns which of `terms` are the subject of a text (see `subject_finder`)."""
    searches, wanted = _SEARCHES.get(), frozenset(terms)
    if searches is None:
        return Terms(wanted).found
    if wanted not in searches:
        searches[wanted] = cache(Terms(wanted).found)
    return searches[wanted]


class Terms:
    """Terms to look for in many texts: few are looked for one by one, and many in one pass."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_word: defaultdict[str, list[str]] = defaultdict(list)
        for term in terms:
            for word in first_words(term):
                self._by_word[word].append(term)
        self._phrases: Phrases | None = None

    def found(self, text: str) -> Collection[str]:
        """Return the terms that are the subject of "title\\ntext" after `fold_lightly`."""
        words = self._by_word.keys() & _WORD.findall(text, 0, subject_end(text) + WORD_MAX_CHARS)
        if sum(len(self._by_word[word]) for word in words) <= FINDERS_MAX:
            return {term for word in words for term in self._by_word[word] if subject_finder(term)(text)}
        if self._phrases is None:
            self._phrases = Phrases({term for terms in self._by_word.values() for term in terms})
        return self._phrases.found(text)


@dataclass(slots=True, eq=False)
class _State:
    """A beginning of some forms. `whole` has the terms of forms that end here, with their most tokens.

    `signed` has those of forms with a sign at an edge, which may not stand right beside a letter.
    """

    following: dict[str, "_State"] = field(default_factory=dict)
    whole: dict[str, int] = field(default_factory=dict)
    signed: list[tuple[str, int]] = field(default_factory=list)
    # The longest other beginning that ends with the same tokens.
    fallback: "_State | None" = None


class Phrases:
    """The forms of some terms as one automaton. It finds what `subject_finder` of each term finds."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._start, self._longest = _State(), 0
        # Terms with a spelling that is more than words in a row, as "rust" without "rust belt".
        self._others = []
        for term in terms:
            forms = term_spellings(term)
            if all(_is_plain(form, pattern) for form, pattern in forms.items()):
                for form in forms:
                    self._add(term, form)
            else:
                self._others.append((term, subject_finder(term)))
        self._fallbacks_set()

    def _add(self, term: str, form: str) -> None:
        state, tokens = self._start, _TOKEN.findall(form)
        for token in tokens:
            state = state.following.setdefault(token, _State())
        self._longest = max(self._longest, len(tokens))
        if _is_word(tokens[0]) and _is_word(tokens[-1]):
            state.whole[term] = len(tokens)
        else:
            state.signed.append((term, len(tokens)))

    def _fallbacks_set(self) -> None:
        waiting = [self._start]
        for state in waiting:
            for token, following in state.following.items():
                waiting.append(following)
                other = state.fallback
                while other is not None and token not in other.following:
                    other = other.fallback
                following.fallback = other.following[token] if other else self._start
                following.whole = following.fallback.whole | following.whole
                following.signed += following.fallback.signed

    def found(self, text: str) -> set[str]:
        """Return the terms that are the subject of "title\\ntext" after `fold_lightly`."""
        cut = min(len(text), subject_end(text) + 1)
        # The tokens at which a term may begin, and as many more as one may have, and the next.
        tokens = _TOKEN.findall(text, 0, cut)
        begin = len(tokens)
        rest = _TOKEN.finditer(text, cut - len(tokens.pop())) if tokens else ()
        tokens += (match.group() for match in islice(rest, self._longest + 1))
        tokens = [" " if token.isspace() else token for token in tokens]
        start = state = self._start
        states = []
        for token in tokens:
            while token not in state.following and state.fallback is not None:
                state = state.fallback
            state = state.following.get(token, start)
            states.append(state)
        found = {term for term, finds in self._others if finds(text)}
        # Most texts say the same again and again: each state counts once.
        found = found.union(*(state.whole for state in {*states[:begin]}))
        for end, state in enumerate(states[begin:], begin + 1):
            found |= {term for term, length in state.whole.items() if end - length < begin}
        for end, state in enumerate(states, 1):
            for term, length in state.signed:
                if end - length < begin and _is_apart(tokens, end - length, end):
                    found.add(term)
        return found


def _is_plain(form: str, pattern: str) -> bool:
    words = form.split(" ")
    return (
        all(words)
        and not any(map(str.isspace, "".join(words)))
        and pattern == r"\s+".join(map(re.escape, words))
    )


def _is_apart(tokens: Sequence[str], start: int, end: int) -> bool:
    """Return whether no word stands right beside a sign at an edge of the tokens from `start` to `end`."""
    before, after = tokens[start - 1 : start], tokens[end : end + 1]
    return not (before and _is_word(before[0]) and not _is_word(tokens[start])) and not (
        after and _is_word(after[0]) and not _is_word(tokens[end - 1])
    )


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"
