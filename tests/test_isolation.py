"""Ada's data stay Ada's: every address with an id is asked by every other reader.

The matrix is made from the URL conf, so a new address joins it. One with a new kind of id fails here until
`IDS` names Ada's object for it.
"""

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.models import Memory, Run, Tip
from digest.accounts.tokens import token_issue
from digest.models import (
    ApiToken,
    Destination,
    Feed,
    FeedAccess,
    Feedback,
    Reader,
    Reading,
    SavedSearch,
    Subscription,
)
from digest.searches.selectors import SearchAsked
from digest.searches.services import search_save
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from tests.support.assistants import Connected
from tests.support.browser import asked, fresh_item, subscribe, suggested
from tests.support.factories import FeedbackFactory
from tests.support.routes import ANYTHING, Route, routes

ROOMS = ("digest", "ranking", "suggestions", "advisor", "api", "greader")
METHODS = ("get", "post", "delete")
SECRET = "Only Ada reads this"
VERBS = ("accept", "reject", "snooze", "never", "revert")
# Days are no objects of anybody: each reader has their own digest of each.
DAYS = ("date",)
# Secrets that are keys themselves: their holder is let in (tests/digest/test_links, test_syndication).
KEYS = ("token", "link", "signed")
# Readers' own pages outside the rooms, and public ones without any reader's data. Of the probes only /metrics
# checks the caller (tests/config/test_probes).
OWN = {"reader_export"}
OPEN = {
    *("api:openapi-json", "api_docs", "healthz", "readyz", "metrics", "offline", "worker", "icon"),
    # Public files under the address of an earlier version.
    "static_before",
    "greader:ready",
    # Views for programs with their own secrets (tests/advisor/test_mcp_http).
    *(f"assistants:{name}" for name in ("mcp", "token", "revoke", "register")),
    *(f"assistants:{name}" for name in ("authorization_server", "protected_resource", "protected_mcp")),
}
# Readers' own pages that show visitors a description of Tidings instead.
FRONT = "digest:today"
# An id that no database can hold.
HUGE = 10**30


ALL = [route for route in routes() if route.room in ROOMS or route.name in OWN]
WITH_IDS = [a for a in ALL if set(a.ids) - {*DAYS, *KEYS}]
WITHOUT_IDS = [a for a in ALL if not a.ids and a.name not in OPEN]
ADMIN = [route for route in routes() if route.room == "admin" and route.name]
ACCOUNTS = [route for route in routes() if route.place.startswith("accounts/")]


@pytest.fixture
def ids(ada: Reader, settings) -> dict[str, list[object]]:
    """Ada's objects by the name their ids go by in addresses."""
    settings.MCP_HTTP, now = True, timezone.now()
    item = fresh_item(ada, key="ada.example", title=SECRET, text=SECRET)
    FeedbackFactory(reader=ada, item=item)
    run = Run.objects.create(
        reader=ada, day=now.date(), trigger="ui", status="completed", message=SECRET, created_at=now
    )
    edit = ConfigEdit(topics=[SECRET])
    settings.NEWSLETTERS_URL, settings.NEWSLETTERS_ADDRESS = "imaps://a:b@mail.example", "l+*@mail.example"
    Feed.objects.filter(pk=subscribe(ada, "letters.example", SECRET).feed_id).update(
        owner=ada, own_address="newsletter:letters.example", url="private:letters"
    )
    return {
        "item_id": [item.pk],
        "feed_id": [private(subscribe(ada, "ada-too.example", SECRET)).pk],
        "suggestion_id": [suggested(ada, reason=SECRET, run_id=run.pk).pk],
        "question_id": [asked(ada, run.pk, SECRET)],
        "run_id": [run.pk],
        "tip_id": [tip_of(ada, now).pk],
        "destination_id": [
            Destination.objects.create(reader=ada, kind="ntfy", address=SECRET, created_at=now).pk
        ],
        "client_id": [Connected(ada, name=SECRET).client_id],
        "search_id": [search_save(reader=ada, asked=SearchAsked(SECRET, "best", {}), now=now)],
        "token_id": [token_issue(reader=ada, name=SECRET, scope="read", expires_at=None, now=now).token.pk],
        "version": [config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)],
        "stream": ["user/-/state/com.google/reading-list"],
        "verb": list(VERBS),
    }


