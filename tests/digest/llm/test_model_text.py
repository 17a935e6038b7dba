"""Reading text that a model wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.llm.entities import json_object, json_object_find, preview

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "Expecting value"),
        ("{a: 1}", "Expecting property name"),
        ("[1]", "JSON list"),
        ("null", "JSON NoneType"),
        ('{"a": NaN}', "not JSON compliant"),
        ('{"a": 1e999}', "not JSON compliant"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"a": "\\ud800"}', "lone surrogate"),
        ('{"a": ' + "[" * 50_000, "nested too deeply"),
        ('{"a": "' + "x" * 60_000 + '"}', "longer than 60000"),
    ],
)
def test_what_is_no_storable_object_is_refused_with_the_reason(text, wrong):
    with pytest.raises(ValueError, match=wrong):
        json_object(text)


@given(JSON)
def test_an_object_that_is_read_can_be_stored_anywhere(value):
    try:
        read = json_object(json.dumps({"a": value}))
    except ValueError:
        return
    stored = json.dumps(read, ensure_ascii=False, allow_nan=False)
    assert "\x00" not in stored and stored.encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        '{"suggestions": []}',
        '```json\n{"suggestions": []}\n```',
        'Here it is:\n```\n{"suggestions": []}\n```\nBye.',
        'Done. {"suggestions": []} I hope it helps.',
    ],
)
def test_a_summary_is_found_bare_fenced_or_between_words(text):
    assert json_object_find(text) == {"suggestions": []}


@pytest.mark.parametrize("text", ["", "All done!", "[]", "}{", "```json\n{\n```", "{" * 5000])
def test_without_a_summary_there_is_none(text):
    assert json_object_find(text) is None


@given(st.text(alphabet=st.characters(), max_size=3000))
def test_a_preview_is_short_and_fits_every_database(text):
    shown = preview(text)
    assert len(shown) <= 2000 and "\x00" not in shown and shown.encode("utf-8") is not None
