"""Reasons in readers' own words, mapped to the canonical taxonomy."""

from collections.abc import Iterable, Mapping

from digest.models import ReasonTag
from digest.sanitise import one_line, plain
from ranking.matching import fold

OTHER_REASONS_MAX = 8
OTHER_REASON_MAX_CHARS = 64


def taxonomy_table() -> dict[str, str]:
    """Every folded spelling (slug, label, synonym) -> slug; one query. A slug beats another's synonym."""
    tags = list(ReasonTag.objects.all())
    table: dict[str, str] = {}
    for spellings in ([t.synonyms for t in tags], [[t.label] for t in tags], [[t.slug] for t in tags]):
        for tag, names in zip(tags, spellings, strict=True):
            table |= {fold(name): tag.slug for name in names}
    return table


def reason_tags_map(
    raw: Iterable[str], table: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons as given -> (slugs of the taxonomy, the rest as plain text), both without repeats.

    The rest keeps at most 8 reasons of 64 characters. `table` (see `taxonomy_table`) saves the query.
    """
    known = taxonomy_table() if table is None else table
    slugs: dict[str, None] = {}
    others: dict[str, str] = {}
    for reason in raw:
        words = one_line(plain(reason), limit=OTHER_REASON_MAX_CHARS)
        key = fold(words)
        if slug := known.get(key) or known.get(key.replace("-", " ")) or known.get(key.replace(" ", "-")):
            slugs[slug] = None
        elif words:
            others.setdefault(key, words)
    return tuple(slugs), tuple(others.values())[:OTHER_REASONS_MAX]
