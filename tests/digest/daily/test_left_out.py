"""Nothing disappears silently: all that a digest leaves out is counted, listed and explained."""

from datetime import timedelta
from functools import partial

import pytest
from django.test import Client

from digest.daily.diversity import ExclusionReason
from digest.daily.selectors import digest_exclusions
from digest.daily.services import digest_build
from digest.days import day_begin, day_of
from digest.items.selectors import items_window
from digest.models import Digest, Exposure, Item, Story
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import ago, fresh_item, subscribe
from tests.support.factories import ItemFactory, SourceFactory, SubscriptionFactory

LOUD, QUIET, LESS = "loud.example", "quiet.example", "less.example"


@pytest.fixture
def client(ada) -> Client:
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def today(ada, client):
    """Return Ada's present day, because pages read the real clock."""
    return ago(0).astimezone(ada.zone).date()


@pytest.fixture
def built(ada, today) -> Digest:
    """Many of two sources, one telling of a story too many, one item muted, one of a source of low weight."""
    for n in range(40):
        fresh_item(ada, hours=1 + n / 60, key=LOUD, title=f"Loud {n}")
    for n in range(30):
        fresh_item(ada, hours=2 + n / 60, key=QUIET, title=f"Quiet {n}")
    story = Story.objects.create(created_at=ago(1), last_item_at=ago(1))
    for key, hours in ((LOUD, 0.5), (QUIET, 0.6)):
        fresh_item(ada, hours=hours, key=key, title=f"Harbour ferry strike in {key}", story=story)
    fresh_item(ada, hours=90, key="word.example", title="A gossip")
    fresh_item(ada, hours=90, key=LESS, title="Of a source she wants less of")
    edit = ConfigEdit(keyword_boosts={"gossip": -0.5}, source_weights={LESS: 0.3})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=ago(0))
    return digest_build(reader=ada, date=today, now=ago(0))


def test_every_candidate_is_in_the_digest_or_counted_with_a_reason(ada, built, today):
    assert built.impressions.count() == 30
    # Loud and quiet have ten each as their shares, and the ten places left go to the best, which are loud.
    assert built.left_out == {"source_cap": 10, "same_story": 1, "keyword": 1, "low_weight": 1, "below": 31}
    assert sum(built.left_out.values()) + 30 == Item.objects.count()


def test_the_list_says_the_same_as_the_count(ada, built, today):
    found = digest_exclusions(reader=ada, date=today, now=ago(0))
    assert {reason.value: count for reason, count in found.counts.items()} == built.left_out
    assert (found.total, found.page, found.pages) == (sum(built.left_out.values()), 1, 1)
    assert [row.position for row in found.items] == sorted(row.position for row in found.items)


def test_what_came_after_the_digest_was_not_left_out_of_it(client, ada, built, today):
    late = fresh_item(ada, hours=2, key=QUIET, title="Late, and dated back")
    Item.objects.filter(pk=late.pk).update(first_seen_at=built.built_at + timedelta(seconds=1))
    found = digest_exclusions(reader=ada, date=today, now=ago(0))
    assert {reason.value: count for reason, count in found.counts.items()} == built.left_out
    assert "Late, and dated back" not in client.get(f"/ui/date/{today}/left-out").content.decode()


def test_what_the_limit_on_candidates_cut_off_is_said_with_its_number(client, ada, today, monkeypatch):
    for n in range(8):
        fresh_item(ada, hours=1 + n, title=f"Plain {n}")
    digest_build(reader=ada, date=today, now=ago(0), limit=2)
    assert "Here they all are" in client.get(f"/ui/date/{today}/left-out").content.decode()
    for place in ("digest.daily.selectors", "digest.web.pages.contexts"):
        monkeypatch.setattr(f"{place}.CANDIDATES_MAX", 5)
    few = partial(items_window, limit=5)
    monkeypatch.setattr("digest.daily.candidates.items_window", few)
    body = client.get(f"/ui/date/{today}/left-out").content.decode()
    assert "3 items of your sources are not in this digest. Here they are, the best first." in body
    assert "3 older ones of the week before were not considered" in body and "the newest 5." in body
    assert "Here they all are" not in body


