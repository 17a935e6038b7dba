"""An early change: asked about on today's page, applied once as one version, undone, asked no second time."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.daily.onboarding import interview_finish
from digest.feedback.services import feedback_set, weights_update
from digest.items.vectors import item_vectors_update
from digest.models import Digest, Feedback, Item, Reader
from ranking.config_body import ConfigEdit
from ranking.models import ConfigVersion, LearnedWeight
from ranking.selectors import config_effective, config_versions
from ranking.services import config_edit
from suggestions.models import EarlyForecast
from suggestions.proposals import Refusal
from suggestions.services.early import early_change_apply, early_change_find, early_change_put_off
from tests.support.accepts import source_weight_set
from tests.support.browser import fresh_item
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import FeedbackFactory

pytestmark = pytest.mark.django_db
QUIET, GIGA = "quiet.example", "giga.example"
EARLY = "An early change"


def answered(reader: Reader, quiet: int = 4, giga: int = 4, items: int = 24) -> None:
    """A page of two sources in turn, and thumbs on old items: up for the first, down for the other."""
    for n in range(items):
        fresh_item(reader, hours=1 + n / 2, key=(QUIET, GIGA)[n % 2], title=f"News {n}")
    for key, count in ((QUIET, quiet), (GIGA, giga)):
        for n in range(count):
            item = fresh_item(reader, hours=200 + n, key=key, title=f"Old {key} {n}")
            FeedbackFactory(reader=reader, item=item, useful=key == QUIET, at=timezone.now())


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def shown(client: Client, path: str = "/") -> str:
    return client.get(path).content.decode()


def draft_of(reader: Reader) -> str:
    found = early_change_find(reader=Reader.objects.get(pk=reader.pk), now=timezone.now())
    assert found is not None
    return found.signed


def test_five_answers_are_asked_about_and_four_are_not(page: Client, ada: Reader):
    answered(ada, quiet=2, giga=2)
    assert EARLY not in shown(page)
    item = fresh_item(ada, hours=210, key=QUIET, title="The fifth")
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=timezone.now(), origin="interview")
    body = shown(page)
    assert EARLY in body and "after 5 answers: more Quiet" in body
    assert config_versions(reader_id=ada.pk) == []


def test_a_yes_is_one_version_that_the_strip_takes_back(page: Client, ada: Reader):
    answered(ada)
    before = [entry.item.pk for entry in page.get("/").context["shown"]]
    page.post("/ui/early", {"draft": draft_of(ada)})
    today = page.get("/")
    weights = config_effective(reader_id=ada.pk).config.source_weights
    assert weights == {QUIET: 1.2, GIGA: 0.8}
    (version,) = config_versions(reader_id=ada.pk)
    assert (version.cause, version.cause_ref, version.note) == ("accept", "early:8", "")
    body = today.content.decode()
    assert "You applied an early change, after 8 answers: " in body and " moved" in body
    assert [entry.item.pk for entry in today.context["shown"]] != before and EARLY not in body
    assert "You applied an early change, after 8 answers" in shown(page, "/ui/history/settings")
    page.post("/ui/changes/undo", {"version": 1, "cycle": ""})
    assert config_effective(reader_id=ada.pk).weights() == {}
    assert [entry.item.pk for entry in page.get("/").context["shown"]] == before


def test_the_loop_does_not_add_to_what_was_applied(ada: Reader):
    answered(ada, quiet=9, giga=9)
    early_change_apply(reader=ada, signed=draft_of(ada), now=timezone.now())
    weights_update(reader_id=ada.pk, now=timezone.now())
    assert config_effective(reader_id=ada.pk).weights() == {QUIET: 1.2, GIGA: 0.8}


def test_what_the_loop_has_learned_is_not_asked_again(ada: Reader):
    answered(ada, quiet=9, giga=9)
    assert weights_update(reader_id=ada.pk, now=timezone.now()) == 2
    assert early_change_find(reader=ada, now=timezone.now()) is None


def test_a_day_has_one_and_what_was_undone_is_not_asked_again_the_next(page: Client, ada: Reader):
    answered(ada)
    shown(page)
    page.post("/ui/early", {"draft": draft_of(ada)})
    shown(page)
    page.post("/ui/changes/undo", {"version": 1, "cycle": ""})
    assert EARLY not in shown(page) and config_effective(reader_id=ada.pk).weights() == {}
    ada.refresh_from_db()
    tomorrow = timezone.now() + timedelta(days=1)
    assert early_change_find(reader=ada, now=tomorrow) is None
    # The undo prevents the same question: the page would change tomorrow, too.
    ConfigVersion.objects.all().delete()
    LearnedWeight.objects.all().delete()
    EarlyForecast.objects.all().delete()
    assert early_change_find(reader=ada, now=tomorrow) is not None
    assert early_change_find(reader=ada, now=timezone.now()) is None


def test_not_now_lasts_till_the_readers_midnight(page: Client, ada: Reader):
    answered(ada)
    page.post("/ui/early", {"later": "1"})
    assert EARLY not in shown(page) and config_versions(reader_id=ada.pk) == []
    ada.refresh_from_db()
    assert early_change_find(reader=ada, now=timezone.now() + timedelta(days=1)) is not None
    refused = early_change_apply(reader=ada, signed=draft_of_tomorrow(ada), now=timezone.now())
    assert isinstance(refused, Refusal) and refused.code == "already_resolved"


def draft_of_tomorrow(reader: Reader) -> str:
    found = early_change_find(reader=reader, now=timezone.now() + timedelta(days=1))
    assert found is not None
    return found.signed


def test_a_yes_twice_changes_once(ada: Reader):
    answered(ada)
    signed = draft_of(ada)
    first = early_change_apply(reader=ada, signed=signed, now=timezone.now())
    # A request that was read before the first one ended.
    second = early_change_apply(reader=ada, signed=signed, now=timezone.now())
    assert first == 1 and isinstance(second, Refusal)
    assert len(config_versions(reader_id=ada.pk)) == 1


def test_a_no_that_came_first_wins_over_a_yes_on_its_way(ada: Reader):
    answered(ada)
    signed, now = draft_of(ada), timezone.now()
    early_change_put_off(reader=ada, now=now)
    assert ada.early_answered_on is None, "as a request read it that came at the same moment"
    refused = early_change_apply(reader=ada, signed=signed, now=now)
    assert isinstance(refused, Refusal) and refused.code == "already_resolved"
    assert config_versions(reader_id=ada.pk) == []


@pytest.mark.django_db(transaction=True)
def test_of_several_clicks_at_once_one_applies(ada: Reader, tmp_path):
    answered(ada)
    signed, now = draft_of(ada), timezone.now()
    with database_on_disk(tmp_path / "shared.sqlite3"):
        results = at_once(lambda n: early_change_apply(reader=ada, signed=signed, now=now))
        versions = seen_by_writers(lambda: len(config_versions(reader_id=ada.pk)))
    assert [one for one in results if not isinstance(one, Refusal)] == [1]
    assert versions == 1


def test_settings_that_changed_since_refuse_it_and_leave_the_day_free(ada: Reader):
    answered(ada)
    signed, now = draft_of(ada), timezone.now()
    source_weight_set(reader_id=ada.pk, source="other.example", weight=1.3, ref="", now=now)
    refused = early_change_apply(reader=ada, signed=signed, now=now)
    assert isinstance(refused, Refusal) and refused.code == "config_changed"
    ada.refresh_from_db()
    assert ada.early_answered_on is None
    weights_update(reader_id=ada.pk, now=now)
    assert early_change_apply(reader=ada, signed=draft_of(ada), now=now) == 2


def test_a_change_that_moves_nothing_is_not_asked_about(ada: Reader):
    answered(ada, items=0)
    Item.objects.update(dated_at=timezone.now() - timedelta(days=30))
    fresh_item(ada, hours=1, key=QUIET, title="Alone")
    assert early_change_find(reader=ada, now=timezone.now()) is None


def test_it_is_its_readers_alone(page: Client, ada: Reader, ben: Reader):
    answered(ada)
    assert early_change_find(reader=ben, now=timezone.now()) is None
    refused = early_change_apply(reader=ben, signed=draft_of(ada), now=timezone.now())
    assert isinstance(refused, Refusal) and refused.code == "draft_invalid"
    page.post("/ui/early", {"later": "1"})
    ben.refresh_from_db()
    assert ben.early_answered_on is None and config_versions(reader_id=ben.pk) == []


@pytest.mark.parametrize("off", ["reader", "site", "enough"])
def test_it_is_not_asked_where_suggestions_are_off_or_there_are_thumbs_enough(
    page: Client, ada: Reader, settings, off: str
):
    answered(ada)
    assert EARLY in shown(page)
    if off == "reader":
        Reader.objects.update(suggestions_enabled=False)
    elif off == "site":
        settings.ADVISOR_ENABLED = False
    else:
        for n in range(42):
            FeedbackFactory(reader=ada, item=fresh_item(ada, hours=300 + n, title=f"More {n}"))
    assert EARLY not in shown(page)


def test_the_end_of_the_interview_asks_too(page: Client, ada: Reader):
    answered(ada)
    session = page.session
    session["teach_done"] = {"rated": [], "asked": 1}
    session.save()
    assert EARLY in shown(page, "/ui/teach/done")


def ended(page: Client, rated: list[int]) -> str:
    """Return the page at the end of an interview about these items."""
    session = page.session
    session["teach_done"] = {"rated": rated, "asked": len(rated)}
    session.save()
    return shown(page, "/ui/teach/done")


def test_the_end_of_the_interview_asks_one_thing_the_offer_to_order_the_page_first(page: Client, ada: Reader):
    answered(ada)
    item_vectors_update(now=timezone.now())
    assert EARLY in shown(page), "there is an early change, too"
    rated = list(Feedback.objects.values_list("item_id", flat=True))
    body = ended(page, rated)
    assert 'id="order"' in body and EARLY not in body
    assert "near equals alone" in body and "rises from now on" not in body
    config_edit(reader_id=ada.pk, edit=ConfigEdit(taste="on"), expected_version=0, now=timezone.now())
    body = ended(page, rated)
    assert 'id="order"' not in body
    assert EARLY not in body, "taste has moved what the early change is about"
    assert "rises from now on" in body and "near equals alone" not in body


def test_sources_that_learning_took_are_named_so_no_question_about_them_is_missed(page: Client, ada: Reader):
    answered(ada, quiet=8, giga=8)
    assert "more Quiet" in shown(page)
    rated = list(Feedback.objects.values_list("item_id", flat=True))
    interview_finish(reader=ada, item_ids=rated, now=timezone.now())
    body = ended(page, rated)
    learned = (
        "Now a little more from Quiet. Now a little less from Giga. You are not asked about these for now."
    )
    assert learned in body and learned in shown(page)
    assert EARLY not in body


def test_today_costs_the_same_however_many_answers_and_items(
    page: Client, ada: Reader, django_assert_num_queries
):
    answered(ada, items=8)
    shown(page)
    with CaptureQueriesContext(connection) as few:
        assert EARLY in shown(page)
    cost = len(few)
    answered(ada, quiet=9, giga=9, items=30)
    Digest.objects.all().delete()
    shown(page)
    with django_assert_num_queries(cost):
        assert EARLY in shown(page)
    assert cost <= 27, "the forecast is stored"


def test_a_forecast_is_stored_for_what_it_follows_from(ada: Reader, django_assert_max_num_queries):
    answered(ada)
    asked = early_change_find(reader=ada, now=timezone.now())
    with django_assert_max_num_queries(7):
        same = early_change_find(reader=ada, now=timezone.now())
    assert asked and same and (same.words, same.answers) == (asked.words, asked.answers)
    kept = EarlyForecast.objects.get()
    item = fresh_item(ada, hours=300, key=QUIET, title="One more")
    feedback_set(reader=ada, item_id=item.pk, useful=True, now=timezone.now())
    again = early_change_find(reader=ada, now=timezone.now())
    assert again and again.answers == asked.answers + 1
    assert EarlyForecast.objects.get().basis != kept.basis
    source_weight_set(reader_id=ada.pk, source=QUIET, weight=1.4, ref="", now=timezone.now())
    left = early_change_find(reader=ada, now=timezone.now())
    assert left and "more Quiet" not in left.words


def test_that_there_is_none_is_stored_too(ada: Reader, django_assert_max_num_queries):
    answered(ada, items=0)
    Item.objects.update(dated_at=timezone.now() - timedelta(days=30))
    assert early_change_find(reader=ada, now=timezone.now()) is None
    assert EarlyForecast.objects.get().changes == []
    with django_assert_max_num_queries(7):
        assert early_change_find(reader=ada, now=timezone.now()) is None


def test_a_reader_who_is_not_asked_costs_two_queries_at_most(page: Client, ada: Reader):
    answered(ada, quiet=4, giga=0)
    shown(page)
    with CaptureQueriesContext(connection) as liked_all:
        shown(page)
    cost = len(liked_all)
    Reader.objects.update(suggestions_enabled=False)
    with CaptureQueriesContext(connection) as off:
        shown(page)
    # Without suggestions neither their count nor a question is asked for.
    assert cost - len(off) <= 1 + 2
