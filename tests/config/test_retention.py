"""Retention: the values of `KEEP_DAYS`."""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

from config.retention import DEFAULT_DAYS, MINIMUM_DAYS, retention_days, retention_problems


def test_values_override_the_defaults_and_the_defaults_are_valid():
    assert retention_days({"items": "400"}) == {**DEFAULT_DAYS, "items": 400}
    assert retention_problems(retention_days({})) == [] and DEFAULT_DAYS.keys() == MINIMUM_DAYS.keys()
    assert retention_problems(retention_days(dict.fromkeys(DEFAULT_DAYS, "0"))) == []


def test_an_invalid_value_is_refused_in_a_sentence_that_names_it():
    with pytest.raises(ImproperlyConfigured, match="KIND=DAYS"):
        retention_days({"items": "a year"})
    problems = retention_problems(retention_days({"item": "400", "guidance": "89", "mail": "-1"}))
    assert problems[0].startswith("KEEP_DAYS knows no item:")
    assert "mail=-1 must be at least 15" in problems[1] and "guidance=89 must be at least 90" in problems[2]


def test_every_row_is_in_the_table_of_what_one_reader_can_store():
    """A new table needs a bound before somebody fills it."""
    text = Path("docs/operations.md").read_text().partition("### What one reader can store")[2]
    named = set(re.findall(r"`(\w+)`", text))
    ours = {"admin", "auth", "sessions", "account", "mfa", "socialaccount", "usersessions"}
    ours |= {"config", "digest", "ranking", "suggestions", "advisor"}
    models = {model.__name__ for model in apps.get_models() if model._meta.app_label in ours}
    assert models <= named, models - named
