"""Times on pages are those that HTML knows: a second has three digits after its point at most."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader
from ranking.config_body import ConfigEdit
from ranking.services import config_edit
from tests.support.browser import fresh_item

PAGES = ("/", "/ui/all", "/ui/search?q=lamp", "/ui/today/further", "/ui/teach", "/ui/history/settings")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?([+-]\d{2}:?\d{2}|Z))?")


@pytest.mark.parametrize("address", PAGES)
def test_every_time_is_one_that_html_knows(client: Client, ada: Reader, address: str):
    now = timezone.now().replace(microsecond=123_456)
    for n in range(3):
        item = fresh_item(ada, hours=n + 1, title=f"Lamp {n}")
        type(item).objects.filter(pk=item.pk).update(dated_at=item.dated_at.replace(microsecond=123_456))
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["lamps"]), expected_version=0, now=now)
    client.force_login(ada)
    body = client.get(address, follow=True).content.decode()
    assert not [time for time in re.findall(r'datetime="([^"]*)"', body) if not TIME.fullmatch(time)]
