"""The wishes of a sentence that are too many for one time: a note on them, and their words. Pure."""

from collections.abc import Sequence

from ranking.language import gettext as _
from suggestions.wishes.grammar import Clause
from suggestions.wishes.wish import WISHES_MAX

# So much of the names in a note.
NAMES_CHARS = 250
_ENDS = " ,;.!?"


def left_note(labels: Sequence[str]) -> str:
    """Return the note on wishes, by their targets, that are too many for one time."""
    words = _("At most {most} changes at a time. These stay in the field below for the next time: {named}.")
    named = ", ".join(f"“{label}”" for label in labels)
    return words.format(most=WISHES_MAX, named=named[:NAMES_CHARS] + "…" * (len(named) > NAMES_CHARS))


def words_from(clause: Clause, every: Sequence[Clause], asked: Sequence[Clause], sentence: str) -> str:
    """Return the sentence from one of its clauses on, after the words of the direction that it shares.

    The clauses that are `asked` about are left out.
    """
    at, parts = clause.span[0], []
    for begin, end in sorted(one.span for one in asked if one.span[0] > at):
        parts.append(sentence[at:begin].strip(_ENDS))
        at = end
    rest = "; ".join(filter(None, (*parts, sentence[at:].strip(_ENDS))))
    return with_direction(rest, clause, every, sentence)


def with_direction(words: str, clause: Clause, every: Sequence[Clause], sentence: str) -> str:
    """Return `words`, which begin with a clause, after the words of the direction that it shares.

    "and chess" of "less football and chess" is "less chess".
    """
    before = [one for one in every if one.span[0] < clause.span[0] and not one.inherited]
    if not clause.inherited or not before:
        return words
    return f"{sentence[before[-1].span[0] : before[-1].begin].strip()} {words}".strip()
