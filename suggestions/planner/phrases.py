"""Topics in the titles of rated items.

A phrase is one to three words that follow each other, neither starting nor ending in a stop word, no source's
name, in the titles of at least three items from at least two sources. Where a longer phrase covers nearly the
same items, the shorter one goes: "electric car" rather than "electric". Phrases are chosen by how often they
occur, never by how much they are liked, so that the choice itself proves nothing. Pure.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from digest.entities import RatedItem
from ranking.common.text import TOPIC_MAX_CHARS, fold, topic_key
from suggestions.entities import SOURCE_WEIGHTS

TOPICS_MAX = 40
PHRASE_WORDS_MAX = 3
PHRASE_ITEMS_MIN = 3
PHRASE_SOURCES_MIN = 2
# A shorter phrase goes where a longer one has this share of its items.
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
will wird wir zu zum zur zwei
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
_TOKEN = re.compile(r"\w+(?:['’.\-+&]\w+)*")


@dataclass(frozen=True, slots=True)
class Attributes:
    """The columns: source keys, topic keys and the spelling of each topic, in a fixed order."""

    sources: tuple[str, ...]
    topics: tuple[str, ...]
    labels: Mapping[str, str]

    def column(self, field: str, key: str) -> int:
        """Return the index of a target among all columns. Raises `ValueError` for an unknown one."""
        if field == SOURCE_WEIGHTS:
            return self.sources.index(key)
        return len(self.sources) + self.topics.index(key)


def attributes_of(
    rated: Sequence[RatedItem], *, sources: Sequence[str], topics: Sequence[str], titles: dict[str, str]
) -> Attributes:
    """Return the columns for these ratings; `topics` are always among them, in their own spelling."""
    labels = {topic_key(topic): topic for topic in topics}
    for found in phrases_frequent(rated, titles)[:TOPICS_MAX]:
        labels.setdefault(found.key, found.label)
    keys = {*sources, *(item.source for item in rated)}
    return Attributes(tuple(sorted(keys)), tuple(sorted(labels)), labels)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that could be a topic, with the indices of the items whose titles have it."""

    key: str
    label: str
    items: frozenset[int]


def phrases_frequent(rated: Sequence[RatedItem], titles: Mapping[str, str]) -> list[Phrase]:
    """Return the phrases of the rated titles that could be topics, most frequent first.

    `titles` are the sources by key: a source's title, its key, and the key without its ending are no topics.
    """
    barred = {
        topic_key(name)
        for key, title in titles.items()
        for name in (key, title, key.split(".")[0])
        if name.strip()
    }
    items: dict[str, set[int]] = defaultdict(set)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for index, item in enumerate(rated):
        for key, phrase in _phrases(item.title):
            items[key].add(index)
            spellings[key][phrase] += 1
    frequent = {
        key: frozenset(found)
        for key, found in items.items()
        if len(found) >= PHRASE_ITEMS_MIN
        and key not in barred
        and len({rated[i].source for i in found}) >= PHRASE_SOURCES_MIN
    }
    return [
        Phrase(key, spellings[key].most_common(1)[0][0], found)
        for key, found in sorted(frequent.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        if not _covered(key, frequent)
    ]


def phrase_contains(longer: str, shorter: str) -> bool:
    """Return True if `shorter` is inside `longer` as whole words and is not all of it."""
    return longer != shorter and f" {shorter} " in f" {longer} "


def _covered(key: str, frequent: dict[str, frozenset[int]]) -> bool:
    found = frequent[key]
    # Only phrases that share an item can cover; titles are short, so a scan of the longer ones is cheap.
    return any(
        phrase_contains(other, key) and len(found & items) >= COVERED * len(found)
        for other, items in frequent.items()
        if len(other) > len(key)
    )


def _phrases(title: str) -> set[tuple[str, str]]:
    """Return the (key, spelling) of each phrase of `title`, once each."""
    text = " ".join(unicodedata.normalize("NFKC", title).split())
    tokens = list(_TOKEN.finditer(text))
    found: dict[str, str] = {}
    for start in range(len(tokens)):
        for end in range(start, min(start + PHRASE_WORDS_MAX, len(tokens))):
            if end > start and text[tokens[end - 1].end() : tokens[end].start()] != " ":
                break
            phrase = text[tokens[start].start() : tokens[end].end()]
            if _is_topic(tokens[start].group(), tokens[end].group(), phrase):
                found.setdefault(topic_key(phrase), phrase)
    return set(found.items())


def _is_topic(first: str, last: str, phrase: str) -> bool:
    if len(phrase) > TOPIC_MAX_CHARS or fold(first) in STOP_WORDS or fold(last) in STOP_WORDS:
        return False
    # Two letters make a topic only as an abbreviation ("AI"); a bare number never does.
    return any(map(str.isalpha, phrase)) and (len(phrase) > 2 or (len(phrase) == 2 and phrase.isupper()))
