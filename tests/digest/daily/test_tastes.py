"""Taste in a digest: off until the reader says so, then their thumbs and named articles order the page."""

from datetime import timedelta
from math import prod

import pytest

from digest.daily.candidates import digest_candidates, digest_candidates_many, signals_for, window_load
from digest.daily.changes import order_change_read
from digest.daily.item_words import score_explain
from digest.daily.services import digest_build, digests_build
from digest.feedback.naming import article_name
from digest.feedback.services import feedback_set, weights_update
from digest.items.vectors import item_vectors_update
from digest.models import Impression, Item, Reader
from ranking.language import times
from ranking.models import ConfigVersion, WeightSnapshot
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit, config_revert, source_weights_set
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory

TENNIS = (
    "Tennis final goes to five sets",
    "Tennis star wins in Paris",
    "Young tennis player beats the champion",
)
BANKS = (
    "Central bank raises interest rates",
    "Bank profits fall in spring",
    "Central bank keeps rates unchanged",
)
MORE_TENNIS, MORE_BANKS = "The tennis champion returns to the court", "The bank lowers rates again"
GERMAN = ("Der Hafen ist wieder offen und die Schiffe fahren", "Das Orchester spielt eine neue Oper")
MORE_GERMAN = "Der Hafen und die Schiffe: es wird gebaut"


@pytest.fixture
def items(ada: Reader, now) -> dict[str, Item]:
    """Create rated items, a day old, and new ones to rank. Each item has its own source."""
    made = {}
    for n, title in enumerate((*TENNIS, *BANKS, MORE_TENNIS, MORE_BANKS, *GERMAN, MORE_GERMAN)):
        feed = FeedFactory()
        SubscriptionFactory(reader=ada, feed=feed)
        made[title] = ItemFactory(
            source=feed.source,
            feed=feed,
            title=title,
            text="",
            language="de" if n > 7 else "en",
            published_at=now - timedelta(hours=6),
        )
    item_vectors_update(now=now)
    return made


def likes(reader: Reader, items, liked, disliked, now) -> None:
    for titles, useful in ((liked, True), (disliked, False)):
        for title in titles:
            feedback_set(reader=reader, item_id=items[title].pk, useful=useful, now=now)


def level(reader: Reader, name: str, now) -> None:
    version = config_effective(reader_id=reader.pk).config.version
    config_edit(reader_id=reader.pk, edit=ConfigEdit(taste=name), expected_version=version, now=now)


def scores(reader: Reader, now) -> dict[str, object]:
    effective = config_effective(reader_id=reader.pk)
    found = digest_candidates(reader=reader, date=now.date(), now=now, effective=effective)
    return {score.candidate.title: score for score in found.ranking(effective)[:]}


