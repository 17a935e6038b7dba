"""The parts beside an item: reasons on offer, other reports of the story, a summary and its author."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone, translation

from digest.daily.item_words import seen_words, summary_origin
from digest.daily.presentation import ScoredItem, age_of, reasons_offered, says_came, score_why
from digest.feedback.reasons import SuggestedReason
from digest.feedback.selectors import feedback_by_items, reason_tags
from digest.items.selectors import item_candidate
from digest.models import (
    Impression,
    Item,
    Reader,
    ReasonTag,
    Source,
    Story,
    Subscription,
    SuggestedReasons,
    Summary,
)
from ranking.entities import Config, EffectiveConfig
from ranking.scoring import rank
from tests.support.browser import fresh_item
from tests.support.factories import FeedbackFactory


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def offered(reader: Reader, item: Item, *suggested: SuggestedReason) -> list[tuple[str, str]]:
    thumb = feedback_by_items(reader_id=reader.pk, items=[item]).get(item.pk)
    return [(offer.slug, offer.label) for offer in reasons_offered(thumb, reason_tags(), suggested)]


def test_before_a_thumb_there_is_nothing_to_give_reasons_for(ada: Reader):
    assert offered(ada, fresh_item(ada), SuggestedReason("depth", "goes deep")) == []


def test_suggested_reasons_come_first_in_their_own_words_and_the_rest_follows(ada: Reader):
    item = fresh_item(ada)
    FeedbackFactory(reader=ada, item=item, useful=True)
    found = offered(
        ada, item, SuggestedReason("original", "first to report"), SuggestedReason("depth", "goes deep")
    )
    assert found[:2] == [("original", "first to report"), ("depth", "goes deep")]
    assert {slug for slug, _ in found} == {
        tag.slug for tag in reason_tags() if tag.kind == ReasonTag.Kind.VALUED
    }


def test_a_reason_for_the_other_thumb_or_outside_the_taxonomy_is_not_offered(ada: Reader):
    item = fresh_item(ada)
    FeedbackFactory(reader=ada, item=item, useful=False)
    plain = offered(ada, item)
    assert offered(ada, item, SuggestedReason("depth", "goes deep"), SuggestedReason("made-up", "x")) == plain


def test_a_suggested_reason_is_one_tap_on_the_page(page: Client, ada: Reader, now):
    item = fresh_item(ada)
    SuggestedReasons.objects.create(
        fingerprint=item.fingerprint,
        model="offline",
        reasons=[{"tag": "depth", "text": "a long read"}],
        created_at=now,
    )
    page.get("/")
    FeedbackFactory(reader=ada, item=item, at=timezone.now())
    body = page.get("/").content.decode()
    offer = '<button name="tag" value="depth" data-key="tag-depth" aria-pressed="false">A long read</button>'
    assert offer in body
    response = page.get(f"/api/items/{item.pk}/reasons").json()
    assert response["suggested"] == [{"tag": "depth", "text": "a long read"}]


def test_other_tellings_are_linked_only_where_the_reader_may_see_them(
    page: Client, ada: Reader, ben: Reader, now
):
    story = Story.objects.create(created_at=now, last_item_at=now)
    shown_item = fresh_item(ada, title="Old harbour bridge falls", story=story)
    fresh_item(ada, key="herald.example", title="The old harbour bridge is down", story=story)
    fresh_item(ben, key="bens.example", title="A secret old harbour bridge", story=story)
    body = page.get(f"/ui/item/{shown_item.pk}").content.decode()
    assert "also reported by Herald" in body
    assert "The old harbour bridge is down" in body
    assert "A secret old harbour bridge" not in body


def test_what_one_source_posted_twice_is_named_and_counts_as_no_other_source(page: Client, ada: Reader, now):
    story = Story.objects.create(created_at=now, last_item_at=now)
    shown_item = fresh_item(ada, title="Old harbour bridge falls", story=story)
    again = fresh_item(ada, title="Old harbour bridge falls again", story=story)
    body = page.get(f"/ui/item/{shown_item.pk}").content.decode()
    assert "Gazette posted it again" in body and f'href="/ui/item/{again.pk}"' in body
    assert "also reported by" not in body


def summarised(item: Item, now, **fields: object) -> Summary:
    given = {"model": "offline", "text": "The pier is open.", "citations": ["The pier is open."]}
    return Summary.objects.create(fingerprint=item.fingerprint, created_at=now, **{**given, **fields})


def test_a_summary_says_whose_words_it_is(page: Client, ada: Reader, now):
    item = fresh_item(ada, text="Before. The pier is open. More follows. " + "And more of it. " * 220)
    summarised(item, now)
    summarised(item, now, model="openai:small", text="Open again.")
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "Open again." in body
    assert "Written by small, from the sentences quoted." in body
    assert "<q>The pier is open.</q>" in body
    Subscription.objects.filter(reader=ada).update(ai_enabled=False)
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "Open again." not in body
    assert "Sentences taken from the text." in body


@pytest.mark.parametrize(
    ("model", "words", "begins", "is_shown"),
    [
        ("offline", 100, False, False),
        ("offline", 900, False, True),
        ("offline", 900, True, False),
        ("openai:small", 100, False, True),
        ("openai:small", 100, True, False),
    ],
)
def test_a_summary_stands_above_an_article_that_it_shortens(
    page: Client, ada: Reader, model: str, words: int, begins: bool, is_shown: bool, now
):
    said = "The pier is open."
    text = (f"{said} " if begins else "First.\n") + "word " * words + said
    item = fresh_item(ada, text=text)
    summarised(item, now, model=model, text=said, citations=[said])
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert ("In short" in body) == is_shown


def test_a_refused_summary_leaves_the_text_to_speak(page: Client, ada: Reader, now):
    item = fresh_item(ada, text="The pier is open.")
    summarised(item, now, text="", citations=[], refusal="NO_EVIDENCE")
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    assert "In short" not in body
    assert "The pier is open." in body


@pytest.mark.parametrize(
    ("model", "repaired", "by_model", "words"),
    [
        ("offline", False, False, "Sentences taken from the text."),
        ("openai:x", True, False, "The publisher’s first sentence."),
        ("openai:x", False, True, "Written by x, from the sentences quoted. Check it against the text."),
    ],
)
def test_whose_words(model, repaired, by_model, words):
    assert summary_origin(model, repaired, by_model) == words


def test_an_item_of_the_novelty_slot_says_so_first(page: Client, ada: Reader):
    fresh_item(ada)
    page.get("/")
    Impression.objects.update(slot="novelty")
    assert page.get("/").context["shown"][0].why.chips[0] == "from a source you rarely see"


def test_a_summary_by_an_attacker_stays_text(page: Client, ada: Reader, now):
    item = fresh_item(ada, text="<img src=x onerror=alert(1)>")
    summarised(item, now, text="<script>alert(1)</script>", citations=["<img src=x onerror=alert(1)>"])
    for address in ("/", f"/ui/item/{item.pk}", "/ui/search?q=img"):
        body = page.get(address).content.decode()
        assert "<script>alert" not in body and "<img" not in body


def test_a_page_of_stories_costs_the_same_however_many(
    page: Client, ada: Reader, now, django_assert_num_queries
):
    story = Story.objects.create(created_at=now, last_item_at=now)
    headline = "Ferry strike ends at harbour"
    shown_item = fresh_item(ada, title=headline, story=story)
    fresh_item(ada, key="h0.example", title=headline, story=story)
    page.get(f"/ui/item/{shown_item.pk}")
    with django_assert_num_queries(30, exact=False) as caught:
        page.get(f"/ui/item/{shown_item.pk}")
        cost = len(caught)
    for n in range(1, 6):
        fresh_item(ada, key=f"h{n}.example", title=headline, story=story)
    with django_assert_num_queries(cost):
        page.get(f"/ui/item/{shown_item.pk}")


def test_an_item_without_a_date_came_and_was_not_seen_in_german_too():
    came = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
    with translation.override("de"):
        assert seen_words(came, came + timedelta(minutes=2), UTC) == "vor 2 Minuten gekommen"
        assert seen_words(came, came + timedelta(days=30), UTC) == "gekommen am 18. März 2026"


@pytest.mark.parametrize(
    ("published", "dated", "row", "why"),
    [
        # The publisher's date, a day before the item came.
        (timedelta(hours=30), timedelta(hours=30), "yesterday", "yesterday"),
        # An old post that came now.
        (timedelta(days=42), timedelta(), "came today", "came 5 minutes ago, published 4 February"),
        # No date: the ranking counts an estimate, the row tells none.
        (timedelta(), timedelta(hours=12), "came 5 minutes ago", "an estimate: 12 hours old"),
        (timedelta(), timedelta(), "came 5 minutes ago", "came 5 minutes ago"),
    ],
)
def test_a_row_tells_no_invented_age_and_why_says_what_freshness_counts(
    published: timedelta, dated: timedelta, row: str, why: str
):
    """Both are told five minutes after the item came."""
    came = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
    now = came + timedelta(minutes=5)
    item = Item(
        pk=1,
        title="A weir",
        source=Source(pk="a.example"),
        published_at=came - published,
        dated_at=came - dated,
        first_seen_at=came,
    )
    score = rank([item_candidate(item)], EffectiveConfig(Config()), now)[0]
    lines = score_why(ScoredItem(item, score.parts.as_dict(), score.total)).lines
    assert age_of(item, reader=Reader(time_zone="UTC"), now=now) == row
    assert says_came(item) == row.startswith("came")
    assert next(line.words for line in lines if line.label == "Freshness").startswith(why)
