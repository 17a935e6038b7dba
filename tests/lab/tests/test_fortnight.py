"""The fortnight's lab counts what the page itself asks."""

import pytest

from tests.lab.advisor.fortnight import OFFER, fortnight_run
from tests.lab.advisor.targets import controls_for

pytestmark = pytest.mark.django_db


def test_a_new_reader_is_offered_an_interview_and_asked_one_thing_at_a_time():
    [taught, put_off] = fortnight_run(11, [1, 3], lambda day: None, days=2)
    assert taught["asks"][OFFER] >= 1 and put_off["asks"][OFFER] == 2
    assert max(one["most_at_a_time"] for one in (taught, put_off)) == 1
    assert max(one["most_a_day"] for one in (taught, put_off)) <= 2


def test_more_than_two_asks_a_day_miss_a_target():
    row = {"name": "fortnight", "most_a_day": 3, "most_at_a_time": 1}
    held = [target.held([row]) for target in controls_for([row])]
    assert [one["met"] for one in held if one] == [True, False]
