"""Ada's opens move her own digest a little, behind one switch, and affect nobody else."""

from datetime import date, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.export import reader_export_parts
from config.jobs.nightly import STEPS
from digest.accounts.services import reader_update
from digest.accounts.tokens import token_issue
from digest.daily.item_words import score_explain
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_build
from digest.daily.store import exposures_log
from digest.feedback.implicit import (
    implicit_leans_current,
    implicit_update,
    implicit_update_all,
    implicit_update_many,
)
from digest.feedback.selectors import feedback_tallies
from digest.feedback.services import feedback_set
from digest.items.reading import item_open, item_read, item_save, item_unread
from digest.models import Exposure, Impression, Item, Reader, Reading, Subscription
from ranking.implicit import implicit_leans
from ranking.models import ImplicitPreference
from ranking.selectors import config_effective
from tests.support.browser import fresh_item, subscribe
from tests.support.factories import ItemFactory

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
GOOD, BAD = "good.example", "bad.example"
PAGE, FEED = Exposure.Door.PAGE, Exposure.Door.FEED


def items_of(reader: Reader, source: str, count: int, at: datetime, **fields: object) -> list[Item]:
    items = [ItemFactory(source__key=source, published_at=at - n * HOUR / 2, **fields) for n in range(count)]
    if not Subscription.objects.filter(reader=reader, feed=items[0].feed).exists():
        subscribe(reader, source)
    return items


def show(reader: Reader, items: list[Item], at: datetime, door: str = PAGE) -> None:
    """Log the items as shown in this order on one page."""
    for rank, item in enumerate(items, start=1):
        Exposure.objects.create(
            reader=reader,
            item=item,
            date=at.date(),
            door=door,
            rank=rank,
            slot="ranked",
            propensity=1.0,
            score=1.0,
            config_version=0,
            shown_at=at,
        )


def read_pages(reader: Reader, at: datetime, pages: int = 4) -> None:
    """Show pages of six with three items of each source; the good ones, further down, are opened."""
    for page in range(pages):
        day = at - page * DAY
        good, bad = (items_of(reader, source, 3, day) for source in (GOOD, BAD))
        show(reader, [*bad, *good], day)
        for item in good:
            item_open(reader=reader, item_id=item.pk, door=PAGE, now=day + HOUR / 4)


@pytest.fixture
def pages(ada: Reader, now: datetime) -> None:
    read_pages(ada, now - HOUR)


def leans_of(reader: Reader, now: datetime) -> dict[str, float]:
    implicit_update(reader_id=reader.pk, now=now)
    found = implicit_leans_current(reader_ids=[reader.pk])
    return {key: one.log_odds for key, one in found[reader.pk].sources.items()} if found else {}


def reading_parts(reader: Reader, now: datetime) -> dict[str, float]:
    """Return the part that reading adds to each source's first item in the reader's digest, built now."""
    digest = digest_build(reader=reader, date=now.date(), now=now)
    rows = digest_impressions(digest=digest, now=now)
    return {row.item.source_id: row.parts["reading"] for row in reversed(rows)}


def today(now: datetime) -> date:
    return now.date()


# --- into the score -----------------------------------------------------------------------------------


def test_what_is_opened_rises_what_is_passed_over_falls_and_the_breakdown_says_so(ada, now, pages):
    for source in (GOOD, BAD):  # read items, and those on two pages, are gone
        items_of(ada, source, 1, now)
    implicit_update(reader_id=ada.pk, now=now)
    parts = reading_parts(ada, now)
    assert 0.005 < parts[GOOD] <= 0.1 and -0.1 <= parts[BAD] < -0.005
    shown = Impression.objects.filter(item__source=GOOD).first()
    line = next(
        one for one in score_explain(shown.parts, shown.score, "Good").lines if one.label == "Reading"
    )
    assert line.words == "from what you open: 12 opened of 12 you saw from here"
    assert line.figure == f"+ {parts[GOOD]:.2f}" and line.part


def test_the_night_learns_it_for_every_reader_and_again_when_nothing_is_new(ada, ben, now, pages):
    read_pages(ben, now - HOUR)
    assert STEPS["learn"](now)["reading"] == 2
    assert STEPS["learn"](now + HOUR)["reading"] == 2
    assert ImplicitPreference.objects.count() == 2


def test_a_thumb_since_the_night_outweighs_it_at_once(ada, now, pages):
    implicit_update(reader_id=ada.pk, now=now)
    item = fresh_item(ada, key=GOOD)
    feedback_set(reader=ada, item_id=item.pk, useful=False, now=now + HOUR / 2)
    assert implicit_leans_current(reader_ids=[ada.pk])[ada.pk].added(GOOD) == 0
    implicit_update(reader_id=ada.pk, now=now + HOUR)
    assert implicit_leans_current(reader_ids=[ada.pk])[ada.pk].added(GOOD) == 0


