"""A web process reads ahead before it takes requests, and starts whatever becomes of that."""

from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError
from django.utils import timezone
from structlog.testing import capture_logs

from config import readiness
from digest.feedback.peers import community_rates_many, peers_cache_clear, peers_cache_fill
from tests.digest.feedback.test_peers import member


@pytest.mark.django_db
def test_the_first_page_of_a_process_that_read_ahead_asks_what_every_page_asks(
    ada, now, django_assert_num_queries
):
    for _ in range(24):
        member(now)
    asked = {"reader_ids": [ada.pk], "item_ids": [1], "now": now}
    peers_cache_clear()
    # Who does not share, how many readers, the last thumb, the members, their thumbs.
    with django_assert_num_queries(5):
        community_rates_many(**asked)
    peers_cache_clear()
    peers_cache_fill(now=now)
    with django_assert_num_queries(3):
        community_rates_many(**asked)
    with django_assert_num_queries(5):
        community_rates_many(**{**asked, "now": now + timedelta(days=1)})


def test_a_process_starts_without_a_database_and_says_so(monkeypatch):
    def away(**_: object) -> None:
        raise OperationalError("no route")

    monkeypatch.setattr(readiness, "peers_cache_fill", away)
    with capture_logs() as logs:
        readiness._community_load(timezone.now())
    assert [line["event"] for line in logs] == ["process_not_warmed"]


def test_a_process_does_not_wait_for_ever_for_what_it_reads_ahead(monkeypatch):
    begun, end = Event(), Event()

    def slow(**_: object) -> None:
        begun.set()
        end.wait(60)

    monkeypatch.setattr(readiness, "peers_cache_fill", slow)
    monkeypatch.setattr(readiness, "WARM_TIMEOUT_S", 0.05)
    readiness.process_warm_up()
    assert begun.is_set() and not end.is_set(), "it went on while that was being read"
    end.set()
