"""Rate limits by page and by API: refused with a status, a time to retry and a stable code."""

from datetime import timedelta

import pytest
from allauth.account import app_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from config.models import IdempotentResponse
from digest.errors import TooManyRequests
from digest.models import Reader
from digest.throttling import (
    AGAIN_MAX_S,
    API,
    DECIDE,
    EXPORT,
    FULL_TEXT,
    GENERATE,
    IMPORT,
    LIMITS,
    LOOKUP,
    PICTURES,
    SEARCH,
    SEND_ON,
    TEACH,
    Limit,
    limit_count,
)

pytestmark = pytest.mark.usefixtures("own_cache")
REQUESTS = [
    (API, "get", "/api/suggestions"),
    (API, "post", "/api/items/1/read"),
    (SEARCH, "get", "/ui/search?q=tides"),
    (SEARCH, "get", "/api/search?q=tides"),
    (GENERATE, "post", "/ui/suggestions/generate"),
    (GENERATE, "post", "/api/suggestions/generate"),
    *((DECIDE, "post", f"/api/suggestions/1/{verb}") for verb in ("accept", "reject", "snooze", "never")),
    *((DECIDE, "post", f"/api/suggestions/1/{verb}") for verb in ("revert", "undo")),
    (DECIDE, "post", "/api/suggestions/accept-all"),
    (DECIDE, "post", "/ui/suggestions/1/accept"),
    (DECIDE, "post", "/ui/suggestions/accept-all"),
    (IMPORT, "post", "/ui/sources/import"),
    (EXPORT, "get", "/ui/account/export"),
    (LOOKUP, "post", "/ui/sources"),
    *((TEACH, "post", f"/ui/teach/{what}") for what in ("answer", "stop")),
    (PICTURES, "get", "/ui/picture/x"),
    (FULL_TEXT, "post", "/ui/item/1/full-text"),
    (SEND_ON, "post", "/ui/item/1/send"),
    (SEND_ON, "post", "/ui/account/destinations/1/test"),
]


def use_up(limit: Limit, reader: Reader) -> None:
    """Use up the limit of `reader` in this window and, should it end meanwhile, the next."""
    now = timezone.now()
    for moment in (now, now + timedelta(seconds=limit.seconds)):
        for _ in range(limit.times):
            limit_count(limit=limit, who=reader.pk, now=moment)


def test_a_limit_counts_by_window_and_by_reader(ada: Reader, ben: Reader, now):
    limit = Limit("tea", 2, 60, "Two cups a minute.")
    late = now + timedelta(seconds=41.5)
    for moment in (now, late):
        limit_count(limit=limit, who=ada.pk, now=moment)
    with pytest.raises(TooManyRequests, match="Two cups") as refused:
        limit_count(limit=limit, who=ada.pk, now=late)
    assert refused.value.retry_after_s == 19
    limit_count(limit=limit, who=ben.pk, now=late)
    limit_count(limit=limit, who=ada.pk, now=now + timedelta(seconds=60))


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_every_page_and_endpoint_of_a_limit_refuses_one_reader_beyond_it(
    limit: Limit, ada: Reader, ben: Reader, client: Client
):
    use_up(limit, ada)
    requests = [request for request in REQUESTS if request[0] == limit]
    assert requests and str(limit.times) in limit.message
    for _, method, url in requests:
        sent = (
            {"content_type": "application/json"} if "/api/" in url else {"data": {"url": "http://a.example"}}
        )
        client.force_login(ada)
        refused = getattr(client, method)(url, **(sent if method == "post" else {}))
        assert refused.status_code == 429 and 0 < int(refused["Retry-After"]) <= limit.seconds, url
        if "/api/" in url:
            assert refused.json() == {"error": "too_many_requests", "message": limit.message}
        else:
            # A page that is only read asks again by itself where the window ends soon.
            is_soon = method == "get" and int(refused["Retry-After"]) <= AGAIN_MAX_S
            words = "This page asks again by itself." if is_soon else limit.message
            assert words in refused.content.decode()
    client.force_login(ben)
    assert client.get("/api/search?q=tides").status_code == 200


def test_empty_requests_do_not_count(ada: Reader, client: Client):
    use_up(SEARCH, ada), use_up(IMPORT, ada)
    client.force_login(ada)
    assert client.get("/ui/search").status_code == 200
    assert client.get("/ui/sources/import").status_code == 302


def test_a_refusal_is_not_stored_for_an_idempotency_key(ada: Reader, client: Client):
    use_up(DECIDE, ada)
    client.force_login(ada)
    keyed = {"content_type": "application/json", "headers": {"Idempotency-Key": "k1"}}
    assert client.post("/api/suggestions/1/accept", "{}", **keyed).status_code == 429
    assert not IdempotentResponse.objects.exists()


def test_a_list_is_imported_up_to_the_limit(ada: Reader, client: Client):
    client.force_login(ada)
    opml = b'<opml version="2.0"><body><outline type="rss" xmlUrl="https://a.example/"/></body></opml>'
    answer = client.post("/ui/sources/import", {"file": SimpleUploadedFile("a.opml", opml)}, follow=True)
    assert answer.status_code == 200


def test_every_account_page_that_takes_guesses_has_a_limit():
    limits = app_settings.RATE_LIMITS
    guessed = ("login", "login_failed", "signup", "reset_password", "reset_password_from_key")
    for action in (*guessed, "change_password", "manage_email", "reauthenticate", "confirm_email"):
        assert limits.get(action), action
