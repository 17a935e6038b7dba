"""An operator who opens a list of the admin: first page, second page, every filter, a search."""

import time
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.lab.load.setting import Json

HOST = {"host": "127.0.0.1"}
SQL_CHARS = 400
# One word that many rows have, and one that none has.
WORDS = ("made", "nowhere")


def visit(model: Any, operator: Any) -> list[Json]:
    """Return for each page: its request, seconds, queries, and the slowest query of a slow one."""
    client = Client()
    client.force_login(operator)
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    client.get(address, headers=HOST)
    return [
        _page(client, address, asked) for asked in ["", "p=2", *_filters(model, operator), *_words(model)]
    ]


def _page(client: Client, address: str, asked: str) -> Json:
    with CaptureQueriesContext(connection) as queries:
        began, worked = time.perf_counter(), time.process_time()
        answer = client.get(f"{address}?{asked}" if asked else address, headers=HOST)
        took, own = time.perf_counter() - began, time.process_time() - worked
    if answer.status_code != 200:
        raise RuntimeError(f"{address}?{asked} answered {answer.status_code}")
    slow = max(
        queries.captured_queries, key=lambda query: float(query["time"]), default={"time": "0", "sql": ""}
    )
    return {
        "asked": asked,
        "s": round(took, 3),
        "cpu_s": round(own, 3),
        "queries": len(queries),
        "sql_s": float(slow["time"]),
        "sql": " ".join(slow["sql"].split())[-SQL_CHARS:],
    }


def _filters(model: Any, operator: Any) -> list[str]:
    """Return the first choice of every filter, as its link has it."""
    there = admin.site._registry[model]
    request = RequestFactory().get("/")
    request.user = operator
    changes = there.get_changelist_instance(request)
    asked = []
    for spec in changes.filter_specs:
        links = [choice["query_string"] for choice in spec.choices(changes) if not choice["selected"]]
        asked += [link.removeprefix("?") for link in links[:1]]
    if there.date_hierarchy:
        asked.append(f"{there.date_hierarchy}__year=2026")
    return [one for one in asked if one]


def _words(model: Any) -> list[str]:
    if not admin.site._registry[model].search_fields:
        return []
    return [urlencode({"q": word}) for word in WORDS]
