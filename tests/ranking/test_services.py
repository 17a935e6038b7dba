"""Every write makes a version, a stale write is refused, and the loop leaves decisions alone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ranking.entities import InvalidSetting, StaleVersion, UnknownVersion, WeightChange
from ranking.models import ConfigVersion, LearnedWeight, RankConfig, SourceAlias, WeightSnapshot
from ranking.selectors import config_effective, config_exists, config_versions, weights_on_hold
from ranking.services import (
    ConfigEdit,
    config_edit,
    config_revert,
    source_key_rename,
    target_pin,
    weights_learn,
)
from tests.support.accepts import source_weight_set, topic_set, weight_undo
from tests.support.factories import ReaderFactory

DAY = timedelta(days=1)


def edit(reader, now, expected_version, **settings):
    return config_edit(
        reader_id=reader.id, edit=ConfigEdit(**settings), expected_version=expected_version, now=now
    )


def agree(reader, now, source, weight):
    return source_weight_set(reader_id=reader.id, source=source, weight=weight, ref="7", now=now)


def step(source, before, after, reason="liked_more_than_usual"):
    return WeightChange(source, before, after, 0.9, 12.0, reason if before != after else "undecided")


def weight(reader, source):
    return config_effective(reader_id=reader.id).weight(source)


def state(reader):
    """Return all settings that rank for a reader."""
    effective = config_effective(reader_id=reader.id)
    config = effective.config
    return config.topics, dict(config.source_weights), config.recency_half_life_hours, dict(effective.deltas)


# --- edits ------------------------------------------------------------------------------------------


def test_an_edit_makes_one_version_that_says_what_changed(ada, now):
    version = edit(ada, now, 0, topics=["Rust"], source_weights={"a": 1.4}, recency_half_life_hours=48.0)
    assert version == 1
    row = ConfigVersion.objects.get(reader=ada)
    assert (row.version, row.cause, row.cause_ref, row.created_at) == (1, "edit", "", now)
    assert row.changes == [
        {"field": "topics", "target": "Rust", "before": False, "after": True},
        {"field": "source_weights", "target": "a", "before": 1.0, "after": 1.4},
        {"field": "recency_half_life_hours", "target": "", "before": 24.0, "after": 48.0},
    ]
    assert config_effective(reader_id=ada.id).config.topics == ("Rust",)


def test_an_edit_that_changes_nothing_makes_no_version(ada, now):
    edit(ada, now, 0, topics=["Rust"])
    assert edit(ada, now, 1, topics=["rust "], source_weights={}) == 2  # the new spelling is a change
    assert edit(ada, now, 2, topics=["rust"]) == 2
    assert len(config_versions(reader_id=ada.id)) == 2


def test_a_stale_edit_is_refused_with_the_difference_and_saves_nothing(ada, now):
    edit(ada, now, 0, topics=["Rust"])
    agree(ada, now, "a", 1.3)
    with pytest.raises(StaleVersion) as refused:
        edit(ada, now, 0, topics=["Go"])
    assert (refused.value.seen, refused.value.current) == (0, 2)
    assert refused.value.changed == [
        "“Rust” joined your interests",
        "a: as usual → more than usual",
    ]
    assert config_effective(reader_id=ada.id).config.topics == ("Rust",)


def test_an_impossible_value_saves_nothing_of_the_edit(ada, now):
    with pytest.raises(InvalidSetting):
        edit(ada, now, 0, topics=["Rust"], source_weights={"a": 3.0})
    assert not config_exists(reader_id=ada.id)


def test_a_weight_edited_by_hand_is_exact_and_handing_it_back_frees_it(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    edit(ada, now, 0, source_weights={"a": 0.7})
    assert weight(ada, "a") == 0.7
    assert weights_on_hold(reader_id=ada.id, now=now + 13 * DAY) == {"a"}
    assert weights_on_hold(reader_id=ada.id, now=now + 14 * DAY) == set()
    edit(ada, now, 1, source_weights={"a": None})
    assert weight(ada, "a") == 1.0
    assert weights_on_hold(reader_id=ada.id, now=now) == set()


def test_an_edit_touches_what_it_names_and_nothing_else(ada, now):
    weights_learn(changes={ada.id: [step("z", 1.0, 1.15)]}, now=now)
    first = {"topics": ["Rust"], "keyword_boosts": {"gossip": -1.0}, "source_weights": {"a": 1.4, "b": 0.5}}
    edit(ada, now, 0, **first, recency_half_life_hours=48.0, ai_score_alpha=0.3, pins={"a": "locked"})
    edit(ada, now, 1, keyword_boosts={"hype": 1.0}, source_weights={"b": 0.6}, pins={"rust": "avoided"})
    edit(ada, now, 2, ai_score_alpha=0.0, pins={"a": "open"})
    body = ConfigVersion.objects.get(reader=ada, version=3).body
    assert body == {
        "topics": ["Rust"],
        "keyword_boosts": {"hype": 1.0},
        "source_weights": {"a": 1.4, "b": 0.6},
        "recency_half_life_hours": 48.0,
        "recency_by_day": True,
        "ai_score_alpha": 0.0,
        "locked": [],
        "avoided": ["rust"],
        "mutes": [],
        "literal": [],
        "by_meaning": [],
        "other_names": {},
        "taste": "off",
        "shelf_lives": {},
        "daily_limits": {},
        "never_missed": [],
        "learned": {"z": pytest.approx(0.15)},
    }
    assert weights_on_hold(reader_id=ada.id, now=now) == {"a", "b"}, "nobody decided on z"
    stored = RankConfig.objects.get(reader=ada)
    assert {name: getattr(stored, name) for name in body if name != "learned"} == {
        name: value for name, value in body.items() if name != "learned"
    }


# --- agreements -------------------------------------------------------------------------------------


def test_an_agreed_weight_is_exact_although_the_loop_had_added_to_it(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    assert weight(ada, "a") == pytest.approx(1.15)
    agree(ada, now, "a", 1.45)
    assert weight(ada, "a") == 1.45
    assert LearnedWeight.objects.get(reader=ada, source_key="a").delta == 0.0
    assert weights_on_hold(reader_id=ada.id, now=now) == {"a"}


def test_agreeing_to_what_the_loop_already_did_makes_it_the_readers_own(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    assert agree(ada, now, "a", 1.15) == 1
    assert state(ada)[1:] == ({"a": 1.15}, 24.0, {})


def test_agreeing_to_the_default_is_a_decision_too(ada, now):
    assert agree(ada, now, "a", 1.0) == 1
    assert state(ada)[1:] == ({"a": 1.0}, 24.0, {})
    assert weights_on_hold(reader_id=ada.id, now=now) == {"a"}
    assert agree(ada, now, "a", 1.0) == 1
    assert edit(ada, now, 1, source_weights={"a": None}) == 2
    assert weights_on_hold(reader_id=ada.id, now=now) == set()


@pytest.mark.parametrize(("asked", "stored"), [(5.0, 2.0), (0.0, 0.1)])
def test_an_agreed_weight_stays_in_bounds(ada, now, asked, stored):
    agree(ada, now, "a", asked)
    assert weight(ada, "a") == stored


def test_an_agreed_weight_must_be_a_number(ada, now):
    with pytest.raises(InvalidSetting):
        agree(ada, now, "a", float("nan"))


def test_a_topic_is_added_and_removed_in_any_spelling_and_only_once(ada, now):
    def topic(spelling: str, present: bool) -> int:
        return topic_set(reader_id=ada.id, topic=spelling, present=present, ref="1", now=now)

    assert topic("Electric cars", True) == 1
    assert topic("electric car", True) == 1  # already there
    assert config_effective(reader_id=ada.id).config.topics == ("Electric cars",)
    assert topic("ELECTRIC CAR", False) == 2
    assert topic("electric car", False) == 2  # already gone
    assert config_effective(reader_id=ada.id).config.topics == ()


def test_a_pin_is_one_of_two_or_none(ada, now):
    def pins(pin: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        target_pin(reader_id=ada.id, target="a", pin=pin, ref="", now=now)
        config = config_effective(reader_id=ada.id).config
        return config.locked, config.avoided

    assert pins("locked") == (("a",), ())
    assert pins("avoided") == ((), ("a",))
    assert pins("") == ((), ())


def test_what_a_source_had_comes_back_in_its_parts_by_the_key_it_has_now(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    edit(ada, now, 0, topics=["Rust"], source_weights={"b": 0.6})
    earlier = ConfigVersion.objects.get(reader=ada).body
    agree(ada, now, "a", 1.9)
    agree(ada, now, "b", 1.1)
    source_key_rename(old="b", new="c", now=now)

    def back(source: str) -> int:
        return weight_undo(reader_id=ada.id, source=source, earlier=earlier, ref="9", now=now)

    assert (back("a"), back("b")) == (5, 6)
    assert state(ada) == (("Rust",), {"c": 0.6}, 24.0, {"a": pytest.approx(0.15)})
    row = ConfigVersion.objects.get(reader=ada, version=6)
    assert (row.cause, row.cause_ref, row.created_at) == ("revert", "9", now)
    weight_undo(reader_id=ada.id, source="c", earlier={**earlier, "source_weights": {}}, ref="", now=now)
    assert weight(ada, "c") == 1.0


def test_every_agreement_says_why_and_when(ada, now):
    agree(ada, now, "a", 1.3)
    topic_set(reader_id=ada.id, topic="Rust", present=True, ref="8", now=now)
    target_pin(reader_id=ada.id, target="a", pin="locked", ref="9", now=now)
    rows = ConfigVersion.objects.order_by("version").values_list("cause", "cause_ref", "created_at")
    assert list(rows) == [("accept", "7", now), ("accept", "8", now), ("pin", "9", now)]


# --- versions ---------------------------------------------------------------------------------------


def test_versions_are_consecutive_over_every_kind_of_write(ada, ben, now):
    edit(ada, now, 0, topics=["Rust"])
    agree(ada, now, "a", 1.3)
    agree(ben, now, "a", 1.3)
    target_pin(reader_id=ada.id, target="a", pin="locked", ref="", now=now)
    config_revert(reader_id=ada.id, version=1, expected_version=3, now=now)
    rows = [(row.version, row.cause) for row in config_versions(reader_id=ada.id)]
    assert rows == [(4, "revert"), (3, "pin"), (2, "accept"), (1, "edit")]
    assert [row.version for row in config_versions(reader_id=ben.id)] == [1]


def test_a_revert_restores_exactly_what_ranked_learned_deltas_included(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    edit(ada, now, 0, topics=["Rust"], source_weights={"b": 0.6})
    wanted = state(ada)
    weights_learn(changes={ada.id: [step("a", 1.15, 1.3)]}, now=now + DAY)
    agree(ada, now, "a", 1.9)
    edit(ada, now, 2, topics=[], recency_half_life_hours=6.0, source_weights={"b": None})
    assert config_revert(reader_id=ada.id, version=1, expected_version=None, now=now) == 4
    assert state(ada) == wanted
    assert ConfigVersion.objects.get(reader=ada, version=4).cause_ref == "1"


def test_a_revert_to_nothing_gives_the_defaults_and_the_loop_leaves_the_sources_alone(ada, now):
    agree(ada, now, "a", 1.9)
    config_revert(reader_id=ada.id, version=0, expected_version=1, now=now)
    assert state(ada) == ((), {}, 24.0, {})
    assert weights_on_hold(reader_id=ada.id, now=now) == {"a"}


def test_a_revert_needs_a_version_of_ones_own_and_a_fresh_page(ada, ben, now):
    agree(ada, now, "a", 1.9)
    with pytest.raises(UnknownVersion):
        config_revert(reader_id=ben.id, version=1, expected_version=None, now=now)
    with pytest.raises(StaleVersion):
        config_revert(reader_id=ada.id, version=0, expected_version=0, now=now)


# --- the loop ---------------------------------------------------------------------------------------


def test_a_learning_cycle_stores_each_source_with_its_reason_and_moves_those_that_moved(ada, now):
    changes = [step("a", 1.0, 1.15), step("b", 1.0, 1.0)]
    assert weights_learn(changes={ada.id: changes}, now=now) == 1
    snapshots = WeightSnapshot.objects.filter(reader=ada).values_list(
        "source_key", "before", "after", "reason"
    )
    assert set(snapshots) == {
        ("a", 1.0, 1.15, "liked_more_than_usual"),
        ("b", 1.0, 1.0, "undecided"),
    }
    assert (weight(ada, "a"), weight(ada, "b")) == (pytest.approx(1.15), 1.0)


def test_the_loop_runs_once_a_day(ada, ben, now):
    changes = [step("a", 1.0, 1.15)]
    assert weights_learn(changes={ada.id: changes}, now=now) == 1
    assert weights_learn(changes={ada.id: changes}, now=now) == 0
    assert weights_learn(changes={ben.id: changes}, now=now) == 1
    again = [step("a", 1.15, 1.3)]
    assert weights_learn(changes={ada.id: again}, now=now + DAY) == 1
    assert weight(ada, "a") == pytest.approx(1.3)


def test_the_loop_makes_no_version_and_is_no_decision_of_the_reader(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    assert not config_exists(reader_id=ada.id)
    assert config_versions(reader_id=ada.id) == []
    assert RankConfig.objects.get(reader=ada).version == 0


def test_a_source_that_does_not_move_keeps_what_was_learned_before(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now)
    weights_learn(changes={ada.id: [step("a", 1.15, 1.15)]}, now=now + DAY)
    assert weight(ada, "a") == pytest.approx(1.15)


def test_a_decision_made_while_the_loop_was_thinking_wins(ada, now):
    thought_up = [step("a", 1.0, 1.15), step("b", 1.0, 0.85, "liked_less_than_usual")]
    agree(ada, now, "a", 0.7)
    assert weights_learn(changes={ada.id: thought_up}, now=now) == 1
    assert (weight(ada, "a"), weight(ada, "b")) == (0.7, pytest.approx(0.85))
    assert WeightSnapshot.objects.get(reader=ada, source_key="a").reason == "changed_meanwhile"


def test_a_source_confirmed_as_it_is_while_the_loop_was_thinking_stays(ada, now):
    weights_learn(changes={ada.id: [step("a", 1.0, 1.15)]}, now=now - DAY)
    current = weight(ada, "a")
    agree(ada, now, "a", current)
    assert weights_learn(changes={ada.id: [step("a", current, 1.3)]}, now=now) == 0
    assert weight(ada, "a") == current


def test_a_source_handed_back_while_the_loop_was_thinking_waits_for_the_next_cycle(ada, now):
    agree(ada, now - 20 * DAY, "a", 1.3)
    thought_up = [step("a", 1.3, 1.45)]
    edit(ada, now, 1, source_weights={"a": None})
    assert weights_learn(changes={ada.id: thought_up}, now=now) == 0
    assert weight(ada, "a") == 1.0


def test_learned_weights_respect_the_config_weight_below_them(ada, now):
    agree(ada, now - 20 * DAY, "a", 1.4)
    weights_learn(changes={ada.id: [step("a", 1.4, 1.55)]}, now=now)
    assert weight(ada, "a") == pytest.approx(1.55)
    assert LearnedWeight.objects.get(reader=ada, source_key="a").delta == pytest.approx(0.15)


def test_a_cycle_keeps_the_belief_behind_each_step_on_its_utc_day(ada, now):
    east = datetime(2026, 3, 19, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert weights_learn(changes={ada.id: [step("a", 1.0, 1.15), step("b", 1.0, 0.9)]}, now=east) == 2
    row = LearnedWeight.objects.get(reader=ada, source_key="a")
    assert (row.p_better, row.n, row.updated_at, row.on_hold_until) == (0.9, 12.0, east, None)
    snapshot = WeightSnapshot.objects.get(reader=ada, source_key="a")
    assert (snapshot.cycle, snapshot.p_better, snapshot.n) == (east.astimezone(UTC).date(), 0.9, 12.0)
    assert weights_learn(changes={ada.id: [step("a", 1.15, 1.0)]}, now=now.replace(day=19)) == 1
    row.refresh_from_db()
    assert (row.delta, row.updated_at) == (pytest.approx(0.0), now.replace(day=19))


def test_the_loop_goes_on_when_the_hold_is_over_and_not_a_moment_before(ada, now):
    agree(ada, now, "a", 1.3)
    thought_up = [step("a", 1.3, 1.45)]
    assert weights_learn(changes={ada.id: thought_up}, now=now + 13 * DAY) == 0
    assert weights_learn(changes={ada.id: thought_up}, now=now + 14 * DAY) == 1


# --- a source that gets another key -----------------------------------------------------------------------


def test_a_renamed_source_keeps_all_that_was_decided_and_learned_about_it(ada, ben, operator, now):
    weights_learn(changes={ada.id: [step("old", 1.0, 1.15)]}, now=now)
    agree(ada, now, "old", 1.3)
    target_pin(reader_id=ben.id, target="old", pin="avoided", ref="", now=now)
    target_pin(reader_id=operator.id, target="old", pin="locked", ref="", now=now)
    agree(other := ReaderFactory(), now, "b", 1.2)
    assert source_key_rename(old="old", new="new", now=now) == 3
    assert state(ada)[1:] == ({"new": 1.3}, 24.0, {})
    assert config_effective(reader_id=ben.id).config.avoided == ("new",)
    assert config_effective(reader_id=operator.id).config.locked == ("new",)
    assert weights_on_hold(reader_id=ada.id, now=now) == {"new"}
    assert list(WeightSnapshot.objects.values_list("source_key", flat=True)) == ["new"]
    row = ConfigVersion.objects.get(reader=ada, version=2)
    assert (row.cause, row.cause_ref, row.created_at) == ("edit", "source:old", now)
    assert ConfigVersion.objects.filter(reader=other).count() == 1
    alias = SourceAlias.objects.get()
    assert (alias.key, alias.target, alias.renamed_at) == ("old", "new", now)


def test_where_a_reader_has_something_of_both_sources_that_of_the_new_one_holds(ada, now):
    weights_learn(changes={ada.id: [step("old", 1.0, 1.15), step("new", 1.0, 0.9)]}, now=now)
    edit(ada, now, 0, source_weights={"old": 1.4}, pins={"old": "locked", "new": "locked"})
    source_key_rename(old="old", new="new", now=now)
    assert state(ada)[1] == {"new": 1.4}, "nobody had given the new one a weight"
    assert config_effective(reader_id=ada.id).config.locked == ("new",)
    assert [w.source_key for w in LearnedWeight.objects.all()] == ["new"]
    assert set(WeightSnapshot.objects.values_list("source_key", "after")) == {("old", 1.15), ("new", 0.9)}


def test_the_reference_of_a_renaming_is_cut_to_what_its_column_holds(ada, now):
    long = "x" * 100
    agree(ada, now, long, 1.3)
    source_key_rename(old=long, new="new", now=now)
    assert ConfigVersion.objects.get(version=2).cause_ref == f"source:{long}"[:64]
