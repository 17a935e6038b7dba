"""Two writers at once: versions stay consecutive, nothing is lost, the loop runs once."""

import pytest

from ranking.entities import WeightChange
from ranking.models import ConfigVersion, WeightSnapshot
from ranking.selectors import config_effective
from ranking.services import source_weight_agree, weights_learn
from tests.at_once import WRITERS, at_once, need_real_locks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def real_locks(db: None) -> None:
    need_real_locks()


def test_concurrent_writes_make_consecutive_versions_and_lose_nothing(ada, now):
    versions = at_once(
        lambda n: source_weight_agree(reader_id=ada.id, source=f"s{n}", weight=1.2, ref="", now=now)
    )
    assert sorted(versions) == list(range(1, WRITERS + 1))
    assert ConfigVersion.objects.filter(reader=ada).count() == WRITERS
    weights = config_effective(reader_id=ada.id).config.source_weights
    assert weights == {f"s{n}": 1.2 for n in range(WRITERS)}


def test_concurrent_learning_cycles_step_once(ada, now):
    change = WeightChange("a", 1.0, 1.15, 0.9, 12.0, "liked_more_than_usual")
    moved = at_once(lambda n: weights_learn(reader_id=ada.id, changes=[change], now=now))
    assert sorted(moved) == [0] * (WRITERS - 1) + [1]
    assert WeightSnapshot.objects.filter(reader=ada).count() == 1
