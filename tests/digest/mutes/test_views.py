"""The page of mutes: a look before saving, the list, ending and undoing; and the same over the API."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.days import day_of
from digest.items.selectors import mutes_in_force
from digest.models import Item, Reader, Subscription
from ranking.entities import Mute
from ranking.selectors import config_hiding
from ranking.services import mute_set
from tests.support.browser import fresh_item, subscribe
from tests.support.factories import FeedFactory, SourceFactory, SubscriptionFactory

HERE = "/ui/mutes"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def another_feed(reader: Reader, name: str) -> Subscription:
    """Return the reader's subscription to one more feed of the Gazette."""
    url, source = f"https://gazette.example/{name}.xml", SourceFactory(key="gazette.example")
    feed = FeedFactory(source=source, url=url, title=f"Gazette {name}")
    return SubscriptionFactory(reader=reader, feed=feed)


def body(answer) -> str:
    return answer.content.decode()


def test_a_mute_is_shown_with_what_it_hides_before_it_is_saved(page: Client, ada: Reader):
    fresh_item(ada, title="A lamp is lit")
    fresh_item(ada, title="A ferry")
    shown = body(page.get(HERE, {"kind": "word", "value": "lamp"}))
    assert "A lamp is lit" in shown and "A ferry" not in shown
    assert "hides <strong>1</strong> of the last 7 days’ <strong>2</strong> items" in shown
    assert config_hiding(reader_id=ada.pk).mutes == ()


def test_a_mute_names_the_rows_of_the_page_that_it_hides_and_none_of_others(
    page: Client, ada: Reader, ben: Reader
):
    lamps = [fresh_item(ada, title=f"Lamp {n}").pk for n in range(2)]
    ferry = fresh_item(ada, title="A ferry").pk
    subscribe(ben, "port.example", "Port")
    theirs = fresh_item(ben, key="port.example", title="A lamp of Ben's").pk
    shown = ",".join(map(str, [*lamps, ferry, theirs, "x", -1, "9" * 40]))
    typed = {"kind": "word", "value": "lamp", "shown": shown}
    found = re.search('data-hides="([^"]*)"', body(page.post(f"{HERE}/add", typed, follow=True)))
    assert [int(one) for one in found[1].split(",")] == lamps
    saved = page.post(f"{HERE}/add", typed, follow=True, headers={"Referer": "http://testserver/ui/saved"})
    assert "data-hides" not in body(saved)
    assert "data-hides" not in body(page.post(f"{HERE}/add", typed | {"shown": ""}, follow=True))


def test_adding_and_ending_a_mute_can_be_undone(page: Client, ada: Reader):
    def undo(answer, words: str) -> None:
        signed = answer.url.partition("done=")[2]
        assert "Undo" in body(page.get(answer.url))
        undone = page.post(f"{HERE}/undo", {"done": signed.replace("%3A", ":")}, follow=True)
        assert f"Undone. {words}: the word “lamp”." in body(undone)

    lamp = Mute("word", "lamp")
    added = page.post(f"{HERE}/add", {"kind": "word", "value": "lamp"})
    assert config_hiding(reader_id=ada.pk).mutes == (lamp,)
    undo(added, "Shown again")
    assert config_hiding(reader_id=ada.pk).mutes == ()
    mute_set(reader_id=ada.pk, mute=lamp, now=timezone.now())
    ended = page.post(f"{HERE}/end", {"kind": "word", "value": "Lamp"})
    assert config_hiding(reader_id=ada.pk).mutes == ()
    undo(ended, "Muted as before")
    assert config_hiding(reader_id=ada.pk).mutes == (lamp,)


def test_a_source_is_muted_by_its_title_and_by_the_readers_own_name_for_it(
    page: Client, ada: Reader, ben: Reader
):
    feed = fresh_item(ada, key="gazette.example").feed
    Subscription.objects.filter(reader=ada).update(own_name="My Paper")
    Subscription.objects.create(reader=ben, feed=feed, own_name="Ben’s", created_at=timezone.now())
    page.post(f"{HERE}/add", {"kind": "source", "value": "my paper"})
    assert config_hiding(reader_id=ada.pk).mutes == (Mute("source", "gazette.example"),)
    assert "You read no source called “Ben’s”" in body(page.get(HERE, {"kind": "source", "value": "Ben’s"}))


def test_an_undo_is_its_readers_alone(page: Client, ada: Reader, ben: Reader):
    added = page.post(f"{HERE}/add", {"kind": "word", "value": "lamp"})
    page.force_login(ben)
    page.post(f"{HERE}/undo", {"done": added.url.partition("done=")[2].replace("%3A", ":")})
    assert config_hiding(reader_id=ada.pk).mutes == (Mute("word", "lamp"),)


