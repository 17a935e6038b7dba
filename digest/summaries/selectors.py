"""Queries for the summaries and suggested reasons that a reader sees, and for the texts to summarise.

A model's results are for readers with AI on, through feeds with AI on. All others see the extract.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Length
from django.utils.translation import gettext

from digest.entities import ITEM_WINDOW_DAYS
from digest.feedback.reasons import REASONS_MAX, WORDS_CHARS_MAX, SuggestedReason
from digest.models import Item, ReasonTag, Subscription, SuggestedReasons, Summary
from digest.summaries.grounding import whitespace_collapse
from digest.summaries.summarise import OFFLINE, WORTH_CHARS, Text, text_value
from ranking.common.categories import label_keys, topic_matches
from ranking.common.text import fold_lightly
from ranking.entities import WEIGHT_DEFAULT
from ranking.selectors import config_effective, config_effective_many

ON_TOPIC = "on-topic"
Row = TypeVar("Row", Summary, SuggestedReasons)


@dataclass(frozen=True, slots=True)
class ShownSummary:
    """A summary for one reader.

    `citations` are exact substrings of the item's text, except for white space. `model` is `offline` for an
    extract, else `provider:model`. `repaired`: the publisher's first sentence replaces a summary that was not
    grounded. `refusal` is "" or the reason why there is no `text`.
    """

    text: str
    citations: tuple[str, ...]
    model: str
    repaired: bool
    refusal: str

    @property
    def by_model(self) -> bool:
        """Return whether a model wrote the text."""
        return self.model != OFFLINE and not self.repaired and not self.refusal


def summaries_for(*, reader_id: UUID, items: Sequence[Item]) -> dict[int, ShownSummary]:
    """Return {item id: summary} for the items that have one; at most three queries."""
    rows = _best(Summary.objects.filter(_about(items)).defer("cost_usd"), reader_id, items)
    found = {}
    for item in items:
        if (row := rows.get(item.pk)) is not None:
            # Items with one fingerprint may differ in case, so citations are compared with each text.
            flat = whitespace_collapse(item.text)
            citations = tuple(quote for quote in row.citations if isinstance(quote, str) and quote in flat)
            found[item.pk] = ShownSummary(row.text, citations, row.model, row.repaired, row.refusal)
    return found


def reasons_suggested_for(
    *, reader_id: UUID, items: Sequence[Item]
) -> dict[int, tuple[SuggestedReason, ...]]:
    """Return {item id: three to five suggested reasons for rating it}; at most six queries.

    If one of the reader's topics occurs in the text, it replaces "my kind of topic". Tags that the taxonomy
    no longer has are left out.
    """
    rows = _best(SuggestedReasons.objects.filter(_about(items)).defer("cost_usd"), reader_id, items)
    if not rows:
        return {}
    known = set(ReasonTag.objects.values_list("slug", flat=True))
    topics = config_effective(reader_id=reader_id).config.topics
    return {
        item.pk: _personalise(_reasons(rows[item.pk].reasons, known), item, topics)
        for item in items
        if item.pk in rows
    }


def _about(items: Iterable[Item]) -> Q:
    return Q(fingerprint__in={item.fingerprint for item in items})


def _best(rows: Iterable[Row], reader_id: UUID, items: Sequence[Item]) -> dict[int, Row]:
    """Return {item id: row}: a model's newest row if this reader may see it, else the offline row."""
    offline: dict[str, Row] = {}
    by_model: dict[str, Row] = {}
    for row in rows:
        if getattr(row, "refusal", "") and row.model != OFFLINE:
            continue
        newest = offline if row.model == OFFLINE else by_model
        before = newest.get(row.fingerprint)
        if before is None or row.created_at > before.created_at:
            newest[row.fingerprint] = row
    open_ids = _open_to(reader_id, [item for item in items if item.fingerprint in by_model])
    found: dict[int, Row] = {}
    for item in items:
        own = by_model.get(item.fingerprint) if item.pk in open_ids else None
        best = own or offline.get(item.fingerprint)
        if best is not None:
            found[item.pk] = best
    return found


def _open_to(reader_id: UUID, items: Sequence[Item]) -> set[int]:
    """Return the ids of items that this reader, with AI on, reads through a feed with AI on; one query."""
    if not items:
        return set()
    subscriptions = Subscription.objects.filter(reader_id=reader_id, ai_enabled=True, reader__ai_enabled=True)
    feeds = set(subscriptions.values_list("feed_id", flat=True))
    return {item.pk for item in items if item.feed_id in feeds}


def _reasons(stored: object, known: Collection[str]) -> list[SuggestedReason]:
    rows = stored if isinstance(stored, list) else []
    pairs = [(str(row.get("tag")), str(row.get("text"))) for row in rows if isinstance(row, dict)]
    return [SuggestedReason(tag, text) for tag, text in pairs if tag in known][:REASONS_MAX]


