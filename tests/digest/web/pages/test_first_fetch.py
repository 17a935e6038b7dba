"""Pages while feeds are fetched for the first time: progress that moves, without scripts as well."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from digest.models import Digest, Feed, Item, Reader
from digest.sources.subscriptions import subscription_add
from tests.support.browser import fresh_item

FILLING = "/ui/filling?page="


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


@pytest.fixture
def waiting(ada: Reader) -> None:
    """Ada has just added three feeds; one of them was fetched, and one more failed."""
    for n in range(3):
        subscription_add(reader=ada, url=f"https://n{n}.example/feed", now=timezone.now())
    Feed.objects.filter(url__contains="n0").update(last_fetched_at=timezone.now())
    fresh_item(ada, key="n0.example", feed=Feed.objects.get(url__contains="n0"))
    Feed.objects.filter(url__contains="n1").update(last_fetched_at=timezone.now(), failures=1)


def part(page: Client, place: str) -> str:
    return page.get(FILLING + place, headers={"X-Requested-With": "fetch"}).content.decode()


@pytest.mark.parametrize(("path", "place"), [("/", "today"), ("/ui/all", "all"), ("/ui/sources", "sources")])
def test_pages_say_how_far_it_is_and_ask_again_by_themselves(page, waiting, path, place):
    body = page.get(path).content.decode()
    assert (
        "Fetching your 3 new feeds: 2 done so far. 1 item came. " in body and "could not be fetched" in body
    )
    assert f'data-filling="{FILLING}{place}" data-newer="0" data-watched' in body
    assert f'<noscript><meta http-equiv="refresh" content="4; url={FILLING}{place}"></noscript>' in body


def test_the_progress_says_what_is_being_asked_and_is_hidden_until_another_feed_is_added(page, waiting, ada):
    Feed.objects.filter(url__contains="n2").update(next_check_at=timezone.now() + timedelta(minutes=5))
    address = "/ui/all?unread=1"
    assert "1 is being asked." in page.get(address).content.decode()
    hidden = page.post("/ui/filling/hide", headers={"Referer": f"http://testserver{address}"})
    assert hidden.url == address
    for path in ("/", address, "/ui/sources"):
        body = page.get(path).content.decode()
        assert "being asked" not in body and "data-watched" not in body and "refresh" not in body
    assert "data-watched" not in part(page, "all")
    subscription_add(reader=ada, url="https://n3.example/feed", now=timezone.now())
    assert "Fetching your 4 new feeds" in page.get(address).content.decode()


def test_a_page_with_nothing_else_to_show_keeps_the_progress(page, waiting):
    Item.objects.all().delete()
    page.post("/ui/filling/hide")
    for body in (page.get("/").content.decode(), part(page, "today")):
        assert "Fetching your 3 new feeds" in body and "Hide" not in body and "data-watched" in body


def test_a_script_gets_the_part_of_its_page_and_others_the_page(page, waiting):
    assert part(page, "today").strip().startswith('<div class="filling')
    assert page.get(f"{FILLING}today").url == "/"
    assert page.get(f"{FILLING}sources").url == "/ui/sources"
    assert page.get(f"{FILLING}all").url == "/ui/all"
    assert page.get("/ui/filling?page=//evil.example").url == "/"


def test_the_lists_beside_a_list_are_those_of_that_list(page, waiting):
    body = page.get("/ui/all?unread=1").content.decode()
    assert 'data-side="/ui/all?unread=1&amp;side=here"' in body
    beside = page.get("/ui/all?unread=1&side=here").content.decode()
    assert beside.count("unread=1") > 3 and 'aria-current="true"' in beside
    assert 'aria-current="true"' not in page.get("/ui/all?side=1").content.decode()


def test_once_all_were_tried_nothing_asks_any_more(page, waiting):
    Feed.objects.update(last_fetched_at=timezone.now())
    assert "Fetched 3 new feeds. 1 item came. " in part(page, "sources")
    assert "data-watched" not in part(page, "sources")
    for path in ("/", "/ui/all", "/ui/sources"):
        body = page.get(path).content.decode()
        assert "data-filling" not in body and "refresh" not in body


def test_a_reader_sees_nothing_of_anothers_feeds(waiting, ben: Reader, client: Client):
    client.force_login(ben)
    assert "Fetch" not in part(client, "today")


def test_it_needs_a_sign_in(client: Client):
    assert client.get(f"{FILLING}today").url.startswith("/accounts/login/")
    assert client.post("/ui/newer").url.startswith("/accounts/login/")


def test_what_came_after_the_digest_is_offered_and_shown(page, ada: Reader):
    fresh_item(ada)
    page.get("/")
    Digest.objects.update(built_at=timezone.now() - timedelta(minutes=10))
    fresh_item(ada, hours=0.1)
    Feed.objects.update(last_new_at=timezone.now())
    body = page.get("/").content.decode()
    assert "1 newer item: show" in body and "data-watched" not in body
    assert len(page.get("/").context["shown"]) == 1
    after = page.post("/ui/newer", follow=True)
    assert after.redirect_chain == [("/", 302)]
    assert len(after.context["shown"]) == 2 and "newer item" not in after.content.decode()


def test_a_past_day_offers_nothing(page, ada: Reader):
    fresh_item(ada)
    yesterday = timezone.now().astimezone(ada.zone).date() - timedelta(days=1)
    Digest.objects.create(reader=ada, date=yesterday, config_version=0, built_at=timezone.now())
    assert page.get(f"/ui/date/{yesterday}").context["filling"] is None


def test_the_page_after_an_import_says_how_far_it_is(page, waiting, ada: Reader):
    ada.subscriptions.filter(feed__url__contains="n2").delete()
    list_of_hers = b'<opml><body><outline xmlUrl="https://n9.example/feed"/></body></opml>'
    body = page.post(
        "/ui/sources/import", {"file": SimpleUploadedFile("l.opml", list_of_hers)}, follow=True
    ).content.decode()
    assert "2 done so far" in body and "fills by itself" in body


def test_an_empty_day_after_the_machine_was_off_says_so_and_fills_itself(page, ada):
    """It must not say that the sources published nothing, because nobody asked them."""
    item = fresh_item(ada, hours=24 * 15)
    due = timezone.now() - timedelta(days=15)
    Feed.objects.update(state="active", last_fetched_at=due, next_check_at=due)
    body = page.get("/").content.decode()
    assert "1 of your 1 feeds wait to be fetched again" in body and "published nothing" not in body
    assert "data-watched" in body and "data-watched" in part(page, "today")
    item.first_seen_at = item.dated_at = timezone.now()
    item.save()
    Feed.objects.update(
        last_fetched_at=timezone.now(),
        last_new_at=timezone.now(),
        next_check_at=timezone.now() + timedelta(1),
    )
    assert "1 newer item" in part(page, "today") and "data-watched" not in part(page, "today")
    assert "data-item" in page.get("/").content.decode()
