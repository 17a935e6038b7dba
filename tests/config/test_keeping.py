"""How long rows are kept: what may be said in `KEEP_DAYS`."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.keeping import DEFAULTS, LEAST, keep_days, keep_problems


def test_what_is_given_stands_before_the_defaults_and_defaults_are_in_order():
    assert keep_days({"items": "400"}) == {**DEFAULTS, "items": 400}
    assert keep_problems(keep_days({})) == [] and DEFAULTS.keys() == LEAST.keys()
    assert keep_problems(keep_days(dict.fromkeys(DEFAULTS, "0"))) == []


def test_what_cannot_be_is_refused_in_a_sentence_that_names_it():
    with pytest.raises(ImproperlyConfigured, match="KIND=DAYS"):
        keep_days({"items": "a year"})
    problems = keep_problems(keep_days({"item": "400", "guidance": "89", "mail": "-1"}))
    assert problems[0].startswith("KEEP_DAYS knows no item:")
    assert "mail=-1 must be at least 15" in problems[1] and "guidance=89 must be at least 90" in problems[2]
