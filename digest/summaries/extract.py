"""Extracts: summaries made of a text's own sentences, without a model.

One or two sentences near the beginning that share words with the title and are similar to the rest (LexRank's
degree centrality: Erkan and Radev, 2004). They are exact citations by construction. Pure."""

import re
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from digest.summaries.grounding import content_stems, whitespace_collapse

SUMMARY_CHARS_MAX = 400
SENTENCE_CHARS_MIN = 30
# Chinese and Japanese need a third of the characters.
DENSE_CHARS_MIN = 10
SENTENCES_READ = 60
# A second sentence too similar to the first adds nothing.
ALIKE_MAX = 0.5
# Chosen on 131 publishers' own standfirsts: words shared with them (F1) 0.26, against 0.21 for the first two
# sentences and 0.14 for any two (`python -m tests.lab summaries`).
CENTRAL, EARLY, TITLED = 0.3, 0.25, 0.45
# A full stop is judged by so many characters before it, so that reading stays linear in the length.
ABBREVIATION_CHARS = 12

_END = re.compile(r"[.!?…]+[\"”’»)\]]*(?=\s)|[。！？]+[」』”]*|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|mr|mrs|ms|dr|prof|st|sen|rep|gov|gen|no|vs|jr|sr|inc|ltd|co|corp"
    r"|etc|eg|ie|approx|usw|bzw|ca|nr|sog|mio|mrd|jan|feb|apr|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_NEXT = re.compile(r" *(.?)")
_DENSE = re.compile("[぀-ヿ㐀-䶿一-鿿]")
# What feeds add to every text, in the words of the tools that add it.
_BOILERPLATE = re.compile(
    r"appeared first on|^(?:the post|read (?:more|the (?:full|rest|whole))|continue reading|click here"
    r"|subscribe|sign up|share this|follow us|listen to|download|advertisement|photo|image|picture"
    r"|credit|source|tags?|filed under|comments?|leave a comment|originally published"
    r"|this (?:post|article) (?:was|is|originally)|all rights reserved|©|weiterlesen|article url"
    r"|points?:|submitted by)\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://|www\.")


@dataclass(frozen=True, slots=True)
class Extract:
    """Sentences of a text in its order, exact except for white space."""

    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the sentences as one text."""
        return " ".join(self.sentences)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of `text`, each with single spaces; a line break always ends one."""
    found, start = [], 0
    for end in _END.finditer(f"{text}\n"):
        stop = end.end()
        if end.group() == ".":  # no end after an abbreviation or before a small letter
            following = _NEXT.match(text, stop)
            small = following is not None and following.group(1).islower()
            if small or _ABBREVIATION.search(text, max(start, stop - ABBREVIATION_CHARS), stop):
                continue
        if sentence := whitespace_collapse(text[start:stop]):
            found.append(sentence)
        start = stop
    return found


def first_sentence(text: str) -> str:
    """Return the first usable sentence, the publisher's own summary in most feeds; "" without one."""
    return next((sentence for sentence in sentences_of(text) if sentence_usable(sentence)), "")


def sentence_usable(sentence: str) -> bool:
    """Return whether a sentence can be a summary: of the right length, neither link nor boilerplate."""
    dense = bool(_DENSE.search(sentence))
    least = DENSE_CHARS_MIN if dense else SENTENCE_CHARS_MIN
    if not least <= len(sentence) <= SUMMARY_CHARS_MAX or not (dense or sentence.count(" ") >= 3):
        return False
    return not (_BOILERPLATE.search(sentence) or _LINK.search(sentence) or sentence.endswith((":", "：")))


def extract_of(title: str, text: str) -> Extract | None:
    """Return one or two sentences of `text`, together at most 400 characters; `None` without a usable one."""
    candidates = [s for s in sentences_of(text)[: 4 * SENTENCES_READ] if sentence_usable(s)]
    # A sentence that only repeats the title is no summary.
    sentences = [s for s in candidates if s.casefold().strip(" .!?") != title.casefold().strip(" .!?")]
    sentences = (sentences or candidates)[:SENTENCES_READ]
    if len(sentences) < 2:
        return Extract(tuple(sentences)) if sentences else None
    scores, similarity = _scores(title, sentences)
    order = sorted(range(len(sentences)), key=lambda n: -scores[n])
    first = order[0]
    fitting = (
        n
        for n in order[1:]
        if similarity[first, n] <= ALIKE_MAX and len(sentences[n]) + len(sentences[first]) < SUMMARY_CHARS_MAX
    )
    chosen = sorted({first, next(fitting, first)})
    return Extract(tuple(sentences[n] for n in chosen))


def _scores(title: str, sentences: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of each sentence, and the similarity of any two (cosine of TF-IDF, 0 to 1)."""
    n = len(sentences)
    early = 1.0 / (1.0 + np.arange(n))
    vectorizer = TfidfVectorizer(analyzer=lambda text: list(content_stems(text)), sublinear_tf=True)
    try:
        rows = vectorizer.fit_transform([*sentences, title])
    except ValueError:  # no content word in any of them
        return early, np.zeros((n, n))
    similarity = (rows @ rows.T).toarray()
    titled, similarity = similarity[:n, n], similarity[:n, :n]
    central = (similarity.sum(axis=1) - 1.0) / max(1, n - 1)
    central = central / (central.max() or 1.0)
    return CENTRAL * central + EARLY * early + TITLED * titled, similarity
