"""The meanings of items and topics: vectors of English items, and for each topic the common part of its
items.

The worker makes both: vectors as items come in, and topics once a day from the public items of 90 days. Items
of private feeds and newsletters have vectors, but are not used for topics.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import numpy as np
from django.db.models import Q
from django.db.models.functions import Substr

from digest.models import Item, ItemVector, TermCounts, TopicMeaning
from ranking.common.isolation import isolate_batches
from ranking.common.text import topic_key
from ranking.entities import Candidate
from ranking.meaning.table import (
    TEXT_CHARS,
    Floats,
    Vectors,
    is_english,
    meaning_vectors,
    usual_centre,
    vectors_of,
)
from ranking.meaning.topics import TopicMeaning as Meaning
from ranking.meaning.topics import topic_meaning
from ranking.pool import About, Ids, Pool
from ranking.selectors import read_once, topics_of_all_readers
from ranking.taste.likeness import centre_of

SEED_DAYS = 90
# The newest public items that topics are made from: about 3 s of processor time and 60 MB for all topics.
SEED_ITEMS_MAX = 20_000
# The part of a text in which a topic is looked for, to find its seeds.
LEAD_CHARS = 400
# A topic is made again at most once a day.
MADE_AGAIN_AFTER = timedelta(hours=20)
BATCH = 500
# Ids in one statement; SQLite takes 32,766.
ITEMS_AT_ONCE = 10_000


def meanings_update(*, now: datetime) -> dict[str, int]:
    """Make the missing meanings of items and topics, and return how many of each.

    Runs after `item_vectors_update`. Three queries if nothing is missing.
    """
    items = item_meanings_update()
    return {"items": items, "topics": topic_meanings_update(topics=topics_of_all_readers(), now=now)}


def meanings_of(items: Sequence[tuple[str, str, str]]) -> list[bytes]:
    """Return the packed vector of each (title, text, language); empty for an item that is not English."""
    found = [b""] * len(items)
    english = [
        n for n, (title, text, language) in enumerate(items) if is_english(f"{title} {text}", language)
    ]
    vectors = meaning_vectors([items[n][0] for n in english], [items[n][1] for n in english])
    for n, vector in zip(english, vectors, strict=True):
        found[n] = vector.tobytes() if vector.any() else b""
    return found


def item_meanings_update(*, limit: int = 5_000) -> int:
    """Make the missing meanings of up to `limit` items that have terms, the newest first; return how many.

    New items get theirs with their terms. This is for those that were stored before meanings existed.
    """
    missing = ItemVector.objects.filter(meaning=None).order_by("-item_id")
    item_ids = list(missing.values_list("pk", flat=True)[:limit])
    made = isolate_batches(item_ids, _meanings_store, what="item", event="meaning_failed", size=BATCH)
    return sum(made)


def _meanings_store(item_ids: Sequence[int]) -> int:
    columns = ("pk", "title", Substr("text", 1, TEXT_CHARS), "language")
    rows = list(Item.objects.filter(pk__in=item_ids).values_list(*columns))
    packed = meanings_of([(title, text, language) for _, title, text, language in rows])
    vectors = [ItemVector(pk=pk, meaning=meaning) for (pk, *_), meaning in zip(rows, packed, strict=True)]
    ItemVector.objects.bulk_update(vectors, ["meaning"])
    return len(item_ids)


def topic_meanings_update(*, topics: Iterable[str], now: datetime) -> int:
    """Make the meanings of `topics` that are missing or old. Return how many were made.

    One query if none is due, three more for any number of topics.
    """
    names = {topic_key(topic): topic for topic in topics}
    fresh = TopicMeaning.objects.filter(key__in=list(names), made_at__gt=now - MADE_AGAIN_AFTER)
    due = sorted(names.keys() - set(fresh.values_list("key", flat=True)))
    if not due:
        return 0
    pool, vectors = _seed_items(now)

    def make(keys: Sequence[str]) -> int:
        pool.search_all(names[key] for key in keys)
        rows = [_row(key, topic_meaning(vectors, pool.matches(names[key])), now) for key in keys]
        fields = ["seeds", "cut", "steepness", "packed", "made_at"]
        TopicMeaning.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["key"], update_fields=fields
        )
        return len(rows)

    return sum(isolate_batches(due, make, what="topic", event="topic_meaning_failed", size=len(due)))


def meanings_centre() -> Floats:
    """Return the mean vector of the items of this installation, (128,). One query.

    Likeness is measured from it. It counts public items as they come in. Before the first one, it is the mean
    of a shipped collection of feeds.
    """
    counts = TermCounts.objects.filter(pk=1).values_list("meaning_sum", "meanings")
    row = read_once("meanings_centre", counts.first)
    if row is None or not row[0]:
        return usual_centre()
    return centre_of(np.frombuffer(bytes(row[0]), "<f4"), row[1], usual_centre())


def topic_meanings_prune() -> int:
    """Delete the meanings of topics that are in no reader's settings; return how many."""
    topics = topics_of_all_readers()
    deleted, _ = TopicMeaning.objects.exclude(key__in={topic_key(topic) for topic in topics}).delete()
    return deleted


