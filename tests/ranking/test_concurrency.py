"""Two writers at once: versions stay consecutive, nothing is lost, the loop runs once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from ranking.entities import WeightChange
from ranking.models import ConfigVersion, WeightSnapshot
from ranking.selectors import config_effective
from ranking.services import source_weight_agree, weights_learn

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 6


@pytest.fixture(autouse=True)
def real_locks(db: None) -> None:
    """SQLite in memory answers a second writer with an error instead of letting it wait."""
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        pytest.skip("needs a database with real locks: runs in `make test-services`")


def at_once(write: Callable[[int], int]) -> list[int]:
    """The results of `write(0)` to `write(5)`, each on a connection of its own."""

    def on_own_connection(number: int) -> int:
        try:
            return write(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(on_own_connection, range(WRITERS)))


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
