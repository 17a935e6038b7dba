"""The API's page describes all operations to everybody, and obeys the site's content security policy."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from config.api.routes import api
from config.api.schema import (
    ERROR_CODES,
    Operation,
    limits_describe,
    operations_by_tag,
    payload_describe,
    type_describe,
)
from config.templatetags.api_text import breakable, code_spans
from digest.models import Reader

DOCS = Path(__file__).resolve().parents[3] / "docs" / "api.md"
SCHEMA = api.get_openapi_schema()
OPERATIONS = {row.id: row for rows in operations_by_tag(SCHEMA).values() for row in rows}


def operation(method: str, path: str) -> Operation:
    """Return the only operation with this method and path."""
    [found] = [row for row in OPERATIONS.values() if (row.method, row.path) == (method, path)]
    return found


def names(row: Operation) -> set[str]:
    """Return an operation's error codes."""
    return {code.code for code in row.codes}


def test_every_operation_of_the_description_is_on_the_page_once(client: Client, db):
    body = client.get("/api/docs").content.decode()
    asked = {(path, method.upper()) for path, methods in SCHEMA["paths"].items() for method in methods}
    assert {(row.path, row.method) for row in OPERATIONS.values()} == asked
    for row in OPERATIONS.values():
        assert body.count(f'<h3 id="{row.id}">') == 1
        assert f'href="#{row.id}"' in body


def test_whoever_may_read_the_description_may_read_the_page(client: Client, ada: Reader):
    assert reverse("api_docs") == "/api/docs"
    for _ in range(2):
        assert client.get("/api/docs").status_code == 200
        assert json.loads(client.get("/api/openapi.json").content)["paths"]
        client.force_login(ada)
    assert client.post("/api/docs").status_code == 405


def test_nothing_on_the_page_needs_a_script_or_a_style_of_its_own(client: Client, db):
    body = client.get("/api/docs").content.decode()
    assert not re.search(r'<style|\sstyle=|\son\w+=|<script(?![^>]* (?:src=|type="application/json"))', body)
    assert "//cdn" not in body


def test_a_body_is_told_to_its_last_field():
    body = operation("POST", "/api/items/{item_id}/feedback").body
    assert body is not None
    assert [(field.name, field.kind, field.limits, field.required) for field in body.fields] == [
        ("useful", "true or false", "", True),
        ("reason_tags", "list (text) or null", "at most 20 entries", False),
        ("words", "list (text) or null", "at most 3 entries", False),
    ]


def test_what_stands_within_a_list_is_told_with_its_place():
    [answer] = operation("GET", "/api/digests/{date}").responses
    told = {field.name: field.kind for field in answer.payload.fields}
    assert told["entries"] == "list (object)"
    assert told["entries[].also[].title"] == "text"


def test_an_object_within_itself_is_told_once():
    shapes = {"Tree": {"properties": {"leaf": {"type": "string"}, "twigs": {"items": {"$ref": REF}}}}}
    told = payload_describe({"$ref": REF}, shapes)
    assert [field.name for field in told.fields] == ["leaf", "twigs"]


REF = "#/components/schemas/Tree"


def test_a_value_is_told_in_words():
    at = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}
    assert type_describe(at, {}) == "date and time or null"
    order = {"type": "string", "enum": ["best", "newest"], "default": "best"}
    assert limits_describe(order) == "one of `best`, `newest`, `best` if left out"
    assert limits_describe({"minimum": 1, "maximum": 50, "default": 1}) == "from 1, up to 50, `1` if left out"
    assert limits_describe({"maxLength": 200, "default": ""}) == "at most 200 characters"


def test_an_operation_names_the_scope_that_its_token_needs():
    assert operation("GET", "/api/search").scope == "read"
    assert operation("POST", "/api/items/{item_id}/saved").scope == "rate"
    assert operation("POST", "/api/suggestions/accept-all").scope == "full"
    assert operation("GET", "/api/costs").scope == "full"


def test_only_what_changes_something_takes_a_key():
    for row in OPERATIONS.values():
        assert row.unsafe is ("idempotency_key_reused" in names(row)) is (row.method != "GET")


def test_an_operation_names_what_it_refuses_of_its_own():
    assert names(operation("GET", "/api/digests/{date}")) == {
        "invalid_request",
        "digest_missing",
        "future_date",
    }
    assert {"config_changed", "invalid_weight"} < names(operation("POST", ACCEPT))
    assert "invalid_request" not in names(operation("DELETE", "/api/items/{item_id}/feedback"))


ACCEPT = "/api/suggestions/{suggestion_id}/accept"


def test_every_code_is_met_somewhere_and_means_what_the_documents_say():
    written = dict(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (\d+) \|", DOCS.read_text(), re.MULTILINE))
    statuses = {name: int(status) for row, status in written.items() for name in re.findall(r"\w+", row)}
    for code in ERROR_CODES:
        assert statuses[code.code] == code.status
        if not isinstance(code.operations, str):
            assert code.operations and {*code.operations} <= {*OPERATIONS}


# The rows of the docs whose answer is one object: method, path and fields.
ROW = re.compile(r"^\| `(\w+) (/api[^?` ]*)[^`]*` \| .*?\| `(\{[^`]*\})`[^|]* \|$", re.MULTILINE)
ROWS = ROW.findall(DOCS.read_text().replace("\\|", "/"))


def fields_told(answer: str) -> set[str]:
    """Return the names of an object's own fields, as the docs write it."""
    depth, found = 0, set()
    for sign in re.finditer(r'[{\[\]}]|"(\w+)"', answer):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(sign[0], 0)
        found |= {sign[1]} if depth == 1 and sign[1] else set()
    return found


@pytest.mark.parametrize(("method", "path", "answer"), ROWS, ids=[" ".join(row[:2]) for row in ROWS])
def test_the_documents_name_every_field_of_an_answer(method, path, answer):
    [row] = [one for one in OPERATIONS.values() if (one.method, without_names(one.path)) == (method, path)]
    fields = [{field.name for field in one.payload.fields} for one in row.responses if one.payload]
    own = [{name for name in names if not re.search(r"[.\[]", name)} for names in fields]
    assert fields_told(answer) in own


def without_names(path: str) -> str:
    """Return a path as the docs write it: `{item_id}` is `{id}` there."""
    return re.sub(r"\{\w+_id\}", "{id}", path)


def test_most_answers_of_the_documents_are_compared():
    assert len(ROWS) >= 25 and ("GET", "/api/items/{id}") in {row[:2] for row in ROWS}


def test_words_are_escaped_before_they_become_code():
    assert code_spans("`null` <b>") == "<code>null</code> &lt;b&gt;"
    assert breakable("/a/<b>.c") == "/<wbr>a/<wbr>&lt;b&gt;.<wbr>c"