def test_a_kind_and_a_page_can_be_picked(ada, built, today, monkeypatch):
    monkeypatch.setattr("digest.daily.selectors.PAGE_SIZE", 4)
    every = digest_exclusions(reader=ada, date=today, now=ago(0), reason=ExclusionReason.SOURCE_CAP)
    last = digest_exclusions(reader=ada, date=today, now=ago(0), reason=ExclusionReason.SOURCE_CAP, page=999)
    assert every.counts[ExclusionReason.SOURCE_CAP] > 4
    assert {row.reason for row in (*every.items, *last.items)} == {ExclusionReason.SOURCE_CAP}
    assert (len(every.items), last.page) == (4, last.pages)
    assert not {r.item.pk for r in every.items} & {r.item.pk for r in last.items}


def test_the_page_names_each_reason_and_who_tells_the_story(client, built, today):
    body = client.get(f"/ui/date/{today}/left-out").content.decode()
    teller = Item.objects.get(title=f"Harbour ferry strike in {LOUD}")
    assert f"The same story as reported by {teller.source}." in body
    assert f'href="/ui/item/{teller.pk}"' in body
    assert "You get less from Less; with “usual” this would be in the digest." in body
    assert "A word counts against it; without that this would be in the digest." in body
    assert "Loud had its share of the places." in body
    assert f"{sum(built.left_out.values())} items of your sources are not in this digest" in body
    assert 'name="useful"' in body  # a thumb is possible here too


def test_what_stands_lower_for_its_sources_weight_is_counted_and_listed(client, ada, today):
    for n in range(3):
        fresh_item(ada, hours=2 + n, key=QUIET, title=f"Quiet {n}")
    fresh_item(ada, hours=1, key=LESS, title="Turned down")
    digest_build(reader=ada, date=today, now=ago(0))
    assert "lower because" not in client.get(f"/ui/date/{today}/left-out").content.decode()
    edit = ConfigEdit(source_weights={LESS: 0.95, QUIET: 1.5})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=ago(0))
    digest_build(reader=ada, date=today, now=ago(0))
    assert digest_exclusions(reader=ada, date=today, now=ago(0)).lowered == []
    edit = ConfigEdit(source_weights={LESS: 0.3, QUIET: None})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=1, now=ago(0))
    digest_build(reader=ada, date=today, now=ago(0))
    (found,) = digest_exclusions(reader=ada, date=today, now=ago(0)).lowered
    assert (found.item.title, found.rank, found.weight, found.places) == ("Turned down", 4, 0.3, 3)
    body = client.get(f"/ui/date/{today}/left-out").content.decode()
    sentence = "1 in the digest ranks lower because your settings or your ratings show less of its source"
    assert sentence in body
    assert "No. 4, 3 places lower than with Less as usual." in body


def test_the_page_of_one_kind_shows_that_kind_alone(client, built, today):
    body = client.get(f"/ui/date/{today}/left-out?reason=keyword").content.decode()
    assert body.count("<article") == 1 and "A gossip" in body
    assert client.get(f"/ui/date/{today}/left-out?reason=nonsense&page=x").status_code == 200


def test_todays_page_leads_to_the_list(client, built, today):
    body = client.get("/").content.decode()
    assert f'href="/ui/date/{today}/left-out"' in body


def test_nothing_left_out_and_no_digest_are_said_in_words(client, ada, today):
    fresh_item(ada)
    assert "No digest was made that day" in client.get(f"/ui/date/{today}/left-out").content.decode()
    digest_build(reader=ada, date=today, now=ago(0))
    assert "Nothing was left out" in client.get(f"/ui/date/{today}/left-out").content.decode()
    assert client.get(f"/ui/date/{today + timedelta(days=2)}/left-out").status_code == 404


