"""Naming articles: "More like this", its undo, pasted addresses, and the page that lists them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.errors import ArticleUnknown, ItemNotFound
from digest.feedback.naming import (
    address_name,
    article_name,
    articles_named,
    item_forget,
)
from digest.feedback.services import feedback_give
from digest.feeds.identity import article_hash
from digest.items.vectors import item_vectors_update
from digest.models import Feed, Feedback, Item, Reader, Reading, Subscription
from digest.retention import items_prune
from ranking.services import ConfigEdit, config_edit
from ranking.taste.entities import TasteLevel
from tests.support.browser import ago, fresh_item
from tests.support.factories import ItemFactory

pytestmark = pytest.mark.django_db


def named(reader: Reader) -> list[str]:
    return [row.item.title for row in articles_named(reader_id=reader.pk).readings]


def test_a_named_article_is_listed_latest_first_and_taken_back(ada: Reader) -> None:
    one, two, now = fresh_item(ada, title="One"), fresh_item(ada, title="Two"), timezone.now()
    assert article_name(reader=ada, item_id=one.pk, now=now) == now
    article_name(reader=ada, item_id=two.pk, now=now + timedelta(minutes=1))
    assert named(ada) == ["Two", "One"]
    assert article_name(reader=ada, item_id=one.pk, now=now + timedelta(hours=1)) == now, "named twice"
    assert item_forget(reader=ada, item_id=one.pk)
    assert not item_forget(reader=ada, item_id=one.pk), "a second press changes nothing"
    assert named(ada) == ["Two"]


def test_a_thumb_down_and_a_name_exclude_each_other_and_a_thumb_up_stays(ada: Reader) -> None:
    item, now = fresh_item(ada, title="One"), timezone.now()
    feedback_give(reader=ada, item_id=item.pk, useful=False, now=now)
    article_name(reader=ada, item_id=item.pk, now=now)
    assert not Feedback.objects.filter(reader=ada).exists()
    assert Reading.objects.get(reader=ada).read_at is None, "only the thumb had marked it as read"
    feedback_give(reader=ada, item_id=item.pk, useful=False, now=now)
    assert named(ada) == []
    feedback_give(reader=ada, item_id=item.pk, useful=True, now=now)
    article_name(reader=ada, item_id=item.pk, now=now)
    assert Feedback.objects.get(reader=ada).useful
    assert named(ada) == ["One"]


def test_one_article_of_two_feeds_is_named_once(ada: Reader) -> None:
    one = fresh_item(ada, title="One")
    again = fresh_item(ada, key="other.example", title="One")
    Item.objects.filter(pk=again.pk).update(article=one.article)
    article_name(reader=ada, item_id=one.pk, now=timezone.now())
    assert item_forget(reader=ada, item_id=again.pk)
    assert named(ada) == []


def test_another_readers_item_cannot_be_named(ada: Reader, ben: Reader) -> None:
    item = fresh_item(ada)
    with pytest.raises(ItemNotFound):
        article_name(reader=ben, item_id=item.pk, now=timezone.now())
    with pytest.raises(ArticleUnknown):
        address_name(reader=ben, address=item.url, now=timezone.now())


@pytest.mark.parametrize(
    "typed",
    [
        "https://blog.example/a/post",
        "http://www.blog.example/a/post/",
        "  https://blog.example/a/post?utm_source=mail ",
        "https://blog.example/a/post#comments",
    ],
)
def test_a_pasted_address_names_the_article_in_any_spelling(ada: Reader, typed: str) -> None:
    item, url = fresh_item(ada, title="One"), "https://blog.example/a/post"
    Item.objects.filter(pk=item.pk).update(url=url, article=article_hash(url))
    assert address_name(reader=ada, address=typed, now=timezone.now()) == item
    assert named(ada) == ["One"]


@pytest.mark.parametrize(
    "typed", ["", "blog", "ftp://blog.example/a", "https://blog.example/b", "https://[", "urn:x"]
)
def test_what_no_source_brought_is_refused(ada: Reader, typed: str) -> None:
    fresh_item(ada)
    with pytest.raises(ArticleUnknown):
        address_name(reader=ada, address=typed, now=timezone.now())


def test_a_named_article_outlives_its_feed_and_retention(ada: Reader, settings) -> None:
    settings.KEEP_DAYS = {**settings.KEEP_DAYS, "items": 90}
    item, now = fresh_item(ada, title="One"), timezone.now()
    article_name(reader=ada, item_id=item.pk, now=now)
    Subscription.objects.filter(reader=ada).delete()
    old = now - timedelta(days=400)
    gone = ItemFactory(feed=Feed.objects.get(pk=item.feed_id))
    Item.objects.filter(pk__in=[item.pk, gone.pk]).update(dated_at=old, first_seen_at=old)
    assert items_prune(now=now) == 1
    assert named(ada) == ["One"]
    assert item_forget(reader=ada, item_id=item.pk)
    assert items_prune(now=now) == 1


def test_the_button_names_and_takes_back_and_the_page_lists(ada: Reader, client: Client) -> None:
    item = fresh_item(ada, title="<b>One</b>")
    client.force_login(ada)
    assert "None yet." in client.get("/ui/taste").content.decode()
    answer = client.post(
        f"/ui/item/{item.pk}/name", {"named": "1"}, headers={"X-Requested-With": "fetch"}
    ).content.decode()
    assert 'name="named" value="0" aria-pressed="true"' in answer
    page = client.get("/ui/taste").content.decode()
    assert "&lt;b&gt;One&lt;/b&gt;" in page
    assert f'action="/ui/item/{item.pk}/name"' in page
    back = client.post(f"/ui/item/{item.pk}/name", {"named": "0", "next": "/ui/taste"})
    assert back["Location"].startswith("/ui/taste")
    assert named(ada) == []
    assert "There is no such page" not in client.get("/ui/taste?page=7").content.decode()


def test_the_page_says_why_an_address_is_refused_and_keeps_what_was_pasted(
    ada: Reader, client: Client
) -> None:
    client.force_login(ada)
    answer = client.post("/ui/taste/name", {"address": 'https://nowhere.example/"x'})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "None of your sources brought an article at this address." in page
    assert "https://nowhere.example/&quot;x" in page
    assert client.post("/ui/taste/name", {"address": " "})["Location"] == "/ui/taste"


def test_scripts_name_list_and_take_back(ada: Reader, client: Client) -> None:
    item, url = fresh_item(ada, title="One"), "https://blog.example/a/post"
    Item.objects.filter(pk=item.pk).update(url=url, article=article_hash(url))
    client.force_login(ada)
    first = client.post(f"/api/items/{item.pk}/named").json()
    assert first["named_at"] == client.post(f"/api/items/{item.pk}/named").json()["named_at"]
    assert client.get(f"/api/items/{item.pk}").json()["named_at"] == first["named_at"]
    assert [row["title"] for row in client.get("/api/named").json()["articles"]] == ["One"]
    assert client.delete(f"/api/items/{item.pk}/named").json()["named_at"] is None
    assert client.get("/api/named").json()["total"] == 0
    asked = client.post("/api/named", {"url": url}, content_type="application/json")
    assert asked.json()["item_id"] == item.pk
    refused = client.post("/api/named", {"url": "https://no.example/"}, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]) == (404, "article_unknown")


FETCH = {"X-Requested-With": "fetch"}


def typed_again(part: str, address: str) -> dict[str, list[str]]:
    """Return the hidden fields of the part's last form that posts to `address`, without the token."""
    form = part.split(f'action="{address}"')[-1].split("</form>")[0]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form):
        fields.setdefault(name, []).append(value)
    return fields


