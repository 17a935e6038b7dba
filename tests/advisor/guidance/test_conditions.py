"""A condition may be typed in any shape: it is stored, or an error at its field, and stays as typed."""

import json
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from advisor.guidance.admission import predicate_holds
from advisor.guidance.health import guidance_checks
from advisor.models import Memory
from tests.advisor.guidance.writing import TYPED, add

pytestmark = pytest.mark.django_db
NESTED = '{"not":' * 5 + TYPED["when"] + "}" * 5


@pytest.fixture
def site(operator, client):
    client.force_login(operator)
    return client


@pytest.mark.parametrize("button", [{}, {"_preview": "1"}])
@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("[1]", "a condition is an object"),
        ('"abc"', "a condition is an object"),
        ("5", "a condition is an object"),
        ("true", "a condition is an object"),
        ("false", "a condition is an object"),
        ("0", "a condition is an object"),
        ('[["fact","tool"],["op","eq"],["value","x"]]', "a condition is an object"),
        ("9" * 5000, "cannot be read or stored"),
        ('{"fact":"thumbs","op":"lt","value":' + "9" * 5000 + "}", "cannot be read or stored"),
        ('{"not":' * 2000, "cannot be read or stored"),
        ('{"not":' * 1400, ""),
        ("[" * 100_000, "cannot be read or stored"),
        ("[" * 9_999, ""),
        ("[" * 4_000 + "]" * 4_000, ""),
        ('{"fact":"target","op":"eq","value":"\\ud800"}', "cannot be read or stored"),
        ('{"fact":"target","op":"eq","value":"a\\u0000b"}', "cannot be read or stored"),
        ('{"fact":"target","op":"in","value":["a", "\\u0000"]}', "cannot be read or stored"),
        ('{"not":' + NESTED + "}", "In the condition, `not`, `not`, `not`, `not`, `not`, `not`: more than 6"),
    ],
)
def test_a_condition_of_any_shape_is_refused_at_its_field_and_stays_as_typed(site, button, when, words):
    answer = add(site, when=when, title="My own title", **button)
    assert answer.status_code == 200 and not Memory.objects.exists()
    (said, *_) = answer.context["adminform"].form.errors["when"]
    body = unescape(answer.content.decode())
    assert words in said and words in body and when in body


@pytest.mark.parametrize("value", ["a\\\\u0000b", "\\ud83d\\ude00", "ünï"])
def test_text_that_only_looks_unstorable_is_stored(site, value):
    add(site, when='{"fact": "target", "op": "ne", "value": "VALUE"}'.replace("VALUE", value))
    assert Memory.objects.get().data["written"]["value"] == json.loads(f'"{value}"')


def test_six_conditions_deep_hold_with_a_tool_and_a_type_around_them(site):
    assert add(site, when=NESTED).status_code == 302
    stored = Memory.objects.get().data["when"]
    known = {"tool": "write_suggestion", "suggestion_type": "reduce_source", "thumbs_on_target": 50}
    rules = next(check for check in guidance_checks(now=timezone.now()) if check.code == "rules")
    assert predicate_holds(stored, known) and not rules.state


def test_an_empty_condition_is_shown_empty(site):
    form = site.get(reverse("admin:advisor_guidancerule_add")).context["adminform"].form
    assert form["when"].value() == ""
