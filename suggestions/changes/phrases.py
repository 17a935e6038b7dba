"""Topics of rated items: the categories and authors that publishers name, and phrases in titles.

Categories come first: those of three items from two sources, in the most frequent spelling. If two categories
have nearly the same items, the less frequent one is dropped. So is a phrase: "ev" if "Electric cars" is a
category of the same items.

Authors come next: those of three items, even from one source, because an author is judged within their
sources (`tastes`). An author of nearly all items of a source is left out, because the source covers them.

A phrase is one to three consecutive words, neither starting nor ending in a stop word, no source's name, in
the titles of at least three items from at least two sources. If a longer phrase covers nearly the same items,
the shorter one is dropped: "electric car" rather than "electric". Phrases are chosen by their frequency,
never by likes, so that the choice itself proves nothing. Pure.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from digest.entities import RatedItem
from ranking.common.categories import EMPTY_CATEGORIES, author_names, category_key
from ranking.common.text import LEAD_CHARS, TOPIC_MAX_CHARS, fold, topic_key

TOPICS_MAX = 40
# Leaves room for phrases if a publisher tags freely.
CATEGORIES_MAX, AUTHORS_MAX = 20, 10
PHRASE_WORDS_MAX = 3
PHRASE_ITEMS_MIN = 3
PHRASE_SOURCES_MIN = 2
# Words that may be hidden: those of enough disliked items, the most frequent ones, and none so short that it
# hides by chance.
WORD_ITEMS_MIN, WORDS_MAX, WORD_CHARS_MIN = 5, 10, 4
# A shorter phrase is dropped if a longer one has this share of its items. A category or a phrase is dropped
# if the items it shares with a category are this share of both together.
COVERED = 0.8
# English and German words that name nothing.
_STOP_TEXT = """
a about after again against all also an and any are around as at back be because been before being
best better between big biggest both but by can come could day days did do does doing down during
each even ever every everyone everything few finally first five for four from full get gets getting
give gives go goes going good got great had has have he her here him his how i if in inside into is
it its just keep know last latest least less let like little long look made make makes making man
many may me might mine more most much must my near need needs never new news next no not nothing now
of off old on one only or other our out over own part people per put really report review right said
same say says second see set she should show shows since six so some something still such take takes
tell ten than that the their them then there these they thing things this those three through time
times to today together tomorrow too top two under until up update us use used using very via video
want wants was way ways we week weeks well went were what when where which while who whose why will
with without won work world would year years yes yet you your yours aber alle als am an auch auf aus
bei beim bis da das dass dem den der des die doch durch ein eine einem einen einer er es für gegen
hat haben ich ihr im in ist kann kein keine man mehr mit nach neue neuen nicht noch nur oder sein
sich sie sind so über um und uns unter vom von vor war warum was wegen wenn wer werden wie wieder
will wird wir zu zum zur zwei e.g. i.e. a.m. p.m. z.b. d.h. u.a.
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
# "U.S." is one word with its last dot.
_TOKEN = re.compile(r"(?:[^\W\d_]\.){2,}(?!\w)(?:['’-]\w+)*|\w+(?:['’.\-+&]\w+)*")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase, category or author that could be a topic, with the indices of the items that have it."""

    key: str
    label: str
    items: frozenset[int]


def phrases_frequent(rated: Sequence[RatedItem], titles: Mapping[str, str]) -> list[Phrase]:
    """Return the phrases of the rated titles that could be topics, most frequent first.

    `titles` are the sources by key: a source's title, its key, and the key without its ending are no topics.
    """
    found = _frequent([_phrases(item.title) for item in rated], rated, _names_barred(titles))
    by_key = {phrase.key: phrase.items for phrase in found}
    return [phrase for phrase in found if not _is_covered(phrase.key, by_key)]


def categories_frequent(rated: Sequence[RatedItem], titles: Mapping[str, str]) -> list[Phrase]:
    """Return the categories of the rated items that could be topics, most frequent first.

    `titles` are the sources by key, because their names are no topics.
    """
    barred = _names_barred(titles) | EMPTY_CATEGORIES
    found: list[Phrase] = []
    for one in _frequent([_categories(item.categories) for item in rated], rated, barred):
        if not any(_coextensive(one.items, other.items) for other in found):
            found.append(one)
    return found


def authors_frequent(rated: Sequence[RatedItem], titles: Mapping[str, str]) -> list[Phrase]:
    """Return the authors of the rated items that could be topics, most frequent first.

    Neither sources by their name nor who wrote nearly all of the rated items of their sources.
    """
    by_source: defaultdict[str, set[int]] = defaultdict(set)
    for n, item in enumerate(rated):
        by_source[item.source].add(n)
    named = [_categories(author_names(item.author)) if item.author else set() for item in rated]
    return [
        one
        for one in _frequent(named, rated, _names_barred(titles), sources_min=1)
        if not _coextensive(one.items, frozenset().union(*(by_source[rated[n].source] for n in one.items)))
    ]


def words_disliked(
    rated: Sequence[RatedItem], titles: Mapping[str, str], own: Sequence[str] = ()
) -> list[str]:
    """Return the words that many disliked items of several sources say, and no liked one, most frequent
    first.

    A word counts in title or lead of the disliked items, and anywhere in the liked ones. Names of sources and
    the reader's `own` topics and keywords are left out.
    """
    disliked = [item for item in rated if not item.useful]
    if len(disliked) < WORD_ITEMS_MIN:
        return []
    barred = {word for name in (*_names_barred(titles), *map(fold, own)) for word in name.split()}
    items: defaultdict[str, dict[int, str]] = defaultdict(dict)
    keys: dict[str, str] = {}
    for n, item in enumerate(disliked):
        for token in _TOKEN.findall(f"{item.title}\n{item.text[:LEAD_CHARS]}"):
            if (key := keys.get(token)) is None:
                key = fold(token)
                is_word = len(key) >= WORD_CHARS_MIN and key.isalpha()
                keys[token] = key = key if is_word and key not in STOP_WORDS and key not in barred else ""
            if key:
                items[key].setdefault(n, token)
    liked = "\n".join(fold(f"{item.title}\n{item.text}") for item in rated if item.useful)
    found = [
        (len(spellings), key, Counter(spellings.values()).most_common(1)[0][0])
        for key, spellings in items.items()
        if len(spellings) >= WORD_ITEMS_MIN
        and len({disliked[n].source for n in spellings}) >= PHRASE_SOURCES_MIN
    ]
    never = [one for one in found if not re.search(rf"\b{re.escape(one[1])}\b", liked)]
    return [label for _, _, label in sorted(never, key=lambda one: (-one[0], one[1]))[:WORDS_MAX]]


def phrase_contains(longer: str, shorter: str) -> bool:
    """Return True if `shorter` is inside `longer` as whole words and is not all of it."""
    return longer != shorter and f" {shorter} " in f" {longer} "


def phrases_without(phrases: Iterable[Phrase], categories: Sequence[Phrase]) -> list[Phrase]:
    """Return `phrases` without those that are a category, part of one that covers them, or go along with one.

    Go along: nearly all items that have either have both.
    """
    return [one for one in phrases if not any(_is_covered_by(one, other) for other in categories)]


def _is_covered_by(phrase: Phrase, category: Phrase) -> bool:
    shared = len(phrase.items & category.items)
    is_part = phrase_contains(category.key, phrase.key) and shared >= COVERED * len(phrase.items)
    return is_part or phrase.key == category.key or _coextensive(phrase.items, category.items)


def _names_barred(titles: Mapping[str, str]) -> set[str]:
    """Return the keys of sources' names."""
    return {
        topic_key(name)
        for key, title in titles.items()
        for name in (key, title, key.split(".")[0])
        if name.strip()
    }


