"""Names for source keys, for pages of rooms that know sources by key alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template

from digest.selectors import reader_sources, source_titles
from ranking.presenters import weight_words

register = template.Library()

# One row of `ranking.views`' weights: source, effective weight, its words, whether learning moved it.
Weight = tuple[str, str, str, bool]


@dataclass(frozen=True, slots=True)
class WeightRow:
    """One source in the settings form. `shown` is empty where the source has no weight of its own."""

    key: str
    title: str
    shown: str
    value: str
    words: str
    learned: bool
    error: str = ""


@register.simple_tag(takes_context=True)
def source_names(context: Mapping[str, Any], weights: Iterable[Weight] = ()) -> dict[str, str]:
    """The titles of the reader's sources and of those in `weights`, by key."""
    keys = {*reader_sources(reader_id=context["request"].user.pk), *(row[0] for row in weights)}
    return {key: key for key in keys} | source_titles(keys=keys)


@register.simple_tag
def names_with_pins(
    names: Mapping[str, str], locked: Iterable[str], avoided: Iterable[str]
) -> dict[str, str]:
    """`names` and the titles of what is pinned and a source, though the reader no longer reads it."""
    return dict(names) | source_titles(keys={*locked, *avoided} - names.keys())


@register.simple_tag
def weight_rows(
    names: Mapping[str, str],
    weights: Sequence[Weight],
    typed: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
) -> list[WeightRow]:
    """A row for each source of `names`, in order of title, with what was `typed` where it was, and what is
    wrong with that."""
    own = {key: (shown, words, learned) for key, shown, words, learned in weights}
    rows = []
    for key, title in sorted(names.items(), key=lambda pair: pair[1].casefold()):
        shown, words, learned = own.get(key, ("", weight_words(1.0), False))
        error = (errors or {}).get(key, "")
        rows.append(WeightRow(key, title, shown, typed.get(key, shown), words, learned, error))
    return rows


@register.filter
def named(key: str, names: Mapping[str, str]) -> str:
    """The title of the source `key`; any other target stays as it is."""
    return names.get(key, key)
