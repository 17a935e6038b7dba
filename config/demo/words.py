"""The demo's story in lines of text, at most 100 characters wide. Asks the database nothing."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill, shorten

from digest.models import Impression, Item
from digest.presenters import why_of
from suggestions.entities import SOURCE_WEIGHTS, Preview
from suggestions.models import Evidence, Suggestion
from suggestions.presenters import forecast_words, weight_phrase

WIDTH = 96
INDENT = "   "
TOP_SHOWN = 5
TITLE_CHARS = 62


def wrapped(text: str, first: str = INDENT) -> str:
    """`text` in lines of the story's width; those after the first stand under it."""
    return fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 place", "2 places"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def digest_lines(shown: Sequence[Impression]) -> list[str]:
    """The first items of a digest, each with the reasons why it stands there."""
    lines = []
    for one in shown[:TOP_SHOWN]:
        source = str(one.item.source)
        why = why_of(one.parts, one.score, source)
        lines.append(f"   {one.rank:>2}  {_named(one.item.title, source)}")
        lines.append(wrapped(" · ".join(why.chips), first=" " * 7))
    return lines


def change_lines(suggestion: Suggestion) -> list[str]:
    """What would change, why, and how it would have done."""
    lines = []
    if suggestion.field == SOURCE_WEIGHTS:
        old, new = weight_phrase(suggestion.current_value), weight_phrase(suggestion.suggested_value)
        lines.append(f"   {old} → {new}; {suggestion.confidence} confidence")
    else:
        lines.append(f"   {suggestion.expected_impact} {suggestion.confidence.title()} confidence.")
    lines.append(wrapped(suggestion.reason, first="   Why:      "))
    lines.append(wrapped(forecast_words(suggestion.forecast), first="   Forecast: "))
    return lines


def proof_lines(evidence: Iterable[Evidence], titles: Mapping[str, str]) -> list[str]:
    """The thumbs a suggestion rests on, with the reasons given for them."""
    lines = ["   Evidence, her own thumbs:"]
    for row in evidence:
        reasons = f", {', '.join(row.reason_tags)}" if row.reason_tags else ""
        named = _named(row.title, titles.get(row.source_key, row.source_key))
        lines.append(f"     {'+' if row.useful else '–'} {named}{reasons}")
    return lines


def preview_words(preview: Preview) -> list[str]:
    """What accepting would do to today's digest."""
    counts = f"{len(preview.enters)} in, {len(preview.leaves)} out, {len(preview.moves)} to another place"
    return [f"   Preview:  among today's 30 best, {counts}."]


def move_lines(before: Sequence[Impression], after: Sequence[Impression]) -> list[str]:
    """One line for every item whose place differs between two digests, the longest way first."""
    items = {one.item_id: one.item for one in (*before, *after)}
    old, new = ({one.item_id: one.rank for one in shown} for shown in (before, after))
    # What was not shown, or is no longer, counts as standing just below the end.
    end = max(len(before), len(after)) + 1
    moved = [pk for pk in items if old.get(pk) != new.get(pk)]
    moved.sort(key=lambda pk: (-abs(old.get(pk, end) - new.get(pk, end)), new.get(pk, end)))
    return [_move(old.get(pk), new.get(pk), items[pk]) for pk in moved]


def _move(old: int | None, new: int | None, item: Item) -> str:
    return f"   {old or 'new':>4} → {new or 'out':<4} {_named(item.title, str(item.source))}"


def _named(title: str, source: str) -> str:
    return f"{shorten(title, TITLE_CHARS, placeholder='…')} ({source})"