def _frequent(
    terms: Iterable[Iterable[tuple[str, str]]],
    rated: Sequence[RatedItem],
    barred: Iterable[str],
    sources_min: int = PHRASE_SOURCES_MIN,
) -> list[Phrase]:
    """Return the terms, (key, spelling) by item, that enough items from enough sources have, most first."""
    spellings = [dict(found) for found in terms]
    items: dict[str, list[int]] = defaultdict(list)
    for index, found in enumerate(spellings):
        for key in sorted(found):
            items[key].append(index)
    frequent = []
    for key, of_key in items.items():
        if len(of_key) < PHRASE_ITEMS_MIN or key in barred:
            continue
        if len({rated[i].source for i in of_key}) >= sources_min:
            label = Counter(spellings[i][key] for i in of_key).most_common(1)[0][0]
            frequent.append(Phrase(topic_key(label), label, frozenset(of_key)))
    return sorted(frequent, key=lambda one: (-len(one.items), one.key))


def _coextensive(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) >= COVERED * len(one | other)


def _categories(named: Iterable[str]) -> set[tuple[str, str]]:
    """Return the (category's key, spelling) of each category that can be a topic, once each."""
    found: dict[str, str] = {}
    for category in named:
        spelling = category.strip().lstrip("#").strip()
        can_be = len(spelling) <= TOPIC_MAX_CHARS and any(map(str.isalpha, spelling))
        if can_be and (key := category_key(spelling)) not in STOP_WORDS:
            found.setdefault(key, spelling)
    return set(found.items())


def _is_covered(key: str, frequent: Mapping[str, frozenset[int]]) -> bool:
    found = frequent[key]
    # Only phrases that share an item can cover; titles are short, so a scan of the longer ones is cheap.
    return any(
        phrase_contains(other, key) and len(found & items) >= COVERED * len(found)
        for other, items in frequent.items()
        if len(other) > len(key)
    )


# The titles of one reader's newest ratings: the tools of a run ask for the same ones again and again.
@lru_cache(maxsize=512)
def _phrases(title: str) -> frozenset[tuple[str, str]]:
    """Return the (key, spelling) of each phrase of `title`, once each."""
    text = " ".join(unicodedata.normalize("NFKC", title).split())
    spans = [token.span() for token in _TOKEN.finditer(text)]
    words = [fold(text[begin:end]) for begin, end in spans]
    found: dict[str, str] = {}
    for start, (begin, _) in enumerate(spans):
        if words[start] in STOP_WORDS:
            continue
        for end in range(start, min(start + PHRASE_WORDS_MAX, len(spans))):
            if end > start and text[spans[end - 1][1] : spans[end][0]] != " ":
                break
            phrase = text[begin : spans[end][1]]
            if words[end] not in STOP_WORDS and _is_topic(phrase):
                # `topic_key` of the phrase, word by word: texts have more phrases than words.
                found.setdefault(" ".join((*words[start:end], topic_key(words[end]))), phrase)
    return frozenset(found.items())


def _is_topic(phrase: str) -> bool:
    if len(phrase) > TOPIC_MAX_CHARS:
        return False
    # Two letters make a topic only as an abbreviation ("AI"); a bare number never does.
    return any(map(str.isalpha, phrase)) and (len(phrase) > 2 or (len(phrase) == 2 and phrase.isupper()))