def private(subscription: Subscription) -> Feed:
    """Ada's feed, as one that she alone has the password of."""
    feed = subscription.feed
    feed.owner, feed.own_address, feed.url = subscription.reader, f"https://{SECRET}.example/", "private:ada"
    feed.save()
    FeedAccess.objects.create(feed=feed, kind="basic", secret=SECRET)
    return feed


def tip_of(ada: Reader, now: datetime) -> Tip:
    """Return a pattern in Ada's answers that her pages show her."""
    memory = Memory.objects.create(
        reader=ada,
        kind="pattern",
        key="accepted:add_topic",
        title=SECRET,
        text=SECRET,
        suggestion_type="add_topic",
        polarity=1,
        data={"hits": 4, "of": 5},
        valid_from=now,
        updated_at=now,
    )
    return Tip.objects.create(reader=ada, memory=memory, shown_at=now)


def state(ada: Reader) -> tuple[object, ...]:
    """Return all of Ada's that a foreign hand might change."""
    return (
        list(Feedback.objects.filter(reader=ada).values()),
        list(Suggestion.objects.filter(reader=ada).values()),
        list(Subscription.objects.filter(reader=ada).values()),
        list(Reading.objects.filter(reader=ada).values()),
        list(Run.objects.filter(reader=ada).values()),
        list(ApiToken.objects.filter(reader=ada).values()),
        list(Destination.objects.filter(reader=ada).values()),
        list(FeedAccess.objects.filter(feed__owner=ada).values()),
        list(Tip.objects.filter(reader=ada).values()),
        list(SavedSearch.objects.filter(reader=ada).values()),
        config_effective(reader_id=ada.pk),
    )


def text_of(answer: HttpResponseBase) -> str:
    """Return all that was answered, streamed or not."""
    return b"".join(answer).decode()


def ask(client: Client, address: Route, ids: dict[str, list[object]]) -> Iterator[tuple[str, object]]:
    """Yield the answers to each method at each of Ada's objects, asked for in all seriousness."""
    said = {"data": {"useful": 1, "version": 1}}
    if address.name.startswith("api:"):
        said["content_type"] = "application/json"
    if address.name == "api:feed_access_post":
        said["data"] = {"kind": "none", "user_agent": "Ben/1"}
    if address.name.startswith(("api:suggestion", "api:question")):  # refuses bad answers before any look-up
        said["data"] = {}
    for verb in ids["verb"] if "verb" in address.ids else [None]:
        args = {name: verb if name == "verb" else ids[name][0] for name in address.ids}
        url = reverse(address.name, kwargs=args)
        for method in METHODS:
            yield method, getattr(client, method)(url, **(said if method == "post" else {}))


def test_every_address_is_walked_by_some_test_here():
    names = {address.name for address in WITH_IDS}
    assert {
        "digest:item",
        "digest:feedback",
        "suggestions:decide",
        "ranking:revert",
        "advisor:tip_dismiss",
    } <= names
    assert any(name.startswith("api:") for name in names)
    known = {route.name for route in (*ALL, *ADMIN, *ACCOUNTS)} | OPEN
    assert {route.name for route in routes() if route.name} <= known
    # Without a name: unknown operations, and old addresses of the admin, which lead to those above.
    unnamed = {route.place for route in routes() if not route.name}
    assert unnamed and all(place == "^api/" or place.startswith("admin/") for place in unnamed)
    assert len(ADMIN) > 100 and {"reader_export"} <= {route.name for route in WITHOUT_IDS}


def test_another_reader_and_an_operator_find_nothing_of_adas(
    ids, ada: Reader, ben: Reader, operator: Reader, client: Client
):
    before = state(ada)
    for other in (ben, operator):
        client.force_login(other)
        for address in WITH_IDS:
            for method, answer in ask(client, address, ids):
                # A session opens none of the views for reader apps (tests/digest/web/greader).
                shut = {401, 405} if address.room == "greader" else {404, 405}
                assert answer.status_code in shut, (other, method, address.name)
                assert SECRET not in text_of(answer), (other, method, address.name)
            assert state(ada) == before, (other, address.name)


