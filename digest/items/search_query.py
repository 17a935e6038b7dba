"""Parse a typed search query: its terms, their words in the index, other spellings, and matches in a text.

Every text is a valid query. Quotes make a phrase, a trailing `*` means "begins with", a leading `-` or `NOT`
excludes, `OR` between two terms means that one of them suffices. `query_notes` names what was not understood.
All other signs are white space, except in `C++`, `C#` and `.NET`. Scripts without spaces are indexed as
overlapping pairs of letters: 日本語 as 日本, 本語 and 語 (`digest/migrations/0001_squashed.py`). Pure.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from ranking.language import gettext as _

QUERY_CHARS = 200
TERMS_MAX = 12
# The longest phrase. A long phrase of one repeated word took 0.12 s per item in a text of that word.
WORDS_MAX = 16
SNIPPET_CHARS = 260
SNIPPET_BEFORE = 80
# A last word of four letters is looked for as the beginning of longer words, too: shorter ones begin many.
# If no item has the whole words, all words of three letters are.
BEGINNING_CHARS, LOOSE_CHARS = 4, 3
# A word with a typo has five letters or more. Trying more than three words would make thousands of spellings.
TYPO_CHARS, TYPO_CHARS_MAX, TYPOS_MAX = 5, 24, 3
# Thai, Lao, Myanmar, Khmer, kana, Chinese characters, Hangul.
_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U000323af"
)
# Signs that belong to a name, and the words they are indexed as.
_SIGNS = {"++": "plusplus", "#": "sharpsign", ".": "dotsign"}
_MARKS = "\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0980-\u0dff"
_PIECE = re.compile(
    rf"[{_SPACELESS}]+|(?:[^\W_{_SPACELESS}]|[{_MARKS}])+"
    r"|(?<=[a-zA-Z0-9])(?:\+\+|#)|(?<![^\s(\"\u201c\u201e\u00ab\[])\.(?=[a-zA-Z])"
)
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_ACCENTS = re.compile(r"(?<=[\u0000-\u024f])[\u0300-\u036f]+")
_TYPED = re.compile(r'(-?)"([^"]*)"?(\*?)|(\S+)')
# What joins terms. Only capitals do: "or" is a word.
_OPERATORS = {"AND": "AND", "OR": "OR", "|": "OR", "NOT": "NOT"}
# What other searches read as an operator.
_NO_OPERATORS = frozenset({"NEAR", "XOR"})
_FIELD = re.compile(r"-?([^\W\d_]+:)[^\s/]")
# Quotation marks as typed on phones and in other languages.
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"') | {"\0": " "})
_LATIN, _CYRILLIC = string.ascii_lowercase, "абвгдежзиклмнопрстуфхцчшщъыьэюяіґє"
# How German is typed without its own letters. The index folds ü to u by itself.
_DIGRAPHS = {"ae": "a", "oe": "o", "ue": "u"}


@dataclass(frozen=True, slots=True)
class Term:
    """Words in a fixed order, as typed and folded. A run of letters without spaces is one word; so is a sign.

    `prefix`: the last word is the beginning of a word. `begins`: whole or the beginning of a longer one.
    `excluded`: they must not occur. `exact`: a phrase. `others`: terms of which one may occur instead.
    """

    words: tuple[str, ...]
    prefix: bool = False
    begins: bool = False
    excluded: bool = False
    exact: bool = False
    variants: tuple[str, ...] = ()
    others: tuple["Term", ...] = ()

    @property
    def either(self) -> tuple["Term", ...]:
        """Return the terms of which one suffices: this one, and the others."""
        return (self, *self.others)

    @property
    def forms(self) -> tuple[tuple[str, ...], ...]:
        """Return all spellings that match.

        A single word also matches in singular, plural and with German letters.
        """
        if self.variants:
            return tuple((form,) for form in self.variants)
        if self.exact or self.prefix or len(self.words) > 1 or _IS_SPACELESS.match(self.words[0]):
            return (self.words,)
        return tuple((form,) for form in _forms(self.words[0]))

    @property
    def indexed(self) -> tuple[tuple[str, ...], ...]:
        """Return the spellings as words of the index."""
        return tuple(_index_words(form) for form in self.forms)

    @property
    def beginning(self) -> tuple[str, ...]:
        """Return the words of the index that a longer word begins with, if the term `begins` one."""
        return _index_words(self.words)

    @property
    def indexed_prefix(self) -> bool:
        """Return whether the last word in the index may be a beginning; a single letter begins its pairs."""
        last = self.words[-1]
        return self.prefix or bool(len(last) == 1 and _IS_SPACELESS.match(last))

    @property
    def may_be_typo(self) -> bool:
        """Return whether this is one plain word of five letters or more."""
        if self.exact or self.prefix or self.excluded or self.others or len(self.words) > 1:
            return False
        word = self.words[0]
        letters = TYPO_CHARS <= len(word) <= TYPO_CHARS_MAX and word.isalpha()
        return letters and not _IS_SPACELESS.search(word)


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of a text. `marked`: it matches a term."""

    text: str
    marked: bool


