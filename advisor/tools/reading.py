"""Select details of rated items for the agent: whole items, labels, groups by meaning, a reader's own words.

Statistics see none of it but labels. All of it is quoted: strangers and the reader wrote it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from advisor.result_size import (
    READING_TOKENS,
    cut_title,
    fit_items,
    fit_rows,
    fit_text,
    item_of_ref,
    item_ref,
    result_fill,
)
from advisor.run_values import ToolContext
from advisor.tools import OUTSIDE_TEXT_NOTE, Arguments
from digest.entities import RatedItem
from digest.feedback.selectors import feedback_by_urls, feedback_unmuted, feedback_urls
from ranking.selectors import config_versions

ITEMS_MAX = 3
LEAD_TOKENS, WORDS_TOKENS = 90, 30
CATEGORIES_MAX, REASONS_MAX = 6, 6
# The least ratings of a label or group that is shown: fewer are chance.
LABEL_RATINGS_MIN, GROUP_RATINGS_MIN = 3, 4
# The number of ratings per group, and the most groups.
RATINGS_PER_GROUP, GROUPS_MAX = 10, 8
EXAMPLES = 3
EXAMPLE_CHARS = 45
# Versions of the config in which wishes are looked for.
WISHES_AMONG = 50
LABEL_TOKENS, GROUP_TOKENS, OWN_WORDS_TOKENS, WISH_TOKENS = 80, 260, 110, 60


class ItemsArguments(Arguments):
    """The items to read."""

    items: Annotated[
        list[str],
        Field(min_length=1, max_length=ITEMS_MAX, description="Up to three references, such as #41."),
    ]


def read_items(context: ToolContext, arguments: ItemsArguments) -> dict[str, Any]:
    """Return up to three of the reader's rated items with lead, categories, author and every reason.

    References to anything else are counted in `unknown`, whosever it is.
    """
    asked = [item_of_ref(text.strip()) for text in arguments.items]
    known = {item_id for item_id in asked if item_id is not None}
    urls = feedback_urls(reader_id=context.reader_id, item_ids=known)
    rated = feedback_by_urls(reader_id=context.reader_id, urls=urls.values()).values()
    unmuted = feedback_unmuted(reader_id=context.reader_id, rated=rated, now=context.now)
    rows = [_whole(item) for item in unmuted if item.item_id in known]
    result = {"note": OUTSIDE_TEXT_NOTE, "unknown": len(asked) - len(rows)}
    return result_fill(result, {"items": rows}, READING_TOKENS)


def _whole(item: RatedItem) -> dict[str, Any]:
    return {
        "url": item_ref(item.item_id),
        "title": cut_title(item.title),
        "lead": fit_text(" ".join(item.text.split()), LEAD_TOKENS),
        "source": item.source,
        "author": cut_title(item.author, 60),
        "categories": [cut_title(name, 40) for name in item.categories[:CATEGORIES_MAX]],
        "useful": int(item.useful),
        "reasons": list(item.tags[:REASONS_MAX]),
        "own_words": [fit_text(words, WORDS_TOKENS) for words in item.other_reasons[:REASONS_MAX]],
    }


def closer_look(context: ToolContext, rated: Sequence[RatedItem], base: float) -> dict[str, Any]:
    """Return the parts of `query_user_feedback` besides counts by source: labels, groups and words.

    `base` is the reader's own like-rate. Values that differ most from it come first.
    """
    found: dict[str, Any] = {}
    categories = label_counts(((name, item) for item in rated for name in item.categories), base)
    authors = label_counts(((item.author, item) for item in rated), base)
    found["categories"] = fit_items(categories, LABEL_TOKENS)
    found["authors"] = fit_items(authors, LABEL_TOKENS)
    found["groups_by_meaning"] = fit_rows(meaning_groups(rated, base), GROUP_TOKENS)
    reasons = [
        [item_ref(item.item_id), int(item.useful), fit_text(words, WORDS_TOKENS)]
        for item in rated
        for words in item.other_reasons
    ]
    found["own_words"] = fit_rows(reasons, OWN_WORDS_TOKENS)
    found["earlier_wishes"] = fit_rows(_wishes(context), WISH_TOKENS)
    return {name: rows for name, rows in found.items() if rows}


def label_counts(pairs: Iterable[tuple[str, RatedItem]], base: float) -> dict[str, list[int]]:
    """Return {label: [liked, rated]} of labels with three ratings, those that differ most first."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    spelled: dict[str, str] = {}
    for name, item in pairs:
        if key := name.strip().casefold():
            spelled.setdefault(key, cut_title(name.strip(), 40))
            counts[key][0] += item.useful
            counts[key][1] += 1
    shown = [key for key, (_, rated) in counts.items() if rated >= LABEL_RATINGS_MIN]
    shown.sort(key=lambda key: (-_differs(counts[key][0], counts[key][1], base), key))
    return {spelled[key]: counts[key] for key in shown}


def _differs(liked: int, rated: int, base: float) -> float:
    """Return how many standard errors a like-rate is from the base rate."""
    spread = max(base * (1 - base), 0.01)
    return abs(liked - base * rated) / float((spread * rated) ** 0.5)


def meaning_groups(rated: Sequence[RatedItem], base: float) -> list[dict[str, Any]]:
    """Return groups of ratings with a similar meaning, each with its most typical titles.

    The clearest come first. Groups have no names: the model must read the titles for their subject.
    """
    count = min(GROUPS_MAX, len(rated) // RATINGS_PER_GROUP)
    if count < 2:
        return []
    # The table of vectors takes 16 MB, which only runs with a model need.
    from ranking.meaning.groups import groups_of  # noqa: PLC0415
    from ranking.meaning.table import meaning_vectors  # noqa: PLC0415

    vectors = meaning_vectors([item.title for item in rated], [item.text for item in rated])
    labels, likeness = groups_of(vectors, count)
    groups: list[tuple[float, dict[str, Any]]] = []
    for label in range(count):
        members = [n for n in range(len(rated)) if labels[n] == label]
        if len(members) < GROUP_RATINGS_MIN:
            continue
        liked = sum(rated[n].useful for n in members)
        members.sort(key=lambda n: -float(likeness[n]))
        examples = [
            [item_ref(rated[n].item_id), cut_title(rated[n].title, EXAMPLE_CHARS)] for n in members[:EXAMPLES]
        ]
        row: Mapping[str, Any] = {"liked": liked, "rated": len(members), "examples": examples}
        groups.append((_differs(liked, len(members), base), dict(row)))
    return [row for _, row in sorted(groups, key=lambda pair: -pair[0])]


def _wishes(context: ToolContext) -> list[str]:
    """Return the reader's wishes in their own words, newest first."""
    versions = config_versions(reader_id=context.reader_id, limit=WISHES_AMONG)
    return [fit_text(row.note, WORDS_TOKENS) for row in versions if row.note]
