"""The feedback doors over HTTP: session and CSRF needed, one's own items only, errors with stable codes."""

import pytest
from django.test import Client

from digest.models import Feedback, Item, Reader, Reading
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory
from tests.support.ingest import document_ingest

JSON = "application/json"


def read_by(reader: Reader) -> Item:
    feed = FeedFactory()
    SubscriptionFactory(reader=reader, feed=feed)
    return ItemFactory(source=feed.source)


@pytest.fixture
def item(ada) -> Item:
    return read_by(ada)


@pytest.fixture
def adas(ada) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def feedback_url(item_id: int) -> str:
    return f"/api/items/{item_id}/feedback"


@pytest.mark.parametrize("useful", [True, 1])
def test_a_thumb_with_reasons_is_stored_and_answered(adas, item, useful):
    body = {"useful": useful, "reason_tags": ["depth", "well written"]}
    answer = adas.post(feedback_url(item.id), body, content_type=JSON)
    assert answer.status_code == 200
    said = answer.json()
    assert (said["item_id"], said["useful"], said["reason_tags"]) == (item.id, True, ["clarity", "depth"])
    assert Feedback.objects.get().useful is True


def test_a_thumb_can_be_taken_back(adas, item):
    adas.post(feedback_url(item.id), {"useful": 1}, content_type=JSON)
    assert not Reading.objects.exists()
    adas.post(feedback_url(item.id), {"useful": 0}, content_type=JSON)
    assert Reading.objects.get().read_at
    assert adas.delete(feedback_url(item.id)).json() == {"item_id": item.id, "cleared": True}
    assert adas.delete(feedback_url(item.id)).json() == {"item_id": item.id, "cleared": False}
    assert not Feedback.objects.exists() and not Reading.objects.get().read_at


def test_the_reasons_on_offer_tell_which_are_set(adas, item):
    before = adas.get(f"/api/items/{item.id}/reasons").json()
    assert before["useful"] is None and len(before["valued"]) == len(before["disliked"]) == 6
    adas.post(feedback_url(item.id), {"useful": 0, "reason_tags": ["hype"]}, content_type=JSON)
    after = adas.get(f"/api/items/{item.id}/reasons").json()
    assert after["useful"] is False
    assert [r for r in after["disliked"] if r["set"]] == [
        {"tag": "hype", "label": "Too much hype", "set": True}
    ]


def test_own_words_are_stored_answered_and_emptied(adas, item):
    body = {"useful": True, "words": ["more about sailing", " the maps "]}
    assert adas.post(feedback_url(item.id), body, content_type=JSON).json()["words"] == [
        "more about sailing",
        "the maps",
    ]
    kept = adas.post(feedback_url(item.id), {"useful": True}, content_type=JSON).json()["words"]
    assert (
        kept == adas.get(f"/api/items/{item.id}/reasons").json()["words"] == [*body["words"][:1], "the maps"]
    )
    emptied = adas.post(feedback_url(item.id), {"useful": True, "words": []}, content_type=JSON)
    assert emptied.json()["words"] == [] and Feedback.objects.get().has_reason is False


def test_an_unknown_reason_is_refused_with_its_code(adas, item):
    answer = adas.post(feedback_url(item.id), {"useful": 1, "reason_tags": ["zzz"]}, content_type=JSON)
    assert answer.status_code == 422
    assert answer.json()["error"] == "unknown_reason_tag" and "zzz" in answer.json()["message"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"useful": "maybe"},
        {"useful": 2},
        {"useful": True, "reason_tags": ["x"] * 21},
        {"useful": True, "words": ["x", "y", "z", "a"]},
        {"useful": True, "words": ["x" * 201]},
    ],
)
def test_a_body_that_is_no_thumb_is_refused(adas, item, body):
    answer = adas.post(feedback_url(item.id), body, content_type=JSON)
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert not Feedback.objects.exists()


