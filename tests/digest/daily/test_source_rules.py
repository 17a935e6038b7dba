"""Rules for single sources hold on pages, in mails and in the API: shelf life, daily limit, never-missed
items."""

from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.daily.candidates import DayCandidates, digest_candidates
from digest.daily.compose import RESERVED_LAST, RESERVED_MAX, NoveltyDraw, PlacedItem, Rules, compose
from digest.daily.diversity import LATE_PLACES_MAX, RESERVED, Choice, ExclusionReason
from digest.daily.receipts import receipt_of
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_build, digest_current
from digest.daily.store import exposures_log
from digest.days import day_of
from digest.entities import ITEM_WINDOW_DAYS
from digest.mail.content import draft_daily
from digest.models import Exposure, Reader
from digest.web.api.syndication import channel_of
from ranking.entities import Candidate, Config, EffectiveConfig, InvalidSetting
from ranking.pool import Pool
from ranking.selectors import config_effective, config_versions, reader_export_ranking
from ranking.services import (
    config_revert,
    source_key_rename,
    source_rules_set,
    source_settings_copy,
    source_weights_set,
)
from ranking.source_rules import SourceRules, rules_of
from tests.digest.web.greader.support import App
from tests.support.browser import fresh_item

PAPER, RIVER = "gazette.example", "river.example"
SEED, HOUR, DAY = NoveltyDraw("ada|2026-03-18"), timedelta(hours=1), timedelta(days=1)
CHOICES = st.lists(
    st.builds(
        Choice,
        item_id=st.integers(0, 80),
        source=st.sampled_from("abcdefgh"),
        story=st.one_of(st.none(), st.integers(1, 5)),
        low=st.booleans(),
        muted=st.booleans(),
        most=st.none(),
        reserved=st.booleans(),
        late=st.just(False),
        share=st.sampled_from([1.0, 1.3]),
    ),
    unique_by=lambda choice: choice.item_id,
    max_size=60,
)


# --- Composed ------------------------------------------------------------------------------------------


@given(CHOICES, st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 10)), st.data())
def test_a_source_never_has_more_places_than_its_daily_limit(ranked, limits, data):
    ranked = [choice._replace(most=limits.get(choice.source)) for choice in ranked]
    fixed = data.draw(st.sampled_from(ranked)) if ranked else None
    rated = {3: PlacedItem(fixed.item_id, fixed.source)} if fixed else {}
    composed = compose(ranked, Rules(30), SEED, rated=rated)
    source = {choice.item_id: choice.source for choice in ranked}
    placed = Counter(source[place.item_id] for place in composed.places)
    assert all(placed[name] <= most for name, most in limits.items())
    limited = [item for item, why in composed.left_out.items() if why is ExclusionReason.DAILY_LIMIT]
    assert all(placed[source[item]] == limits[source[item]] for item in limited)


@given(CHOICES, st.sets(st.integers(0, 60)), st.data())
def test_a_day_shows_three_old_items_that_came_late_and_leaves_out_nothing_else_for_them(ranked, late, data):
    ranked = [choice._replace(late=choice.item_id in late, reserved=False) for choice in ranked]
    fixed = data.draw(st.sampled_from(ranked)) if ranked else None
    rated = {3: PlacedItem(fixed.item_id, fixed.source)} if fixed else {}
    composed = compose(ranked, Rules(30), SEED, rated=rated)
    placed = [place.item_id for place in composed.places if place.item_id in late]
    assert len(placed) <= LATE_PLACES_MAX
    left = {item for item, why in composed.left_out.items() if why is ExclusionReason.LATE}
    assert left <= late and (not left or len(placed) == LATE_PLACES_MAX)


@given(CHOICES)
def test_of_a_limited_source_what_was_shown_stays_and_is_not_exchanged(ranked):
    ranked = [
        choice._replace(most=2, story=None, reserved=False, low=False, muted=False) for choice in ranked
    ]
    rules = Rules(30, novelty=False)
    first = {place.item_id for place in compose(ranked, rules, SEED).places}
    newer = [Choice(100 + n, name, most=2) for n, name in enumerate("abcdefgh")]
    again = {place.item_id for place in compose([*newer, *ranked], rules, SEED, placed=first).places}
    assert first <= again


