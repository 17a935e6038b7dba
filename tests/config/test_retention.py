"""Retention: the values of `KEEP_DAYS`."""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.models import JSONField, UniqueConstraint

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


# What a row of the table counts: one for each of these.
ONE_EACH = {
    "reader": [
        *("RankConfig", "TasteProfile", "ImplicitPreference"),
        *("NotificationSettings", "PreferenceProfile", "EarlyForecast"),
    ],
    "reader source_key": ["LearnedWeight"],
    "reader source_key cycle": ["WeightSnapshot"],
    "reader article": ["Feedback", "Reading"],
    "feedback tag": ["FeedbackTag"],
    "reader date": ["Digest", "Delivery"],
    "digest item": ["Impression"],
    "reader date item door rank": ["Exposure"],
    "reader feed": ["Subscription"],
    "feed guid": ["Item", "PrunedEntry"],
    "item": ["ItemBody", "FullText", "ItemVector"],
    "source": ["Favicon"],
    "fingerprint model": ["Summary", "SuggestedReasons"],
    "key": ["TopicMeaning"],
    "reader day": ["Run"],
    "run n": ["Step"],
    "digest": ["UsedLink"],
}


def bounds(head: str = "rows") -> list[tuple[str, str, str]]:
    """Return (rows, bound, tests) of each row of the table of rows, or of columns."""
    text = Path("docs/operations.md").read_text().partition("### What one reader can store")[2]
    table = text[text.index(f"| {head} |") :].partition("\n\n")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [
        (rows, bound, tests) for _, rows, bound, tests, _ in (re.split(r" ?\| ?", line) for line in lines)
    ]


def test_every_row_is_in_the_table_of_what_one_reader_can_store():
    """A new table needs a bound before somebody fills it."""
    named = {name for rows, _, _ in bounds() for name in re.findall(r"`(\w+)`", rows)}
    ours = {"admin", "auth", "sessions", "account", "mfa", "socialaccount", "usersessions"}
    ours |= {"tidings", "digest", "ranking", "suggestions", "advisor", "allauth_idp_oidc"}
    models = {model.__name__ for model in apps.get_models() if model._meta.app_label in ours}
    assert models == named, models ^ named


def test_every_column_whose_values_have_a_shape_of_their_own_is_in_the_table_of_what_a_row_can_hold():
    """Such a column takes whatever is put into it: a list that a reader lengthens needs a bound, too."""
    named = {name for columns, _, _ in bounds("columns") for name in re.findall(r"`(\w+\.\w+)`", columns)}
    ours = ("tidings", "digest", "ranking", "suggestions", "advisor", "mfa", "allauth_idp_oidc")
    columns = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        if model._meta.app_label in ours
        for field in model._meta.fields
        if isinstance(field, JSONField)
    }
    assert columns == named, columns ^ named


def test_every_bound_names_a_test_of_it():
    found = [*bounds(), *bounds("columns")]
    assert len(found) > 30
    for rows, bound, tests in found:
        named = re.findall(r"`([\w/]+\.py)::(?:Test\w+::)?(test_\w+)`", tests)
        assert bound and named, rows
        for file, name in named:
            assert re.search(rf"^(    )?def {name}\(", (Path("tests") / file).read_text(), re.MULTILINE), name


def test_what_is_stored_once_for_each_is_so_by_a_constraint():
    models = {model.__name__: model for model in apps.get_models()}
    for columns, names in ONE_EACH.items():
        for name in names:
            meta = models[name]._meta
            unique = [{field.name} for field in meta.fields if field.unique]
            unique += [set(one.fields) for one in meta.constraints if isinstance(one, UniqueConstraint)]
            assert set(columns.split()) in unique, (name, columns)
