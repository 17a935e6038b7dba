"""Looking up what a wish is about among the reader's own sources, interests, authors and words. Pure."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property

from ranking.common.text import fold, fold_lightly, search_terms, term_finder, topic_key
from suggestions.wishes.entities import AUTHOR, SOURCE, TOPIC, WORD, Names, Target

# So many of one kind are offered in a question.
OFFERED_MAX = 4
NEAR_SHARE = 0.75
ARTICLE = "the "


class Lookup:
    """The names of one reader, ready to be looked up; each part is made when it is first needed."""

    def __init__(self, names: Names) -> None:
        """Take the reader's names."""
        self.names = names

    @cached_property
    def texts(self) -> list[str]:
        """Return the folded texts of the items."""
        return [fold_lightly(f"{item.title}\n{item.text}") for item in self.names.items]

    @cached_property
    def authors(self) -> dict[str, str]:
        """Return the authors of the items by folded name."""
        return {fold(item.author): item.author for item in self.names.items if item.author.strip()}

    @cached_property
    def titles(self) -> dict[str, list[str]]:
        """Return the keys of sources by each way to name one exactly."""
        found: dict[str, list[str]] = {}
        for key, title in self.names.sources.items():
            folded = fold(title)
            ways = {folded, folded.removeprefix(ARTICLE), fold(key), fold(key).partition(".")[0]}
            for way in ways:
                found.setdefault(way, []).append(key)
        return found

    def multiword(self) -> list[str]:
        """Return the names that may have several words: a sentence is not split inside one."""
        titles = list(self.names.sources.values())
        bare = [title[len(ARTICLE) :] for title in titles if fold(title).startswith(ARTICLE)]
        return [*titles, *bare, *self.names.topics, *self.authors.values()]

    def source(self, key: str) -> Target:
        """Return the source with this key as a target."""
        return Target(SOURCE, key, self.names.sources[key])

    def sources_exact(self, phrase: str) -> list[Target]:
        """Return the sources called exactly `phrase`, with or without an article."""
        keys = [*self.titles.get(phrase, []), *self.titles.get(phrase.removeprefix(ARTICLE), [])]
        return [self.source(key) for key in dict.fromkeys(keys)]

    def sources_partly(self, phrase: str) -> list[Target]:
        """Return the sources whose title has every word of `phrase`, and more."""
        words = set(search_terms(phrase))
        exact = {target.key for target in self.sources_exact(phrase)}
        found = [
            self.source(key)
            for key, title in self.names.sources.items()
            if words and key not in exact and words <= set(search_terms(title))
        ]
        return sorted(found, key=lambda target: target.label)

    def topic(self, phrase: str) -> Target | None:
        """Return the interest or boosted keyword that `phrase` is, in the reader's spelling."""
        wanted = topic_key(phrase)
        own = next((topic for topic in self.names.topics if topic_key(topic) == wanted), None)
        return None if own is None else Target(TOPIC, own, own)

    def is_found(self, phrase: str) -> bool:
        """Return whether an item of the last days has `phrase` in its words."""
        finds = term_finder(phrase)
        return any(map(finds, self.texts))

    def is_found_beyond(self, phrase: str, sources: Iterable[str]) -> bool:
        """Return whether an item that is of none of `sources` has `phrase` in its words."""
        finds, left_out = term_finder(phrase), set(sources)
        pairs = zip(self.names.items, self.texts, strict=True)
        return any(item.source not in left_out and finds(text) for item, text in pairs)

    def authors_named(self, phrase: str, *, partly: bool) -> list[Target]:
        """Return the authors called `phrase`; `partly`: those whose name has all its words."""
        if phrase in self.authors:
            return [Target(AUTHOR, self.authors[phrase], self.authors[phrase])]
        words = set(phrase.split())
        names = [name for folded, name in self.authors.items() if words and words <= set(folded.split())]
        return [Target(AUTHOR, name, name) for name in sorted(names)] if partly else []

    def meanings(self, phrase: str, about: str, *, subject: bool) -> list[Target]:
        """Return all that `phrase` may mean, with `about` a kind of `KIND_WORDS` or ""; none: unknown."""
        if about in ("topic", "word", "about"):
            return self._texts(phrase, certain=about != "about")
        if about == "source":
            return self._publishers(phrase) or self.authors_named(phrase, partly=True)
        if about == "author":
            return self.authors_named(phrase, partly=True) or self._publishers(phrase)
        return self._bare(phrase, subject=subject)

    def _texts(self, phrase: str, *, certain: bool) -> list[Target]:
        own = self.topic(phrase)
        if own is not None:
            return [own]
        return [Target(WORD, phrase, phrase)] if certain or self.is_found(phrase) else []

    def _publishers(self, phrase: str) -> list[Target]:
        return self.sources_exact(phrase) or self.sources_partly(phrase)

    def _bare(self, phrase: str, *, subject: bool) -> list[Target]:
        exact = self.sources_exact(phrase)
        own = self.topic(phrase)
        if exact:
            keys = [target.key for target in exact]
            worded = " " not in phrase and self.is_found_beyond(phrase, keys)
            word = Target(WORD, phrase, phrase) if worded else None
            text = own or word
            return [*exact, text] if text else exact
        texts = self._texts(phrase, certain=False)
        authors = self.authors_named(phrase, partly=False)
        if subject and texts:
            return texts
        if authors:
            # A name that stands in texts too is still a person's.
            return authors
        found = [*texts, *self.sources_partly(phrase)]
        return found or self.authors_named(phrase, partly=True)

    def nearest(self, phrase: str) -> list[Target]:
        """Return what is spelled nearly like `phrase`: sources, then interests."""
        by_name = {fold(title): self.source(key) for key, title in self.names.sources.items()}
        by_name |= {name.removeprefix(ARTICLE): target for name, target in by_name.items()}
        by_name |= {fold(topic): Target(TOPIC, topic, topic) for topic in self.names.topics}
        near = get_close_matches(phrase, by_name, OFFERED_MAX - 1, NEAR_SHARE)
        return list(dict.fromkeys(by_name[name] for name in near))


def labels(targets: Sequence[Target]) -> list[str]:
    """Return each target in words: “the source “Gazette””."""
    return [target_words(target) for target in targets]


def target_words(target: Target) -> str:
    """Return a target in words, with its kind."""
    return f"the {target.kind} “{target.label}”"