def test_with_the_level_off_thumbs_change_no_score(ada, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    found = scores(ada, now)
    assert found[MORE_TENNIS].parts.taste == 1 and "taste" not in found[MORE_TENNIS].parts.as_dict()


def test_switching_taste_off_is_told_with_the_page_that_had_it(ada, items, now):
    likes(ada, items, BANKS, TENNIS, now)
    level(ada, "strong", now)
    date = now.date()
    tasted = digest_build(reader=ada, date=date, now=now)
    order = [*tasted.impressions.order_by("rank").values_list("item_id", flat=True)]
    assert order.index(items[MORE_BANKS].pk) < order.index(items[MORE_TENNIS].pk)
    level(ada, "off", now)
    change = order_change_read(digest_build(reader=ada, date=date, now=now).change)
    assert [*change.before] == order != [*change.after]


def test_with_it_on_what_is_like_the_liked_rises_and_the_explanation_multiplies_to_the_score(ada, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    level(ada, "on", now)
    found = scores(ada, now)
    assert found[MORE_TENNIS].parts.taste > 1.2 > 0.9 > found[MORE_BANKS].parts.taste
    assert found[MORE_TENNIS].total > found[MORE_BANKS].total
    for score in found.values():
        parts = score.parts
        assert score.total == pytest.approx(
            prod((parts.source_weight, parts.recency, parts.interest, parts.taste))
        )
    told = score_explain(found[MORE_TENNIS].parts.as_dict(), found[MORE_TENNIS].total, "Court News")
    (line,) = [one for one in told.lines if one.label == "Your taste"]
    assert "which you liked" in line.words and line.figure == times(f"{found[MORE_TENNIS].parts.taste:.2f}")
    assert any(chip.startswith("like “") for chip in told.chips)


def test_strong_reaches_further_and_going_back_undoes_it(ada, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    level(ada, "on", now)
    some = scores(ada, now)[MORE_TENNIS].parts.taste
    level(ada, "strong", now)
    assert scores(ada, now)[MORE_TENNIS].parts.taste >= some
    assert ConfigVersion.objects.get(reader=ada, version=2).changes == [
        {"field": "taste", "target": "", "before": "on", "after": "strong"}
    ]
    config_revert(reader_id=ada.pk, version=0, expected_version=2, now=now)
    assert scores(ada, now)[MORE_TENNIS].parts.taste == 1


def test_a_named_article_raises_what_is_like_it(ada, items, now):
    article_name(reader=ada, item_id=items[TENNIS[0]].pk, now=now)
    level(ada, "on", now)
    found = scores(ada, now)[MORE_TENNIS]
    assert found.parts.taste > 1.1
    told = score_explain(found.parts.as_dict(), found.total, "Court News")
    assert any("which you want more of" in line.words for line in told.lines)


def test_other_languages_are_compared_by_their_words(ada, items, now):
    likes(ada, items, GERMAN[:1], GERMAN[1:], now)
    level(ada, "on", now)
    assert scores(ada, now)[MORE_GERMAN].parts.taste > 1.02


def test_what_was_rated_is_like_nothing_and_ben_gets_none_of_adas_taste(ada, ben, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    level(ada, "on", now)
    level(ben, "on", now)
    ids = [item.pk for item in items.values()]
    configs = {one.pk: config_effective(reader_id=one.pk) for one in (ada, ben)}
    found = signals_for(reader_ids=list(configs), item_ids=ids, now=now, configs=configs)
    assert found[ada.pk].taste.likeness[items[TENNIS[0]].pk] == 0
    assert found[ben.pk].taste.examples == ()


def test_for_two_weeks_no_taste_works_against_a_decision_on_a_source(ada, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    level(ada, "on", now)
    rated = items[TENNIS[0]]
    ItemFactory(source=rated.source, feed=rated.feed, title="Next", text="", published_at=now)

    def leaning() -> bool:
        return any(one.kind == "source" for one in scores(ada, now)["Next"].parts.tastes)

    free = scores(ada, now)["Next"].total
    assert leaning()
    source_weights_set(reader_id=ada.pk, weights={rated.source_id: 1.2}, now=now)
    assert leaning() and scores(ada, now)["Next"].total > free, "more of it raises it"
    source_weights_set(reader_id=ada.pk, weights={rated.source_id: 1.1}, now=now)
    assert not leaning() and scores(ada, now)["Next"].total < free, "less of it lowers it"


def test_the_round_builds_what_one_reader_would_get_alone(ada, ben, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    for reader in (ada, ben):
        level(reader, "on", now)
    configs = {one.pk: config_effective(reader_id=one.pk) for one in (ada, ben)}
    days = {pk: now.date() for pk in configs}
    window = window_load(now=now)
    many = digest_candidates_many(window=window, readers=[ada, ben], days=days, configs=configs)
    together = {one.candidate.title: one.total for one in many[ada.pk].ranking(configs[ada.pk])[:]}
    assert together == pytest.approx({title: one.total for title, one in scores(ada, now).items()})


def test_a_digest_stores_the_factor_with_its_reasons(ada, items, now):
    likes(ada, items, TENNIS, BANKS, now)
    level(ada, "on", now)
    digest_build(reader=ada, date=now.date(), now=now)
    row = Impression.objects.get(item=items[MORE_TENNIS])
    assert row.parts["taste"] > 1.2 and row.parts["tastes"][0][0] == "article"


def test_while_taste_counts_the_loop_rests_and_its_snapshot_tells_what_thumbs_say(ada, items, now):
    feed = items[TENNIS[0]].feed
    many = [ItemFactory(source=feed.source, feed=feed, title=f"Set {n}", text="") for n in range(9)]
    likes(ada, {item.title: item for item in many}, [item.title for item in many], (), now)
    likes(ada, items, (), BANKS, now)
    level(ada, "on", now)
    assert weights_update(reader_id=ada.pk, now=now) == 0
    row = WeightSnapshot.objects.get(reader=ada, source_key=feed.source_id)
    assert (row.reason, row.before == row.after, row.p_better > 0.8) == ("taste", True, True)
    level(ada, "off", now)
    assert weights_update(reader_id=ada.pk, now=now + timedelta(days=1)) == 1


def test_a_round_costs_the_same_for_more_readers_who_let_taste_count(
    ada, ben, items, now, django_assert_max_num_queries
):
    level(ada, "on", now)
    likes(ada, items, TENNIS, BANKS, now)
    ids = [item.pk for item in items.values()]
    for readers in ([ada], [ada, ben]):
        configs = {one.pk: config_effective(reader_id=one.pk) for one in readers}
        with django_assert_max_num_queries(22):
            signals_for(reader_ids=list(configs), item_ids=ids, now=now, configs=configs)
    digests_build(now=now)


def test_a_page_tells_one_count_for_one_source_however_early_a_row_was_rated(ada, now):
    loved, other = FeedFactory(), FeedFactory()
    for feed in (loved, other):
        SubscriptionFactory(reader=ada, feed=feed)
        for n in range(9):
            old = ItemFactory(source=feed.source, feed=feed, title=f"Old {n}", text="")
            Item.objects.filter(pk=old.pk).update(dated_at=now - timedelta(days=20))
            useful = feed is loved and n > 1
            feedback_set(reader=ada, item_id=old.pk, useful=useful, now=now - timedelta(days=2))
    words = ("Amber", "Birch", "Cedar", "Dune", "Elm", "Fjord")
    titles = [f"{word} is in the news today" for word in words]
    found = [ItemFactory(source=loved.source, feed=loved, title=title, text="") for title in titles]
    level(ada, "on", now)

    def counts(at) -> set[tuple[int, int]]:
        shown = digest_build(reader=ada, date=now.date(), now=at).impressions.filter(
            item__source=loved.source
        )
        reasons = [one for row in shown for one in row.parts["tastes"]]
        assert len(shown) == len(found)
        return {(likes, thumbs) for kind, _label, likes, thumbs, _lean in reasons if kind == "source"}

    assert counts(now) == {(7, 9)}
    for n, one in enumerate(found):
        # Each row keeps the score it was rated at; the last has only rated rows beside it.
        feedback_set(reader=ada, item_id=one.pk, useful=True, now=now + timedelta(minutes=n))
        expected = min(n + 1, len(found) - 1)
        assert counts(now + timedelta(minutes=n, seconds=30)) == {(7 + expected, 9 + expected)}
