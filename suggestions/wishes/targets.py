"""The target of a clause: the typed words that name it, without those around them. Pure."""

from collections.abc import Sequence

from suggestions.wishes import lexicon
from suggestions.wishes.tokens import WORD, Token

_AROUND = lexicon.FILLERS | lexicon.KIND_WORDS.keys() | lexicon.LENGTHS | lexicon.EVERY_WORDS
# Words that name nothing by themselves.
MEANINGLESS = _AROUND | lexicon.SUBJECT_WORDS | lexicon.EVERYTHING | lexicon.PRONOUNS | lexicon.CARRYING


def target_strip(tokens: Sequence[Token]) -> tuple[list[Token], str, bool, str]:
    """Return a target without the words around it, its kind and its length, if named."""
    # "The football news I hid" are football news.
    tellers = (n for n, one in enumerate(tokens[:-1]) if n and one.typed in lexicon.SETS["tellers"])
    rest, about, subject, length = list(tokens[: next(tellers, len(tokens))]), "", False, ""
    while rest and rest[0].kind == WORD and rest[0].text in _AROUND:
        word = rest[0].text
        if len(rest) == 1 and word not in lexicon.FILLERS | lexicon.LENGTHS:
            break
        about = lexicon.KIND_WORDS.get(word, about)
        length = word if word in lexicon.LENGTHS else length
        subject = subject or (bool(length or about) and word in lexicon.SUBJECT_WORDS)
        rest.pop(0)
    # "Chess long reads": a length stands before the word for articles.
    behind, word = lexicon.FILLERS | lexicon.SUBJECT_WORDS, ""
    while rest and rest[-1].kind == WORD and rest[-1].text in behind | lexicon.LENGTHS:
        if rest[-1].text in lexicon.LENGTHS and not (subject or word == "reads"):
            break
        word = rest.pop().text
        length = word if word in lexicon.LENGTHS else length
        subject = subject or word in lexicon.SUBJECT_WORDS
    at = next(
        (n for n, one in enumerate(tokens[:-1]) if one.kind == WORD and one.text in lexicon.TELLING), None
    )
    if at is not None and rest in ([], [tokens[at]]) and tokens[at + 1].text not in lexicon.KIND_WORDS:
        # "Good news", "opinion pieces": a wish. Each word alone would be another one.
        rest = list(tokens[at : at + 2])
    return rest, about, subject, length


def phrase_of(tokens: Sequence[Token]) -> str:
    """Return the typed words of a target, one said several times in a row once."""
    typed = [token.typed for token in tokens if token.typed]
    # "Apple apple apple" is said once.
    return " ".join(word for n, word in enumerate(typed) if [word] != typed[n - 1 : n])


def halves_of(tokens: Sequence[Token]) -> tuple[str, str, str] | None:
    """Return ("chess", "gazette", "from") of "chess from Gazette"; `None` for a target of one name."""
    for n, token in enumerate(tokens[1:-1], start=1):
        if token.kind == WORD and token.text in ("from", "by", "about", "in", "on"):
            of, about = target_strip(tokens[:n])[0], target_strip(tokens[n + 1 :])[0]
            if not of or not about:
                return None
            halves = (
                (phrase_of(about), phrase_of(of))
                if token.text == "about"
                else (phrase_of(of), phrase_of(about))
            )
            return (*halves, token.text)
    return None
