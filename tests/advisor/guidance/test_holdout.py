"""One emission in ten is left out to measure by: always the same ones, and never an operator's rule."""

from uuid import UUID

import pytest

from advisor.guidance.engine import is_in_holdout
from advisor.guidance.wording import Kind
from tests.advisor.guidance.memories import scored

RUN, OTHER = UUID(int=1), UUID(int=2)


def drawn(run: UUID = RUN, share: float = 0.5, **changed: object) -> list[bool]:
    return [is_in_holdout(run_id=run, n=n, emitted=[scored(1, **changed)], share=share) for n in range(1000)]


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_about_the_share_is_left_out_and_all_or_none_at_the_ends(share: float) -> None:
    found = sum(drawn(share=share)) / 1000
    assert found == share if share in (0.0, 1.0) else abs(found - share) < 0.04
    assert not is_in_holdout(run_id=RUN, n=1, emitted=(), share=1.0)


def test_the_draw_is_the_same_again_and_differs_by_run_and_call() -> None:
    assert drawn() == drawn() != drawn(OTHER)
    assert 0 < sum(drawn()) < 1000


def test_an_operators_rule_is_no_experiment() -> None:
    assert not any(drawn(share=1.0, kind=Kind.RULE))
