"""Mutes are read once a request, and again after a write."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from digest.items.selectors import mutes_in_force
from digest.models import Reader
from ranking.entities import Mute
from ranking.selectors import config_hiding, reading_once
from ranking.services import mute_set
from tests.support.browser import fresh_item

LAMP, FERRY = Mute("word", "lamp"), Mute("word", "ferry")


def test_a_request_reads_them_once_and_the_next_one_anew(ada: Reader, client: Client):
    fresh_item(ada, title="A lamp is lit")
    client.force_login(ada)
    for mute in (LAMP, FERRY):
        mute_set(reader_id=ada.pk, mute=mute, now=timezone.now())
        with CaptureQueriesContext(connection) as caught:
            client.get("/ui/all")
        reads = [query for query in caught if 'SELECT "ranking_rankconfig"."mutes"' in query["sql"]]
        assert len(reads) == 1


def test_what_is_written_meanwhile_is_seen_by_its_reader_alone(ada: Reader, ben: Reader, now):
    with reading_once():
        assert not mutes_in_force(reader_id=ada.pk, now=now)
        mute_set(reader_id=ada.pk, mute=LAMP, now=now)
        with reading_once():  # shares the outer block's memory
            assert mutes_in_force(reader_id=ada.pk, now=now).mutes == (LAMP,)
        assert not mutes_in_force(reader_id=ben.pk, now=now)
    assert config_hiding(reader_id=ada.pk).mutes == (LAMP,)