def test_what_is_over_sixty_days_old_is_forgotten(ada, now, pages):
    assert leans_of(ada, now)
    assert not leans_of(ada, now + 90 * DAY)
    assert not ImplicitPreference.objects.exists()


# --- counted events -----------------------------------------------------------------------------------


def test_marking_as_read_is_no_open_and_below_the_last_open_nothing_was_passed_over(ada, now):
    items = items_of(ada, BAD, 2, now) + items_of(ada, GOOD, 1, now) + items_of(ada, "low.example", 2, now)
    show(ada, items, now)
    item_read(reader=ada, item_id=items[0].pk, now=now)
    item_open(reader=ada, item_id=items[2].pk, door=PAGE, now=now)
    implicit_update(reader_id=ada.pk, now=now + HOUR)
    sources = ImplicitPreference.objects.get().sources
    assert {key: row[1:] for key, row in sources.items()} == {BAD: [0, 2], GOOD: [1, 1]}


def test_a_saved_item_counts_and_one_marked_unread_again_does_not(ada, now):
    one, two = items_of(ada, GOOD, 2, now)
    show(ada, [one, two], now)
    item_open(reader=ada, item_id=one.pk, door=PAGE, now=now)
    item_unread(reader=ada, item_id=one.pk)
    assert leans_of(ada, now + HOUR) == {}
    item_save(reader=ada, item_id=two.pk, saved=True, now=now)
    assert leans_of(ada, now + HOUR)[GOOD] >= 0


def test_what_was_never_shown_is_no_evidence_and_a_feeds_client_passes_nothing_over(ada, now):
    items = items_of(ada, GOOD, 4, now)
    item_open(reader=ada, item_id=items[0].pk, door=PAGE, now=now)
    assert leans_of(ada, now + HOUR) == {}
    show(ada, items[1:], now, door=FEED)
    item_open(reader=ada, item_id=items[3].pk, door=FEED, now=now)
    implicit_update(reader_id=ada.pk, now=now + HOUR)
    assert ImplicitPreference.objects.get().sources[GOOD][1:] == [1, 1]


def test_an_open_is_stored_with_its_door_once(ada, now, client: Client):
    item = fresh_item(ada)
    client.force_login(ada)
    client.get(f"/ui/item/{item.pk}?from=mail")
    client.get(f"/ui/item/{item.pk}")
    client.post(f"/api/items/{item.pk}/read?how=finished")
    row = Reading.objects.get()
    assert row.opened_by == "mail" and row.read_at == row.opened_at < row.finished_at


def test_another_client_tells_by_its_token_that_it_opened_an_item(ada, client: Client):
    issued = token_issue(reader=ada, name="client", scope="rate", expires_at=None, now=timezone.now())
    headers = {"Authorization": f"Bearer {issued.secret}"}
    opened, marked = fresh_item(ada), fresh_item(ada, hours=4)
    assert client.post(f"/api/items/{opened.pk}/read?how=opened", headers=headers).status_code == 200
    assert client.post(f"/api/items/{marked.pk}/read", headers=headers).status_code == 200
    assert client.post(f"/api/items/{marked.pk}/read?how=guessed", headers=headers).status_code == 422
    assert dict(Reading.objects.values_list("item", "opened_by")) == {opened.pk: "api", marked.pk: ""}


def learn_no_more(reader: Reader) -> None:
    reader_update(
        reader=reader,
        time_zone="UTC",
        ai_enabled=True,
        peers_enabled=True,
        suggestions_enabled=True,
        learn_from_reading=False,
    )


# --- the switch ---------------------------------------------------------------------------------------


def test_switched_off_it_is_deleted_at_once_and_out_of_the_next_digest(ada, now, pages):
    implicit_update(reader_id=ada.pk, now=now)
    assert any(reading_parts(ada, now).values())
    learn_no_more(ada)
    assert not ImplicitPreference.objects.exists()
    assert not any(reading_parts(ada, now + HOUR).values())


def test_switched_off_nothing_is_recorded_nor_learned(ada, now, pages):
    before = Reading.objects.exclude(opened_at=None).count()
    learn_no_more(ada)
    item = fresh_item(ada)
    assert item_open(reader=ada, item_id=item.pk, door=PAGE, now=now, finished=True) == now
    assert Reading.objects.exclude(opened_at=None).count() == before
    assert implicit_update_all(now=now) == 0 and not implicit_update(reader_id=ada.pk, now=now)


def test_the_switch_is_on_the_account_page_and_the_articles_end_is_watched_with_it_alone(ada, client: Client):
    client.force_login(ada)
    item = fresh_item(ada, text="Words about lamps.")
    assert "data-watch-end" in client.get(f"/ui/item/{item.pk}").content.decode()
    assert "Learn from what I open" in client.get("/ui/account").content.decode()
    client.post("/ui/account", {"time_zone": "UTC"})
    assert not Reader.objects.get(pk=ada.pk).learn_from_reading
    assert "data-watch-end" not in client.get(f"/ui/item/{item.pk}").content.decode()


