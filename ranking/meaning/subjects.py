"""Find the subjects of some items, each with a name that a person would use. Pure.

A name is a publishers' category, or a word or pair of words in the titles of several sources. It names a
subject if its items have a meaning in common (`topics.seeds_likeness`), if the texts use it as a noun, and if
it does not fit every subject ("story", "review", a month). Of 1,500 items of 194 real feeds, 580 names stand
in the titles of three sources, 259 of these have a common meaning, and about half of those are nouns.

Subjects are chosen one after the other: the next is the one whose items are the most, and the least like the
subjects before it. Nothing is random.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ranking.common.categories import EMPTY_CATEGORIES, category_key
from ranking.common.text import FUNCTION_WORDS, fold, topic_key
from ranking.entities import Candidate
from ranking.meaning.table import Floats, Vectors
from ranking.meaning.topics import Mask, seeds_likeness

# A name stands in the titles or categories of three sources; of readers with few sources, in two or one.
SOURCES_MIN, SOURCES_EACH = 3, 8
# A word in four titles of a source, and in more than this share, names a series ("Weekly links, 48").
SERIES_MIN, SERIES_SHARE = 4, 0.5
# What is read of each text: its opening may say the name, and the rest shows how words are used.
OPENING_CHARS, USES_CHARS = 200, 800
NAME_CHARS_MIN, NAME_CHARS_MAX = 2, 40
# A noun ends its phrase in this share of its uses, and follows "to", "will" or "you" in at most that share.
ENDS_MIN, VERB_MAX, OBJECT_MAX = 0.3, 0.16, 0.12
# A subject adds at least so many items that no earlier subject is like.
GAIN_MIN = 1.0
# "Jesse Jackson" is a better name than "Jackson" if about as many items have it.
PAIR_WORTH = 1.2
# A word, without "'s" or "'ve", or a sign.
_WORD = re.compile(r"[^\W_]+(?=['’])|(?<!['’])[^\W_]+|[^\w\s]")
_VERBS_FOLLOW = "can could i let may might must not should they to we who will would you"
_OBJECTS_BEGIN = "a an any her his it its me my our some the them this these us your"
_HYPHENS = frozenset("-‐‑")
_NOUNS_PRECEDE = "am are be been being had has have is was were"
# They fit every subject: parts of time, kinds of texts, and words for everything.
_FIT_ALL = """
item entry title test hello
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december spring summer autumn winter today tomorrow yesterday tonight day week
weekend month year decade century hour minute morning evening night time date anniversary news story review
update guide tutorial introduction overview version release feed site page comment episode share post
article blog newsletter edition issue roundup recap report interview video photo picture image link note
list tip trick lesson announcement reading resource example question answer faq quote thing stuff way part
kind type size style mode format form set setup result reason cause effect idea thought approach principle
pattern challenge problem solution value point case fact step level round turn start end beginning chance
change difference future past history moment place world life people person man woman men women guy fan
leader chief director member user client customer team group company product project platform feature
function option support number line word name look use work job help deal plan call claim talk tie pressure
risk fight boost win loss top best right left home house black white red green blue com www http https html
php org net amp quot nbsp favorite event service state perspective strategy
"""
_BEFORE_VERBS, _BEFORE_OBJECTS = frozenset(_VERBS_FOLLOW.split()), frozenset(_OBJECTS_BEGIN.split())
_AFTER_NOUNS = FUNCTION_WORDS | frozenset(_NOUNS_PRECEDE.split())
_GENERIC = frozenset(_FIT_ALL.split())


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """A subject: its name, and the rows of its items. Those with the name in the title come first, and of
    these the most typical."""

    name: str
    rows: tuple[int, ...]


@dataclass(slots=True)
class _Name:
    """A possible name: its spellings and sources, the rows with it in the title or as a category, and those
    whose opening says it, too."""

    sources: Counter[str] = field(default_factory=Counter)
    spellings: Counter[str] = field(default_factory=Counter)
    entitled: list[int] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)

    def of_sources(self, sizes: Mapping[str, int]) -> int:
        """Return how many sources have it, without those whose series it names."""
        sources = self.sources.items()
        return sum(count < SERIES_MIN or count <= SERIES_SHARE * sizes[source] for source, count in sources)

    def shown(self) -> str:
        """Return the name as a page shows it: the usual spelling, a category's hyphens as spaces."""
        usual = max(self.spellings, key=lambda one: (self.spellings[one] * (1 if one.islower() else 4), one))
        name = " ".join(usual.strip().lstrip("#").replace("-", " ").replace("_", " ").split())
        return name[:1].upper() + name[1:] if name.islower() else name


@dataclass(slots=True)
class _Uses:
    """How texts use a word: how often, at the end of a phrase, as a verb, and with an object."""

    uses: int = 0
    ends: int = 0
    verbs: int = 0
    objects: int = 0

    def count(self, before: str, after: str) -> None:
        """Count a use between these words. The first part of a compound ends no phrase: "self-hosted"."""
        self.uses += 1
        self.ends += after not in _HYPHENS and (not after[0].isalpha() or after in _AFTER_NOUNS)
        self.verbs += before in _BEFORE_VERBS
        self.objects += after in _BEFORE_OBJECTS

    def is_noun(self) -> bool:
        """Return whether the uses are those of a noun. A word with few uses gets the benefit of the doubt."""
        uses = self.uses + 2
        ends = self.ends + 1 >= ENDS_MIN * uses
        return ends and self.verbs <= VERB_MAX * uses and self.objects <= OBJECT_MAX * uses


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    entitled: Mask
    says: Mask
    likeness: Floats


