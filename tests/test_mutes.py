"""Nothing a reader has muted is in any answer to them: on pages, in mails, feeds, the API and tools.

The walk is that of `tests/test_isolation_words.py`, over the same worlds. Some items of each feed have a word
in their title that nothing else has, and another in their text, which ada mutes.
"""

import pytest
from django.test import Client

from digest.daily.services import digest_build
from digest.days import day_of
from digest.feedback.services import feedback_set
from digest.items.stories import stories_update
from digest.models import Feedback, Impression, Item, Reader, Reading
from ranking.entities import Mute
from ranking.services import mute_set
from tests.support.marked_worlds import HOUR, World, marked_world
from tests.support.routes import Route
from tests.test_isolation import tip_of
from tests.test_isolation_words import ROUTES, SKIPPED, ids_of, of_address, of_mails, of_tools

TITLED, MUTED = "Quixotic", "hushword"
# An item at its own address is shown, with a note that it is muted. So are saved items, and all of a reader's
# own data in exports.
BY_ADDRESS = {"item_id", "link"}
OWN_DATA = {"reader_export", "digest:saved"}


@pytest.fixture
def world(ada: Reader, ben: Reader, settings) -> World:
    """Return a world with items of both words in each reader's feeds: rated, in a digest, of a story,
    unread."""
    settings.FETCH_ALLOW_HOSTS = ["localhost", "127.0.0.1"]
    made = marked_world(3, ada, ben)
    theirs = Item.objects.filter(feed__subscriptions__reader=ada, dated_at__gt=made.now - 100 * HOUR)
    chosen = [*theirs.filter(readings__saved_at__isnull=True).order_by("article", "pk")[::2]]
    for item in chosen:
        item.title, item.text = f"{TITLED} {item.title}", f"{MUTED} {item.text}"
        item.save()
    # Items rated yesterday or read would be missing on today's page and in its list of left-out items.
    Feedback.objects.filter(item__in=chosen).delete()
    Reading.objects.filter(item__in=chosen).update(read_at=None)
    stories_update(now=made.now)
    for reader in made.readers.values():
        digest_build(reader=reader, date=day_of(made.now, reader.zone), now=made.now)
        digest_build(reader=reader, date=day_of(made.now - 24 * HOUR, reader.zone), now=made.now)
    for reader in made.readers.values():
        for row in Impression.objects.filter(digest__reader=reader, item__in=chosen)[:1]:
            feedback_set(reader=reader, item_id=row.item_id, useful=True, now=made.now)
    return made


def places_with(reader: Reader, tip: int, routes: list[Route] = ROUTES) -> set[str]:
    """Return the places with the title's word in an answer to the reader: addresses, mails, tools."""
    client = Client()
    client.force_login(reader)
    ids = ids_of(reader, tip)
    found = set()
    for route in routes:
        if route.name not in SKIPPED | OWN_DATA and not BY_ADDRESS & {*route.ids}:
            found |= {place for place, text in of_address(client, route, ids) if TITLED in text}
    for answers in (of_mails(reader), of_tools(reader)):
        found |= {place for place, text in answers if TITLED in text}
    return found


WITH_MUTED_BEFORE = {
    *("mail", "tool query_user_feedback"),
    *("GET digest:today", "GET digest:day", "GET digest:left_out", "GET digest:all"),
    *("GET digest:feed_atom", "GET digest:feed_json", "GET api:digest_get", "GET api:items_get"),
    *("GET digest:search?q=ferry", "GET api:search_get?q=ferry"),
}
# The addresses of those places. They are enough if no other place is asked for.
SHOWING = [route for route in ROUTES if any(f" {route.name}?" in f"{at}?" for at in WITH_MUTED_BEFORE)]


def test_no_answer_shows_what_a_reader_has_muted_and_another_reader_sees_it_all(world):
    ada, ben = world.readers["ada"], world.readers["ben"]
    tip = tip_of(ada, world.now).pk
    assert places_with(ada, tip, SHOWING) >= WITH_MUTED_BEFORE
    mute_set(reader_id=ada.pk, mute=Mute("word", MUTED), now=world.now)
    assert not places_with(ada, tip)
    assert places_with(ben, tip_of(ben, world.now).pk, SHOWING) >= WITH_MUTED_BEFORE - {"mail"}
