"""Rules for a source are suggested if ratings of one sign bear them out, and never called sure."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.agent.planner import proposal_arguments, slots_full
from advisor.conversation import Call
from advisor.tools.queries import hypothesis_row
from digest.entities import RatedItem
from digest.models import Exposure, Item, Reader
from ranking.entities import Config, EffectiveConfig
from ranking.selectors import config_effective
from ranking.services import source_rules_set
from ranking.source_rules import SourceRules, rules_of
from suggestions.apps import check_rules
from suggestions.changes.registry import KINDS, ONE_A_RUN
from suggestions.cut_chart import cut_chart
from suggestions.models import Outcome, Suggestion
from suggestions.outcomes.check import effects_check
from suggestions.planner.evidence import WeighedChange, hypotheses_for
from suggestions.proposals import Draft, Proposed, Refusal, Resolved
from suggestions.services.resolve import suggestion_accept, suggestion_revert
from tests.support.factories import CLOCK, FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.support.suggestion_worlds import propose, rate_all

RIVER, PLAIN, OTHER = "river.example", "plain.example", "other.example"
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def rated(
    n: int, source: str, useful: bool, *, age: float = 1.0, day: int | None = None, place: int = 0
) -> RatedItem:
    """Return one rating of an item that was this many hours old, at this place among its source's."""
    at = CLOCK - (n if day is None else day) * DAY + n * timedelta(seconds=1)
    url = f"https://{source}/{n}"
    return RatedItem(n, url, f"Title {n}", "", source, useful, (), (), at, at - age * HOUR, place=place)


def found(kind: str, ratings: list[RatedItem], **config: object) -> dict[str, object]:
    """Return the values that a kind finds, by source."""
    changes = KINDS[kind].found(ratings, EffectiveConfig(Config(**config)))
    return {change.target: change.after for change in changes}


# --- Its chart ---------------------------------------------------------------------------------------------


def test_the_curve_of_a_shelf_life_shows_likes_by_age_and_where_it_would_cut():
    kind = KINDS["shelf_life"]
    chart = cut_chart(kind.change(RIVER, 24), [*aged(), rated(99, PLAIN, True, age=3)])
    assert chart and [column.label for column in chart.columns] == [
        "1", "3", "6", "12", "24", "48", "72", "more",
    ]  # fmt: skip
    counts = {column.label: column.count for column in chart.columns if column.count[0] != "0"}
    assert counts == {"3": "10 of 10"} and chart.columns[6].count == "0 of 10"
    assert chart.columns[4].x < chart.line < chart.columns[5].x
    assert {bar.series for bar in chart.bars} == {0, 1}


def test_the_curve_of_a_daily_limit_goes_by_the_place_on_the_page():
    chart = cut_chart(KINDS["daily_limit"].change(RIVER, 2), paged())
    assert chart and [column.count for column in chart.columns][:3] == ["4 of 4", "4 of 4", "0 of 4"]
    assert chart.columns[1].x < chart.line < chart.columns[2].x


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"shelf_life", "daily_limit"}))
def test_a_kind_that_cuts_nothing_has_no_curve(kind: str):
    assert cut_chart(KINDS[kind].stored(RIVER, "1.2", "1.0"), aged()) is None


def test_a_curve_needs_ratings_of_its_source():
    assert cut_chart(KINDS["shelf_life"].change(OTHER, 24), aged()) is None


# --- Evidence for a rule ---------------------------------------------------------------------------------


def aged(source: str = RIVER, *, old_likes: int = 0) -> list[RatedItem]:
    """Ten young items that were liked, and ten of two days that were not, but for `old_likes`."""
    young = [rated(n, source, True, age=3) for n in range(10)]
    return young + [rated(10 + n, source, n < old_likes, age=50) for n in range(10)]


def test_the_longest_shelf_life_that_ratings_by_age_bear_out_is_found():
    assert found("shelf_life", aged()) == {RIVER: 48}
    assert found("shelf_life", aged(old_likes=1)) == {}, "who liked one of them wants them"
    assert found("shelf_life", aged(), shelf_lives={RIVER: 100}) == {}, "the reader has set one"


def test_a_source_that_is_disliked_at_any_age_has_no_shelf_life():
    assert found("shelf_life", [rated(n, RIVER, False, age=n * 5) for n in range(30)]) == {}


def paged(source: str = RIVER, *, likes: int = 2, begin: int = 0) -> list[RatedItem]:
    """Five ratings on each of four pages, of which the first `likes` of the page are liked."""
    return [
        rated(begin + day * 10 + n, source, n < likes, day=day, place=n + 1)
        for day in range(4)
        for n in range(5)
    ]


def test_the_most_a_day_up_to_which_a_source_was_liked_is_found():
    assert found("daily_limit", paged()) == {RIVER: 2}
    assert found("daily_limit", paged()[::-1]) == {RIVER: 2}, "whatever was rated first"
    assert found("daily_limit", paged(), daily_limits={RIVER: 4}) == {}
    assert found("daily_limit", [replace(one, place=0) for one in paged()]) == {}, "no page showed them"