def test_anothers_item_is_as_absent_as_none_on_every_door(adas, ben):
    for item_id in (read_by(ben).id, 999_999):
        answers = [
            adas.post(feedback_url(item_id), {"useful": 1}, content_type=JSON),
            adas.delete(feedback_url(item_id)),
            adas.get(f"/api/items/{item_id}/reasons"),
        ]
        assert [answer.status_code for answer in answers] == [404] * 3
        assert {answer.json()["error"] for answer in answers} == {"item_not_found"}


def test_nobody_gets_in_without_a_session_or_without_the_csrf_token(ada, item):
    assert Client().post(feedback_url(item.id), {"useful": 1}, content_type=JSON).status_code == 401
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(feedback_url(item.id), {"useful": 1}, content_type=JSON).status_code == 403
    assert not Feedback.objects.exists()


def test_reading_and_saving_tell_since_when_and_are_taken_back(adas, item):
    for name, key in (("read", "read_at"), ("saved", "saved_at")):
        url = f"/api/items/{item.id}/{name}"
        first = adas.post(url).json()
        assert first["item_id"] == item.id and first[key]
        assert adas.post(url).json() == first
        assert adas.delete(url).json() == {"item_id": item.id, key: None}
        assert adas.delete(url).status_code == 200


@pytest.mark.parametrize("name", ["read", "saved"])
def test_another_readers_item_can_be_neither_read_nor_saved(adas, ben, name):
    url = f"/api/items/{read_by(ben).id}/{name}"
    for answer in (adas.post(url), adas.delete(url)):
        assert (answer.status_code, answer.json()["error"]) == (404, "item_not_found")
    assert not Reading.objects.exists()


def test_a_search_answers_with_marked_parts(adas, item):
    Item.objects.filter(pk=item.pk).update(title="The lamp")
    said = adas.get("/api/search", {"q": "LAMP"}).json()
    assert (said["total"], said["more"], said["loose"]) == (1, False, False)
    assert said["hits"][0]["item_id"] == item.id
    assert said["hits"][0]["title"] == [
        {"text": "The ", "marked": False},
        {"text": "lamp", "marked": True},
    ]


@pytest.mark.parametrize("asked", [{"q": "x" * 201}, {"q": "a", "order": "worst"}, {"q": "a", "page": 0}])
def test_a_search_that_does_not_fit_is_refused(adas, asked):
    answer = adas.get("/api/search", asked)
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")


def test_a_search_for_nothing_finds_nothing(adas, item):
    assert adas.get("/api/search").json()["hits"] == []


def test_an_item_has_its_body_as_published(adas, ada, now):
    feed = FeedFactory()
    SubscriptionFactory(reader=ada, feed=feed)
    entry = (
        "<item><guid>1</guid><title>Rain</title><link>https://r.example/1</link><category>Water</category>"
        '<enclosure url="https://r.example/1.mp3" type="audio/mpeg" length="200"/>'
        '<description><![CDATA[<h2>Levels</h2><img src="/b.png"><script>x</script>]]></description></item>'
    )
    document_ingest(feed=feed, body=f"<rss><channel>{entry}</channel></rss>".encode(), now=now)
    item = Item.objects.get()
    said = adas.get(f"/api/items/{item.pk}").json()
    assert said["content_html"] == '<h2>Levels</h2><img src="https://r.example/b.png">'
    assert (said["url"], said["text"], said["read_at"]) == ("https://r.example/1", "Levels", None)
    assert (said["categories"], said["image"]) == (["Water"], "https://r.example/b.png")
    assert said["enclosures"] == [
        {"url": "https://r.example/1.mp3", "mime_type": "audio/mpeg", "length_bytes": 200, "duration_s": None}
    ]
    assert not Reading.objects.exists()


def test_an_item_of_words_alone_is_served_too_and_anothers_is_not(adas, item, ben):
    said = adas.get(f"/api/items/{item.pk}").json()
    assert (said["title"], said["content_html"], said["enclosures"]) == (item.title, "", [])
    answer = adas.get(f"/api/items/{read_by(ben).pk}")
    assert (answer.status_code, answer.json()["error"]) == (404, "item_not_found")