def topics_about(topics: Sequence[str], item_ids: Ids) -> dict[str, About]:
    """Return by topic key the places in `item_ids` of the items about it, and what it adds to each.

    Places are ascending.

    Topics that stay literal are left out. One query for the topics and, if any is left, one for each 10,000
    items.
    """
    rows = TopicMeaning.objects.filter(key__in=[topic_key(topic) for topic in topics], cut__isnull=False)
    meanings = {
        row.key: Meaning.unpacked(
            bytes(row.packed), cut=row.cut or 0.0, seeds=row.seeds, steepness=row.steepness or 0.0
        )
        for row in rows
    }
    found: dict[str, list[Floats]] = {key: [] for key in meanings}
    for start in range(0, len(item_ids) if meanings else 0, ITEMS_AT_ONCE):
        vectors = vectors_for(item_ids[start : start + ITEMS_AT_ONCE].tolist())
        for key, meaning in meanings.items():
            found[key].append(meaning.worth(vectors))
    return {key: about_of(np.concatenate(parts)) for key, parts in found.items() if parts}


def about_of(worths: Floats) -> About:
    """Return the places of the items to which a topic adds anything, ascending, and what it adds."""
    places = np.flatnonzero(worths)
    return places, worths[places]


def vectors_for(item_ids: Sequence[int]) -> Vectors:
    """Return the vectors of the items, (items, 128); zeros for one without. One query."""
    rows = ItemVector.objects.filter(pk__in=item_ids).exclude(meaning=None)
    found = {pk: bytes(meaning or b"") for pk, meaning in rows.values_list("pk", "meaning").iterator()}
    return vectors_of([found.get(pk, b"") for pk in item_ids])


def _seed_items(now: datetime) -> tuple[Pool, Vectors]:
    """Return the newest public items of 90 days with a meaning, by title and lead, and their vectors."""
    public = Item.objects.filter(
        ~Q(vector__meaning=b""),
        feed__owner=None,
        vector__meaning__isnull=False,
        dated_at__gt=now - timedelta(days=SEED_DAYS),
        dated_at__lte=now,
    )
    columns = ("pk", "source_id", "title", Substr("text", 1, LEAD_CHARS), "dated_at", "author", "categories")
    rows = public.order_by("-dated_at").values_list(*columns, "vector__meaning")[:SEED_ITEMS_MAX]
    candidates, packed = [], []
    for pk, source, title, text, dated_at, author, categories, meaning in rows.iterator(chunk_size=2_000):
        candidates.append(Candidate(pk, source, title, text, dated_at, author=author, categories=categories))
        packed.append(bytes(meaning))
    return Pool(candidates), vectors_of(packed)


def _row(key: str, meaning: Meaning | None, now: datetime) -> TopicMeaning:
    if meaning is None:
        return TopicMeaning(key=key, seeds=0, made_at=now)
    return TopicMeaning(
        key=key,
        seeds=meaning.seeds,
        cut=meaning.cut,
        steepness=meaning.steepness,
        packed=meaning.packed(),
        made_at=now,
    )
