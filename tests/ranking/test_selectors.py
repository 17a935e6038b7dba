"""Selectors read the effective config, its changes, and the time of the loop's last run."""

from datetime import date, timedelta

from ranking.entities import Config, WeightChange
from ranking.selectors import (
    config_changed_since,
    config_effective,
    config_effective_many,
    config_exists,
    config_versions,
    weight_snapshots,
    weights_on_hold,
)
from ranking.services import ConfigEdit, config_edit, weights_learn
from tests.support.accepts import source_weight_set

DAY = timedelta(days=1)


def agree(reader, now, source="a", weight=1.3):
    return source_weight_set(reader_id=reader.id, source=source, weight=weight, ref="1", now=now)


def learn(reader, now, source="a", before=1.0, after=1.15, reason="liked_more_than_usual"):
    change = WeightChange(source, before, after, 0.9, 12.0, reason)
    return weights_learn(changes={reader.id: [change]}, now=now)


def test_a_reader_who_never_chose_ranks_by_the_defaults(ada):
    assert config_effective(reader_id=ada.id).config == Config()
    assert not config_exists(reader_id=ada.id)


def test_each_reader_ranks_by_their_own_settings_alone(ada, ben, now):
    agree(ada, now)
    learn(ben, now)
    many = config_effective_many(reader_ids=[ada.id, ben.id])
    assert many == {reader.id: config_effective(reader_id=reader.id) for reader in (ada, ben)}
    assert many[ada.id].weights() == {"a": 1.3}
    assert many[ben.id].config.version == 0 and many[ben.id].deltas.keys() == {"a"}


def test_the_read_path_takes_two_queries_for_one_reader_or_many(ada, ben, now, django_assert_num_queries):
    agree(ada, now)
    with django_assert_num_queries(2):  # config, deltas
        config_effective(reader_id=ada.id)
    with django_assert_num_queries(2):
        config_effective_many(reader_ids=[ada.id, ben.id])


def test_versions_come_newest_first_and_only_ones_own(ada, ben, now):
    agree(ada, now, "a")
    agree(ada, now, "b")
    agree(ben, now, "c")
    rows = config_versions(reader_id=ada.id)
    assert [(row.version, row.changes[0]["target"]) for row in rows] == [(2, "b"), (1, "a")]
    assert len(config_versions(reader_id=ada.id, limit=1)) == 1


def test_what_hand_edits_changed_since_a_version_is_told_by_field_and_target(ada, now):
    agree(ada, now, "a")
    config_edit(
        reader_id=ada.id,
        edit=ConfigEdit(topics=["Rust"], source_weights={"b": 0.5}),
        expected_version=1,
        now=now,
    )
    changed = config_changed_since(reader_id=ada.id, version=0, causes=["edit", "revert"])
    assert changed == {("topics", "Rust"), ("source_weights", "b")}
    assert config_changed_since(reader_id=ada.id, version=2, causes=["edit"]) == set()


def test_the_loop_last_looked_when_it_looked_not_when_a_person_decided(ada, now):
    agree(ada, now - 20 * DAY)
    assert config_effective(reader_id=ada.id).learned_at is None
    learn(ada, now, before=1.3, after=1.45)
    agree(ada, now + DAY)
    agree(ada, now + DAY, "b")
    assert config_effective(reader_id=ada.id).learned_at == now


def test_a_source_is_held_for_fourteen_days_after_a_decision(ada, ben, now):
    agree(ada, now)
    assert weights_on_hold(reader_id=ada.id, now=now) == {"a"}
    assert weights_on_hold(reader_id=ada.id, now=now + 14 * DAY) == set()
    assert weights_on_hold(reader_id=ben.id, now=now) == set()


def test_only_steps_that_moved_something_are_shown(ada, now):
    learn(ada, now, "a")
    learn(ada, now + DAY, "b", after=1.0, reason="undecided")
    (shown,) = weight_snapshots(reader_id=ada.id)
    assert (shown.source, shown.cycle, shown.before, shown.after) == ("a", date(2026, 3, 18), 1.0, 1.15)