def _personalise(
    reasons: Sequence[SuggestedReason], item: Item, topics: Sequence[str]
) -> tuple[SuggestedReason, ...]:
    """Return the reasons, led by the first of the reader's topics that occurs in the item."""
    folded, keys = fold_lightly(f"{item.title}\n{item.text}"), label_keys(item.categories, item.author)
    matching = [topic for topic in topics if topic_matches(topic, folded, keys)]
    if not matching:
        return tuple(reasons)
    own = SuggestedReason(
        ON_TOPIC, gettext("about {matching}").format(matching=matching[0])[:WORDS_CHARS_MAX]
    )
    others = [reason for reason in reasons if reason.tag != ON_TOPIC]
    return (own, *others[: REASONS_MAX - 1])


def subscriptions_open_to_models() -> QuerySet[Subscription]:
    """Return the subscriptions with AI on for both reader and feed. Only their texts may go to a model."""
    return Subscription.objects.filter(ai_enabled=True, reader__ai_enabled=True, reader__is_active=True)


def texts_still_wanted(*, item_ids: Collection[int]) -> set[int]:
    """Return which of the items are still open to models and were not sent to one meanwhile; one query."""
    rows = Item.objects.filter(_in_open_feeds(), ~Exists(_of_models()), pk__in=item_ids)
    return set(rows.values_list("pk", flat=True))


def texts_waiting(*, now: datetime) -> int:
    """Return how many different texts a model could be asked about; one query."""
    return _waiting(now).filter(_in_open_feeds()).values("fingerprint").distinct().count()


def texts_wanted(*, now: datetime, limit: int) -> list[Text]:
    """Return the `limit` most valuable texts that no model was asked about yet, most valuable first.

    A text's value sums the source's weights of all readers who may see a model's summary, and halves with
    each day of age. So texts that will rank high in many digests come first. Short texts and those with
    nothing to summarise are left out. Seven queries.
    """
    weights = _feed_weights()
    values: dict[str, tuple[float, int]] = {}
    for feed_weight, item_id, fingerprint, dated_at in _waiting_items(now, weights):
        value = values.get(fingerprint, (0.0, item_id))[0] + text_value(feed_weight, dated_at, now)
        values[fingerprint] = value, item_id
    best = heapq.nlargest(limit, values.values())
    fields = ("pk", "fingerprint", "title", "text")
    rows = Item.objects.filter(pk__in=[item_id for _, item_id in best]).values_list(*fields)
    found = {row[0]: Text(*row) for row in rows}
    return [found[item_id] for _, item_id in best if item_id in found]


def _waiting(now: datetime) -> QuerySet[Item]:
    """Select items of a digest's window whose text is worth a call and was in none yet."""
    empty = Summary.objects.filter(fingerprint=OuterRef("fingerprint"), model=OFFLINE).exclude(refusal="")
    rows = Item.objects.filter(dated_at__gt=now - timedelta(days=ITEM_WINDOW_DAYS), dated_at__lte=now)
    return rows.annotate(chars=Length("text")).filter(
        ~Exists(_of_models()), ~Exists(empty), chars__gte=WORTH_CHARS
    )


def _of_models() -> QuerySet[Summary]:
    """Select models' summaries of an item's text, for a subquery."""
    return Summary.objects.filter(fingerprint=OuterRef("fingerprint")).exclude(model=OFFLINE)


def _in_open_feeds() -> Q:
    """Match items of feeds that are open to models."""
    return Q(feed_id__in=subscriptions_open_to_models().values("feed_id"))


def _feed_weights() -> dict[int, float]:
    """Return {feed id: sum of its readers' weights for its source}, for feeds open to models."""
    rows = subscriptions_open_to_models().order_by()
    configs = config_effective_many(reader_ids=list(rows.values_list("reader_id", flat=True).distinct()))
    sums: defaultdict[int, float] = defaultdict(float)
    for reader_id, feed_id, source in rows.values_list("reader_id", "feed_id", "feed__source_id").iterator():
        config = configs.get(reader_id)
        sums[feed_id] += config.weight(source) if config else WEIGHT_DEFAULT
    return sums


def _waiting_items(now: datetime, feeds: Mapping[int, float]) -> Iterator[tuple[float, int, str, datetime]]:
    """Yield (feed's weight, item id, fingerprint, date) for each waiting item of the feeds."""
    rows = _waiting(now).filter(feed_id__in=list(feeds))
    fields = ("feed_id", "pk", "fingerprint", "dated_at")
    for feed_id, item_id, fingerprint, dated_at in rows.values_list(*fields).iterator():
        yield feeds[feed_id], item_id, fingerprint, dated_at
