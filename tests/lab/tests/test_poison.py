"""The quick form of `python -m tests.lab faults poison`: each loop once, its hostile row in one place."""

import pytest

from tests.lab.bench.publisher import publishers
from tests.lab.faults.poison import LOOPS, PLACES, poisoned, settings_of


@pytest.fixture(scope="module")
def port():
    with publishers() as port:
        yield port


@pytest.mark.django_db
@pytest.mark.parametrize(("n", "loop"), [*enumerate(LOOPS)])
def test_the_others_are_served_and_the_operator_sees_it(own_cache: None, port: int, n: int, loop: str):
    with settings_of(port):
        assert poisoned(LOOPS[loop], n % 3, port) == (True, True), PLACES[n % 3]