class _Fold(dict[int, int]):
    """Maps a letter to its plain lower-case letter, for `str.translate`, which keeps positions unchanged."""

    def __missing__(self, code: int) -> int:
        plain = (
            chr(code) if _IS_SPACELESS.match(chr(code)) else unicodedata.normalize("NFKD", chr(code).lower())
        )
        base = "".join(c for c in plain if not unicodedata.combining(c)) or plain
        self[code] = ord(base) if len(base) == 1 else code
        return self[code]


_FOLD = _Fold()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A term, as typed; `word` is "" for a phrase."""

    term: Term
    word: str
    text: str


def query_terms(typed: str) -> tuple[Term, ...]:
    """Return the terms of a query: at most twelve, of sixteen words each, from its first 200 characters."""
    return tuple(piece.term for piece in _pieces(typed)[0])


def query_topic(typed: str) -> str:
    """Return the words that a query looks for as a topic, without signs.

    "" if there are none, too many, or if one of several suffices.
    """
    pieces = [piece for piece in _pieces(typed)[0] if not piece.term.excluded]
    topic = " ".join(piece.text for piece in pieces)
    return "" if len(topic) > TOPIC_MAX_CHARS or any(piece.term.others for piece in pieces) else topic


def query_notes(typed: str) -> tuple[str, ...]:
    """Return a sentence for each thing in a query that looks like an operator and was not read as one."""
    pieces, unread = _pieces(typed)
    bare = [piece for piece in pieces if piece.word]
    ignored = dict.fromkeys(word for word in unread if word)
    words = [piece.word for piece in bare if piece.word in _NO_OPERATORS]
    words += [found[1] for piece in bare if (found := _FIELD.match(piece.word))]
    notes = [
        *(
            _("“{word}” was left out: OR and AND stand between two words, NOT before one.").format(word=word)
            for word in ignored
        ),
        *(_("“{word}” is read as a word.").format(word=word) for word in dict.fromkeys(words)),
    ]
    if any(one.term.others or one.term.excluded for one in pieces) and any(sign in typed for sign in "()"):
        notes.append(_("Brackets are ignored: OR joins the words beside it."))
    if any("*" in piece.word.rstrip("*") for piece in bare):
        notes.append(_("A star counts only at the end of a word."))
    if "" in unread:
        notes.append(_("Only the first twelve words are looked for."))
    return tuple(notes)


def _pieces(typed: str) -> tuple[list[_Piece], list[str]]:
    """Return a query's terms as typed, and the operators that join nothing; "" for each term too many."""
    read = [
        _Piece(
            Term(
                words_of(word or phrase)[:WORDS_MAX],
                prefix=bool(star) or word.endswith("*"),
                excluded=bool(minus) or word.startswith("-"),
                exact=not word,
            ),
            word,
            " ".join((word or phrase).rstrip("*").split()),
        )
        for minus, phrase, star, word in _TYPED.findall(typed[:QUERY_CHARS].translate(_QUOTES))
        if word in _OPERATORS or words_of(word or phrase)
    ]
    # A query of nothing but operators looks for their words.
    has_terms = any(piece.word not in _OPERATORS for piece in read)
    found: list[_Piece] = []
    unread: list[str] = []
    operator = ""
    for n, piece in enumerate(read):
        named = _OPERATORS.get(piece.word, "") if has_terms else ""
        if named and not operator and _joins(named, found[-1:], read[n + 1 : n + 2]):
            operator = named
            continue
        if named:
            unread.append(piece.word)
        if named or not piece.term.words:
            continue
        if sum(len(one.term.either) for one in found) == TERMS_MAX:
            unread.append("")
        elif operator == "OR":
            before = found.pop()
            others = (*before.term.others, piece.term)
            found.append(replace(before, term=replace(before.term, others=others)))
        else:
            term = replace(piece.term, excluded=piece.term.excluded or operator == "NOT")
            found.append(replace(piece, term=term))
        operator = ""
    return found, unread


