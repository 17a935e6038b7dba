"""An item's place in the digest, in words, and on its page."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from digest.daily.item_words import place_explain
from digest.daily.selectors import item_place
from digest.daily.services import digest_build
from digest.days import day_of
from digest.models import Digest, Impression, Item, Reader
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


def place_text(page: Client, item: Item) -> str:
    """Return the text about the item's place from its page."""
    body = page.get(f"/ui/item/{item.pk}").content.decode()
    found = re.search(r"<p[^>]* data-place>.*?</p>", body, re.DOTALL)
    assert found
    return unescape(re.sub(r"<[^>]+>", "", found.group()))


def build(reader: Reader) -> Digest:
    now = timezone.now()
    return digest_build(reader=reader, date=day_of(now, reader.zone), now=now)


@pytest.mark.parametrize(
    ("slot", "propensity", "words"),
    [
        ("ranked", 1.0, "It has that place by its score."),
        ("kept", 1.0, "It keeps its place since you rated it."),
        ("kept", 0.25, "drawn, from a source you rarely see, and keeps its place since you rated it."),
        ("novelty", 0.25, "drawn, from a source you rarely see: every 10th place is, whatever the score."),
        ("novelty", 0.25, "It had a chance of 25%."),
        ("novelty", 1.0, "whatever the score."),
        ("again", 1.0, "It was high on an earlier page of yours, so it stands below what is new to you."),
    ],
)
def test_every_way_to_a_place_has_its_words(slot: str, propensity: float, words: str):
    assert place_explain(slot, propensity).endswith(words) or words in place_explain(slot, propensity)


def test_the_page_names_the_day_the_rank_and_what_it_rests_on(page: Client, ada: Reader):
    fresh_item(ada, hours=1, title="First")
    second = fresh_item(ada, hours=2, title="Second")
    digest = build(ada)
    day = f"{digest.date:%A}, {digest.date.day} {digest.date:%B}"
    assert place_text(page, second) == f"No. 2 in your digest of {day}. It has that place by its score."


def test_a_drawn_item_says_so_in_its_place_and_in_a_sentence(page: Client, ada: Reader):
    item = fresh_item(ada)
    build(ada)
    Impression.objects.filter(item=item).update(slot="novelty", propensity=0.2)
    assert "drawn, from a source you rarely see" in place_text(page, item)
    sentence = '<p class="why-said">It was drawn, from a source that you rarely see.</p>'
    assert sentence in page.get(f"/ui/item/{item.pk}").content.decode()


def test_an_item_left_out_says_why_and_how_it_scored(page: Client, ada: Reader):
    muted = fresh_item(ada, hours=2, title="Gossip from the pier")
    for n in range(40):
        fresh_item(ada, hours=3, key=f"s{n % 4}.example", title=f"News {n}")
    edit = ConfigEdit(keyword_boosts={"gossip": -0.9})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    build(ada)
    assert re.search(
        r"^Not in your digest of \w+, \d+ \w+, where it was no\. 41 by score\.", place_text(page, muted)
    )
    assert "A word counts against it; without that this would be in the digest." in place_text(page, muted)


def test_an_item_that_only_its_date_brought_has_no_chip(page: Client, ada: Reader):
    item = fresh_item(ada, hours=1)
    build(ada)
    for address in (f"/ui/item/{item.pk}", "/", "/ui/all"):
        assert 'class="chip' not in page.get(address).content.decode(), address


def test_the_digest_of_somebody_else_says_nothing(ada: Reader, ben: Reader):
    item = fresh_item(ada)
    fresh_item(ben, key="bens.example")
    build(ada)
    assert item_place(reader=ben, item=item, now=timezone.now()) is None
    assert item_place(reader=ada, item=item, now=timezone.now()).shown.rank == 1


def test_the_latest_digest_that_shows_it_counts(ada: Reader):
    item = fresh_item(ada, hours=30)
    yesterday = timezone.now() - timedelta(days=1)
    digest_build(reader=ada, date=day_of(yesterday, ada.zone), now=yesterday)
    latest = build(ada)
    place = item_place(reader=ada, item=item, now=timezone.now())
    assert place.digest == latest


def test_the_item_page_costs_the_same_however_much_there_is(
    page: Client, ada: Reader, django_assert_max_num_queries
):
    with_few, with_many = [], []
    for counts, items in ((with_few, 35), (with_many, 60)):
        for n in range(items):
            fresh_item(ada, hours=3 + n / 60, key=f"s{items}-{n % 4}.example", title=f"News {items} {n}")
        build(ada)
        out = Item.objects.exclude(impressions__digest__reader=ada).latest("pk")
        shown = Item.objects.filter(impressions__digest__reader=ada).latest("pk")
        page.get(f"/ui/item/{out.pk}")
        for item in (out, shown):
            with django_assert_max_num_queries(60) as caught:
                page.get(f"/ui/item/{item.pk}")
            counts.append(len(caught))
    # Once something was read today, the page as it stands is looked at as well.
    assert with_many[0] <= with_few[0] + 1 and with_few[1] == with_many[1]
    assert with_few[1] < with_few[0]
