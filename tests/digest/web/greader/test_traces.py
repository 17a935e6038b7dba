"""Three mobile clients: their requests, replayed from their sources, with the fields they read and change.

`traces/` has the requests, each with the client's version and the source files.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from digest.accounts.tokens import token_issue
from digest.models import Feed, Reader, Reading, Subscription
from tests.support.browser import fresh_item

pytestmark = pytest.mark.usefixtures("own_cache")
TRACES = sorted(Path(__file__).with_name("traces").glob("*.json"))
FORM = "application/x-www-form-urlencoded"
DOCUMENT = (
    "<rss><channel><title>Rivers</title><item><title>Rain</title><link>https://r.example/1</link></item>"
    "</channel></rss>"
)


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> str:
    """Return the address of a feed."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    httpserver.expect_request("/feed").respond_with_data(DOCUMENT, headers={"Content-Type": "text/xml"})
    return httpserver.url_for("/feed")


def values_at(shape: Any, path: str) -> Iterator[Any]:
    """Yield all values at a path like `items.*.origin.title`, or `None` if one is missing."""
    name, _, rest = path.partition(".")
    found = shape if name == "*" else [shape.get(name)]
    for one in found:
        yield from values_at(one, rest) if rest and one is not None else [one]


def replay(client: Client, trace: dict[str, Any], facts: dict[str, Any]) -> None:
    """Send each request as the client does, and check the fields it reads."""
    for step in trace["steps"]:
        path = trace["base"] + step.get("get", step.get("post")).format(**facts)
        headers = {"Authorization": f"GoogleLogin auth={facts['auth']}"} if step.get("login", True) else {}
        if "get" in step:
            answer = client.get(path, headers=headers)
        else:
            body = step["body"].format(**facts)
            answer = client.generic("POST", path, body, content_type=FORM, headers=headers)
        text = answer.content.decode()
        assert answer.status_code == 200, (path, text)
        assert text == step.get("text", text), path
        for needed in step.get("has", ()):
            found = list(values_at(json.loads(text), needed))
            assert found and None not in found, (path, needed)
        for name, pattern in step.get("take", {}).items():
            taken = re.search(pattern, text)
            assert taken, (path, name)
            facts[name] = taken[1]


def test_there_are_three_clients_with_versions():
    known = [json.loads(path.read_text(encoding="utf-8")) for path in TRACES]
    assert len(known) == 3 and all(trace["version"] and len(trace["commit"]) == 40 for trace in known)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_client_syncs_reads_stars_files_and_adds(path: Path, ada: Reader, client: Client, site: str):
    first, second = fresh_item(ada, text="Rain fell."), fresh_item(ada, hours=5)
    Subscription.objects.filter(reader=ada).update(folder="News")
    secret = token_issue(reader=ada, name="app", scope="full", expires_at=None, now=timezone.now()).secret
    trace = json.loads(path.read_text(encoding="utf-8"))
    facts = {"name": "ada", "secret": secret, "first": first.pk, "second": second.pk, "site": site}
    replay(client, trace, facts | {"since": int(timezone.now().timestamp()) - 86_400})
    states = {row.item_id: row for row in Reading.objects.filter(reader=ada)}
    assert states[first.pk].read_at and not states[first.pk].saved_at
    assert states[second.pk].saved_at and not states[second.pk].read_at
    assert Subscription.objects.get(reader=ada, feed=first.feed_id).folder == "Papers"
    assert Feed.objects.get(subscriptions__reader=ada, url=site).title == "Rivers"
    rated = [row.item_id for row in ada.feedback.filter(useful=True)]
    assert rated == ([second.pk] if "label%2FUseful" in path.read_text(encoding="utf-8") else [])
