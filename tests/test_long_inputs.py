"""No input of any length breaks a page or an endpoint: it is understood, or refused with 400 or its kind."""

import re
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from digest.models import Reader
from tests.support.factories import FeedFactory, ItemFactory, OperatorFactory, SubscriptionFactory
from tests.support.routes import routes
from tests.support.thinned import mostly_nightly

pytestmark = pytest.mark.usefixtures("own_cache")

# SQLite matches patterns of 50,000 bytes at most, and an escaped underscore takes two.
LONG = ("_" * 40_000, "%" * 60_000, "é" * 60_000, "9" * 5_000, '"' * 40_000, "a " * 30_000)
URL = "https://a.example/" + "_" * 40_000
FORM = "application/x-www-form-urlencoded"
PASSWORD = "a-lamp-and-a-kettle"
# Names of fields that no template has: of the API, the admin and query strings.
MORE_NAMES = {"url", "q", "order", "page", "removed", "useful", "reason_tags", "reason", "o", "p", "e"}


@pytest.fixture
def door() -> Client:
    return Client(raise_request_exception=False)


def field_names() -> list[str]:
    """Return the names of all fields in the templates, besides those above."""
    found = set(MORE_NAMES)
    for file in Path(django_settings.BASE_DIR, "templates").rglob("*.html"):
        found |= set(re.findall(r'name="([a-z_0-9]+)"', file.read_text(encoding="utf-8")))
    return sorted(found)


@pytest.mark.every_case
@pytest.mark.parametrize("text", LONG, ids=lambda text: f"{text[:2]}x{len(text)}")
def test_the_pages_of_visitors_refuse_it(db: None, door: Client, text: str):
    sent = [
        ("/accounts/login/", {"login": text, "password": PASSWORD}),
        ("/accounts/login/", {"login": f"{text}@a.example", "password": PASSWORD}),
        ("/accounts/login/", {"login": "ada", "password": text}),
        ("/accounts/password/reset/", {"email": text}),
        ("/accounts/password/reset/", {"email": f"a@{text}.example"}),
    ]
    new = {"username": "cleo", "email": "", "password1": PASSWORD, "password2": PASSWORD, "time_zone": "UTC"}
    for name in new:
        sent.append(("/accounts/signup/", new | {name: text}))
    too_long_to_store = ".".join(["a@b", *("c" * 62 for _ in range(4)), "example"])
    sent.append(("/accounts/signup/", new | {"email": too_long_to_store}))
    for path, fields in sent:
        assert door.post(path, fields).status_code in (200, 400), (path, list(fields))
    assert not Reader.objects.exists()


@pytest.mark.parametrize("text", LONG, ids=lambda text: f"{text[:2]}x{len(text)}")
def test_the_pages_of_readers_refuse_it(ada: Reader, door: Client, text: str):
    ada.set_password(PASSWORD)
    ada.save()
    door.force_login(ada)
    subscription = SubscriptionFactory(reader=ada, feed=FeedFactory())
    item = ItemFactory(source=subscription.feed.source)
    told = {"words": "tides", "per_day": "1", "quiet_from": "1", "quiet_until": "2"}
    place = {"kind": "ntfy", "address": "https://ntfy.sh/x", "secret": "x"}
    mail = {"rhythm": "daily", "hour": "7", "weekday": "0"}
    sent = [
        *(("/ui/sources", {"url": url, **as_is}) for url in (text, URL) for as_is in ({}, {"as_is": "on"})),
        (f"/ui/sources/{subscription.feed_id}", {"folder": text}),
        ("/ui/sources/undo", {"removed": text}),
        ("/ui/account", {"time_zone": text}),
        *(("/ui/account/mail", mail | {name: text}) for name in mail),
        ("/ui/account/tokens", {"name": text, "scope": "read", "days": "30"}),
        *(("/ui/account/notifications", told | {name: text}) for name in told),
        *(("/ui/account/destinations", place | {name: text}) for name in place),
        ("/ui/account/delete", {"username": text, "password": text}),
        ("/accounts/reauthenticate/", {"password": text}),
        ("/accounts/password/change/", {"oldpassword": text, "password1": text, "password2": text}),
        ("/accounts/email/", {"action_add": "", "email": text}),
        ("/accounts/email/", {"action_send": "", "email": text}),
        (f"/ui/item/{item.pk}", {"useful": "1", "tag": text}),
    ]
    for path, fields in sent:
        assert door.post(path, fields).status_code < 500, (path, list(fields))
    listed = f'<opml version="2.0"><body><outline text="{text}" type="rss" xmlUrl="{URL}"/></body></opml>'
    listed = listed.replace('"""', "")
    answer = door.post(
        "/ui/sources/import", {"file": SimpleUploadedFile("a.opml", listed.encode())}, follow=True
    )
    assert answer.status_code in (200, 422)


# The next address takes the other half of the requests.
SHARES = {"half of the requests": 2, "all requests": 1}


@pytest.mark.parametrize("every", mostly_nightly(SHARES, always=["half of the requests"]))
def test_every_address_takes_it_in_every_field_and_query(db: None, every: int):
    """As an operator, who gets to the admin's searches and filters too."""
    # As long as SQLite's patterns must be to break, and as short that all fields go into one request.
    olga, names, text = OperatorFactory(username="olga"), field_names(), "_" * 26_000
    fields, door = dict.fromkeys(names, text), Client(raise_request_exception=False)
    # As the site's own forms send them, and written once for all addresses.
    forms = [urlencode(sent) for sent in (fields, dict.fromkeys(names, "https://a.example/\0"))]
    broken = []
    for n, route in enumerate(route for route in routes() if route.name):
        url = route.url()
        if not getattr(door.cookies.get("sessionid"), "value", ""):  # not yet, or an address ended it
            door.force_login(olga)
        asked = [partial(door.get, url, given) for given in ({"q": text}, dict.fromkeys(names, "_" * 300))]
        asked += [partial(door.post, url, form, FORM) for form in forms]
        if url.startswith("/api/"):
            methods = (door.post, door.put, door.delete)
            asked += [partial(method, url, fields, content_type="application/json") for method in methods]
        answers = [ask() for ask in asked[n % every :: every]]
        broken += [(url, a.request["REQUEST_METHOD"], a.status_code) for a in answers if a.status_code >= 500]
    assert not [one for one in broken if one[0] != "/readyz"]


@pytest.mark.parametrize("text", [*LONG, "/ui/" + "_" * 60_000], ids=lambda text: f"{text[:2]}x{len(text)}")
def test_headers_cookies_and_addresses_take_it(ada: Reader, door: Client, text: str):
    names = ("Referer", "Authorization", "Idempotency-Key", "X-Forwarded-For", "User-Agent", "Host")
    door.force_login(ada)
    for name in (*names, "If-None-Match", "X-CSRFToken"):
        plain = text.encode("ascii", "replace").decode()
        for value in (plain, f"Bearer {plain}") if name == "Authorization" else (plain,):
            for path in ("/", "/api/search?q=x", "/ui/search?q=x"):
                assert door.get(path, headers={name: value}).status_code < 500, (name, path)
            answer = door.post("/api/suggestions/accept-all", "{}", "application/json", headers={name: value})
            assert answer.status_code < 500, name
    for path in (f"/ui/{text}", f"/feeds/{text}/atom.xml", f"/api/items/{text}/read", f"/ui/item/{text}"):
        assert door.get(path).status_code in (400, 404), path[:20]
    door.cookies["sessionid"] = "a" * 60_000
    assert door.get("/").status_code < 500
