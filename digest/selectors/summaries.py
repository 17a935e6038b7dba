"""What a reader is shown of an item's summary and suggested reasons.

What a model made is for readers with AI on, through feeds with AI on; everybody else sees the extract.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import Q

from digest.models import Feed, FeedEntry, Item, ReasonTag, Subscription, SuggestedReasons, Summary
from digest.reasons_offered import REASONS_MAX, WORDS_CHARS_MAX, Suggested
from digest.summary_entities import OFFLINE
from ranking.matching import fold, terms_matching
from ranking.selectors import config_effective

ON_TOPIC = "on-topic"
Row = TypeVar("Row", Summary, SuggestedReasons)


@dataclass(frozen=True, slots=True)
class ShownSummary:
    """A summary as a reader may see it.

    `citations` are exact substrings of the item's text, white space apart.
    `model` is `offline` for an extract, else `provider:model`; `repaired`: the publisher's first sentence
    stands in for a summary that was not grounded. `refusal` is "" or the reason why there is no `text`.
    """

    text: str
    citations: tuple[str, ...]
    model: str
    repaired: bool
    refusal: str

    @property
    def by_model(self) -> bool:
        """Whether a model's words are shown."""
        return self.model != OFFLINE and not self.repaired and not self.refusal


def summaries_for(*, reader_id: UUID, items: Sequence[Item]) -> dict[int, ShownSummary]:
    """The summary of each of the items that has one, by item; at most three queries."""
    rows = _best(Summary.objects.filter(_about(items)).defer("cost_usd"), reader_id, items)
    return {item.pk: _shown(rows[item.pk], item) for item in items if item.pk in rows}


def reasons_suggested_for(*, reader_id: UUID, items: Sequence[Item]) -> dict[int, tuple[Suggested, ...]]:
    """Three to five reasons on offer for a thumb on each of the items, by item; at most six queries.

    A topic of the reader's that stands in the text takes the place of "my kind of topic". Tags that the
    taxonomy no longer has are left out.
    """
    rows = _best(SuggestedReasons.objects.filter(_about(items)).defer("cost_usd"), reader_id, items)
    if not rows:
        return {}
    known = set(ReasonTag.objects.values_list("slug", flat=True))
    topics = config_effective(reader_id=reader_id).config.topics
    return {
        item.pk: _personal(_read(rows[item.pk].reasons, known), item, topics)
        for item in items
        if item.pk in rows
    }


def _about(items: Iterable[Item]) -> Q:
    return Q(fingerprint__in={item.fingerprint for item in items})


def _best(rows: Iterable[Row], reader_id: UUID, items: Sequence[Item]) -> dict[int, Row]:
    """For each item the newest row by a model where this reader may see one, else the offline row."""
    offline: dict[str, Row] = {}
    made: dict[str, Row] = {}
    for row in rows:
        mine = offline if row.model == OFFLINE else made
        if getattr(row, "refusal", "") and row.model != OFFLINE:
            continue
        before = mine.get(row.fingerprint)
        if before is None or row.created_at > before.created_at:
            mine[row.fingerprint] = row
    open_ids = _open_to(reader_id, [item for item in items if item.fingerprint in made])
    found: dict[int, Row] = {}
    for item in items:
        own = made.get(item.fingerprint) if item.pk in open_ids else None
        chosen = own or offline.get(item.fingerprint)
        if chosen is not None:
            found[item.pk] = chosen
    return found


def _open_to(reader_id: UUID, items: Sequence[Item]) -> set[int]:
    """Those of the items that this reader, with AI on, reads through a feed with AI on; two queries."""
    if not items:
        return set()
    mine = Subscription.objects.filter(reader_id=reader_id, ai_enabled=True, reader__ai_enabled=True).values(
        "feed_id"
    )
    whole = set(
        Feed.objects.filter(pk__in=mine, state=Feed.State.IMPORTED).values_list("source_id", flat=True)
    )
    carried = FeedEntry.objects.filter(feed_id__in=mine, item_id__in=[item.pk for item in items])
    ids = set(carried.values_list("item_id", flat=True))
    return ids | {item.pk for item in items if item.source_id in whole}


def _shown(row: Summary, item: Item) -> ShownSummary:
    """A row beside one item: items of one fingerprint may differ in case, so quotes are compared."""
    flat = " ".join(item.text.split())
    citations = tuple(quote for quote in row.citations if isinstance(quote, str) and quote in flat)
    return ShownSummary(row.text, citations, row.model, row.repaired, row.refusal)


def _read(stored: object, known: Collection[str]) -> list[Suggested]:
    rows = stored if isinstance(stored, list) else []
    pairs = [(str(row.get("tag")), str(row.get("text"))) for row in rows if isinstance(row, dict)]
    return [Suggested(tag, text) for tag, text in pairs if tag in known][:REASONS_MAX]


def _personal(reasons: Sequence[Suggested], item: Item, topics: Sequence[str]) -> tuple[Suggested, ...]:
    """The reasons with the reader's own topic in them where the item is about one."""
    mine = terms_matching(topics, fold(f"{item.title}\n{item.text}"))
    if not mine:
        return tuple(reasons)
    told = Suggested(ON_TOPIC, f"about {mine[0]}"[:WORDS_CHARS_MAX])
    others = [reason for reason in reasons if reason.tag != ON_TOPIC]
    return (told, *others[: REASONS_MAX - 1])