def test_a_limit_of_one_source_needs_that_its_reader_minds_lower_places_at_all():
    """Of the plain source the lower half is liked, and of the other nothing tells anything."""
    against = [replace(one, place=6 - one.place) for one in paged(PLAIN, begin=100)]
    assert found("daily_limit", [*paged(), *against]) == {}
    level = [rated(200 + n, OTHER, n % 3 == 0, place=1 + n % 5) for n in range(20)]
    assert found("daily_limit", [*paged(), *level]) == {RIVER: 2}


def test_a_source_is_never_to_be_missed_if_all_of_it_was_liked_and_the_rest_was_not():
    rest = [rated(100 + n, PLAIN, n % 2 == 0) for n in range(40)]
    loved = [rated(n, RIVER, True) for n in range(10)]
    assert found("never_miss", [*loved, *rest]) == {RIVER: True}
    assert found("never_miss", [*loved, rated(50, RIVER, False), *rest]) == {}
    assert found("never_miss", loved[:4] + rest) == {}
    everything = [rated(100 + n, PLAIN, True) for n in range(40)]
    all_liked = found("never_miss", [*loved, *everything])
    assert all_liked == {}, "who likes all prefers nothing"


@pytest.mark.parametrize("kind", [one.name for one in ONE_A_RUN])
def test_of_readers_whose_thumbs_mean_nothing_few_are_asked(kind):
    """300 readers with shuffled thumbs on twenty sources. By design it could be five in a hundred."""
    asked = 0
    for reader in range(300):
        chance, rate = Random(reader), (0.3, 0.5, 0.7)[reader % 3]
        thumbs = [(chance.random() < rate, chance.expovariate(1 / 24)) for _ in range(400)]
        ratings = [
            rated(n, f"s{n % 20}.example", useful, age=age, day=n // 40, place=1 + int(age / 12) % 6)
            for n, (useful, age) in enumerate(thumbs)
        ]
        asked += bool(found(kind, ratings))
    assert asked <= 3


def test_what_is_found_is_weighed_as_medium_at_most():
    for kind in (one for one in ONE_A_RUN if not one.is_measured):
        for change in kind.found(aged(), EffectiveConfig(Config())):
            assert 0 < kind.probability(change, aged()) < 0.8


# --- A suggestion ----------------------------------------------------------------------------------------


def fond_of(reader: Reader, *, loved: int = 12) -> None:
    """Ada likes all of a source that posts rarely, and half of two others that post much."""
    for key in (RIVER, PLAIN, OTHER):
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    rows = [(RIVER, f"River {n}", True, CLOCK - (1 + 2 * n) * DAY) for n in range(loved)]
    rows += [((PLAIN, OTHER)[n % 2], f"Plain {n}", n % 4 < 2, CLOCK - (1 + n / 2) * DAY) for n in range(48)]
    rate_all(reader, rows)
    ItemFactory(source_id=RIVER, feed__source_id=RIVER, title="New of River", published_at=CLOCK - 98 * HOUR)
    for n in range(40):
        feed = FeedFactory(source=SourceFactory(key=f"much{n}.example"))
        SubscriptionFactory(reader=reader, feed=feed)
        for day in range(5):  # a full page every day, on which the old post of the river has no place
            at = CLOCK - HOUR - day * DAY
            ItemFactory(source=feed.source, feed=feed, title=f"Much {n} {day}", published_at=at)


def rule_of(reader: Reader, now) -> WeighedChange | None:
    report = hypotheses_for(reader_id=reader.pk, now=now)
    rules = [one for one in report.hypotheses if one.change.kind.has_own_rule]
    assert len(rules) <= 1 and (not rules or report.hypotheses[-1] is rules[0]), "one, after all others"
    return rules[0] if rules else None


def minds_a_third(reader: Reader, *, shown: bool = True) -> None:
    """On twelve pages the reader likes the first two of the river, and not the others. Six more wait."""
    for key in (RIVER, PLAIN):
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=SourceFactory(key=key)))
    rows = [(RIVER, f"River {n}", n % 4 < 2, CLOCK - (1 + n // 4) * DAY) for n in range(48)]
    rows += [(PLAIN, f"Plain {n}", n % 4 < 2, CLOCK - (1 + n // 2) * DAY) for n in range(24)]
    items = rate_all(reader, rows)
    figures = {"door": "page", "slot": "ranked", "propensity": 1.0, "score": 1.0, "config_version": 0}
    Exposure.objects.bulk_create(
        Exposure(reader=reader, item=item, date=at.date(), rank=n + 1, shown_at=at - HOUR / 4, **figures)
        for n, (item, (_, _, _, at)) in enumerate(zip(items, rows, strict=True))
        if shown
    )
    for n in range(6):
        ItemFactory(source_id=RIVER, feed=items[0].feed, title=f"New {n}", published_at=CLOCK - HOUR)


def draft_of(weighed: WeighedChange) -> Draft:
    row = hypothesis_row(weighed, {url: url for url in weighed.change.evidence_urls}, support=5)
    given = proposal_arguments(row)
    return Draft(given["suggestion_type"], given["target"], given["suggested_value"],
                 weighed.change.evidence_urls, "")  # fmt: skip


@pytest.fixture
def waiting(ada, now) -> Suggestion:
    """Return a pending suggestion that River is never to be missed."""
    fond_of(ada)
    weighed = rule_of(ada, now)
    assert weighed is not None
    answer = propose(ada, draft_of(weighed), now)
    assert isinstance(answer, Proposed), answer
    return Suggestion.objects.get(pk=answer.suggestion_id)


@pytest.mark.django_db
def test_the_card_says_that_nothing_could_be_measured_and_is_never_sure(waiting, ada, client: Client):
    assert (waiting.suggestion_type, waiting.field, waiting.target_key) == (
        "never_miss",
        "never_missed",
        RIVER,
    )
    assert waiting.confidence == "medium" and waiting.evidence.count() == 5
    assert waiting.forecast["ndcg_gain"] is None and "New of River" in waiting.forecast["enters"]
    Suggestion.objects.filter(pk=waiting.pk).update(created_at=timezone.now())
    client.force_login(ada)
    page = client.get(reverse("suggestions:list")).content.decode()
    assert "Never miss anything from" in page
    assert "It could not be measured beforehand" in page and "We think so." in page
    (row,) = client.get("/api/suggestions").json()["suggestions"]
    assert (row["suggestion_type"], row["field"]) == ("never_miss", "never_missed")


@pytest.mark.django_db
def test_a_yes_sets_the_rule_and_going_back_takes_it_away(waiting, ada, now):
    done = suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    assert isinstance(done, Resolved) and done.config_updated
    assert rules_of(config_effective(reader_id=ada.pk).config, RIVER) == SourceRules(never_missed=True)
    back = suggestion_revert(reader_id=ada.pk, suggestion_id=waiting.pk, now=now + HOUR)
    assert isinstance(back, Resolved) and back.config_updated
    assert rules_of(config_effective(reader_id=ada.pk).config, RIVER) == SourceRules()


@pytest.mark.django_db
def test_the_check_after_two_weeks_says_that_there_is_nothing_to_compare_with(waiting, ada, now):
    suggestion_accept(reader_id=ada.pk, suggestion_id=waiting.pk, now=now)
    assert effects_check(now=now + 15 * DAY)["unclear"] == 1
    assert Outcome.objects.get(kind="effect").measured["reason"] == "incomparable"


@pytest.mark.django_db
def test_a_daily_limit_is_suggested_by_the_places_that_pages_had(ada, ben, now):
    minds_a_third(ada)
    weighed = rule_of(ada, now)
    assert weighed and (weighed.change.suggestion_type, weighed.change.after) == ("daily_limit", 2)
    assert isinstance(propose(ada, draft_of(weighed), now), Proposed)
    minds_a_third(ben, shown=False)
    assert rule_of(ben, now) is None, "no page told Ben which was the third"


@pytest.mark.django_db
def test_a_source_that_posts_much_has_no_places_for_all_of_it(ada, now):
    fond_of(ada)
    feed = ada.subscriptions.get(feed__source_id=RIVER).feed
    for n in range(60):
        ItemFactory(source=feed.source, feed=feed, published_at=CLOCK - n * 6 * HOUR)
    assert rule_of(ada, now) is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("never_miss", "no", "invalid_rule"),
        ("shelf_life", "0", "invalid_rule"),
        ("shelf_life", "24", "evidence_wrong_polarity"),
        ("daily_limit", "11", "invalid_rule"),
    ],
)
def test_a_draft_without_a_value_in_range_or_with_other_ratings_is_refused(ada, now, kind, value, code):
    fond_of(ada)
    urls = tuple(Item.objects.filter(title__startswith="River").values_list("url", flat=True)[:5])
    answer = propose(ada, Draft(kind, RIVER, value, urls, ""), now)
    assert isinstance(answer, Refusal) and answer.code == code


@pytest.mark.django_db
def test_a_rule_that_the_reader_has_set_is_not_suggested(ada, now):
    fond_of(ada)
    source_rules_set(reader_id=ada.pk, source=RIVER, rules=SourceRules(never_missed=True), now=now)
    assert rule_of(ada, now) is None


@pytest.mark.django_db
def test_an_installation_may_keep_to_the_first_four_kinds(ada, now, settings):
    fond_of(ada)
    weighed = rule_of(ada, now)
    settings.ADVISOR_KINDS = ["add_topic", "remove_topic", "boost_source", "reduce_source"]
    assert rule_of(ada, now) is None
    answer = propose(ada, draft_of(weighed), now)
    assert isinstance(answer, Refusal) and answer.code == "kind_off"
    assert not check_rules()
    settings.ADVISOR_KINDS = ["add_topics"]
    assert [one.id for one in check_rules()] == ["tidings.E026"]


def test_a_run_writes_one_rule_at_most():
    call = Call("write_suggestion", {"suggestion_type": "never_miss"}, {"success": True})
    assert {one.name for one in ONE_A_RUN} <= slots_full([call])
