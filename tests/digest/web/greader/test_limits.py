"""Rate limits by cost: normal use of apps passes, and requests that load the server are refused."""

from datetime import timedelta

import pytest
from django.utils import timezone

from digest.accounts.tokens import token_limit
from digest.errors import TooManyRequests
from digest.models import Reader
from digest.throttling import API, PARTS, Limit, limit_charge, limit_count
from tests.digest.web.greader.support import ALL, READ, App
from tests.support.browser import fresh_item, subscribe

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]
TOKEN_LIMIT = token_limit()
FEEDS, MARKS, TRIED = 1_000, 5_000, 20


@pytest.fixture
def app(ada: Reader) -> App:
    return App(ada)


def spent(app: App) -> float:
    """Return the token's use in this minute."""
    return limit_charge(limit=TOKEN_LIMIT, who=app.token.pk, now=timezone.now(), cost=0)


def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no minute begin while requests are counted."""
    now = timezone.now().replace(second=1)
    monkeypatch.setattr("digest.web.greader.door.timezone.now", lambda: now)


def test_a_first_sync_of_a_thousand_feeds_fits_in_a_minute(
    app: App, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """Newsboat asks for the list, then for each feed separately."""
    still(monkeypatch)
    feeds = [subscribe(ada, f"s{n}.example").feed for n in range(TRIED)]
    for feed in feeds:
        for n in range(20):
            fresh_item(ada, key=feed.source_id, feed=feed, hours=n + 1, title=f"Lamp {n}")
    app.get("subscription/list")
    listed = spent(app)
    for feed in feeds:
        assert len(app.items(f"feed/{feed.pk}", n=20)) == 20
    each = (spent(app) - listed) / TRIED
    assert listed + each * FEEDS <= TOKEN_LIMIT.times


def test_marking_five_thousand_items_one_by_one_fits_in_a_minute(
    app: App, ada: Reader, monkeypatch: pytest.MonkeyPatch
):
    """Liferea asks for a write token before each mark."""
    still(monkeypatch)
    items = [fresh_item(ada, title=f"Lamp {n}") for n in range(TRIED)]
    for item in items:
        assert app.get("token").status_code == 200
        assert app.tag(item, a=READ).content == b"OK"
    assert spent(app) / TRIED * MARKS <= TOKEN_LIMIT.times
    assert spent(app) * MARKS / TRIED <= API.times


def test_long_answers_and_long_forms_count_for_more(app: App, ada: Reader, monkeypatch: pytest.MonkeyPatch):
    still(monkeypatch)
    items = [fresh_item(ada, title=f"Lamp {n}") for n in range(TRIED)]
    costs = []
    for ask in (
        lambda: app.items(n=1),
        lambda: app.items(n=TRIED),
        lambda: app.tag(items[0], a=READ),
        lambda: app.tag(*items, a=READ),
        lambda: app.ids(ALL, n=1),
        lambda: app.ids(ALL),
        lambda: app.post("stream/items/contents", i=[items[0].pk]),
        lambda: app.post("stream/items/contents", i=[item.pk for item in items]),
    ):
        before = spent(app)
        ask()
        costs.append(spent(app) - before)
    for small, large in zip(costs[::2], costs[1::2], strict=True):
        assert 0 < small < large
    before = spent(app)
    app.get("subscription/list")
    assert spent(app) - before == 1


@pytest.mark.parametrize("limit", [TOKEN_LIMIT, API])
def test_who_has_used_it_up_is_refused_even_a_tiny_request(app: App, ada: Reader, limit: Limit):
    for moment in (0, 60):
        at = timezone.now() + timedelta(seconds=moment)
        limit_charge(
            limit=limit, who=app.token.pk if limit is TOKEN_LIMIT else ada.pk, now=at, cost=limit.times
        )
    answer = app.get("token")
    assert answer.status_code == 429 and int(answer["Retry-After"]) <= 60


def test_parts_of_a_use_add_up_to_one():
    now, limit = timezone.now(), Limit("parts", 2, 60, "Wait.")
    for _ in range(2 * PARTS):
        limit_count(limit=limit, who="ada", now=now, cost=1 / PARTS)
    with pytest.raises(TooManyRequests, match="Wait"):
        limit_count(limit=limit, who="ada", now=now, cost=1 / PARTS)
