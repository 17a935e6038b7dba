"""A stage is missing only where it should have run: the gate is for calls with something left to weigh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.entities import Why
from advisor.guidance.stages import STAGES, due, passed, stages_missing

SEARCHED = ("facts", "packet", "retrieve", "rank")


def call(*ran, why="too_weak", packet="", weighed=False):
    return passed(dict.fromkeys(ran, 1.0), why, packet, [{"id": 1}] if weighed else [])


def test_a_gate_with_nothing_to_weigh_is_not_missing():
    quiet = [call(*SEARCHED, why="below_floor")] * 9
    assert stages_missing([*quiet, call(*STAGES, weighed=True)]) == ()


def test_a_gate_that_was_left_out_is_missing_however_many_calls_need_none():
    quiet = [call(*SEARCHED, why="below_floor")] * 99
    assert stages_missing([*quiet, call(*SEARCHED, weighed=True)]) == ("gate",)


def test_what_a_packet_held_is_not_looked_for():
    assert stages_missing([call("facts", "packet", "gate", packet="exact", weighed=True)]) == ()
    assert stages_missing([call("facts", "packet", "gate", weighed=True)]) == ("retrieve", "rank")


@pytest.mark.parametrize("why", ["blocked", "cooldown", "held", "nothing_known", "failed", "acknowledged"])
def test_a_call_that_ended_early_asks_for_its_facts_alone(why):
    assert stages_missing([call("facts", why=why)]) == ()
    assert stages_missing([call(why=why)]) == ("facts",)


def test_half_of_the_calls_is_enough_and_no_call_misses_nothing():
    assert stages_missing([call(*SEARCHED), call("facts", "packet")]) == ()
    assert stages_missing([call(*SEARCHED), *[call("facts", "packet")] * 2]) == ("retrieve", "rank")
    assert stages_missing([]) == ()


@given(st.sampled_from(list(Why)), st.sampled_from(["", "exact"]), st.booleans())
def test_a_call_that_ran_what_was_due_misses_nothing(why, packet, weighed):
    ran = due(call(why=why, packet=packet, weighed=weighed))
    assert stages_missing([call(*ran, why=why, packet=packet, weighed=weighed)]) == ()
