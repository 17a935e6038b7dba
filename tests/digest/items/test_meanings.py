"""Topics that find items by meaning: made from the installation's items, used by each reader's digest."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from digest.daily.candidates import digest_candidates
from digest.daily.item_words import score_explain
from digest.items.meanings import (
    SEED_DAYS,
    item_meanings_update,
    meanings_update,
    topic_meanings_prune,
    topic_meanings_update,
    topics_about,
)
from digest.items.vectors import item_vectors_update
from digest.models import Feed, Item, ItemVector, Reader, TopicMeaning
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from tests.support.factories import FeedFactory, ItemFactory, SubscriptionFactory

SAY_TENNIS = (
    "Tennis: Nadal through to the final in Madrid",
    "Injury keeps Osaka away from tennis until spring",
    "Murray says farewell to tennis at the Olympics",
    "How Halep learned her tennis on clay courts",
    "The tennis season ends with a doubles title",
    "Tennis: wild card beats second seed in Rome",
)
ABOUT_TENNIS = "Djokovic wins Wimbledon in straight sets"
SUBJECTS = ("Parliament", "The central bank", "A chip maker", "The museum", "A volcano", "The airline")
EVENTS = ("announces the new rules", "reports losses to all", "opens again to the public", "raises prices")
OTHERS = [f"{subject} {event}" for subject in SUBJECTS for event in EVENTS]


@pytest.fixture
def feed(ada: Reader) -> Feed:
    found = FeedFactory()
    SubscriptionFactory(reader=ada, feed=found)
    return found


@pytest.fixture
def items(feed: Feed, now) -> dict[str, Item]:
    """Create a feed about many things. Six of its items say tennis, and all have vectors."""
    made = {title: english(feed, title, now) for title in (*SAY_TENNIS, ABOUT_TENNIS, *OTHERS)}
    item_vectors_update(now=now)
    return made


def english(feed: Feed, title: str, now, **more) -> Item:
    dated = {"published_at": now - timedelta(hours=6)} | more
    return ItemFactory(source=feed.source, feed=feed, title=title, language="en", **dated)


def likes_tennis(reader: Reader, now) -> None:
    config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=("tennis",)), expected_version=0, now=now)


def about_tennis(items: dict[str, Item]) -> set[str]:
    ids = np.array([item.pk for item in items.values()], dtype=np.int64)
    places, worths = topics_about(["tennis"], ids).get("tennis", ((), ()))
    assert all(0.5 < worth < 1 for worth in worths)
    return {list(items)[place] for place in places}


def test_a_topic_finds_an_item_that_never_says_its_name(ada, items, now):
    topic_meanings_update(topics=["Tennis"], now=now)
    assert ABOUT_TENNIS in about_tennis(items)
    assert not about_tennis(items) & set(OTHERS)


def test_such_an_item_gains_half_a_topic_to_a_whole_one_and_the_reader_is_told_why(ada, items, now):
    likes_tennis(ada, now)
    meanings_update(now=now)
    scores = digest_candidates(reader=ada, date=now.date(), now=now).ranking(
        config_effective(reader_id=ada.pk)
    )
    found = {score.candidate.title: score.parts for score in scores[:]}
    assert found[ABOUT_TENNIS].about == ("tennis",)
    assert found[ABOUT_TENNIS].topics == ()
    gained = found[ABOUT_TENNIS].about_worths["tennis"]
    assert 0.9 < gained < 1 and found[ABOUT_TENNIS].interest == pytest.approx(1 + gained)
    assert found[SAY_TENNIS[0]].about == ()
    assert found[SAY_TENNIS[0]].interest == pytest.approx(2.0)
    told = score_explain(found[ABOUT_TENNIS].as_dict(), 1.0, "Gazette")
    assert "about tennis, by meaning" in told.chips
    assert ("Topic", f"+ {gained:.2f}") in [(line.label, line.figure) for line in told.lines]


def test_a_word_by_meaning_counts_as_a_topic_does_and_the_reader_is_told_why(ada, items, now):
    """Less of tennis lowered the articles that say tennis, and left those about it on top."""
    edit = ConfigEdit(keyword_boosts={"Tennis": -0.5}, by_meaning={"Tennis": True})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    assert meanings_update(now=now)["topics"] == 1
    candidates = digest_candidates(reader=ada, date=now.date(), now=now)
    effective = config_effective(reader_id=ada.pk)
    ranking = candidates.ranking(effective)
    found = {score.candidate.title: score.parts for score in ranking[:]}
    parts = found[ABOUT_TENNIS]
    assert -0.5 < parts.boosts["Tennis"] < -0.45 and parts.boosts_about == ("Tennis",)
    assert parts.interest == pytest.approx(1 + parts.boosts["Tennis"])
    assert found[SAY_TENNIS[0]].boosts == {"Tennis": -0.5} and found[SAY_TENNIS[0]].boosts_about == ()
    assert found[OTHERS[0]].boosts == {}
    told = score_explain(parts.as_dict(), 1.0, "Gazette")
    assert "less about “Tennis”, by meaning" in told.chips
    assert "about “Tennis” by meaning, without the word" in [line.words for line in told.lines]
    muted = {choice.item_id for choice in candidates.choices(ranking, effective) if choice.muted}
    assert {items[title].pk for title in (*SAY_TENNIS, ABOUT_TENNIS)} == muted
    assert topic_meanings_prune() == 0


def test_a_word_counts_by_meaning_until_its_box_is_emptied(client, ada, feed):
    now = timezone.now()
    for title in (*SAY_TENNIS, ABOUT_TENNIS, *OTHERS):
        english(feed, title, now)
    item_vectors_update(now=now)
    edit = ConfigEdit(keyword_boosts={"tennis": -0.5, "rust": 0.5}, by_meaning={"tennis": True})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    meanings_update(now=now)
    client.force_login(ada)
    page = client.get("/ui/config?show=topics").content.decode()
    assert 'name="by_meaning" value="tennis" checked' in page and 'value="rust" checked' not in page
    form = {"version": "1", "recency_half_life_hours": "24", "ai_score_alpha": "0.1"}
    chips = {"word:tennis": "less", "word:rust": "more"}
    boxes = {"by_meaning_shown": "tennis", "by_meaning": "tennis"}
    client.post("/ui/config", form | chips | boxes)
    assert config_effective(reader_id=ada.pk).config.by_meaning == ("tennis",)
    client.post("/ui/config", form | chips | {"by_meaning_shown": "tennis"})
    config = config_effective(reader_id=ada.pk).config
    assert config.by_meaning == () and config.keyword_boosts == {"tennis": -0.5, "rust": 0.5}
    assert "“tennis” counts by its words alone" in client.get("/ui/history/settings").content.decode()


def test_a_topic_stored_by_the_release_before_adds_a_half_until_it_is_made_again(ada, items, now):
    topic_meanings_update(topics=["tennis"], now=now)
    TopicMeaning.objects.update(steepness=None)
    ids = np.array([item.pk for item in items.values()], dtype=np.int64)
    _, worths = topics_about(["tennis"], ids)["tennis"]
    assert set(worths.tolist()) == {0.5}


def test_a_topic_with_four_items_stays_literal(ada, feed, now):
    made = {title: english(feed, title, now) for title in (*SAY_TENNIS[:4], ABOUT_TENNIS, *OTHERS)}
    item_vectors_update(now=now)
    topic_meanings_update(topics=["tennis"], now=now)
    assert about_tennis(made) == set()


def test_items_of_private_feeds_and_of_long_ago_make_no_topic(ada, feed, now):
    private = FeedFactory(owner=ada)
    old = now - timedelta(days=SEED_DAYS + 1)
    made = {title: english(private, title, now) for title in SAY_TENNIS[:3]}
    made |= {title: english(feed, title, now, published_at=old) for title in SAY_TENNIS[3:]}
    made |= {title: english(feed, title, now) for title in (ABOUT_TENNIS, *OTHERS)}
    item_vectors_update(now=now)
    item_meanings_update()
    topic_meanings_update(topics=["tennis"], now=now)
    assert about_tennis(made) == set()


def test_an_item_in_another_language_has_no_meaning(ada, feed, now):
    german = english(feed, "Der Bundestag hat das Gesetz mit großer Mehrheit beschlossen", now)
    item_vectors_update(now=now)
    assert bytes(ItemVector.objects.get(pk=german.pk).meaning) == b""


def test_items_stored_before_meanings_existed_get_theirs_once(ada, items, now):
    before = bytes(ItemVector.objects.get(pk=items[ABOUT_TENNIS].pk).meaning)
    ItemVector.objects.update(meaning=None)
    assert item_meanings_update() == len(items)
    assert bytes(ItemVector.objects.get(pk=items[ABOUT_TENNIS].pk).meaning) == before
    assert item_meanings_update() == 0


def test_a_topic_is_made_once_a_day_and_goes_with_the_last_reader_who_had_it(ada, items, now):
    likes_tennis(ada, now)
    assert meanings_update(now=now)["topics"] == 1
    assert meanings_update(now=now + timedelta(hours=1))["topics"] == 0
    assert meanings_update(now=now + timedelta(days=1))["topics"] == 1
    assert topic_meanings_prune() == 0
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=()), expected_version=1, now=now)
    assert topic_meanings_prune() == 1
    assert not TopicMeaning.objects.exists()


def test_topics_of_any_number_cost_the_same_queries(ada, items, now, django_assert_num_queries):
    many = ["tennis", "museum", "volcano", "bank"]
    with django_assert_num_queries(3):
        topic_meanings_update(topics=many, now=now)
    with django_assert_num_queries(2):
        topics_about(many, np.array([item.pk for item in items.values()], dtype=np.int64))


def test_a_reader_keeps_a_topic_to_its_words_by_a_box_in_settings(client, ada, feed):
    now = timezone.now()
    for title in (*SAY_TENNIS, ABOUT_TENNIS, *OTHERS):
        english(feed, title, now)
    item_vectors_update(now=now)
    likes_tennis(ada, now)
    meanings_update(now=now)
    client.force_login(ada)
    page = client.get("/ui/config?show=topics").content.decode()
    assert 'name="by_meaning" value="tennis" checked' in page
    form = {"version": "1", "topics": "tennis", "recency_half_life_hours": "24", "ai_score_alpha": "0.1"}
    saved = client.post("/ui/config", form | {"by_meaning_shown": "tennis"}, follow=True)
    assert "Saved." in saved.content.decode()
    assert "“tennis” matches by its words alone" in client.get("/ui/history/settings").content.decode()
    effective = config_effective(reader_id=ada.pk)
    assert effective.config.literal == ("tennis",)
    scores = digest_candidates(reader=ada, date=now.date(), now=now).ranking(effective)
    assert {score.parts.about for score in scores[:]} == {()}
    client.post("/ui/config", form | {"version": "2", "by_meaning_shown": "tennis", "by_meaning": "tennis"})
    assert config_effective(reader_id=ada.pk).config.literal == ()


def test_settings_saved_from_a_page_without_boxes_change_no_topic(client, ada, items, now):
    config_edit(
        reader_id=ada.pk,
        edit=ConfigEdit(topics=("tennis",), literal={"tennis": True}),
        expected_version=0,
        now=now,
    )
    client.force_login(ada)
    form = {"version": "1", "topics": "tennis", "recency_half_life_hours": "30", "ai_score_alpha": "0.1"}
    client.post("/ui/config", form)
    effective = config_effective(reader_id=ada.pk)
    assert (effective.config.version, effective.config.literal) == (2, ("tennis",))


def test_a_topic_that_left_takes_its_switch_with_it(ada, now):
    first = ConfigEdit(topics=("tennis", "rust"), literal={"tennis": True, "rust": True})
    config_edit(reader_id=ada.pk, edit=first, expected_version=0, now=now)
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=("rust",)), expected_version=1, now=now)
    assert config_effective(reader_id=ada.pk).config.literal == ("rust",)
