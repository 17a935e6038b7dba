"""What is Ada's stays Ada's: every address with an id in it, asked for by everybody else.

The matrix is made from the URL conf, so an address that is added joins it; one with a new kind of id
fails here until `IDS` says which of Ada's objects it names.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from advisor.models import Run
from digest.models import ApiToken, Feedback, Reader, Reading, Subscription
from digest.services.tokens import token_issue
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from tests.factories import FeedbackFactory
from tests.pages import fresh_item, subscribe, suggested

ROOMS = ("digest", "ranking", "suggestions", "advisor", "api")
METHODS = ("get", "post", "delete")
SECRET = "Only Ada reads this"
VERBS = ("accept", "reject", "snooze", "never", "revert")
# Days are no objects of anybody: each reader has their own digest of each.
DAYS = ("date",)
# Secrets that are keys themselves: whoever holds one is let in (tests/digest/test_links, test_syndication).
KEYS = ("token", "link")


@dataclass(frozen=True)
class Address:
    """One address of the URL conf: its full name, the names of the ids in it."""

    name: str
    ids: tuple[str, ...]


def addresses(
    patterns: list[URLPattern | URLResolver], room: str = "", ids: tuple[str, ...] = ()
) -> Iterator[Address]:
    """Every named address of our rooms below `patterns`."""
    for pattern in patterns:
        found = (*ids, *pattern.pattern.converters)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, pattern.namespace or room, found)
        elif room in ROOMS and pattern.name:
            yield Address(f"{room}:{pattern.name}", found)


ALL = sorted({*addresses(get_resolver().url_patterns)}, key=lambda address: address.name)
WITH_IDS = [a for a in ALL if set(a.ids) - {*DAYS, *KEYS}]
WITHOUT_IDS = [a for a in ALL if not a.ids and a.name not in {"api:openapi-json", "api:openapi-view"}]


@pytest.fixture
def ids(ada: Reader) -> dict[str, list[object]]:
    """Ada's objects by the name their ids go by in addresses."""
    now = timezone.now()
    item = fresh_item(ada, key="ada.example", title=SECRET, text=SECRET)
    FeedbackFactory(reader=ada, item=item)
    run = Run.objects.create(
        reader=ada, day=now.date(), trigger="ui", status="completed", message=SECRET, created_at=now
    )
    edit = ConfigEdit(topics=[SECRET])
    return {
        "item_id": [item.pk],
        "feed_id": [subscribe(ada, "ada-too.example", SECRET).feed_id],
        "suggestion_id": [suggested(ada, reason=SECRET, run_id=run.pk).pk],
        "run_id": [run.pk],
        "token_id": [token_issue(reader=ada, name=SECRET, scope="read", expires_at=None, now=now).token.pk],
        "version": [config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)],
        "verb": list(VERBS),
    }


def state(ada: Reader) -> tuple[object, ...]:
    """All of Ada's that a foreign hand might change."""
    return (
        list(Feedback.objects.filter(reader=ada).values()),
        list(Suggestion.objects.filter(reader=ada).values()),
        list(Subscription.objects.filter(reader=ada).values()),
        list(Reading.objects.filter(reader=ada).values()),
        list(Run.objects.filter(reader=ada).values()),
        list(ApiToken.objects.filter(reader=ada).values()),
        config_effective(reader_id=ada.pk),
    )


def ask(client: Client, address: Address, ids: dict[str, list[object]]) -> Iterator[tuple[str, object]]:
    """The answers to each method at each of Ada's objects, asked for in all seriousness."""
    said = {"data": {"useful": 1, "version": 1}}
    if address.name.startswith("api:"):
        said["content_type"] = "application/json"
    if address.name.startswith("api:suggestion"):  # refuses what is no answer before it looks for anything
        said["data"] = {}
    for verb in ids["verb"] if "verb" in address.ids else [None]:
        args = {name: verb if name == "verb" else ids[name][0] for name in address.ids}
        url = reverse(address.name, kwargs=args)
        for method in METHODS:
            yield method, getattr(client, method)(url, **(said if method == "post" else {}))


def test_the_matrix_is_not_empty():
    names = {address.name for address in WITH_IDS}
    assert {"digest:item", "digest:feedback", "suggestions:decide", "ranking:revert"} <= names
    assert any(name.startswith("api:") for name in names)


@pytest.mark.parametrize("address", WITH_IDS, ids=lambda a: a.name)
def test_another_reader_finds_nothing_of_adas(
    address: Address, ids, ada: Reader, ben: Reader, client: Client
):
    client.force_login(ben)
    before = state(ada)
    for method, answer in ask(client, address, ids):
        assert answer.status_code in {404, 405}, method
        assert SECRET not in answer.content.decode()
    assert state(ada) == before


@pytest.mark.parametrize("address", WITH_IDS, ids=lambda a: a.name)
def test_a_visitor_is_sent_to_sign_in(address: Address, ids, ada: Reader, client: Client):
    before = state(ada)
    for method, answer in ask(client, address, ids):
        if address.name.startswith("api:"):
            assert answer.status_code in {401, 405}, method
        else:
            assert answer.url.startswith("/accounts/login/"), method
    assert state(ada) == before


@pytest.mark.parametrize("address", WITHOUT_IDS, ids=lambda a: a.name)
def test_no_list_of_ben_shows_anything_of_adas(address: Address, ids, ben: Reader, client: Client):
    client.force_login(ben)
    assert SECRET not in client.get(reverse(address.name)).content.decode()


@pytest.mark.parametrize("address", WITHOUT_IDS, ids=lambda a: a.name)
def test_no_list_is_open_to_visitors(address: Address, ids, client: Client):
    assert client.get(reverse(address.name)).status_code in {302, 401, 404, 405}


def test_everybody_has_their_own_digest_of_a_day(ids, ada: Reader, ben: Reader, client: Client):
    url = reverse("digest:day", kwargs={"date": timezone.now().astimezone(ben.zone).date()})
    client.force_login(ada)
    assert SECRET in client.get("/").content.decode()
    client.force_login(ben)
    assert SECRET not in client.get(url).content.decode()