def _joins(operator: str, before: Sequence[_Piece], after: Sequence[_Piece]) -> bool:
    """Return whether an operator has the terms that it joins; each side has one piece or none."""
    if not after or after[0].word in _OPERATORS:
        return False
    if operator == "NOT":
        return True
    return bool(before) and (operator == "AND" or not (before[0].term.excluded or after[0].term.excluded))


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents and case. Signs that are part of a name are words, too.

    A text of marks without any letter has no words.
    """
    found: list[str] = _PIECE.findall(_fold(text))
    return () if all(word_is_marks(word) for word in found) else tuple(found)


def word_is_marks(word: str) -> bool:
    """Return whether a word has no letter or digit, so that PostgreSQL may not index it."""
    return not any(c.isalnum() for c in word)


def terms_begin(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms; the last that is not excluded may also begin a longer word, if plain and long.

    So may each of the terms of which one suffices, because each alone would.
    """
    last = max((n for n, term in enumerate(terms) if not term.excluded), default=None)
    if last is None:
        return (*terms,)
    return (*terms[:last], _begun(terms[last]), *terms[last + 1 :])


def _begun(term: Term) -> Term:
    begins = _is_plain(term) and _is_long(term, BEGINNING_CHARS)
    return replace(term, begins=begins or term.begins, others=tuple(map(_begun, term.others)))