def test_a_thumb_down_says_that_it_ended_the_asking_and_its_undo_brings_both_back(
    ada: Reader, client: Client
) -> None:
    item = fresh_item(ada, title="One")
    client.force_login(ada)
    address = f"/ui/item/{item.pk}/feedback"
    article_name(reader=ada, item_id=item.pk, now=ago(1))
    down = client.post(address, {"useful": "0"}, headers=FETCH).content.decode()
    assert "“More like this” was taken back." in down and named(ada) == []
    why = client.post(address, {"tag": "hype"} | typed_again(down, address), headers=FETCH).content.decode()
    assert "“More like this” was taken back." in why, "a reason in between forgets nothing"
    back = client.post(
        address, {"useful": "clear"} | typed_again(why, address), headers=FETCH
    ).content.decode()
    assert named(ada) == ["One"] and not Feedback.objects.exists()
    assert "was taken back" not in back
    plain = client.post(address, {"useful": "0"}, follow=True).content.decode()
    assert "“More like this” was taken back." in plain


def test_asking_for_more_says_that_it_ended_a_thumb_down_and_its_undo_brings_both_back(
    ada: Reader, client: Client
) -> None:
    item = fresh_item(ada, title="One")
    client.force_login(ada)
    address = f"/ui/item/{item.pk}/name"
    feedback_give(reader=ada, item_id=item.pk, useful=False, now=ago(1), tags=["hype"])
    asked = client.post(address, {"named": "1"}, headers=FETCH).content.decode()
    assert "“Not useful” was taken back." in asked and not Feedback.objects.exists()
    client.post(address, {"named": "0"} | typed_again(asked, address), headers=FETCH)
    rating = Feedback.objects.get()
    assert not rating.useful and [tag.slug for tag in rating.tags.all()] == ["hype"]
    assert named(ada) == []
    plain = client.post(address, {"named": "1"}, follow=True).content.decode()
    assert "“Not useful” was taken back." in plain


