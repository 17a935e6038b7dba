"""What a deleted reader brought, and nobody else has, is in no table and in no index of the search."""

import json

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from digest.accounts.services import reader_delete
from digest.feeds.mails import mail_parse
from digest.items.meanings import meanings_update, topic_meanings_prune
from digest.items.stories import stories_update
from digest.items.vectors import item_vectors_update, profile_refresh
from digest.models import Item, Reader
from digest.searches.selectors import SearchAsked
from digest.searches.services import search_save
from digest.sources.newsletters import (
    letter_store,
    newsletter_accept,
    newsletter_address_issue,
    newsletters_waiting,
)
from digest.sources.past_import import past_import
from digest.summaries.services import extracts_make
from ranking.services import ConfigEdit, config_edit
from tests.digest.sources.test_newsletters import issue

pytestmark = pytest.mark.django_db
MARK = "zqharbourmaster"
# The admin's log of who was deleted by whom.
LOGGED = {"django_admin_log"}
# SQLite's index keeps words of deleted rows in its file until it merges them, but finds nothing by them.
INDEX = {"digest_item_search_data"}


def lived(reader: Reader) -> None:
    """Read a newsletter, import a star, search, set a topic, and have all of it worked on as at night."""
    now, to = timezone.now(), newsletter_address_issue(reader=reader)
    mail = issue(to, list_id=f"<{MARK}.example>", sender=f"{MARK} <a@{MARK}.example>")
    mail = mail.replace(b"a second pier", MARK.encode()).replace(b"is <b>open", f"is {MARK} <b>open".encode())
    letter_store(reader=reader, letter=mail_parse(mail), now=now)
    (feed,) = newsletters_waiting(reader_id=reader.pk)
    newsletter_accept(reader=reader, feed_id=feed.pk, now=now)
    star = {"url": f"https://{MARK}.example/1", "title": f"{MARK} was saved", "content": f"{MARK} " * 50}
    past_import(reader=reader, document=json.dumps([star]).encode(), now=now)
    search_save(reader=reader, asked=SearchAsked(MARK, "newest", {}), now=now)
    config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=[MARK]), expected_version=0, now=now)
    stories_update(now=now), item_vectors_update(now=now), meanings_update(now=now), extracts_make(now=now)
    profile_refresh(reader_id=reader.pk, now=now)


def tables_with(mark: str) -> set[str]:
    """Return the tables of the database that say `mark`, those of the search's index among them."""
    found = set()
    with connection.cursor() as cursor:
        for name in {*connection.introspection.table_names(cursor)} - INDEX:
            cursor.execute(f'SELECT * FROM "{name}"')
            rows = [b" ".join(_bytes(value) for value in row) for row in cursor.fetchall()]
            if any(mark.encode() in row.lower() for row in rows):
                found.add(name)
    return found


def _bytes(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def test_no_word_that_a_deleted_reader_alone_brought_is_left_in_the_database(ada: Reader):
    lived(ada)
    assert len(tables_with(MARK)) >= 6, "the test itself looks where words are"
    assert Item.objects.exists()
    reader_delete(reader=ada)
    # Whose topic it was stands nowhere. The next night deletes topics that nobody has.
    assert tables_with(MARK) <= {"digest_topicmeaning"}
    topic_meanings_prune()
    assert tables_with(MARK) == set() and not Item.objects.exists()


@pytest.mark.parametrize("way", ["page", "admin", "command"])
def test_it_is_gone_whichever_way_the_account_is_deleted(
    ada: Reader, operator: Reader, client: Client, way: str
):
    lived(ada)
    ada.set_password("a-lamp-and-a-kettle")
    ada.save()
    if way == "page":
        client.post("/accounts/login/", {"login": "ada", "password": "a-lamp-and-a-kettle"})
        client.post("/ui/account/delete", {"username": "ada", "password": "a-lamp-and-a-kettle"})
    elif way == "admin":
        client.force_login(operator)
        client.post(f"/admin/digest/reader/{ada.pk}/delete/", {"post": "yes"})
    else:
        call_command("delete_reader", "--user-id", str(ada.pk), "--yes", "ada")
    assert not Reader.objects.filter(pk=ada.pk).exists()
    topic_meanings_prune()
    assert tables_with(MARK) == set() and tables_with(str(ada.pk)) | tables_with(ada.pk.hex) <= LOGGED
