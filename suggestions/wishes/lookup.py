"""The names of one reader, by which the words of a wish are looked up. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property
from heapq import nlargest
from itertools import groupby, pairwise

from digest.llm.phishing import word_known
from ranking.common.categories import author_names, category_key, category_keys, label_keys, topic_finder
from ranking.common.text import (
    fold,
    fold_lightly,
    known_topic,
    plain_words,
    search_terms,
    term_finder,
    topic_identity,
    topic_key,
)
from suggestions.wishes.german import GERMAN, OTHER_LANGUAGE, is_german, umlauts
from suggestions.wishes.lexicon import CARRYING, FILLERS, PLACED, SETS
from suggestions.wishes.limits import FORM_WORDS
from suggestions.wishes.tokens import KnownNames, names_known
from suggestions.wishes.wish import AUTHOR, CATEGORY, SOURCE, TOPIC, WORD, Names, Target

# The most choices of one kind in a question.
OFFERED_MAX = 4
NEAR_SHARE = 0.75
TYPO_CHARS_MIN, ADVERB_CHARS_MIN = 5, 8
# A misspelled word of a title is asked about if it is this close.
TYPO_SHARE, NEARLY_SHARE = 0.9, 0.85
# The most words of items that are compared with a misspelled one, and names of a sentence that are compared.
WORDS_MAX, UNKNOWN_MAX = 30_000, 8
# Of a thousand sources a few are called by nearly the letters of a word.
EXACT_MAX = 20
# In a longer phrase no source is looked for: the spans of words in it grow with the square of their number.
AMONG_MAX = 24
_ARTICLE = re.compile(r"^(?:the|der|die|das|den|dem|des) ")
# A name is also taken by its beginning: "smashing mag", or so much of a single word.
PREFIX_CHARS_MIN, WORD_CHARS_MIN, WORD_SHARE_MIN = 3, 5, 0.6
# The second half of a German compound, which says that the first one is a subject: "Fußballkram".
_SUBJECT_HALF = re.compile(
    r"(?P<head>\w{4,}?)-?(?:them(?:a|en)|artikeln?|berichte?|beitr(?:ag|äge)|meldung(?:en)?|nachrichten|news|"
    r"geschichten?|sachen|(?<!werk)(?<!fahr)(?<!flug)(?<!spiel)zeugs?|kram|posts?|texte?|debatten?|storys|berichterstattung|lastig(?:e[nrs]?)?|"
    r"schas|mist|quatsch|gejammer|gedöns|scheiss|blödsinn|unsinn|gelaber|geschwafel)"
)
# Around the name of a source, in a rule for it.
_PLEASE = [phrase for phrase, english in GERMAN.items() if english == ("please",)]
NOTHING_MEANT = FILLERS | SETS["meaningless"] | {word for phrase in _PLEASE for word in phrase}
# The s that links both halves: "Meinungsartikel".
_LINKED = re.compile(r"(?:(?<=ung)|(?<=heit)|(?<=keit)|(?<=ion)|(?<=tät)|(?<=tum)|(?<=schaft))s$")
# They make a sentence of the words around them, so no name has one inside.
CARRIERS = CARRYING | {word for word, *more in _PLEASE if not more}


def spelled(phrase: str, sentence: str) -> str:
    """Return the words of `sentence` that are `phrase` once folded; `phrase` if there are none."""
    rows = [(match.group(), fold(match.group()).replace("’", "'")) for match in _WORD.finditer(sentence)]
    wanted = phrase.split()
    for n in range(len(rows) - len(wanted) + 1):
        here = rows[n : n + len(wanted)]
        if [folded for _, folded in here] == wanted:
            return " ".join(typed for typed, _ in here)
        *whole, (last, folded) = here
        if [one for _, one in whole] == wanted[:-1] and folded.startswith(wanted[-1]):
            # "Fußballkram" is about "Fußball".
            head = next(last[:m] for m in range(len(last) + 1) if fold(last[:m]) == wanted[-1])
            return " ".join([*(typed for typed, _ in whole), head])
    return phrase


def _bare_name(name: str) -> str:
    """Return a folded name without the article before it."""
    return _ARTICLE.sub("", name)


_WORD = re.compile(r"\b(?:[^\W\d_]\.){2,}|\w+(?:[.'’@/+#-]\w+)*[+#]*|[^\w\s]")


def carries(word: str) -> bool:
    """Return whether `word` carries a sentence, or is nearly a long word without a meaning."""
    return word in CARRIERS or (len(word) >= ADVERB_CHARS_MIN and word not in FILLERS and means_nothing(word))


def means_nothing(word: str) -> bool:
    """Return whether `word` adds nothing to a rule, or nearly is such a word."""
    long = len(word) >= TYPO_CHARS_MIN
    return word in NOTHING_MEANT or (long and bool(get_close_matches(word, NOTHING_MEANT, 1, NEARLY_SHARE)))


def _begins(words: Sequence[str], terms: Sequence[str]) -> bool:
    """Return whether each of `words` begins the word of a title at its place."""
    if len(words) == 1:
        longest = max(len(terms[0]), 1) if terms else 1
        if len(words[0]) < WORD_CHARS_MIN or len(words[0]) / longest < WORD_SHARE_MIN:
            return False
    pairs = [*zip(words, terms, strict=False)]
    return len(pairs) == len(words) and all(
        len(word) >= PREFIX_CHARS_MIN and term.startswith(word) for word, term in pairs
    )


def _is_inflected(phrase: str, word: str) -> bool:
    longer, shorter = sorted((phrase, word), key=len, reverse=True)
    return longer.removeprefix(shorter) in ("s", "es", "e", "n", "en", "er")


def _names_near(phrase: str, names: Iterable[str]) -> list[tuple[float, str]]:
    """Return each name's likeness of at least `NEAR_SHARE`, the most alike first.

    Of names with nearly the same letters the order is compared in `EXACT_MAX` alone: that takes the square of
    their length.
    """
    matcher = SequenceMatcher[str]()
    matcher.set_seq2(phrase)
    same = []
    # A name that is much shorter or longer cannot be as alike, which its length tells at once.
    shortest, longest = (
        len(phrase) * share for share in (NEAR_SHARE / (2 - NEAR_SHARE), (2 - NEAR_SHARE) / NEAR_SHARE)
    )
    for name in (one for one in names if shortest <= len(one) <= longest):
        matcher.set_seq1(name)
        if (letters := matcher.quick_ratio()) >= NEAR_SHARE:
            same.append((letters, name))
    found = []
    for letters, name in nlargest(EXACT_MAX, same):
        matcher.set_seq1(name)
        # Letters that only changed places, as in "guardain", are the name.
        is_same = letters == 1 and len(phrase) >= TYPO_CHARS_MIN
        if (alike := 1.0 if is_same else matcher.ratio()) >= NEAR_SHARE:
            found.append((alike, name))
    return sorted(found, reverse=True)


class Lookup:
    """The names of one reader, ready to be looked up; each part is made when it is first needed."""

    def __init__(self, names: Names, sentence: str = "") -> None:
        """Take the reader's names, and the sentence whose spelling words keep."""
        self.names, self.sentence = names, sentence
        # The names that nothing is called, in the order in which they were looked up.
        self._unknown: dict[str, None] = {}
        self._found: dict[str, bool] = {}
        self._alike: dict[str, list[tuple[float, str]]] = {}

    def of_sentence(self, sentence: str) -> "Lookup":
        """Return a lookup of the same names for another sentence, so that many read each name once."""
        _ = self.known, self.titles, self._title_terms, self._topics, self._named
        other = copy(self)
        other.sentence, other._unknown = sentence, {}
        return other

    @property
    def is_german(self) -> bool:
        """Return whether the sentence is German."""
        return is_german(fold(self.sentence).split())

    def typed(self, phrase: str) -> str:
        """Return the folded `phrase` as the reader typed it: "KI" for "ki"."""
        return spelled(phrase, self.sentence)

    def word(self, phrase: str, kind: str = WORD) -> Target:
        """Return words of the sentence as a target, in the reader's spelling."""
        typed = self.typed(phrase)
        return Target(kind, typed, typed)

    @cached_property
    def texts(self) -> list[str]:
        """Return the folded texts of the items."""
        return [fold_lightly(f"{item.title}\n{item.text}") for item in self.names.items]

    @cached_property
    def categories(self) -> list[frozenset[str]]:
        """Return the keys of the items' categories."""
        return [category_keys(item.categories) for item in self.names.items]

    @cached_property
    def labels(self) -> list[frozenset[str]]:
        """Return the keys of the items' labels, by which a topic or a keyword finds them as by words."""
        return [label_keys(item.categories, item.author) for item in self.names.items]

    @cached_property
    def authors(self) -> dict[str, str]:
        """Return the authors of the items by folded name, each of several by their own."""
        typed = (item.author.strip() for item in self.names.items)
        return {fold(name): name for one in typed for name in author_names(one) or (one,) if name}

    @cached_property
    def titles(self) -> dict[str, list[str]]:
        """Return the keys of sources by each way to name one exactly."""
        found: dict[str, list[str]] = {}
        for key, title in self.names.sources.items():
            folded = fold(title)
            capitals = "".join(word[0] for word in _bare_name(folded).split() if word[0].isalnum())
            ways = {
                capitals if len(capitals) > 1 else folded,
                folded,
                _bare_name(folded),
                fold(key),
                fold(key).partition(".")[0],
            }
            # "news.example.org" is not called "news".
            for way in ways - (FILLERS - {folded}):
                found.setdefault(way, []).append(key)
        for name, key in self.names.called.items():
            if key in self.names.sources:
                found.setdefault(fold(name), []).append(key)
        return found

    @cached_property
    def known(self) -> KnownNames:
        """Return the names inside which a sentence is not split."""
        titles = [*self.names.sources.values(), *self.names.called]
        return names_known(
            [*titles, *map(_bare_name, map(fold, titles)), *self.names.topics, *self.authors.values()],
            self.titles,
        )

    def source(self, key: str) -> Target:
        """Return the source with this key as a target."""
        return Target(SOURCE, key, self.names.sources[key])

    def name(self, source: Target) -> str:
        """Return the title of a source, or its key if another source has the title, too."""
        return source.label if len(self.sources_exact(fold(source.label))) == 1 else source.key

    def sources_exact(self, phrase: str) -> list[Target]:
        """Return the sources called exactly `phrase`, with or without an article, or with an s at the end."""
        bare = _bare_name(phrase)
        plural = "" if bare in FILLERS else bare.removesuffix("s").removesuffix("'")
        found = next((keys for way in (phrase, bare, plural) if (keys := self.titles.get(way))), [])
        return [self.source(key) for key in dict.fromkeys(found)]

    def sources_partly(self, phrase: str) -> list[Target]:
        """Return the sources with every word of `phrase` and others in their title, else by its beginning."""
        words = search_terms(phrase)
        exact = {target.key for target in self.sources_exact(phrase)}
        others = {key: terms for key, terms in self._title_terms.items() if words and key not in exact}
        found = [key for key, terms in others.items() if {*words} <= {*terms}]
        found = found or [key for key, terms in others.items() if _begins(words, terms)]
        return sorted(map(self.source, found), key=lambda target: target.label)

    @cached_property
    def _title_terms(self) -> dict[str, list[str]]:
        """Return the words of each source's title without its article."""
        return {key: search_terms(_bare_name(fold(title))) for key, title in self.names.sources.items()}

    def _is_named_so(self, source: Target, phrase: str) -> bool:
        """Return whether `phrase` has the first word of the title, or a person's name before an "'s"."""
        words, label = set(search_terms(phrase)), fold(source.label)
        first = self._title_terms[source.key][0]
        return any(
            first.startswith(word) or re.search(rf"\b{re.escape(word)}['’]s\b", label) for word in words
        )

    def source_among(self, phrase: str) -> tuple[Target, str] | None:
        """Return the only source named in `phrase`, and the words beside it, "" if they mean nothing."""
        words = phrase.replace("-", " ").split()
        if len(words) > AMONG_MAX:
            return None
        spans = [(n, m) for n in range(len(words)) for m in range(n + 1, len(words) + 1)]
        for begin, end in sorted(spans, key=lambda span: span[0] - span[1]):
            span = " ".join(words[begin:end])
            if span in FILLERS:
                continue
            partly = self.sources_partly(span) if end - begin == 1 and not means_nothing(span) else []
            named = [one for one in partly if self._is_named_so(one, span)]
            if found := self.sources_exact(span) or named:
                around = [*words[:begin], *words[end:]]
                beside = "" if all(map(means_nothing, around)) else " ".join(around)
                return (found[0], beside) if len(found) == 1 else None
        return None

    def named_in(self, phrase: str) -> Target | None:
        """Return a source or an interest that stands somewhere in `phrase`, in one of both languages."""
        if among := self.source_among(phrase):
            return among[0]
        words = [one for word in (*phrase.split(), phrase) for one in (word, self.plain(word))]
        return next((own for word in words if (own := self.topic(word))), None)

    def interests_in(self, phrase: str) -> list[Target]:
        """Return the interests among the words of a phrase of two or three: "AI" of "AI hype"."""
        words = phrase.split()
        parts = [*words, *map(" ".join, pairwise(words))] if len(words) in (2, 3) else []
        return list(dict.fromkeys(own for part in parts if part != phrase and (own := self.topic(part))))

    def plain(self, phrase: str) -> str:
        """Return `phrase` as settings or articles say it: with umlauts, its subject, or as an interest."""
        if self._is_known(phrase) or self.sources_partly(phrase) or phrase in FORM_WORDS:
            return phrase
        words = [] if PLACED & {*phrase.split()} else phrase.split()
        is_left = [word not in self.known.own and carries(word) for word in words]
        groups = groupby(zip(words, is_left, strict=True), key=lambda one: one[1])
        parts = [" ".join(word for word, _ in group) for carried, group in groups if not carried]
        parts = [part.removesuffix(" on").removesuffix(" in") for part in parts]
        known = [part for part in parts if self._is_known(part) or self.sources_partly(part)]
        known = known or parts[: len(parts) == 1]
        if parts != [phrase] and len(known) == 1:
            # "Chess is my life" is about chess. The rest is reported.
            return known[0]
        noun, _, verb = phrase.rpartition(" ")
        is_noun = self.is_german and self.typed(noun)[:1].isupper() and self.typed(verb).islower()
        if is_noun and self._is_known(shorter := self.plain(noun)):
            # "Schach langweilt": in German a noun alone has a capital.
            return shorter
        phrase = phrase.removesuffix("'s")
        half = _SUBJECT_HALF.fullmatch(phrase)
        head = _LINKED.sub("", half["head"]) if half else phrase
        if half and head.removesuffix("s") in OTHER_LANGUAGE:
            # "Kriegsmeldungen".
            head = head.removesuffix("s")
        ways = [way for word in (phrase, head) for way in (umlauts(word), word) if self._is_known(way)]
        return ways[0] if ways else head

    def _is_known(self, phrase: str) -> bool:
        return bool(self.topic(phrase) or self.sources_exact(phrase) or self.is_found(phrase)) or (
            phrase in self.authors
        )

    def muted(self, phrase: str) -> list[Target]:
        """Return what is muted and called `phrase`, fully, partly or nearly; all that is muted for ""."""
        sources, words = self.names.sources, set(phrase.split())
        every = [
            Target(SOURCE, one, sources[one]) if one in sources else Target(WORD, one, one)
            for one in self.names.muted
        ]
        exact = [one for one in every if _bare_name(phrase) in (fold(one.key), _bare_name(fold(one.label)))]
        terms = [(one, {*_bare_name(fold(one.label)).split()}) for one in every]
        partly = [one for one, named in terms if words <= named or named <= words]
        return exact or partly or [one for one in every if _names_near(phrase, [fold(one.label)])]

    def is_muted(self, target: Target) -> bool:
        """Return whether a source or a word is muted."""
        return fold(target.key) in map(fold, self.names.muted)

    def topic(self, phrase: str) -> Target | None:
        """Return the interest or boosted keyword that `phrase` names, in the reader's spelling.

        "Politik" names "politics", and so does a name that the reader gave it.
        """
        ways = (phrase, *OTHER_LANGUAGE.get(fold(phrase), ()))
        keys = (key for way in ways for key in (topic_key(way), topic_identity(way, topic_key)))
        own = next((own for key in keys if (own := self._topics.get(key))), None)
        return None if own is None else Target(TOPIC, own, own)

    @cached_property
    def _topics(self) -> dict[str, str]:
        """Return the interests and boosted keywords by their names, of two with one name the first."""
        names, topics = self.names.other_names, self.names.topics[::-1]
        found = {topic_key(name): topic for topic in topics for name in names.get(topic_key(topic), ())}
        found |= {topic_identity(topic, topic_key): topic for topic in topics}
        return found | {topic_key(topic): topic for topic in topics}

    def is_found(self, phrase: str) -> bool:
        """Return whether an item of the last days has `phrase` in words or as a label, as in ranking."""
        if phrase not in self._found:
            self._found[phrase] = any(map(topic_finder(phrase), self.texts, self.labels))
        return self._found[phrase]

    def is_found_beyond(self, phrase: str, sources: Iterable[str]) -> bool:
        """Return whether an item outside `sources` has `phrase` in words or as a label."""
        finds, left_out = topic_finder(phrase), set(sources)
        rows = zip(self.names.items, self.texts, self.labels, strict=True)
        return any(item.source not in left_out and finds(text, keys) for item, text, keys in rows)

    def is_category(self, phrase: str) -> bool:
        """Return whether a publisher filed an item of the last days under `phrase`."""
        return any(category_key(phrase) in keys for keys in self.categories)

    def mute_kind(self, phrase: str) -> str:
        """Return the kind of mute that hides items with `phrase`: a word, or an author whom no text names."""
        is_word = fold(phrase) not in self.authors or self.is_category(phrase)
        return WORD if is_word or any(map(term_finder(phrase), self.texts)) else AUTHOR

    def authors_named(self, phrase: str, *, partly: bool) -> list[Target]:
        """Return the authors named `phrase`; `partly`: with all its words in their name."""
        if phrase in self.authors:
            return [Target(AUTHOR, self.authors[phrase], self.authors[phrase])]
        words = set(phrase.split())
        names = [name for folded, name in self.authors.items() if words and words <= set(folded.split())]
        return [Target(AUTHOR, name, name) for name in sorted(names)] if partly else []

    def meanings(self, phrase: str, about: str, *, subject: bool) -> list[Target]:
        """Return all that `phrase` may mean, with `about` a kind of `KIND_WORDS` or ""; none: unknown."""
        if about in ("topic", "word"):
            return self._texts(phrase, certain=True)
        if about == "category":
            return [self.word(phrase, CATEGORY)]
        if about == "about":
            return self._texts(phrase, certain=False) or self._publishers(phrase)
        if about == "source":
            found = self._publishers(phrase) or self.authors_named(phrase, partly=True)
            # A name read "from" may be a section of several publishers, or a subject: "nichts vom Krieg".
            return found or self._texts(phrase, certain=self.is_category(phrase))
        if about == "author":
            return self.authors_named(phrase, partly=True) or self._publishers(phrase)
        return self._bare(phrase, subject=subject)

    def _texts(self, phrase: str, *, certain: bool) -> list[Target]:
        own = self.topic(phrase)
        if own is not None:
            return [own]
        return [self.word(phrase)] if certain or self.is_found(phrase) else []

    def _publishers(self, phrase: str) -> list[Target]:
        return self.sources_exact(phrase) or self.sources_partly(phrase)

    def _bare(self, phrase: str, *, subject: bool) -> list[Target]:
        exact = self.sources_exact(phrase)
        own = self.topic(phrase)
        if exact:
            keys = [target.key for target in exact]
            worded = " " not in phrase and self.is_found_beyond(phrase, keys)
            word = self.word(phrase) if worded else None
            text = own or word
            return [*exact, text] if text else exact
        texts = self._texts(phrase, certain=False)
        authors = self.authors_named(phrase, partly=False)
        if subject and texts:
            return texts
        if authors:
            # A name that stands in texts too is still a person's.
            return authors
        partly = self.sources_partly(phrase)
        if not texts and any(not self._is_named_so(one, phrase) for one in partly):
            # "Security" is a word, too, and not only the end of a title.
            texts = [self.word(phrase)]
        found = [*texts, *partly]
        return found or self.authors_named(phrase, partly=True)

    @cached_property
    def _named(self) -> dict[str, Target]:
        """Return sources, by each way to name one alone, and interests, by folded name."""
        found = {way: self.source(keys[0]) for way, keys in self.titles.items() if len({*keys}) == 1}
        for topic in self.names.topics:
            known = known_topic(topic, topic_key)
            ways = (topic, *(known.names if known else ()), *OTHER_LANGUAGE.get(fold(topic), ()))
            found |= dict.fromkeys(map(fold, ways), Target(TOPIC, topic, topic))
        return found

    @cached_property
    def _named_partly(self) -> dict[str, Target]:
        """Return sources by each long word that is in the title of one alone."""
        words = [(word, key) for key, terms in self._title_terms.items() for word in {*terms}]
        counts = Counter(word for word, _ in words)
        return {
            word: self.source(key) for word, key in words if counts[word] == 1 and len(word) > TYPO_CHARS_MIN
        }

    def _near(self, phrase: str) -> list[tuple[float, str]]:
        """Return the names that are spelled nearly like `phrase`, each after its likeness, the best first."""
        if phrase not in self._alike:
            self._alike[phrase] = [
                (alike, name)
                for alike, name in _names_near(phrase, self._named)
                if alike >= TYPO_SHARE or name == _bare_name(fold(self._named[name].label))
            ]
        return self._alike[phrase]

    @cached_property
    def _words(self) -> dict[str, dict[str, list[str]]]:
        """Return distinct words of the items by their first letter, and by their letters in order.

        Words of titles come first. A publisher may invent any number of words, so only `WORDS_MAX` are kept.
        """
        found: dict[str, None] = {}
        for text in (*(fold(item.title) for item in self.names.items), *self.texts):
            found |= dict.fromkeys(plain_words(text))
            if len(found) > WORDS_MAX:
                break
        by_letter: dict[str, dict[str, list[str]]] = {}
        for word in dict.fromkeys(topic_key(word) for word in [*found][:WORDS_MAX]):
            by_letter.setdefault(word[:1], {}).setdefault("".join(sorted(word)), []).append(word)
        return by_letter

    def _is_word(self, phrase: str) -> bool:
        """Return whether `phrase` is a subject that everybody knows, or made of words of a dictionary."""
        is_subject = known_topic(phrase, topic_key) is not None or fold(phrase) in OTHER_LANGUAGE
        return is_subject or all(word_known(word) for word in phrase.split())

    def nearest(self, phrase: str, share: float = NEAR_SHARE) -> list[Target]:
        """Return names that are spelled nearly like `phrase`: sources, interests, words of items.

        A word or a subject of its own ("sport") is no misspelling of another ("strop"). A sentence has only
        so many unknown names (`UNKNOWN_MAX`); later ones are near nothing.
        """
        if self._is_word(phrase):
            return []
        self._unknown.setdefault(phrase, None)
        if phrase not in [*self._unknown][:UNKNOWN_MAX]:
            return []
        near = [name for alike, name in self._near(phrase) if alike >= share][: OFFERED_MAX - 1]
        found = list(dict.fromkeys(self._named[name] for name in near))
        if not found and share < TYPO_SHARE:
            partly = _names_near(phrase, self._named_partly)
            found = [self._named_partly[name] for alike, name in partly[:1] if alike >= NEARLY_SHARE]
        if not found and len(phrase) >= TYPO_CHARS_MIN:
            # Letters that changed places, as in "gamign": the same ones, and the same first.
            words = self._words.get(phrase[:1], {})
            same = sorted(words.get("".join(sorted(phrase)), ()))
            if not same and share < TYPO_SHARE:
                same = get_close_matches(
                    phrase, [one for some in words.values() for one in some], 1, TYPO_SHARE
                )
            found = [Target(WORD, word, word) for word in same[:1] if not _is_inflected(phrase, word)]
        return found