def test_what_cannot_be_muted_is_named_and_kept(page: Client, ada: Reader):
    yesterday = (timezone.now() - timedelta(days=2)).date().isoformat()
    for fields, words in (
        ({"kind": "word", "value": "two words"}, "more than one word"),
        ({"kind": "source", "value": "Nobody"}, "You read no source called “Nobody”"),
        ({"kind": "word", "value": "lamp", "until": yesterday}, "is over"),
    ):
        answer = page.get(HERE, fields)
        assert answer.status_code == 422 and words in body(answer)
        assert page.post(f"{HERE}/add", fields).status_code == 422
    assert config_hiding(reader_id=ada.pk).mutes == ()


def test_an_item_offers_its_source_author_and_words(page: Client, ada: Reader):
    item = fresh_item(ada, title="The lamp and the ferry", author="Jane Doe")
    shown = body(page.get(HERE, {"item": item.pk}))
    assert (
        all(words in shown for words in ("the source", "Jane Doe", "“lamp”", "“ferry”"))
        and "“the”" not in shown
    )
    assert page.get(HERE, {"item": 10**9}).status_code == 404


def test_a_source_of_several_feeds_is_named_by_its_address_with_their_number_and_names(
    page: Client, ada: Reader
):
    item = fresh_item(ada, title="A ferry")
    alone = body(page.get(HERE, {"item": item.pk}))
    assert "the source “Gazette”" in alone and "everything from" not in alone
    for name in ("Sport", "World"):
        another_feed(ada, name)
    words = "everything from gazette.example: 3 of your feeds"
    assert words in body(page.get(HERE, {"item": item.pk}))
    shown = body(page.get(HERE, {"kind": "source", "value": "gazette.example"}))
    assert words in shown and "Gazette Sport, Gazette World" in shown
    added = page.post(f"{HERE}/add", {"kind": "source", "value": "gazette.example"})
    assert body(page.get(added.url)).count(words) == 3, "in the notice, the list and its button"


def test_one_feed_of_a_source_is_kept_out_of_today_where_one_would_mute_it(
    page: Client, ada: Reader, ben: Reader
):
    item = fresh_item(ada, title="A ferry")
    other, bens = another_feed(ada, "Sport"), subscribe(ben, "river.example", "River")
    address = f"/ui/sources/{item.feed_id}/out"
    assert f'action="{address}"' in body(page.get(HERE, {"item": item.pk}))
    assert "is not in it" in body(page.post(address, follow=True))
    kept = dict(Subscription.objects.filter(reader=ada).values_list("feed", "in_today"))
    assert kept == {item.feed_id: False, other.feed_id: True}
    assert config_hiding(reader_id=ada.pk).mutes == ()
    assert address not in body(page.get(HERE, {"item": item.pk})), "it is kept out already"
    assert page.post(f"/ui/sources/{bens.feed_id}/out").status_code == 404


def test_the_last_day_ends_at_the_readers_own_midnight(ada: Reader):
    ada.time_zone = "Pacific/Kiritimati"
    ada.save()
    noon = timezone.now().replace(hour=12, minute=0)  # 2 in the morning of the next day there
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamp", noon.date()), now=noon)
    assert not mutes_in_force(reader_id=ada.pk, now=noon)
    assert mutes_in_force(reader_id=ada.pk, now=noon - timedelta(hours=3))


def test_the_left_out_page_counts_what_is_muted_without_its_titles(page: Client, ada: Reader):
    fresh_item(ada, title="A lamp is lit")
    fresh_item(ada, title="A ferry")
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamp"), now=timezone.now())
    assert "A lamp" not in body(page.get("/"))
    today = day_of(timezone.now(), ada.zone)
    shown = body(page.get(reverse("digest:left_out", args=[today])))
    assert "Muted: 1" in shown and "A lamp" not in shown
    mute_set(reader_id=ada.pk, mute=Mute("source", "gazette.example"), now=timezone.now())
    page.get("/")
    assert "the source “Gazette”" in body(page.get(reverse("digest:left_out", args=[today])))


def test_unread_counts_leave_muted_items_out_and_marking_all_leaves_them_unread(page: Client, ada: Reader):
    hidden = fresh_item(ada, title="A lamp is lit")
    fresh_item(ada, title="A ferry")
    mute_set(reader_id=ada.pk, mute=Mute("word", "lamp"), now=timezone.now())
    assert page.get("/api/items").json()["unread"] == 1
    page.post("/ui/all/read", {"all": "1"})
    assert not hidden.readings.filter(read_at__isnull=False).exists()


def test_the_api_lists_previews_adds_and_ends_mutes(page: Client, ada: Reader):
    fresh_item(ada, title="A lamp is lit")
    seen = page.get("/api/mutes/preview", {"kind": "word", "value": "lamp"}).json()
    assert seen == {"hides": 1, "total": 1, "titles": ["A lamp is lit"]}
    sent = {"kind": "word", "value": "lamp"}
    made = page.post("/api/mutes", sent, content_type="application/json").json()
    assert made == {"version": 1, "mutes": [sent | {"until": None, "within": "", "over": False}]}
    wrong = page.post("/api/mutes", {"kind": "word", "value": "a b"}, content_type="application/json")
    assert (wrong.status_code, wrong.json()["error"]) == (422, "invalid_mute")
    assert page.delete("/api/mutes?kind=word&value=lamp").json() == {"version": 2, "mutes": []}


