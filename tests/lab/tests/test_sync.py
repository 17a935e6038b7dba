"""The client of the sync benchmark, against a running site. FreshRSS only if it is installed."""

import pytest
from django.utils import timezone

from digest.accounts.tokens import token_issue
from digest.models import Reader
from tests.lab.bench import sync as bench
from tests.support.browser import fresh_item


@pytest.mark.django_db(transaction=True)
def test_a_sync_has_every_unread_item_by_continuation(live_server, own_cache, monkeypatch):
    monkeypatch.setattr(bench, "IDS", 2)
    monkeypatch.setattr(bench, "CONTENTS", 1)
    ada = Reader.objects.create_user(username=bench.NAME)
    items = {fresh_item(ada, hours=n).pk for n in range(1, 4)}
    secret = token_issue(reader=ada, name="app", scope="read", expires_at=None, now=timezone.now()).secret
    site = bench.Site("Tidings", f"{live_server.url}/", secret, list)
    assert bench.sync(site) == (items, items)
    with pytest.raises(AssertionError):
        bench.timed(site, len(items) + 1)


def test_without_freshrss_the_row_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.delenv("FRESHRSS_DIR", raising=False)
    with pytest.raises(bench.Missing, match="FRESHRSS_DIR"), bench.freshrss(tmp_path, []):
        pass