# --- only the reader's own ----------------------------------------------------------------------------


def test_bens_digest_is_the_same_whatever_ada_opens(ada, ben, now):
    shared = [*items_of(ben, BAD, 3, now), *items_of(ben, GOOD, 3, now)]
    subscribe(ada, BAD), subscribe(ada, GOOD)
    before = digest_scores(ben, now)
    show(ada, shared, now - HOUR)
    for item in shared[3:]:
        item_open(reader=ada, item_id=item.pk, door=PAGE, now=now - HOUR)
    assert implicit_update_all(now=now) == 1 and any(reading_parts(ada, now).values())
    assert digest_scores(ben, now) == before
    exported = {name: list(rows) for name, rows in reader_export_parts(reader=ben) if name != "account"}
    assert exported["implicit_preference"] == exported["readings"] == []


def digest_scores(reader: Reader, now: datetime) -> dict[int, float]:
    digest = digest_build(reader=reader, date=now.date(), now=now)
    return dict(digest.impressions.values_list("item_id", "score"))


def test_no_tally_of_thumbs_and_no_setting_knows_of_it(ada, now, pages):
    before = feedback_tallies(reader_id=ada.pk, now=now), config_effective(reader_id=ada.pk)
    implicit_update(reader_id=ada.pk, now=now)
    assert (feedback_tallies(reader_id=ada.pk, now=now), config_effective(reader_id=ada.pk)) == before


# --- cost ---------------------------------------------------------------------------------------------


def test_learning_takes_as_many_queries_however_much_was_read(ada, ben, now, django_assert_num_queries):
    read_pages(ada, now - HOUR, pages=1)
    with CaptureQueriesContext(connection) as first:
        implicit_update(reader_id=ada.pk, now=now)
    read_pages(ada, now - 2 * DAY, pages=5)
    read_pages(ben, now - 3 * DAY, pages=5)
    with django_assert_num_queries(len(first)):
        assert implicit_update_many(reader_ids=[ada.pk, ben.pk], now=now + HOUR) == {ada.pk, ben.pk}


def test_readers_worked_out_together_have_what_each_has_alone(ada, ben, now, pages):
    read_pages(ben, now - 3 * DAY, pages=2)
    feedback_set(reader=ben, item_id=Item.objects.filter(source=BAD).earliest("pk").pk, useful=True, now=now)
    alone = [leans_of(reader, now) for reader in (ada, ben)]
    ImplicitPreference.objects.all().delete()
    assert implicit_update_all(now=now) == 2
    found = implicit_leans_current(reader_ids=[ada.pk, ben.pk])
    assert [{k: one.log_odds for k, one in found[r.pk].sources.items()} for r in (ada, ben)] == alone
    assert alone[0] != alone[1]


def test_one_readers_fault_stops_no_other(ada, ben, now, pages, monkeypatch):
    read_pages(ben, now - 3 * DAY, pages=2)
    real = implicit_leans

    def broken(events, thumbs):
        if len(events) == 24:
            raise ArithmeticError("no such figure")
        return real(events, thumbs)

    monkeypatch.setattr("digest.feedback.implicit.implicit_leans", broken)
    assert implicit_update_all(now=now) == 1
    assert ImplicitPreference.objects.get().reader == ben


def test_readers_are_looked_up_together(ada, ben, now, pages, django_assert_num_queries):
    read_pages(ben, now - HOUR)
    implicit_update_all(now=now)
    for readers in ([ada.pk], [ada.pk, ben.pk]):
        with django_assert_num_queries(2):
            implicit_leans_current(reader_ids=readers)


def test_showing_a_digest_and_opening_one_of_it_is_enough_evidence_to_be_stored(ada, now):
    items_of(ada, GOOD, 3, now)
    digest = digest_build(reader=ada, date=today(now), now=now)
    exposures_log(digest=digest, door=PAGE, now=now)
    item_open(reader=ada, item_id=digest.impressions.get(rank=2).item_id, door=PAGE, now=now)
    assert implicit_update(reader_id=ada.pk, now=now + HOUR)
    assert ImplicitPreference.objects.get().sources[GOOD][1:] == [1, 2]


@pytest.mark.parametrize(
    ("headers", "stored"),
    [
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}, 0),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}, 0),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document", "Sec-Fetch-User": "?1"}, 1),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "empty"}, 0),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "audio"}, 0),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}, 1),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"}, 1),
        ({"Sec-Purpose": "prefetch"}, 0),
        ({}, 1),
    ],
)
def test_what_another_site_makes_a_browser_load_is_no_sign_of_interest(
    client: Client, ada: Reader, headers: dict[str, str], stored: int
):
    item = fresh_item(ada)
    client.force_login(ada)
    assert client.get(f"/ui/item/{item.pk}?from=feed", headers=headers).status_code == 200
    assert Reading.objects.filter(reader=ada, item=item).count() == stored
