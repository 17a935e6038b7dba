"""One page takes the files of another reader, says what each is, and brings in lists before stars."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from digest.models import Feed, Reader, Reading, Subscription
from tests.support.browser import ago
from tests.support.factories import FeedFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
LIST = (
    b'<opml version="2.0"><body><outline title="Rivers" xmlUrl="https://rivers.example/feed"/></body></opml>'
)
STAR = {"url": "https://rivers.example/a", "title": "A dam", "created_at": "2026-01-01T00:00:00Z"}
STARS = json.dumps([STAR]).encode()


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def sent(page: Client, *documents: tuple[str, bytes]):
    files = [SimpleUploadedFile(name, body) for name, body in documents]
    return page.post("/ui/sources/import", {"file": files}, follow=True)


def test_several_files_are_imported_each_as_what_it_is(page: Client, ada: Reader):
    FeedFactory(source__key="rivers.example", url="https://rivers.example/feed", title="Rivers")
    answer = sent(page, ("starred.json", STARS), ("mine.opml", LIST))
    body = answer.content.decode()
    assert answer.status_code == 200 and body.index("mine.opml") < body.index("starred.json")
    assert "1 feed added" in body and "1 starred article saved" in body and "What was learned" in body
    # The list came first, so the star has the source of a feed that Ada reads.
    assert Subscription.objects.get(reader=ada).feed.source == Reading.objects.get(reader=ada).item.source


def test_a_file_that_cannot_be_read_stops_no_other(page: Client, ada: Reader):
    answer = sent(page, ("a.json", b"{}"), ("b.opml", b"no list"), ("c.opml", LIST))
    body = answer.content.decode()
    assert answer.status_code == 200 and body.count("Nothing was imported.") == 2 and "1 feed added" in body


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([("a.json", b"{}")], "This is no export of stars"),
        ([("a.opml", b"no list"), ("b.json", b"[1")], "Nothing was imported."),
        ([("a.opml", b"")], "The file is empty."),
        ([], "Choose a file first."),
        ([(f"{n}.opml", LIST) for n in range(6)], "Choose 5 files at most."),
    ],
)
def test_if_no_file_can_be_read_the_form_says_why(page: Client, documents, words: str):
    answer = sent(page, *documents)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_of_the_encoding_hides_no_stars(page: Client, encoding: str):
    answer = sent(page, ("export", f"\n {json.dumps([STAR])}".encode(encoding)))
    assert answer.status_code == 200 and "1 starred article saved" in answer.content.decode()


def test_a_list_of_which_nothing_could_be_added_says_so_once(page: Client):
    lines = "".join(f'<outline xmlUrl="http://feeds.example:8390/{n}"/>' for n in range(251))
    body = sent(page, ("a.opml", f"<opml><body>{lines}</body></opml>".encode())).content.decode()
    assert "None of 251 could be added" in body and "0 feeds added" not in body
    assert body.count("not from 8390") == 1 and "The first 100 of 251 are listed." in body


def test_the_result_of_an_import_has_an_address_of_its_own(page: Client):
    assert page.get("/ui/sources/import/done").url == "/ui/sources"
    answer = sent(page, ("mine.opml", LIST))
    assert answer.redirect_chain == [("/ui/sources/import/done", 302)]
    assert "1 feed added" in page.get("/ui/sources/import/done").content.decode()


def test_a_list_whose_feeds_all_failed_promises_no_items(page: Client, ada: Reader):
    tried = {"last_fetched_at": ago(1), "state": Feed.State.ACTIVE}
    FeedFactory(source__key="rivers.example", url="https://rivers.example/feed", **tried)
    assert "Their items are here" in sent(page, ("mine.opml", LIST)).content.decode()
    Feed.objects.update(failures=1)
    body = page.get("/ui/sources/import/done").content.decode()
    assert "Their items are here" not in body
    assert "Your feed could not be fetched" in body and "See what went wrong" in body
    SubscriptionFactory(reader=ada, feed=FeedFactory(url="https://hills.example/feed", **tried))
    assert "1 of your 2 feeds could not be fetched." in page.get("/ui/sources/import/done").content.decode()
