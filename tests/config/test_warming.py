"""A web process reads ahead before it takes requests, and starts whatever becomes of that."""

from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError
from django.utils import timezone
from structlog.testing import capture_logs

from config import warming
from digest.selectors.crowds import peers_forget
from digest.selectors.peers import community_prepare, community_rates_many
from tests.digest.test_peers import member


@pytest.mark.django_db
def test_the_first_page_of_a_process_that_read_ahead_asks_what_every_page_asks(
    ada, now, django_assert_num_queries
):
    for _ in range(24):
        member(now)
    asked = {"reader_ids": [ada.pk], "item_ids": [1], "now": now}
    peers_forget()
    # Who does not share, how many readers, the last thumb, the members, their thumbs.
    with django_assert_num_queries(5):
        community_rates_many(**asked)
    peers_forget()
    community_prepare(now=now)
    with django_assert_num_queries(3):
        community_rates_many(**asked)
    with django_assert_num_queries(5):
        community_rates_many(**{**asked, "now": now + timedelta(days=1)})


def test_a_process_starts_without_a_database_and_says_so(monkeypatch):
    def away(**_: object) -> None:
        raise OperationalError("no route")

    monkeypatch.setattr(warming, "community_prepare", away)
    with capture_logs() as logs:
        warming._read(timezone.now())
    assert [line["event"] for line in logs] == ["process_not_warmed"]


def test_a_process_does_not_wait_for_ever_for_what_it_reads_ahead(monkeypatch):
    begun, end = Event(), Event()

    def slow(**_: object) -> None:
        begun.set()
        end.wait(60)

    monkeypatch.setattr(warming, "community_prepare", slow)
    monkeypatch.setattr(warming, "PATIENCE_S", 0.05)
    warming.process_warm()
    assert begun.is_set() and not end.is_set(), "it went on while that was being read"
    end.set()