def test_a_visitor_is_sent_to_sign_in(ids, ada: Reader, client: Client):
    before = state(ada)
    for address in WITH_IDS:
        for method, answer in ask(client, address, ids):
            if address.room in {"api", "greader"}:
                assert answer.status_code in {401, 405}, (method, address.name)
            else:
                assert answer.url.startswith("/accounts/login/"), (method, address.name)
        assert state(ada) == before, address.name


def test_no_list_of_ben_shows_anything_of_adas(ids, ben: Reader):
    for address in WITHOUT_IDS:
        client = Client()  # some end the session
        client.force_login(ben)
        assert SECRET not in text_of(client.get(reverse(address.name))), address.name


def test_no_list_is_open_to_visitors(ids):
    for address in WITHOUT_IDS:
        answer = Client().get(reverse(address.name))
        if address.name == FRONT:
            assert SECRET not in text_of(answer)
        else:
            assert answer.status_code in {302, 401, 404, 405}, address.name


def test_no_cache_on_the_way_keeps_what_a_reader_sees(ids, ada: Reader):
    """A proxy that caches would hand it to the next reader, who asks for the same address."""
    walked = 0
    for address in [*WITH_IDS, *WITHOUT_IDS]:
        ada_s = Client()  # some end the session
        ada_s.force_login(ada)
        url = reverse(address.name, kwargs={name: ids[name][0] for name in address.ids})
        answer = ada_s.get(url)
        if answer.status_code != 200:
            continue
        walked += 1
        control = {one.strip() for one in answer.get("Cache-Control", "").split(",")}
        assert control & {"no-store", "private"} and "public" not in control, (address.name, control)
    assert walked > 40


def test_everybody_has_their_own_digest_of_a_day(ids, ada: Reader, ben: Reader, client: Client):
    url = reverse("digest:day", kwargs={"date": timezone.now().astimezone(ben.zone).date()})
    fresh_item(ada, key="ada.example", title=SECRET, text="What she has rated is on no page of a later day.")
    client.force_login(ada)
    assert SECRET in client.get("/").content.decode()
    client.force_login(ben)
    assert SECRET not in client.get(url).content.decode()


def test_the_admin_is_shut_to_visitors_and_readers_whatever_they_ask_for(ids, ada: Reader, ben: Reader):
    visitor, reader = Client(), Client()
    reader.force_login(ben)
    before, objects = state(ada), {**ANYTHING, "object_id": ada.pk}
    for route in ADMIN:
        for who, client in (("visitor", visitor), ("reader", reader)):
            for answer in (client.get(route.url(objects)), client.post(route.url(objects), {"post": "yes"})):
                shut = answer.status_code == 403 or "/login/" in answer.get("Location", "")
                # Signing out and the scripts of the admin's pages have no owner. An address without its last
                # slash redirects to the one with it, which is asked as well.
                assert shut or route.name in {"admin:logout", "admin:jsi18n"}, (who, route.name)
                assert SECRET not in text_of(answer), (who, route.name)
    assert state(ada) == before


def test_pages_of_accounts_show_their_reader_alone(ids, ben: Reader, client: Client):
    client.force_login(ben)
    for route in ACCOUNTS:
        answer = client.get(route.url(), follow=True)
        assert "ada@example.org" not in text_of(answer) and SECRET not in text_of(answer), route.name


def test_an_id_beyond_what_a_database_holds_leads_nowhere(ids, ada: Reader, client: Client):
    client.force_login(ada)
    for route in WITH_IDS:
        for name in {
            "item_id",
            "feed_id",
            "suggestion_id",
            "question_id",
            "search_id",
            "tip_id",
            "token_id",
            "version",
        } & set(route.ids):
            found = {key: values[0] for key, values in ids.items()} | {name: HUGE}
            for method, answer in ask(client, route, {key: [value] for key, value in found.items()}):
                assert answer.status_code in {404, 405}, (route.name, method)