@given(CHOICES, st.integers(1, 30))
def test_what_is_never_missed_has_a_place_whatever_its_score_five_a_day_at_most(ranked, size):
    composed = compose(ranked, Rules(size, stories=False), SEED)
    waiting = sorted(choice.item_id for choice in ranked if choice.reserved)
    first = waiting[: min(RESERVED_MAX, size)]
    at = {place.item_id: rank for rank, place in enumerate(composed.places, start=1)}
    assert set(first) <= at.keys(), "those that have waited longest"
    assert all(at[item] <= RESERVED_LAST for item in first)
    assert [p.item_id for p in composed.places if p.slot == RESERVED] == sorted(first, key=at.__getitem__)


# --- A season of days ------------------------------------------------------------------------------------


def candidates(found: list[Candidate], now: datetime, shown: frozenset[int] = frozenset()) -> DayCandidates:
    """Return a day's candidates. Each item is an article of its own."""
    origins = {one.item_id: (one.source, one.item_id) for one in found}
    return DayCandidates(as_of=now, seed=f"{now:%F}", pool=Pool(found), origins=origins, shown=shown)


def item(pk: int, source: str, at: datetime) -> Candidate:
    return Candidate(pk, source, f"Title {pk}", "", at)


@settings(max_examples=5)
@given(st.integers(0, 10_000))
def test_over_a_season_of_days_nothing_of_a_source_that_is_never_missed_is_missed(seed):
    """It posts up to five times a day, and is the least liked among forty loud sources."""
    config = Config(never_missed=(PAPER,), source_weights={PAPER: 0.1})
    begin, shown, came, chance = timezone.now(), set(), [], Random(seed)
    for day in range(90):
        now, count = begin + day * DAY, chance.randint(0, RESERVED_MAX)
        came += [
            item(day * 1000 + n, PAPER, now - chance.uniform(0, 24) * HOUR - n * HOUR) for n in range(count)
        ]
        loud = [item(day * 1000 + 100 + n, f"loud{n}.example", now - n * HOUR / 10) for n in range(40)]
        recent = [one for one in came if now - one.dated_at < ITEM_WINDOW_DAYS * DAY]
        found = candidates([*recent, *loud], now, frozenset(shown))
        effective = EffectiveConfig(config)
        ranking = found.ranking(effective)
        choices = found.choices(ranking, effective)
        page = {p.item_id for p in compose(choices, Rules(), SEED).places}
        assert {one.item_id for one in recent} - shown <= page, "each has its place on the day it came"
        shown |= {one.item_id for one in came} & page
    assert shown == {one.item_id for one in came}


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 240)), max_size=60),
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 168)),
)
def test_nothing_older_than_its_shelf_life_is_ranked_and_nothing_else_is_left_out(ages, lives):
    now = timezone.now()
    found = [item(n, source, now - age * HOUR) for n, (source, age) in enumerate(ages)]
    ranking = candidates(found, now).ranking(EffectiveConfig(Config(shelf_lives=lives)))
    wanted = {n for n, (source, age) in enumerate(ages) if age <= lives.get(source, 1_000)}
    assert {*ranking.ids.tolist()} == wanted


# --- Through every door --------------------------------------------------------------------------------


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser."""
    client.force_login(ada)
    return client


def set_rules(reader: Reader, source: str, **rules: object) -> int:
    return source_rules_set(
        reader_id=reader.pk, source=source, rules=SourceRules(**rules), now=timezone.now()
    )


def doors(page: Client, reader: Reader) -> dict[str, str]:
    """Return today's content on the page, in mail and in the API."""
    now = timezone.now()
    today = day_of(now, reader.zone)
    digest = digest_current(reader=reader, date=today, now=now)
    mail = draft_daily(reader=reader, digest=digest, now=now)
    channel, _ = channel_of(reader=reader, token="t", now=now)
    app = App(reader)
    titles = {one.pk: one.title for one in (row.item for row in digest.impressions.select_related("item"))}
    return {
        "page": page.get("/").content.decode(),
        "mail": " ".join(one.title for one in mail.content.items) if mail else "",
        "feed": " ".join(one.title for one in channel.items),
        "api": page.get(f"/api/digests/{today}").content.decode(),
        "app": " ".join(titles[pk] for pk in app.ids("user/-/label/Today")),
        "further": page.get("/ui/today/further").content.decode(),
    }


