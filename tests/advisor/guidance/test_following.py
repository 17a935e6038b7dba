"""Whether a run did as it was told, and which emissions are left out: by chance, and always the same ones."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from advisor.guidance.entities import Kind, Level, Phase, Remembered, Scored, Situation
from advisor.guidance.following import awaiting_of, done_anyway, followed_by, held_out, never_written

READER = uuid4()
RUN = UUID(int=7)


def told(polarity=-1, kind=Kind.PATTERN, memory_id=1, **about):
    memory = Remembered(
        memory_id, kind, "t", "t", datetime(2026, 1, 1, tzinfo=UTC), polarity=polarity, **about
    )
    return (Scored(memory, 0.8, 0.8, 0.8, 0.8, Level.NOTE),)


def write(kind="reduce_source", target="loud.example", value="0.7", step=-0.3):
    arguments = {"suggested_value": value}
    return Situation(READER, "write_suggestion", Phase.WRITE, kind, target, step, arguments=arguments)


HELD = awaiting_of(1, write(), told(), writes=True)
LOOKED = awaiting_of(1, write(), told(), writes=False)
PRAISED = awaiting_of(1, write(), told(polarity=1), writes=False)
OF_TYPE = awaiting_of(1, write(), told(suggestion_type="reduce_source"), writes=False)


@pytest.mark.parametrize(
    ("advice", "next_write", "followed"),
    [
        (HELD, write(), False),
        (HELD, write(target="calm.example"), True),
        (HELD, write(kind="boost_source"), True),
        (HELD, write(value="0.9", step=-0.1), True),
        (HELD, write(value="0.6", step=-0.4), False),
        (LOOKED, write(value="0.9", step=-0.1), False),
        (LOOKED, write(target="calm.example"), True),
        (PRAISED, write(), True),
        (PRAISED, write(target="calm.example"), False),
        (OF_TYPE, write(target="calm.example"), False),
        (OF_TYPE, write(kind="add_topic", target="rust"), True),
    ],
)
def test_the_next_write_tells(advice, next_write, followed):
    assert followed_by(advice, next_write) is followed


def test_a_run_without_another_write_followed_cautions_and_no_advice():
    assert never_written(HELD) and not never_written(PRAISED)
    assert done_anyway(PRAISED) and not done_anyway(HELD)


def test_what_points_no_way_or_at_nothing_cannot_be_followed():
    nowhere = Situation(READER, "query_user_config", Phase.EXPLORE)
    assert awaiting_of(1, write(), told(polarity=0), writes=True) is None
    assert awaiting_of(1, nowhere, told(), writes=False) is None
    assert awaiting_of(1, write(), (), writes=True) is None


def drawn(share, runs=2000, **more):
    return sum(held_out(run_id=UUID(int=n), n=3, told=told(**more), share=share) for n in range(runs))


def test_a_tenth_is_left_out_all_or_none_and_nothing_without_advice():
    assert 150 < drawn(0.10) < 250
    assert (drawn(0.0), drawn(1.0)) == (0, 2000)
    assert not held_out(run_id=RUN, n=1, told=(), share=1.0)


def test_the_draw_is_the_same_again_and_differs_by_run_call_and_memory():
    cases = [(RUN, n, m) for n in range(30) for m in range(30)]
    first, second = (
        [held_out(run_id=run, n=n, told=told(memory_id=m), share=0.5) for run, n, m in cases]
        for _ in range(2)
    )
    assert first == second and 300 < sum(first) < 600
    other = [held_out(run_id=UUID(int=8), n=n, told=told(memory_id=m), share=0.5) for _, n, m in cases]
    assert first != other


def test_an_operators_rule_is_no_experiment():
    assert drawn(1.0, kind=Kind.RULE) == 0
    both = (*told(), replace(told(kind=Kind.RULE)[0], score=0.1))
    assert not held_out(run_id=RUN, n=1, told=both, share=1.0)