def test_reasons_told_by_later_settings_say_so(client, ada, built, today):
    assert "Your settings have changed" not in client.get(f"/ui/date/{today}/left-out").content.decode()
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["loud"]), expected_version=1, now=ago(0))
    assert "Your settings have changed" in client.get(f"/ui/date/{today}/left-out").content.decode()


def test_a_digest_built_before_its_day_begins_where_the_reader_lives_now_is_told_of_all_the_same(
    ada, built, today
):
    Digest.objects.filter(pk=built.pk).update(built_at=day_begin(today, ada.zone) - timedelta(hours=3))
    found = digest_exclusions(reader=ada, date=today, now=ago(0))
    assert found is not None and found.digest == built


def test_bens_page_holds_nothing_of_adas(ben, built):
    client = Client()
    client.force_login(ben)
    subscribe(ben, "bens.example")
    date = day_of(ago(0), ben.zone)  # west of Ada's, it may be yesterday still
    digest_build(reader=ben, date=date, now=ago(0))
    assert "Loud" not in client.get(f"/ui/date/{date}/left-out").content.decode()


@pytest.mark.parametrize("count", [40, 400])
def test_the_list_takes_as_many_queries_however_long_it_is(
    ada, built, today, count, django_assert_max_num_queries
):
    ItemFactory.create_batch(count, source=SourceFactory(key=LOUD), published_at=ago(3))
    digest_build(reader=ada, date=today, now=ago(0))
    with django_assert_max_num_queries(20):
        digest_exclusions(reader=ada, date=today, now=ago(0))


# --- by the API ---------------------------------------------------------------------------------------


def test_the_api_shows_a_digest_with_its_reasons_slots_and_counts(client, ada, built, today):
    body = client.get(f"/api/digests/{today}").json()
    assert (body["date"], body["config_version"], body["left_out"]) == (str(today), 1, built.left_out)
    assert len(body["entries"]) == 30
    first = body["entries"][0]
    assert first["title"] == f"Harbour ferry strike in {LOUD}"
    assert [mate["title"] for mate in first["also"]] == [f"Harbour ferry strike in {QUIET}"]
    assert (first["slot"], first["propensity"], first["useful"]) == ("ranked", 1.0, None)
    parts = first["parts"]
    assert (parts["reported_by"], parts["interest"]) == (2, 1.1)
    assert parts["recency"] * parts["interest"] == pytest.approx(first["score"])
    assert first["reasons"] == ["2 of your sources"]
    assert Exposure.objects.filter(reader=ada, door="api").count() == 30


def test_the_api_builds_today_and_says_what_is_wrong_with_other_days(client, ada, today):
    fresh_item(ada)
    assert len(client.get(f"/api/digests/{today}").json()["entries"]) == 1
    past = client.get(f"/api/digests/{today - timedelta(days=3)}")
    assert (past.status_code, past.json()["error"]) == (404, "digest_missing")
    future = client.get(f"/api/digests/{today + timedelta(days=2)}")
    assert (future.status_code, future.json()["error"]) == (422, "future_date")


def test_the_api_shows_the_digest_that_the_page_would_show(client, ada, today):
    def titles() -> list[str]:
        return [entry["title"] for entry in client.get(f"/api/digests/{today}").json()["entries"]]

    assert titles() == []
    fresh_item(ada, title="First")
    assert titles() == ["First"]  # an empty one is never kept
    fresh_item(ada, title="Second")
    assert titles() == ["First"]  # within the hour the order stands
    Digest.objects.update(built_at=ago(1.01))
    assert set(titles()) == {"First", "Second"}
    ItemFactory(source=SourceFactory(key="new.example"), title="Third", published_at=ago(1))
    SubscriptionFactory(reader=ada, feed__source__key="new.example", created_at=ago(-0.001))
    assert "Third" in titles()
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["x"]), expected_version=0, now=ago(0))
    assert client.get(f"/api/digests/{today}").json()["config_version"] == 1