@pytest.mark.django_db
def test_what_has_outlived_its_shelf_life_is_behind_no_door_and_stays_in_all(page: Client, ada: Reader):
    fresh_item(ada, hours=5, title="Old paper")
    fresh_item(ada, hours=2, title="New paper")
    before = doors(page, ada)
    assert all("Old paper" in before[door] for door in ("page", "mail", "feed", "api", "app"))
    set_rules(ada, PAPER, shelf_life=3)
    after = doors(page, ada)
    assert not any("Old paper" in shown for shown in after.values())
    assert all("New paper" in after[door] for door in ("page", "mail", "feed", "api", "app"))
    today = day_of(timezone.now(), ada.zone)
    assert (
        "1 is past the shelf life of its source." in page.get(f"/ui/date/{today}/left-out").content.decode()
    )
    assert page.get(f"/api/digests/{today}").json()["left_out"]["shelf_life"] == 1
    assert "Old paper" in page.get("/ui/all").content.decode()
    assert "Old paper" in page.get("/ui/search?q=old").content.decode()


@pytest.mark.django_db
def test_an_item_that_grows_too_old_leaves_the_page_that_was_made_and_is_not_logged(ada: Reader, now):
    fresh = fresh_item(ada, title="Paper")
    fresh.published_at = fresh.dated_at = now - 2 * HOUR
    fresh.save()
    set_rules(ada, PAPER, shelf_life=3)
    digest = digest_build(reader=ada, date=day_of(now, ada.zone), now=now)
    assert [row.item_id for row in digest_impressions(digest=digest, now=now + HOUR / 2)] == [fresh.pk]
    assert not digest_impressions(digest=digest, now=now + 2 * HOUR)
    assert digest_impressions(digest=digest, now=now + DAY, as_built=True), "a past day is as it was"
    assert not exposures_log(digest=digest, door=Exposure.Door.PAGE, now=now + 2 * HOUR)


@pytest.mark.django_db
def test_a_daily_limit_holds_through_the_page_and_those_after_it_and_left_out_says_why(page, ada: Reader):
    for n in range(5):
        fresh_item(ada, hours=n + 1, title=f"Paper {n}")
        fresh_item(ada, hours=n + 1, key=RIVER, title=f"River {n}")
    set_rules(ada, RIVER, daily_limit=2)
    for door, shown in doors(page, ada).items():
        assert sum(f"River {n}" in shown for n in range(5)) == (0 if door == "further" else 2), door
    today = day_of(timezone.now(), ada.zone)
    left_out = page.get(f"/ui/date/{today}/left-out").content.decode()
    assert "You set a daily limit for River." in left_out


@pytest.mark.django_db
def test_what_is_never_missed_is_behind_every_door_until_it_was_shown(page: Client, ada: Reader):
    quiet = fresh_item(ada, hours=90, title="Quiet paper")
    for n in range(40):
        fresh_item(ada, hours=1, key=f"loud{n}.example", title=f"Loud {n}")
    source_weights_set(reader_id=ada.pk, weights={PAPER: 0.2}, now=timezone.now())
    assert "Quiet paper" not in doors(page, ada)["page"]
    Exposure.objects.all().delete()
    set_rules(ada, PAPER, never_missed=True)
    shown = doors(page, ada)
    assert all("Quiet paper" in shown[door] for door in ("page", "mail", "feed", "api", "app"))
    assert "never missed" in shown["page"]
    tomorrow = timezone.now() + DAY
    found = digest_candidates(reader=ada, date=day_of(tomorrow, ada.zone), now=tomorrow)
    assert quiet.article in found.shown, "so it competes by its score from now on"
    assert not found._unseen_of([PAPER])


