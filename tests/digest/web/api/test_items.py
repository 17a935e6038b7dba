"""Moments that clients send: each field of the API that takes one is found, and refuses what is none."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from config.api.routes import api
from digest.models import Reader

# Without a zone, and outside of the years of UTC.
NO_MOMENTS = ("2026-03-18T07:00:00", "2026-03-18", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")


def moments_sent() -> Iterator[tuple[str, str, str]]:
    """Yield method, address and name of each moment in the body of an operation."""
    description: dict[str, Any] = api.get_openapi_schema()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
            for field, schema in (
                description["components"]["schemas"].get(name, {}).get("properties", {}).items()
            ):
                shapes = schema.get("anyOf", [schema])
                if any(shape.get("format") == "date-time" for shape in shapes):
                    yield method, path, field


MOMENTS = sorted(moments_sent())


def test_the_moments_of_lists_are_found():
    assert {(path, field) for _, path, field in MOMENTS} >= {
        ("/api/items/read", "seen"),
        ("/api/items/unread", "at"),
    }


@pytest.mark.parametrize("moment", NO_MOMENTS)
@pytest.mark.parametrize(("method", "path", "field"), MOMENTS)
def test_a_moment_without_a_zone_or_beyond_the_calendar_is_refused(
    ada: Reader, method: str, path: str, field: str, moment: str
):
    """They ended in an error: one cannot be compared with ours, the other has no day in UTC."""
    client = Client(raise_request_exception=False)
    client.force_login(ada)
    body = {"list": {}, field: moment}
    assert getattr(client, method)(path, body, content_type="application/json").status_code == 422
