"""Outages of this machine's own network: nothing counts against feeds, and pages and operators are told."""

from datetime import timedelta

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from advisor.tasks import feeds_watch_task
from config.readiness import readiness
from digest.errors import SiteUnreachable
from digest.feeds import connect, outage
from digest.feeds.discovery import feeds_discover
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.outage import network_is_down
from digest.feeds.rate_limit import _limiter
from digest.models import Feed, NetworkOutage, Reader
from tests.support.factories import FeedFactory, ReaderFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def names(monkeypatch) -> set[str]:
    """The names that the resolver knows: none at first. They lead to a closed port of this machine."""
    known: set[str] = set()

    def lookup(host: str, port: int, seconds: float):
        if host == "localhost":
            return [(2, 1, 6, "", ("127.0.0.1", port))]
        if host not in known:
            raise OSError(-2, "Name or service not known")
        return [(2, 1, 6, "", ("8.8.8.8", port))]

    monkeypatch.setattr(connect, "_lookup", lookup)
    _limiter.cache_clear()
    return known


def feeds(reader: Reader, now, number: int, *, host: str = "f", **fields: object) -> list[Feed]:
    made = [
        FeedFactory(
            url=f"https://{host}{n}.example/feed",
            source=SourceFactory(key=f"{host}{n}.example"),
            **{
                "state": "active",
                "last_fetched_at": now - HOUR,
                "last_new_at": now - HOUR,
                "next_check_at": now,
            }
            | fields,
        )
        for n in range(number)
    ]
    for feed in made:
        SubscriptionFactory(reader=reader, feed=feed)
    return made


def test_a_machine_without_a_network_counts_nothing_against_feeds(ada, now, names):
    feeds(ada, now, 6)
    failing = feeds(ada, now, 1, host="old", failures=3, error_code="http_500")[0]
    report = feeds_fetch(now=now)
    assert {problem.code for _, problem in report.errors} == {"no_network"} and len(report.errors) == 7
    assert NetworkOutage.objects.get().began_at == now
    for feed in Feed.objects.exclude(pk=failing.pk):
        assert (feed.failures, feed.error_code, feed.last_fetched_at) == (0, "", now - HOUR)
        assert feed.next_check_at == now + timedelta(minutes=5)
    failing.refresh_from_db()
    assert (failing.failures, failing.error_code) == (3, "http_500")
    feeds_fetch(now=now + HOUR)
    assert NetworkOutage.objects.get().began_at == now, "an outage keeps its beginning"


def test_one_dead_host_among_others_is_its_publishers(ada, now, names):
    dead = feeds(ada, now, 1, host="dead")[0]
    feeds(ada, now, 3, next_check_at=now + HOUR)
    names.update(f"f{n}.example" for n in range(3))
    feeds_fetch(now=now)
    dead.refresh_from_db()
    assert (dead.failures, dead.error_code) == (1, "not_found") and not NetworkOutage.objects.exists()


def test_a_small_batch_tells_an_outage_by_the_names_of_other_feeds(ada, now, names):
    due = feeds(ada, now, 1, host="due")[0]
    feeds(ada, now, 3, next_check_at=now + HOUR)
    feeds_fetch(now=now)
    due.refresh_from_db()
    assert due.failures == 0 and NetworkOutage.objects.exists()


def test_the_first_answer_ends_an_outage_and_makes_those_due_that_failed_in_it(
    ada, now, names, httpserver, settings
):
    NetworkOutage.objects.create(pk=1, began_at=now - HOUR)
    in_it = feeds(
        ada, now, 2, failures=2, error_code="timeout", next_check_at=now + 5 * HOUR, last_fetched_at=now
    )
    before = feeds(ada, now, 1, host="b", failures=2, error_code="timeout", next_check_at=now + 5 * HOUR)[0]
    Feed.objects.filter(pk=before.pk).update(last_fetched_at=now - 2 * HOUR)
    dead = feeds(ada, now, 1, host="dead")[0]
    feeds(ada, now, 1, host="c", next_check_at=now + HOUR)
    names.add("c0.example")
    feeds_fetch(now=now)
    assert not NetworkOutage.objects.exists()
    assert set(Feed.objects.filter(next_check_at=now)) == set(in_it)
    dead.refresh_from_db()
    assert dead.failures == 1


def test_a_new_feed_has_its_result_at_once(ada, now, names):
    new, old = feeds(ada, now, 1, host="new", last_fetched_at=None)[0], feeds(ada, now, 3)[0]
    feeds_fetch(now=now)
    for feed in (new, old):
        feed.refresh_from_db()
    assert (new.failures, new.error_code, old.failures) == (1, "not_found", 0)


@pytest.mark.parametrize(
    ("failed", "answered", "known", "down"),
    [
        ((), (), False, False),
        (("a",), (), False, True),
        (("a",), (), True, False),
        (("a", "b", "c"), ("z",), False, False),
        (("a", "b", "c", "d"), ("z",), False, True),
    ],
)
def test_when_a_network_is_down(ada, now, failed, answered, known, down):
    feeds(ada, now, 2)
    assert network_is_down(failed=failed, answered=answered, resolves=lambda *_: known) is down


def test_with_nobody_else_to_ask_for_two_silent_hosts_are_needed(db):
    assert network_is_down(failed=["a", "b"], answered=[], resolves=pytest.fail)
    assert not network_is_down(failed=["a"], answered=[], resolves=pytest.fail)


def test_pages_and_operators_are_told_and_no_publisher_is_blamed(ada, names, settings):
    now = timezone.now()
    settings.ALERT_EMAILS = ["olga@example.org"]
    feeds(ada, now, 6)
    feeds_fetch(now=now)
    client = Client()
    client.force_login(ada)
    sources = client.get("/ui/sources").content.decode()
    assert "has had no network since" in sources and "cannot be reached" not in sources
    assert "6 in trouble" not in sources and "There is no host" not in sources
    assert "This site seems to have no network" in client.get("/").content.decode()
    with pytest.raises(SiteUnreachable, match="has no network right now"):
        feeds_discover(url="https://new.example/", reader_id=ada.pk)
    (check,) = [one for one in readiness(now=now) if one.name == "network"]
    assert not check.ok and not check.needed and "This machine has had no network since" in check.detail
    cache.clear()
    for _ in range(3):
        feeds_watch_task()
    assert len(mail.outbox) == 1 and "has had no network since" in mail.outbox[0].body
    client.force_login(ReaderFactory(username="olga", is_staff=True, is_superuser=True))
    for place in ("/admin/", "/admin/digest/feed/"):
        assert "This machine has had no network since" in client.get(place).content.decode()
    outage.outage_end(now=now)
    client.force_login(ada)
    assert "has had no network since" not in client.get("/ui/sources").content.decode()
