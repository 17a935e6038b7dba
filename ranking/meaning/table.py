"""Turn texts into vectors by a fixed table of word pieces. Pure.

The vector of a text is the mean of the vectors of its word pieces, in 128 dimensions, stored as 128 signed
bytes. The table was made once from a language model (`make_table.py`, NOTICE). Nothing is trained here, no
model runs, and nothing leaves the machine. The cosine of two vectors tells how similar two texts are.

The shipped table knows English. An operator may name a folder with another one: `MeaningTable.read`.

Measured on AG News, title and lead: a taste from three likes and three dislikes finds the liked label with an
AUC of .84 by these vectors and of .64 by TF-IDF. 64 dimensions lose .01 (docs/ranking.md).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranking.common.text import fold

DIMENSIONS = 128
# The title and about 350 words tell the subject of an item. By 60 words, three likes and three dislikes find
# the label of a BBC report with an AUC of .90, by 350 words with .94. A vector takes 2.4 times as long.
TEXT_CHARS = 2_000
# The language shows in fewer words.
LANGUAGE_CHARS = 800
# The letters of a known word that may have an ending, as "podcast" and "s".
STEM_CHARS = 4
# Texts in one pass, which bounds the memory of their pieces to some megabytes.
BATCH = 64
FOLDER = Path(__file__).parent

Vectors = NDArray[np.int8]
Floats = NDArray[np.float32]
_WORD = re.compile(r"[^\W\d_]+")
# Common words that no other of these languages has, and those that English does not have (German, French,
# Spanish, Italian, Portuguese, Dutch). Words of two languages ("in", "was") tell nothing.
_ENGLISH_WORDS = """
the of and to with that this from are were have has been its their what when how why who you your
"""
_OTHER_WORDS = """
der das und ist nicht mit für auf ein eine einen von zum zur wie auch sich les des est une dans pour qui que
sur avec pas plus aux el los las una por con para como más del che di il della per sono gli nel não uma dos
het een van voor niet zijn
"""
_ENGLISH, _OTHERS = frozenset(_ENGLISH_WORDS.split()), frozenset(_OTHER_WORDS.split())


@dataclass(frozen=True, slots=True)
class MeaningTable:
    """The tokenizer of the word pieces, their vectors (pieces, 128) and the scale of each (pieces,)."""

    tokenizer: Any
    vectors: Vectors
    scales: Floats

    @classmethod
    def read(cls, folder: Path, name: str) -> "MeaningTable":
        """Read `name.npz` and `name-tokenizer.json` from `folder`.

        Raises `OSError` if a file is missing, and `ValueError` if the two do not fit.
        """
        from tokenizers import Tokenizer  # noqa: PLC0415 - 5 MB that only a process that makes vectors needs

        arrays = np.load(folder / f"{name}.npz")
        vectors, scales = arrays["vectors"], arrays["scales"].astype(np.float32)
        tokenizer = Tokenizer.from_file(str(folder / f"{name}-tokenizer.json"))
        tokenizer.no_padding()
        if vectors.shape != (tokenizer.get_vocab_size(), DIMENSIONS) or len(scales) != len(vectors):
            raise ValueError(
                f"The table {name} has not one vector of {DIMENSIONS} numbers for each word piece."
            )
        return cls(tokenizer, vectors, scales)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text, (texts, 128); all zeros for a text without known pieces."""
        found = np.zeros((len(texts), DIMENSIONS), dtype=np.int8)
        for start in range(0, len(texts), BATCH):
            found[start : start + BATCH] = self._encode(texts[start : start + BATCH])
        return found

    def knows(self, word: str) -> bool:
        """Return whether the word has a vector of its own, or is a known word of four letters and an ending.

        Other words fall into pieces, and the pieces of "qqzzyx" are as good as those of any rare word.
        """
        pieces = self.tokenizer.encode(word, add_special_tokens=False).tokens
        stem = pieces[0] if pieces else ""
        return stem not in {"", "[UNK]"} and len(pieces) <= (2 if len(stem) >= STEM_CHARS else 1)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        unknown = self.tokenizer.token_to_id("[UNK]")
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for n, encoding in enumerate(encodings):
            pieces = [piece for piece in encoding.ids if piece != unknown]
            sums[n] = self.scales[pieces] @ self.vectors[pieces].astype(np.float32)
        return _bytes_of(sums)


@cache
def english_table() -> MeaningTable:
    """Return the table that Tidings ships, read once a process (8 MB)."""
    return MeaningTable.read(FOLDER, "english")


@cache
def usual_centre() -> Floats:
    """Return the mean of the unit vectors of 3,469 English items of 194 real feeds, (128,).

    An installation without items of its own compares with it (`ranking.taste.likeness`).
    """
    found: Floats = np.load(FOLDER / "english-centre.npy")
    return found


@cache
def usual_spread_inverse() -> Floats:
    """Return the inverse of the usual spread of articles, (128, 128).

    The spread is the covariance of centred unit vectors of the same items as `usual_centre`, plus the mean of
    its diagonal. An installation's own spread would be that of its subjects: on BBC it hides what sport has
    in common.
    """
    spread = np.load(FOLDER / "english-spread.npy").astype(np.float64)
    inverse: Floats = np.linalg.inv(spread + np.trace(spread) / DIMENSIONS * np.eye(DIMENSIONS)).astype(
        np.float32
    )
    return inverse


def meaning_vectors(titles: Sequence[str], texts: Sequence[str]) -> Vectors:
    """Return one vector for each item, by its title and the first 2,000 characters of its text."""
    return english_table().encode(
        [f"{title}. {text[:TEXT_CHARS]}" for title, text in zip(titles, texts, strict=True)]
    )


def known_words(text: str, *, or_if: Callable[[str], bool]) -> list[str]:
    """Return the words of a text that the table knows, or for which `or_if` is true, in their order."""
    return [word for word in _WORD.findall(text) if english_table().knows(word) or or_if(word)]


def is_english(text: str, language: str) -> bool:
    """Return whether a text is English: by its common words, else by the `language` its feed names.

    Words come first because feeds name the language of their software: many German blogs say "en-US".
    """
    words = _WORD.findall(fold(text[:LANGUAGE_CHARS]))
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS for word in words)
    if english == others:
        return language.casefold().startswith("en")
    return english > others


def unit_rows(vectors: Vectors | Floats) -> Floats:
    """Return the vectors with length 1; a row of zeros stays."""
    rows = vectors.astype(np.float32)
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    found: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return found


def vectors_of(packed: Sequence[bytes]) -> Vectors:
    """Return packed vectors as rows, zeros for an empty one. The pack is the 128 bytes of a row."""
    empty = bytes(DIMENSIONS)
    joined = b"".join(one or empty for one in packed)
    return np.frombuffer(joined, dtype=np.int8).reshape(len(packed), DIMENSIONS)


def _bytes_of(rows: Floats) -> Vectors:
    """Return each row scaled so that its largest number is 127: a cosine does not ask for the length."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(rows * 127, largest, out=np.zeros_like(rows), where=largest > 0)
    found: Vectors = np.round(scaled).astype(np.int8)
    return found
