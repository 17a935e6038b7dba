"""Tables and columns of the admin have names in plain words."""

import re
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.test import RequestFactory

import config.urls  # noqa: F401 - registers everything and names it
from config.admin_names import APPS, COLUMNS, TABLES, admin_models
from digest.models import Reader

MODELS = list(admin_models(admin.site))
IDS = [model._meta.label_lower for model in MODELS]
# Words of the code, which say nothing to somebody who did not write it.
JARGON = {"id", "pk", "n", "p", "ms", "usd", "url", "uid", "guid", "ref", "meta", "sig", "ai", "urn", "json"}
PLAIN = re.compile(r"[A-Za-z][a-z’]*(?:[ -][A-Za-z’]+)*")


def in_words(label: str) -> bool:
    """Return whether a label is words and none of the code's."""
    return bool(PLAIN.fullmatch(label)) and not JARGON & set(re.split(r"[ -]", label.lower()))


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_one_row_and_several_rows_of_every_table_have_a_name(model):
    options = model._meta
    assert (options.verbose_name, options.verbose_name_plural) == TABLES[options.label_lower]
    assert in_words(options.verbose_name) and in_words(options.verbose_name_plural)
    assert options.app_config.verbose_name == APPS[options.app_label]


def has_column(model, name: str) -> bool:
    """Return whether a field of a form is a column of the table."""
    return name in {field.name for field in model._meta.get_fields()}


def shown(model, reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the columns of a model's list and the fields of its pages, with their labels."""
    request = RequestFactory().get("/admin/")
    request.user = reader
    page = admin.site._registry.get(model)
    if page is None:  # within the page of another
        for field in model._meta.concrete_fields:
            yield field.name, str(field.verbose_name)
    else:
        fields = [*page.get_list_display(request), *flatten_fieldsets(page.get_fieldsets(request, model()))]
        own = getattr(page.form, "base_fields", {})
        for name in fields:
            if name not in ("action_checkbox", "__str__"):
                label = own[name].label or name if name in own and not has_column(model, name) else ""
                yield str(name), str(label or label_for_field(name, model, page))


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_every_column_and_field_is_in_words(model, operator):
    labels = {name: label for name, label in shown(model, operator)}
    wrong = {name: label for name, label in labels.items() if not in_words(label)}
    assert not wrong
    assert labels


def test_every_name_is_of_a_table_or_column_that_exists():
    names = {field.name for model in MODELS for field in model._meta.get_fields()}
    exact = {
        f"{model._meta.model_name}.{field.name}" for model in MODELS for field in model._meta.get_fields()
    }
    optional = {"socialaccount.socialaccount"}  # only with OIDC_ISSUER
    assert {*TABLES} - optional == {*IDS} - optional
    assert {*COLUMNS} <= names | exact


def test_the_first_page_speaks_of_readers_and_assistants(client, operator):
    client.force_login(operator)
    body = client.get("/admin/").content.decode()
    for words in ("Readers", "Assistants", "Second factors", "Mails with digests"):
        assert f">{words}</a>" in body
    assert "Users" not in body and "Oauth" not in body and "OAuth" not in body


def test_a_raw_name_would_be_noticed():
    assert not any(map(in_words, ("p_helpful", "P helpful", "Run id", "Cost USD", "createdAt")))
    assert all(map(in_words, ("Probability that it helps", "e-mail addresses", "The reader’s words")))