def terms_short(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the last words of OR, each alone, that only begin a longer word if no item has them."""
    last = [term for term in terms if not term.excluded][-1:]
    short = (replace(one, others=()) for term in last if term.others for one in term.either)
    return tuple(one for one in short if _is_plain(one) and not one.begins and _is_long(one, LOOSE_CHARS))


def terms_begun_also(terms: Sequence[Term], those: Collection[Term]) -> tuple[Term, ...]:
    """Return the terms; of the words of OR `those` may begin a longer word."""
    return tuple(
        replace(
            term,
            begins=term.begins or (bool(term.others) and replace(term, others=()) in those),
            others=tuple(replace(one, begins=one.begins or one in those) for one in term.others),
        )
        for term in terms
    )


def _is_plain(term: Term) -> bool:
    return not (term.exact or term.prefix)


def _is_long(term: Term, letters: int) -> bool:
    return len(term.words[-1]) >= letters and not _IS_SPACELESS.match(term.words[-1])


def terms_loosen(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with every plain word of three or more letters as the beginning of a longer word."""
    return tuple(
        replace(
            term,
            prefix=term.prefix or (_is_plain(term) and not term.excluded and _is_long(term, LOOSE_CHARS)),
            others=terms_loosen(term.others),
        )
        for term in terms
    )


def terms_as_beginnings(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms; those that may begin a longer word as its beginning alone."""
    return tuple(
        replace(
            term,
            begins=False,
            prefix=term.prefix or term.begins,
            others=terms_as_beginnings(term.others),
        )
        for term in terms
    )


def terms_literal(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms as whole words, or as beginnings if typed so."""
    return tuple(replace(term, begins=False, others=terms_literal(term.others)) for term in terms)


def terms_whole(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms as whole words, which are found at once."""
    return tuple(replace(term, prefix=False, begins=False, others=terms_whole(term.others)) for term in terms)


def terms_fuzzy(terms: Sequence[Term], known: Collection[Term] = ()) -> tuple[Term, ...]:
    """Return the terms; those that may be typos and are not `known` get all words at distance 1 as variants.

    At most three terms get variants.
    """
    fuzzy, left = [], TYPOS_MAX
    for term in terms:
        typo = left > 0 and term.may_be_typo and term not in known
        left -= typo
        fuzzy.append(replace(term, variants=_spellings(term)) if typo else term)
    return tuple(fuzzy)


def terms_correct(terms: Sequence[Term], texts: Iterable[str]) -> tuple[Term, ...]:
    """Return the fuzzy `terms` in the spelling that most of the texts have.

    If a text has several spellings, the typed one wins, then the most frequent. If no text has them, the
    terms are returned as typed.
    """
    found: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        counts = Counter(words_of(text))
        chosen = []
        for term in terms:
            known = [word for word in term.variants if word in counts]
            known.sort(key=lambda word: (-counts[word], word))
            own = term.words[0] if term.words[0] in known else ""
            chosen.append(own or (known[0] if known else ""))
        if all(word or not term.variants for word, term in zip(chosen, terms, strict=True)):
            found[tuple(chosen)] += 1
    best = min(found, key=lambda words: (-found[words], words), default=("",) * len(terms))
    return tuple(
        replace(term, words=(word,) if word else term.words, variants=())
        for term, word in zip(terms, best, strict=True)
    )


def query_correct(typed: str, before: Sequence[Term], after: Sequence[Term]) -> str:
    """Return the query with the words of `before` replaced by those of `after`; "" if nothing changes."""
    instead = {
        old.words[0]: new.words[0] for old, new in zip(before, after, strict=True) if old.words != new.words
    }
    words = typed[:QUERY_CHARS].replace("\0", " ").split() if instead else []
    return " ".join(instead.get("".join(words_of(word)), word) for word in words)


def highlight(text: str, terms: Sequence[Term]) -> tuple[TextPart, ...]:
    """Return the whole `text` with every match of the terms marked."""
    return _parts(text, 0, len(text), _match_spans(text, terms))


def terms_snippet(text: str, terms: Sequence[Term]) -> tuple[TextPart, ...]:
    """Return about 260 characters of `text` around the first match, or its beginning; cut at words."""
    flat = " ".join(text.split())
    matches = _match_spans(flat, terms)
    start = max(0, matches[0][0] - SNIPPET_BEFORE) if matches else 0
    if start:
        # A text without spaces is cut right here, not behind the match.
        space = flat.find(" ", start, matches[0][0])
        start = space + 1 if space >= 0 else start
    end = len(flat)
    if end - start > SNIPPET_CHARS:
        end = max(flat.rfind(" ", start, start + SNIPPET_CHARS), start + SNIPPET_CHARS // 2)
    parts = _parts(flat, start, end, matches)
    before, after = "… " if start else "", " …" if end < len(flat) else ""
    return tuple(part for part in (TextPart(before, False), *parts, TextPart(after, False)) if part.text)


def _fold(text: str) -> str:
    """Remove accents of Latin letters, as FTS5 does; й, kana and Hangul stay one letter each."""
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.lower())))


def _forms(word: str) -> list[str]:
    forms = {word, topic_key(word)}
    if len(word) > 2 and word.isalpha() and word.isascii():
        forms |= {f"{word}s", f"{word}es"}
        forms |= {f"{word[:-1]}ies"} if word.endswith("y") else set()
    plain = word
    for typed, letter in _DIGRAPHS.items():
        plain = plain.replace(typed, letter)
    forms |= {plain, word.replace("ß", "ss"), word.replace("ss", "ß")}
    return sorted(forms)


def _index_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words as they are indexed: runs of letters without spaces become pairs.

    The index also has the last letter of each run on its own. At the end of the query it is left out, because
    the text may go on.
    """
    found: list[str] = []
    for n, word in enumerate(words, start=1):
        if not _IS_SPACELESS.match(word):
            found.append(_SIGNS.get(word, word))
            continue
        found += [word[i : i + 2] for i in range(len(word) - 1)]
        if n < len(words) or len(word) == 1:
            found.append(word[-1])
    return tuple(found)


def _spellings(term: Term) -> tuple[str, ...]:
    known = [form[0] for form in term.forms]
    return (*known, *(word for word in _one_off(term.words[0]) if word not in known))


def _one_off(word: str) -> list[str]:
    """Return every spelling at Damerau-Levenshtein distance 1, with letters of the word's own script."""
    letters = _LATIN if word.isascii() else _CYRILLIC if "\u0400" <= word[0] <= "\u04ff" else ""
    found = set()
    for i in range(len(word) + 1):
        before, after = word[:i], word[i:]
        found.add(before + after[1:])
        found.add(before + after[1:2] + after[:1] + after[2:])
        found |= {before + letter + rest for letter in letters for rest in (after, after[1:])}
    return sorted(found - {word})


def _match_spans(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Return the spans of the terms in `text`, in order, none inside another."""
    sought = [one for term in terms if not term.excluded for one in term.either]
    wanted = [(form, one.prefix) for one in sought for form in one.forms]
    wanted += [(one.words, True) for one in sought if one.begins]
    if not wanted:
        return []
    longest_first = sorted(wanted, key=lambda one: sum(map(len, one[0])), reverse=True)
    # Compiling an edge takes milliseconds, so spellings with the same edges share one.
    alike = groupby(longest_first, key=lambda one: _edges(*one))
    patterns = ((edges, "|".join(_form_pattern(form) for form, _ in forms)) for edges, forms in alike)
    pattern = re.compile("|".join(f"{before}(?:{forms}){after}" for (before, after), forms in patterns))
    return [match.span() for match in pattern.finditer(text.translate(_FOLD))]


def _edges(words: Sequence[str], prefix: bool) -> tuple[str, str]:
    """Return the patterns required before and after a spelling. A run without spaces may stand anywhere."""
    before = "" if _is_free(words[0]) else rf"(?<![^\W_{_SPACELESS}])"
    after = r"\w*" if prefix else rf"(?![^\W_{_SPACELESS}])"
    return before, "" if _is_free(words[-1]) else after


def _is_free(word: str) -> bool:
    return bool(_IS_SPACELESS.match(word)) or word in _SIGNS


def _form_pattern(words: Sequence[str]) -> str:
    """Return a pattern for the words of one spelling and the characters allowed between them."""
    pattern = ""
    for n, word in enumerate(words):
        if n and word not in ("++", "#") and words[n - 1] != ".":
            pattern += r"[\W_]*" if _is_free(word) or _is_free(words[n - 1]) else r"[\W_]+"
        pattern += re.escape(word)
    return pattern


def _parts(text: str, start: int, end: int, matches: Sequence[tuple[int, int]]) -> tuple[TextPart, ...]:
    parts, at = [], start
    for first, last in matches:
        if first < at or last > end:
            continue
        parts += [TextPart(text[at:first], False), TextPart(text[first:last], True)]
        at = last
    return tuple(part for part in (*parts, TextPart(text[at:end], False)) if part.text)
