"""A reader's page shows one tip at most: their own answers, something to do, and why it is there."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.guidance.tips import tip_dismiss, tip_for
from advisor.models import Memory, Tip
from tests.conftest import NOW
from tests.support.browser import subscribe, suggested

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def pattern(reader, now, statistic="accepted", kind="add_topic", target="", **more):
    key = ":".join([statistic, kind, *([target] if target else [])])
    fields = {"kind": "pattern", "key": key, "suggestion_type": kind, "target_key": target, "title": "T"}
    fields |= {"text": "Words for the advisor.", "polarity": 1, "confidence": 0.9, "evidence": 5}
    fields |= {"data": {"hits": 4, "of": 5}, "valid_from": now, "updated_at": now}
    return Memory.objects.create(reader=reader, **fields | more)


# --- Which ------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_pattern_in_the_readers_own_answers_is_told_with_something_to_do_and_why(ada, now):
    pattern(ada, now)
    tip = tip_for(reader_id=ada.pk, now=now)
    assert tip.sentence == "You accepted 4 of 5 suggestions for new topics."
    assert tip.address == "/ui/suggestions" and tip.action == "See what is suggested now"
    assert "5 decisions of yours" in tip.why and "at most one new tip a day" in tip.why


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("more", "sentence", "address"),
    [
        (
            {"polarity": -1, "data": {"hits": 1, "of": 5}, "kind": "reduce_source"},
            "You said no to 4 of 5 suggestions for less from a source.",
            "/ui/config",
        ),
        (
            {"statistic": "effects", "kind": "boost_source"},
            "4 of 5 changes you accepted for more from a source made you like your digest more.",
            "/ui/suggestions",
        ),
        (
            {"statistic": "effects", "polarity": -1, "data": {"hits": 0, "of": 3}, "kind": "boost_source"},
            "3 of 3 changes you accepted for more from a source did not serve you.",
            "/ui/history",
        ),
        (
            {"kind": "add_topic", "target": "lamps"},
            "You accepted 4 of 5 suggestions for the topic “lamps”.",
            "/ui/suggestions",
        ),
    ],
)
def test_each_pattern_has_its_words_and_leads_where_it_can_be_acted_on(ada, now, more, sentence, address):
    pattern(ada, now, **more)
    tip = tip_for(reader_id=ada.pk, now=now)
    assert (tip.sentence, tip.address) == (sentence, address)


@pytest.mark.django_db
def test_a_tip_about_a_source_names_it_and_leads_to_its_page(ada, now):
    read = subscribe(ada, "gazette.example", "The Gazette")
    pattern(ada, now, kind="boost_source", target="gazette.example")
    tip = tip_for(reader_id=ada.pk, now=now)
    assert "more from The Gazette" in tip.sentence
    assert tip.address == f"/ui/sources/{read.feed_id}"


@pytest.mark.django_db
def test_a_source_that_is_no_longer_read_goes_by_its_key(ada, now):
    pattern(ada, now, kind="boost_source", target="gone.example")
    tip = tip_for(reader_id=ada.pk, now=now)
    assert "more from gone.example" in tip.sentence and tip.address == "/ui/suggestions"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "more",
    [
        {"retired_at": NOW},
        {"expires_at": NOW},
        {"valid_from": NOW + HOUR},
        {"polarity": 0},
        {"data": {}},
        {"key": "counted:add_topic"},
    ],
)
def test_what_is_not_so_or_leads_to_nothing_is_no_tip(ada, now, more):
    kind = more.pop("kind", "add_topic")
    pattern(ada, now, kind=kind)
    Memory.objects.update(**more)
    assert tip_for(reader_id=ada.pk, now=now) is None
    assert not Tip.objects.exists()


@pytest.mark.django_db
def test_neither_others_nor_all_nor_other_kinds_are_shown(ada, ben, now):
    pattern(ben, now)
    pattern(None, now)
    for kind in ("replay", "profile", "rule", "insight", "peer", "bank"):
        row = pattern(ada, now, statistic=kind)
        Memory.objects.filter(pk=row.pk).update(kind=kind, key="accepted:add_topic")
    assert tip_for(reader_id=ada.pk, now=now) is None


@pytest.mark.django_db
def test_no_tip_while_guidance_is_switched_off(ada, now, settings):
    settings.ADVISOR_GUIDANCE = False
    pattern(ada, now)
    assert tip_for(reader_id=ada.pk, now=now) is None


# --- When -------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_one_new_tip_a_day_the_surest_first_and_it_stays_meanwhile(ada, now):
    first, second = pattern(ada, now, confidence=0.9), pattern(ada, now, kind="boost_source", confidence=0.8)
    shown = [tip_for(reader_id=ada.pk, now=now + HOUR * hours).id for hours in (0, 1, 23, 25, 30)]
    tips = {tip.memory_id: tip.pk for tip in Tip.objects.all()}
    assert shown == [tips[first.pk]] * 3 + [tips[second.pk]] * 2


@pytest.mark.django_db
def test_one_put_away_makes_room_for_none_that_day_and_comes_back_after_thirty(ada, now):
    pattern(ada, now)
    tip = tip_for(reader_id=ada.pk, now=now)
    assert tip_dismiss(reader_id=ada.pk, tip_id=tip.id, now=now)
    pattern(ada, now, kind="boost_source")
    assert tip_for(reader_id=ada.pk, now=now + HOUR) is None
    Memory.objects.filter(suggestion_type="boost_source").delete()
    assert tip_for(reader_id=ada.pk, now=now + 29 * DAY) is None
    assert tip_for(reader_id=ada.pk, now=now + 30 * DAY).id == tip.id


@pytest.mark.django_db
def test_a_tip_that_is_no_longer_so_goes_at_once(ada, now):
    row = pattern(ada, now)
    assert tip_for(reader_id=ada.pk, now=now)
    Memory.objects.filter(pk=row.pk).update(retired_at=now)
    assert tip_for(reader_id=ada.pk, now=now) is None


@pytest.mark.django_db
def test_more_memories_cost_no_more_queries(ada, now):
    def queries(count):
        for n in range(count):
            pattern(ada, now, kind="add_topic", target=f"t{count}-{n}")
        Tip.objects.all().delete()
        with CaptureQueriesContext(connection) as seen:
            tip_for(reader_id=ada.pk, now=now)
        return len(seen)

    assert queries(1) == queries(50) <= 8


@pytest.mark.django_db
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 90), st.booleans()), min_size=1, max_size=12))
def test_never_two_new_ones_within_a_day_nor_one_that_was_put_away_lately(ada, steps):
    with transaction.atomic():
        for n in range(3):
            pattern(ada, NOW - 300 * DAY, target=f"t{n}", confidence=0.9 - n / 10)
        at, new_at, away = NOW, None, {}
        for hours, dismiss in steps:
            at += HOUR * hours
            before = dict(Tip.objects.values_list("pk", "shown_at"))
            tip = tip_for(reader_id=ada.pk, now=at)
            if tip is None:
                continue
            if Tip.objects.get(pk=tip.id).shown_at != before.get(tip.id):
                assert new_at is None or at - new_at >= DAY
                assert tip.id not in away or at - away[tip.id] >= 30 * DAY
                new_at = at
            if dismiss:
                tip_dismiss(reader_id=ada.pk, tip_id=tip.id, now=at)
                away[tip.id] = at
        transaction.set_rollback(True)


# --- On the page ------------------------------------------------------------------------------------------


@pytest.fixture
def page(ada, client):
    client.force_login(ada)
    return client


@pytest.mark.django_db
def test_todays_page_shows_it_once_and_putting_it_away_works_without_scripts(page, ada):
    pattern(ada, timezone.now() - HOUR)
    body = page.get("/").content.decode()
    assert body.count('class="tip') == 1 and "Why am I seeing this?" in body
    tip = Tip.objects.get()
    answer = page.post(f"/ui/tips/{tip.pk}/dismiss", {"next": "/ui/suggestions"})
    assert answer.url == "/ui/suggestions"
    assert 'class="tip' not in page.get("/").content.decode()


@pytest.mark.django_db
def test_suggestions_that_wait_come_first_and_a_page_fetched_ahead_counts_for_nothing(page, ada):
    pattern(ada, timezone.now() - HOUR)
    page.get("/", headers={"Sec-Purpose": "prefetch"})
    assert not Tip.objects.exists()
    suggested(ada)
    assert 'class="tip' not in page.get("/").content.decode()
    assert not Tip.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page_after", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""]
)
def test_putting_away_leads_nowhere_else(page, ada, now, page_after):
    tip = Tip.objects.create(reader=ada, memory=pattern(ada, now), shown_at=now)
    assert page.post(f"/ui/tips/{tip.pk}/dismiss", {"next": page_after}).url == "/"


@pytest.mark.django_db
def test_nobody_puts_away_anothers_tip(page, ben, now):
    tip = Tip.objects.create(reader=ben, memory=pattern(ben, now), shown_at=now)
    assert page.post(f"/ui/tips/{tip.pk}/dismiss").status_code == 404
    tip.refresh_from_db()
    assert tip.dismissed_at is None


@pytest.mark.django_db
def test_what_a_reader_typed_is_shown_and_not_run(page, ada):
    pattern(ada, timezone.now() - HOUR, kind="add_topic", target="<b>lamps</b>")
    body = page.get("/").content.decode()
    assert "&lt;b&gt;lamps" in body and "<b>lamps" not in body


@pytest.mark.django_db
def test_putting_a_tip_away_says_so_on_the_page_it_goes_back_to(ada, now, client):
    pattern(ada, now)
    tip = tip_for(reader_id=ada.pk, now=now)
    client.force_login(ada)
    answer = client.post(reverse("advisor:tip_dismiss", args=[tip.id]), {"next": "/"}, follow=True)
    assert "The tip is hidden for 30 days." in answer.content.decode()