def test_a_tap_that_ended_nothing_says_nothing(ada: Reader, client: Client) -> None:
    item = fresh_item(ada, title="One")
    client.force_login(ada)
    taps = [("feedback", {"useful": "0"}), ("feedback", {"useful": "1"}), ("name", {"named": "1"})]
    for what, typed in taps:
        assert (
            "no longer"
            not in client.post(f"/ui/item/{item.pk}/{what}", typed, headers=FETCH).content.decode()
        )


HIGHER = "Such articles stand higher once today’s page is made again, within the hour."
NOTHING_YET = "It moves nothing yet, because your ratings do not order your page."


def taste_on(reader: Reader) -> None:
    edit = ConfigEdit(taste=TasteLevel.ON)
    config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=ago(2))


@pytest.mark.parametrize(("counts", "told"), [(True, HIGHER), (False, NOTHING_YET)])
def test_asking_for_more_says_at_once_what_that_changes(
    ada: Reader, client: Client, counts: bool, told: str
) -> None:
    item = fresh_item(ada, title="One")
    if counts:
        taste_on(ada)
    client.force_login(ada)
    address = f"/ui/item/{item.pk}/name"
    answer = client.post(address, {"named": "1"}, headers=FETCH).content.decode()
    assert told in answer and ("Make it now" in answer) == counts
    assert ('href="/ui/order"' in answer) != counts
    assert told not in client.post(address, {"named": "0"}, headers=FETCH).content.decode()
    assert told in client.post(address, {"named": "1"}, follow=True).content.decode()


def test_the_first_thumb_says_what_thumbs_change_and_later_ones_do_not(ada: Reader, client: Client) -> None:
    one, other = fresh_item(ada, title="One"), fresh_item(ada, title="Two")
    client.force_login(ada)
    told = "Ratings move sources slowly, in small steps."
    first = client.post(f"/ui/item/{one.pk}/feedback", {"useful": "1"}, headers=FETCH).content.decode()
    assert told in first
    for item, typed in ((one, {"tag": "depth"}), (other, {"useful": "0"}), (one, {"useful": "clear"})):
        answer = client.post(f"/ui/item/{item.pk}/feedback", typed, headers=FETCH)
        assert answer.status_code == 200 and told not in answer.content.decode()
    client.post(f"/ui/item/{other.pk}/feedback", {"useful": "clear"})
    taste_on(ada)
    answer = client.post(f"/ui/item/{one.pk}/feedback", {"useful": "0"}, headers=FETCH).content.decode()
    assert "Articles like it stand a little lower" in answer


def test_whoever_asks_for_more_can_have_the_page_made_at_once_which_tells_what_moved(
    ada: Reader, client: Client
) -> None:
    for n in range(8):
        fresh_item(
            ada, hours=n / 10 + 1, title=f"Bread and butter {n}", text="Flour and water in an oven. " * 9
        )
    wished = [
        fresh_item(ada, hours=n / 10 + 3, title=f"Chess masters {n}", text="Rooks, pawns and a gambit. " * 9)
        for n in range(5)
    ]
    item_vectors_update(now=timezone.now())
    taste_on(ada)
    client.force_login(ada)
    assert client.get("/").context["change"] is None
    client.post(f"/ui/item/{wished[-1].pk}/name", {"named": "1"})
    again = client.post("/ui/newer", {"liked": "1"}, follow=True)
    up = {one.item.title for one in again.context["shown"] if one.mark and one.mark.short.startswith("↑")}
    assert len(up & {item.title for item in wished}) >= 3
    page = again.content.decode()
    assert "This page was made again by your ratings" in page
    assert "/ui/changes/undo" not in page
    refused = client.post("/ui/changes/undo", {"version": "0", "cycle": ""}, follow=True).content.decode()
    assert "This page was made again by your ratings" in refused
    nothing = client.post("/ui/newer", {"liked": "1"}, follow=True).content.decode()
    assert "made again, and nothing on it moved" in nothing