def test_a_category_is_muted_after_a_look_and_offered_by_an_item(page: Client, ada: Reader):
    item = fresh_item(ada, title="A ferry")
    Item.objects.filter(pk=item.pk).update(categories=["Boat-Trips"])
    fresh_item(ada, title="Boat trips")
    assert "kind=category&amp;value=Boat-Trips" in body(page.get(HERE, {"item": item.pk}))
    shown = body(page.get(HERE, {"kind": "category", "value": "boat trips"}))
    assert "hides <strong>1</strong> of the last 7 days’ <strong>2</strong> items" in shown
    page.post(f"{HERE}/add", {"kind": "category", "value": "boat trips"})
    listed = body(page.get("/ui/all"))
    assert "A ferry" not in listed and "Boat trips" in listed


def test_whoever_mutes_something_of_an_item_finds_the_way_back_to_the_list(page: Client, ada: Reader):
    item = fresh_item(ada, title="Lamp of the year")
    there = "/ui/all?unread=1"
    origin = {"Referer": f"http://testserver{there}"}
    asked = page.get(HERE, {"item": item.pk}, headers=origin)
    assert asked.context["item"] == item and 'href="/ui/all?unread=1"' in body(asked)
    preview = page.get(asked.context["suggested"][0]["href"])
    assert preview.context["back"] == there and body(preview).count('href="/ui/all?unread=1"') == 2
    chosen = preview.context["preview"].mute
    typed = {"kind": chosen.kind, "value": chosen.value, "next": there}
    assert page.post(f"{HERE}/add", typed, follow=True).context["back"] == there


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_no_way_back_leads_to_another_site(page: Client, elsewhere: str):
    assert page.get(HERE, {"next": elsewhere}).context["back"] == ""


def test_a_word_is_muted_in_one_source_alone(page: Client, ada: Reader):
    here = fresh_item(ada, key="gazette.example", title="A lamp is lit")
    fresh_item(ada, key="herald.example", title="A lamp is sold")
    suggested = body(page.get(HERE, {"item": here.pk}))
    assert "within=gazette.example" in suggested and "only in Gazette" in suggested
    fields = {"kind": "word", "value": "lamp", "within": "gazette.example"}
    shown = body(page.get(HERE, fields))
    assert "the word “lamp” in Gazette" in shown and "hides <strong>1</strong> of" in shown
    added = page.post(f"{HERE}/add", fields)
    assert config_hiding(reader_id=ada.pk).mutes == (Mute("word", "lamp", within="gazette.example"),)
    rows = page.get("/ui/all").context["rows"]
    assert [row.shown.item.title for row in rows] == ["A lamp is sold"]
    assert "the word “lamp” in Gazette" in body(page.get(added.url))
    signed = added.url.partition("done=")[2].replace("%3A", ":")
    page.post(f"{HERE}/undo", {"done": signed})
    assert config_hiding(reader_id=ada.pk).mutes == ()


def test_a_mute_of_one_source_stands_beside_one_of_all_and_ends_alone(page: Client, ada: Reader):
    fresh_item(ada, key="gazette.example")
    everywhere, there = {"kind": "word", "value": "lamp"}, {"within": "gazette.example"}
    page.post(f"{HERE}/add", everywhere)
    page.post(f"{HERE}/add", everywhere | there)
    assert len(config_hiding(reader_id=ada.pk).mutes) == 2
    page.post(f"{HERE}/end", everywhere | there)
    assert config_hiding(reader_id=ada.pk).mutes == (Mute("word", "lamp"),)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "word", "within": "Nobody"}, "You read no source called “Nobody”"),
        ({"kind": "source", "value": "gazette.example", "within": "gazette.example"}, "is muted everywhere"),
        ({"kind": "address", "value": "gazette.example/*", "within": "x"}, "is muted everywhere"),
    ],
)
def test_where_a_mute_cannot_hold_is_said(page: Client, ada: Reader, fields: dict[str, str], words: str):
    fresh_item(ada, key="gazette.example")
    answer = page.post(f"{HERE}/add", {"value": "lamp"} | fields)
    assert answer.status_code == 422 and words in body(answer)
    assert config_hiding(reader_id=ada.pk).mutes == ()


def test_the_api_mutes_in_one_source_and_ends_it(page: Client, ada: Reader):
    fresh_item(ada, key="gazette.example")
    given = {"kind": "phrase", "value": "low tide", "within": "Gazette"}
    (row,) = page.post("/api/mutes", given, content_type="application/json").json()["mutes"]
    assert (row["value"], row["within"]) == ("low tide", "gazette.example")
    gone = page.delete("/api/mutes?kind=phrase&value=low+tide")
    assert gone.json()["mutes"] == [row], "everywhere, it is not muted"
    gone = page.delete("/api/mutes?kind=phrase&value=low+tide&within=gazette.example")
    assert gone.json()["mutes"] == []
