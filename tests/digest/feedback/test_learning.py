"""The learning loop: ratings in, bounded steps out, the reader's decisions unchanged."""

from datetime import timedelta

import pytest

from digest.daily.services import digests_build
from digest.feedback.services import CyclesReport, cycles_run, weights_update, weights_update_many
from digest.items.vectors import profile_refresh
from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.learning import learn
from ranking.selectors import config_effective, weight_snapshots
from ranking.services import config_edit, config_revert, target_pin
from tests.support.accepts import source_weight_set
from tests.support.factories import FeedbackFactory, ItemFactory, ReaderFactory, SourceFactory

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def rate(reader: Reader, source: str, likes: int, dislikes: int, at) -> None:
    row = SourceFactory(key=source)
    for n in range(likes + dislikes):
        FeedbackFactory(reader=reader, item=ItemFactory(source=row), useful=n < likes, at=at)


@pytest.fixture
def opinions(ada, now) -> None:
    """Ada likes one source, dislikes another, and is undecided about the third."""
    rate(ada, "good.example", 15, 0, now - DAY)
    rate(ada, "bad.example", 0, 15, now - DAY)
    rate(ada, "so.example", 8, 8, now - DAY)


def weights(reader: Reader) -> dict[str, float]:
    return {k: round(w, 3) for k, w in config_effective(reader_id=reader.id).weights().items()}


def test_a_cycle_moves_clear_weights_by_one_small_step(ada, now, opinions):
    assert weights_update(reader_id=ada.id, now=now) == 2
    assert weights(ada) == {"good.example": 1.15, "bad.example": 0.85}
    assert {row.source for row in weight_snapshots(reader_id=ada.id)} == {"good.example", "bad.example"}


def test_cycles_reach_the_target_within_bounds(ada, now, opinions):
    for week in range(12):
        weights_update(reader_id=ada.id, now=now + week * DAY)
    settled = weights(ada)
    assert 1.15 < settled["good.example"] <= 2.0 and 0.1 <= settled["bad.example"] < 0.85
    assert weights_update(reader_id=ada.id, now=now + 12 * DAY) == 0


def test_a_second_cycle_on_the_same_day_does_nothing(ada, now, opinions):
    weights_update(reader_id=ada.id, now=now)
    assert weights_update(reader_id=ada.id, now=now + timedelta(hours=1)) == 0


def test_decided_and_locked_sources_do_not_change(ada, now, opinions):
    source_weight_set(reader_id=ada.id, source="good.example", weight=1.3, ref="", now=now)
    target_pin(reader_id=ada.id, target="bad.example", pin="locked", ref="", now=now)
    assert weights_update(reader_id=ada.id, now=now) == 0
    assert weights(ada) == {"good.example": 1.3}
    assert weights_update(reader_id=ada.id, now=now + 15 * DAY) == 0, "the thumbs are those she decided on"
    rate(ada, "good.example", 1, 0, now + 15 * DAY)
    assert weights_update(reader_id=ada.id, now=now + 16 * DAY) == 1
    assert weights(ada) == {"good.example": 1.45}


def test_ben_learns_nothing_from_ada(ada, ben, now, opinions):
    assert weights_update(reader_id=ben.id, now=now) == 0
    assert weights(ben) == {}


@pytest.mark.parametrize("ratings", [10, 100])
def test_the_queries_of_cycles_do_not_grow_with_the_ratings(
    ada, ben, now, ratings, django_assert_num_queries
):
    for n in range(ratings // 5):
        rate(ada, f"s{n}.example", 5, 0, now)
    source_weight_set(reader_id=ada.id, source="s0.example", weight=1.3, ref="", now=now)
    rate(ben, "s0.example", 5, 0, now)
    for reader in (ada, ben):
        profile_refresh(reader_id=reader.id, now=now)
    # config, deltas, held, tallies, who shares, figures; the taste: missing vectors, savepoint, profiles,
    # ratings, vectors, save, release; savepoint, configs, one made and read, snapshots of today, deltas,
    # two inserts, release
    with django_assert_num_queries(22):
        weights_update_many(reader_ids=[ada.id, ben.id], now=now)


def test_cycles_together_learn_what_each_would_alone(ada, ben, now, opinions):
    rate(ben, "bad.example", 15, 0, now - DAY)
    rate(ben, "good.example", 0, 15, now - DAY)
    target_pin(reader_id=ben.id, target="good.example", pin="locked", ref="", now=now)
    source_weight_set(reader_id=ada.id, source="bad.example", weight=0.7, ref="", now=now)
    assert cycles_run(reader_ids=[ada.id, ben.id], now=now) == CyclesReport(done=2, moved=2)
    assert weights(ada) == {"good.example": 1.15, "bad.example": 0.7}
    assert weights(ben) == {"bad.example": 1.15}
    assert cycles_run(reader_ids=[ada.id, ben.id], now=now) == CyclesReport()


def test_one_readers_fault_stops_no_other_cycle(ada, ben, now, opinions, monkeypatch):
    rate(ben, "bad.example", 15, 0, now - DAY)
    rate(ben, "good.example", 0, 15, now - DAY)

    def broken(tallies, effective, **more):
        if effective.config.locked:
            raise ArithmeticError("no such figure")
        return learn(tallies, effective, **more)

    target_pin(reader_id=ben.id, target="good.example", pin="locked", ref="", now=now)
    monkeypatch.setattr("digest.feedback.services.learn", broken)
    assert cycles_run(reader_ids=[ada.id, ben.id], now=now) == CyclesReport(done=1, failed=1, moved=2)
    assert weights(ben) == {} and weights(ada) == {"good.example": 1.15, "bad.example": 0.85}


def test_a_round_builds_for_every_active_reader_despite_one_failure(ada, ben, now):
    ReaderFactory(username="gone", is_active=False)
    ReaderFactory(username="lost", time_zone="Nowhere/Atall")
    assert digests_build(now=now) == 2


def test_a_source_whose_change_was_undone_is_left_alone_for_two_weeks(ada: Reader, now, opinions):
    """It is as usual again, as before the yes, and the ratings it was made on say as much as then."""
    source_weight_set(reader_id=ada.id, source="good.example", weight=1.3, ref="7", now=now)
    config_revert(reader_id=ada.id, version=0, expected_version=None, now=now + MINUTE)
    assert weights(ada).get("good.example", 1.0) == 1.0
    for days in (2, 9, 16):
        weights_update(reader_id=ada.id, now=now + days * DAY)
    assert weights(ada).get("good.example", 1.0) == 1.0


def test_a_source_set_to_the_usual_by_hand_is_the_loops_again(ada: Reader, now, opinions):
    source_weight_set(reader_id=ada.id, source="good.example", weight=1.3, ref="7", now=now)
    config_edit(
        reader_id=ada.id,
        edit=ConfigEdit(source_weights={"good.example": None}),
        expected_version=None,
        now=now + MINUTE,
    )
    weights_update(reader_id=ada.id, now=now + 2 * DAY)
    assert weights(ada)["good.example"] > 1.0