@pytest.mark.django_db
def test_the_receipt_counts_what_came_since_the_choice_what_was_shown_and_what_waits(page, ada: Reader):
    now = timezone.now()
    fresh_item(ada, hours=300, title="Before")
    set_rules(ada, PAPER, never_missed=True)
    receipt = receipt_of(reader=ada, source=PAPER, since=now - 30 * DAY, now=timezone.now())
    assert (receipt.came, receipt.shown, receipt.waiting) == (0, 0, 0), "what came before does not count"
    later = timezone.now() + HOUR
    for n in range(3):
        fresh = fresh_item(ada, hours=-0.5, title=f"Paper {n}")
        fresh.first_seen_at = fresh.dated_at
        fresh.save()
    digest = digest_build(reader=ada, date=day_of(later, ada.zone), now=later)
    waiting = receipt_of(reader=ada, source=PAPER, since=now - 30 * DAY, now=later)
    assert (waiting.came, waiting.shown, waiting.waiting) == (3, 0, 3)
    exposures_log(digest=digest, door=Exposure.Door.PAGE, now=later)
    shown = receipt_of(reader=ada, source=PAPER, since=now - 30 * DAY, now=later)
    assert (shown.came, shown.shown, shown.waiting) == (3, 3, 0)


# --- By hand, in versions, and under another name ----------------------------------------------------


@pytest.mark.django_db
def test_rules_are_chosen_on_the_sources_page_and_taken_back_by_version(page: Client, ada: Reader):
    fresh_item(ada)
    feed = ada.subscriptions.get(feed__source_id=PAPER).feed_id
    form = {"rules": "1", "shelf_life": "24", "daily_limit": "3", "never_missed": "on"}
    assert page.post(f"/ui/sources/{feed}", form).status_code == 302
    body = page.get(f"/ui/sources/{feed}").content.decode()
    assert "1 day" in body and "at most 3 a day" in body and "data-receipt" in body
    assert rules_of(config_effective(reader_id=ada.pk).config, PAPER) == SourceRules(24, 3, True)
    row = config_versions(reader_id=ada.pk)[0]
    assert {change["field"] for change in row.changes} == {"shelf_lives", "daily_limits", "never_missed"}
    history = page.get(reverse("ranking:versions")).content.decode()
    assert "shelf life as long as others → 1 day" in history and "never missed" in history
    now = timezone.now()
    config_revert(reader_id=ada.pk, version=0, expected_version=None, now=now)
    assert rules_of(config_effective(reader_id=ada.pk).config, PAPER) == SourceRules()
    page.post(f"/ui/sources/{feed}", {"rules": "1", "shelf_life": "", "daily_limit": "many"})
    assert rules_of(config_effective(reader_id=ada.pk).config, PAPER) == SourceRules()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [("shelf_life", 0), ("shelf_life", 169), ("daily_limit", 0), ("daily_limit", 11), ("daily_limit", 1.5)],
)
def test_numbers_out_of_range_are_refused_and_nothing_is_saved(ada: Reader, name, value):
    with pytest.raises(InvalidSetting):
        set_rules(ada, PAPER, **{name: value})
    assert not config_versions(reader_id=ada.pk)


@pytest.mark.django_db
def test_rules_follow_a_source_to_its_new_name_and_a_feed_to_its_new_source(ada: Reader):
    set_rules(ada, PAPER, shelf_life=5, daily_limit=2, never_missed=True)
    now = timezone.now()
    assert source_key_rename(old=PAPER, new="paper.example", now=now) == 1
    config = config_effective(reader_id=ada.pk).config
    assert rules_of(config, "paper.example") == SourceRules(5, 2, True)
    assert rules_of(config, PAPER) == SourceRules()
    source_settings_copy(reader_id=ada.pk, source="paper.example", to=RIVER, now=now)
    assert rules_of(config_effective(reader_id=ada.pk).config, RIVER) == SourceRules(5, 2, True)
    config_revert(reader_id=ada.pk, version=1, expected_version=None, now=now)
    config = config_effective(reader_id=ada.pk).config
    assert rules_of(config, "paper.example") == SourceRules(5, 2, True), "an old version names the new source"


@pytest.mark.django_db
def test_rules_are_one_readers_own_and_leave_with_the_export(ada: Reader, ben: Reader):
    set_rules(ada, PAPER, daily_limit=4)
    assert rules_of(config_effective(reader_id=ben.pk).config, PAPER) == SourceRules()
    (row,) = dict(reader_export_ranking(reader_id=ada.pk))["config"]
    assert row["daily_limits"] == {PAPER: 4}
