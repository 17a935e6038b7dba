"""Save and remove searches, and turn one into a topic."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from digest.errors import SearchEmpty, TooManySearches
from digest.items.search_query import query_terms, query_topic
from digest.items.taken_in import topics_take_in
from digest.models import Reader, SavedSearch
from digest.searches.selectors import SearchAsked, search_saved, searches_saved
from ranking.services import topic_set

SEARCHES_MAX = 50


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic made from a search, and the number of items of the last 30 days that it takes in.

    `added` is false if the reader had it before.
    """

    topic: str
    takes_in: int
    added: bool


def search_save(*, reader: Reader, asked: SearchAsked, now: datetime) -> int:
    """Save a search and return its id. A search for the same items takes the new order and name instead.

    Raises `SearchEmpty` without a word to search for, and `TooManySearches` beyond fifty.
    """
    if all(term.excluded for term in query_terms(asked.query)):
        raise SearchEmpty(_("There is no word to search for. Type one, then save the search."))
    with transaction.atomic():
        Reader.objects.select_for_update().get(pk=reader.pk)
        saved = searches_saved(reader_id=reader.pk)
        for search_id, one in saved:
            if one.same == asked.same:
                name = asked.name or one.name
                SavedSearch.objects.filter(pk=search_id).update(order=asked.order, name=name)
                return search_id
        if len(saved) >= SEARCHES_MAX:
            raise TooManySearches(
                _("You have {searches_max} saved searches. Remove one that you no longer need.").format(
                    searches_max=SEARCHES_MAX
                )
            )
        row = SavedSearch.objects.create(
            reader=reader,
            query=asked.query,
            order=asked.order,
            filters=dict(asked.filters),
            name=asked.name,
            created_at=now,
        )
    return row.pk


def search_rename(*, reader: Reader, search_id: int, name: str) -> SearchAsked:
    """Give a saved search a name; "" brings its words back. Return it. Raises `SearchMissing`."""
    SavedSearch.objects.filter(reader=reader, pk=search_id).update(name=name)
    return search_saved(reader_id=reader.pk, search_id=search_id)


def searches_move(*, reader: Reader, folder: str, name: str) -> None:
    """Let the saved searches in a folder follow it to another name; two queries at most."""
    rows = [row for row in SavedSearch.objects.filter(reader=reader) if row.filters.get("folder") == folder]
    for row in rows:
        row.filters["folder"] = name
    if rows:
        SavedSearch.objects.bulk_update(rows, ["filters"])


def search_remove(*, reader: Reader, search_id: int) -> SearchAsked:
    """Remove a saved search and return it, for an undo. Raises `SearchMissing`."""
    asked = search_saved(reader_id=reader.pk, search_id=search_id)
    SavedSearch.objects.filter(reader=reader, pk=search_id).delete()
    return asked


def search_topic_add(*, reader: Reader, search_id: int, now: datetime) -> NewTopic:
    """Add the words that a saved search looks for to the reader's topics. The search stays.

    Raises `SearchMissing`, `SearchEmpty` if the words make no topic, and `InvalidSetting` beyond the most
    topics.
    """
    asked = search_saved(reader_id=reader.pk, search_id=search_id)
    topic = query_topic(asked.query)
    if not topic:
        raise SearchEmpty(_("The words of this search are too many for a topic. Add one under Settings."))
    added = topic_set(reader_id=reader.pk, topic=topic, wanted=True, now=now)
    (found,) = topics_take_in(reader_id=reader.pk, topics=[topic], now=now)
    return NewTopic(topic, len(found.says) + len(found.about), added)


def search_topic_remove(*, reader: Reader, topic: str, now: datetime) -> None:
    """Remove a topic that a search was turned into."""
    topic_set(reader_id=reader.pk, topic=topic, wanted=False, now=now)
