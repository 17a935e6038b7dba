"""With two writers at once versions stay consecutive, nothing is lost, and the loop runs once."""

import pytest

from ranking.entities import WeightChange
from ranking.models import ConfigVersion, WeightSnapshot
from ranking.selectors import config_effective
from ranking.services import weights_learn
from tests.support.accepts import source_weight_set
from tests.support.concurrency import WRITERS, at_once, database_on_disk, seen_by_writers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def shared(ada, tmp_path):
    with database_on_disk(tmp_path / "shared.sqlite3"):
        yield


def test_concurrent_writes_make_consecutive_versions_and_lose_nothing(ada, now):
    versions = at_once(
        lambda n: source_weight_set(reader_id=ada.id, source=f"s{n}", weight=1.2, ref="", now=now)
    )
    assert sorted(versions) == list(range(1, WRITERS + 1))
    assert seen_by_writers(lambda: ConfigVersion.objects.filter(reader=ada).count()) == WRITERS
    weights = seen_by_writers(lambda: config_effective(reader_id=ada.id).config.source_weights)
    assert weights == {f"s{n}": 1.2 for n in range(WRITERS)}


def test_concurrent_learning_cycles_step_once(ada, now):
    change = WeightChange("a", 1.0, 1.15, 0.9, 12.0, "liked_more_than_usual")
    moved = at_once(lambda n: weights_learn(changes={ada.id: [change]}, now=now))
    assert sorted(moved) == [0] * (WRITERS - 1) + [1]
    assert seen_by_writers(lambda: WeightSnapshot.objects.filter(reader=ada).count()) == 1
