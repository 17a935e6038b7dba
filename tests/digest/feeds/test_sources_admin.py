"""Operators rename and join sources, and everything with the key follows."""

import pytest
from django.test import Client

from digest.errors import InvalidSourceKey, UnknownSource
from digest.feeds.services import source_move
from digest.models import Feed, Item, Reader, Source
from ranking.entities import WeightChange
from ranking.models import LearnedWeight, WeightSnapshot
from ranking.selectors import config_effective, config_versions
from ranking.services import ConfigEdit, config_edit, target_pin, weights_learn
from tests.support.browser import subscribe
from tests.support.factories import ItemFactory, SourceFactory

OLD, NEW = "feedburner.com/gazette", "gazette.example"
PAGE = "/admin/digest/source/feedburner.com_2Fgazette"


@pytest.fixture
def page(client: Client, operator: Reader) -> Client:
    """Return the operator's browser, signed in."""
    client.force_login(operator)
    return client


@pytest.fixture
def old(ada: Reader) -> Source:
    """Return the source to be moved, with a feed and two items that Ada reads."""
    source = subscribe(ada, OLD, "Gazette").feed.source
    for _ in range(2):
        ItemFactory(source=source)
    return source


def weigh(reader: Reader, now, **weights: float) -> None:
    keys = {"old": OLD, "new": NEW}
    edit = ConfigEdit(source_weights={keys[name]: weight for name, weight in weights.items()})
    version = config_effective(reader_id=reader.pk).config.version
    config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=now)


def learn(reader: Reader, key: str, now) -> None:
    change = WeightChange(source=key, before=1.0, after=1.1, p_better=0.9, n=6, reason="liked")
    weights_learn(changes={reader.pk: [change]}, now=now)


def test_a_renamed_source_takes_feeds_items_and_title_along(old: Source, now):
    move = source_move(key=OLD, into=f" {NEW.upper()} ", now=now)
    assert (move.into, move.joined, move.feeds, move.items) == (NEW, False, 1, 2)
    assert Source.objects.get() == Source(key=NEW)
    assert Source.objects.get().title == "Gazette"
    assert {*Feed.objects.values_list("source_id"), *Item.objects.values_list("source_id")} == {(NEW,)}


def test_weights_pins_and_what_was_learned_follow_in_a_new_version(
    old: Source, ada: Reader, ben: Reader, now
):
    weigh(ada, now, old=1.4)
    learn(ben, OLD, now)
    target_pin(reader_id=ben.pk, target=OLD, pin="locked", ref="", now=now)
    assert source_move(key=OLD, into=NEW, now=now).configs == 2
    for reader, weight in ((ada, 1.4), (ben, 1.1)):
        effective = config_effective(reader_id=reader.pk)
        assert effective.weight(NEW) == pytest.approx(weight)
        assert effective.weight(OLD) == 1.0
        assert effective.config.version == 2
    assert config_effective(reader_id=ben.pk).config.locked == (NEW,)
    assert not LearnedWeight.objects.filter(source_key=OLD).exists()
    assert WeightSnapshot.objects.get().source_key == NEW
    last, first = config_versions(reader_id=ada.pk)
    assert last.cause_ref == f"source:{OLD}"
    assert OLD in first.body["source_weights"]


def test_where_both_were_set_the_one_that_stays_holds(old: Source, ada: Reader, now):
    SourceFactory(key=NEW, title="The Gazette")
    weigh(ada, now, old=0.5, new=1.6)
    assert source_move(key=OLD, into=NEW, now=now).joined
    assert config_effective(reader_id=ada.pk).weight(NEW) == 1.6
    assert Source.objects.get().title == "The Gazette"


def test_a_learned_delta_does_not_join_a_weight_a_person_set(old: Source, ada: Reader, now):
    learn(ada, OLD, now)
    weigh(ada, now, new=1.6)
    source_move(key=OLD, into=NEW, now=now)
    assert config_effective(reader_id=ada.pk).weight(NEW) == 1.6


def test_readers_who_set_nothing_get_no_version(old: Source, ada: Reader, now):
    assert source_move(key=OLD, into=NEW, now=now).configs == 0
    assert config_effective(reader_id=ada.pk).config.version == 0


@pytest.mark.parametrize("into", ["", " ", "two words", "<b>", "x" * 121, OLD])
def test_what_is_no_other_key_is_refused(old: Source, now, into: str):
    with pytest.raises(InvalidSourceKey):
        source_move(key=OLD, into=into, now=now)
    with pytest.raises(UnknownSource):
        source_move(key="nobody.example", into=NEW, now=now)
    assert Source.objects.get().pk == OLD


def test_the_operator_is_asked_before_anything_moves(page: Client, old: Source):
    assert f"{PAGE}/move/" in page.get(f"{PAGE}/change/").content.decode()
    assert "New key" in page.get(f"{PAGE}/move/").content.decode()
    asked = page.post(f"{PAGE}/move/", {"into": NEW}).content.decode()
    assert "1 feed and 2 items move" in asked
    assert Source.objects.get().pk == OLD
    done = page.post(f"{PAGE}/move/", {"into": NEW, "confirmed": "1"}, follow=True).content.decode()
    assert "1 feed, 2 items, 0 settings" in done
    assert Source.objects.get().pk == NEW


def test_a_title_is_edited_and_a_key_is_not(page: Client, old: Source):
    page.post(f"{PAGE}/change/", {"key": "else.example", "title": "The Gazette"})
    assert [(s.key, s.title) for s in Source.objects.all()] == [(OLD, "The Gazette")]


def test_refusals_and_strangers_move_nothing(page: Client, old: Source, ben: Reader):
    assert page.post(f"{PAGE}/move/", {"into": "two words", "confirmed": "1"}).status_code == 422
    assert page.get("/admin/digest/source/nobody.example/move/").status_code == 404
    page.force_login(ben)
    assert page.post(f"{PAGE}/move/", {"into": NEW, "confirmed": "1"}).status_code == 302
    assert Source.objects.get().pk == OLD