def subjects_among(items: Sequence[Candidate], vectors: Vectors, count: int) -> list[NamedSubject]:
    """Return up to `count` subjects of the items, the one with most items first.

    `vectors` (items, 128) are the items' meanings. The same items make the same subjects. 1,500 items take
    about a second.
    """
    names = _names(items)
    known = np.asarray(vectors.any(axis=1), dtype=np.bool_)
    found: list[_Found] = []
    for key in sorted(nouns_among(items, names.keys())):
        name = names[key]
        says = _mask(name.rows, known)
        if (likeness := seeds_likeness(vectors, says)) is not None:
            found.append(_Found(name.shown(), _mask(name.entitled, known), says, likeness))
    return _spread(found, vectors, count)


def _mask(rows: Iterable[int], known: Mask) -> Mask:
    mask = np.zeros(len(known), dtype=np.bool_)
    mask[list(rows)] = True
    found: Mask = mask & known
    return found


def _names(items: Sequence[Candidate]) -> dict[str, _Name]:
    """Return the names that titles and categories of several sources have, by their identity."""
    names: defaultdict[str, _Name] = defaultdict(_Name)
    for row, one in enumerate(items):
        named = dict(_words_and_pairs(one.title)) | {category_key(label): label for label in one.categories}
        for key, spelling in named.items():
            name = names[key]
            name.sources[one.source] += 1
            name.spellings[spelling] += 1
            name.entitled.append(row)
    sizes = Counter(one.source for one in items)
    least = min(SOURCES_MIN, 1 + len(sizes) // SOURCES_EACH)
    wide = {key: name for key, name in names.items() if name.of_sources(sizes) >= least and _may_name(key)}
    for name in wide.values():
        name.rows.update(name.entitled)
    for row, one in enumerate(items):
        for key, _ in _words_and_pairs(one.text[:OPENING_CHARS]):
            if key in wide:
                wide[key].rows.add(row)
    return wide


def _words_and_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the identity and spelling of each word of `text`, and of each pair of neighbours."""
    before = ""
    for word in _WORD.findall(text):
        if not word[0].isalpha() or len(word) < NAME_CHARS_MIN or fold(word) in FUNCTION_WORDS:
            before = ""
            continue
        yield topic_key(word), word
        if before:
            yield topic_key(f"{before} {word}"), f"{before} {word}"
        before = word


def _may_name(key: str) -> bool:
    words = key.split()
    fits = NAME_CHARS_MIN <= len(key) <= NAME_CHARS_MAX and key not in EMPTY_CATEGORIES
    return fits and not any(fits_all(word) or word in FUNCTION_WORDS for word in words)


def fits_all(word: str) -> bool:
    """Return whether a word fits every subject: "story", "review", a month."""
    return topic_key(word) in _GENERIC


def nouns_among(items: Sequence[Candidate], keys: Iterable[str]) -> set[str]:
    """Return the names among `keys` that the texts use as nouns.

    A noun ends its phrase ("inflation is", "on tennis."), an adjective seldom does, and a verb follows "to"
    or has an object. Names that no text uses pass: categories.
    """
    uses = {key: _Uses() for key in keys}
    for one in items:
        words = [fold(word) for word in _WORD.findall(f"{one.title}. {one.text[:USES_CHARS]} .")]
        for place, word in enumerate(words[:-1]):
            for length, key in ((1, topic_key(word)), (2, topic_key(f"{word} {words[place + 1]}"))):
                if key in uses and place + length < len(words):
                    uses[key].count(words[place - 1] if place else "", words[place + length])
    return {key for key, use in uses.items() if use.is_noun()}


def _spread(found: Sequence[_Found], vectors: Vectors, count: int) -> list[NamedSubject]:
    """Choose subjects with many items that are unlike the subjects chosen before."""
    near = np.zeros(len(vectors), dtype=np.float32)
    chosen: list[NamedSubject] = []
    waiting = list(found)
    while waiting and len(chosen) < count:
        gains = [_gain(one, near) for one in waiting]
        best = int(np.argmax(gains))
        if gains[best] < GAIN_MIN:
            break
        one = waiting.pop(best)
        rows = np.flatnonzero(one.says)
        rows = rows[np.lexsort((-one.likeness[rows], ~one.entitled[rows]))]
        chosen.append(NamedSubject(one.name, tuple(rows.tolist())))
        near = np.maximum(near, one.likeness)
        near[one.says] = 1.0
    return chosen


def _gain(one: _Found, near: Floats) -> float:
    likeness = np.maximum(one.likeness[one.entitled], 0.0)
    gain = float((likeness**2 * (1.0 - near[one.entitled])).sum())
    return gain * PAIR_WORTH if " " in one.name else gain
