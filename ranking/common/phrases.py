"""Find many terms in an article in one pass (Aho and Corasick, over words). Pure.

One pattern after the other takes minutes for a page if a reader has hundreds of terms whose words are in
every text. Here a text costs the same for any number of terms.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ranking.common.text import OPENING_CHARS, subject_finder, term_spellings

# Words, white space, and single signs. They cover every text.
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


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
        found = {term for term, finds in self._others if finds(text)}
        title_end = text.find("\n")
        last = title_end + OPENING_CHARS if title_end >= 0 else len(text)
        starts, state, beyond = [], self._start, 0
        # Most texts say the same again and again: each state counts once.
        passed: set[_State] = set()
        for match in _TOKEN.finditer(text):
            token, start = match.group(), match.start()
            starts.append(start)
            beyond += start > last
            if beyond > self._longest:
                break
            token = " " if token.isspace() else token
            while token not in state.following and state.fallback is not None:
                state = state.fallback
            state = state.following.get(token, self._start)
            if not beyond:
                passed.add(state)
            elif state.whole:
                found |= {term for term, length in state.whole.items() if starts[-length] <= last}
            for term, length in state.signed:
                if (
                    term not in found
                    and starts[-length] <= last
                    and _is_apart(text, starts, length, match.end())
                ):
                    found.add(term)
        return found.union(*(state.whole for state in passed))


def _is_plain(form: str, pattern: str) -> bool:
    words = form.split(" ")
    return (
        all(words)
        and not any(map(str.isspace, "".join(words)))
        and pattern == r"\s+".join(map(re.escape, words))
    )


def _is_apart(text: str, starts: Sequence[int], length: int, end: int) -> bool:
    """Return whether no letter stands right beside a sign at an edge of the newest `length` tokens."""
    start = starts[-length]
    return not (_is_word(text[start - 1 : start]) and not _is_word(text[start])) and not (
        _is_word(text[end : end + 1]) and not _is_word(text[end - 1])
    )


def _is_word(text: str) -> bool:
    return text[:1].isalnum() or text[:1] == "_"
