"""Today's digest as one page for a device: its reader, its content, and the effect of signing out."""

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.templatetags.static import static
from django.test import Client
from django.test.utils import CaptureQueriesContext

from digest.models import Exposure, Reader, Reading
from tests.support.browser import fresh_item

HERE = "/ui/today/offline"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    Reader.objects.filter(pk=ada.pk).update(offline_today=True)
    fresh_item(ada, title="A lamp", text="Words about lamps.")
    client.force_login(ada)
    client.get("/")
    return client


def test_it_has_the_articles_and_counts_as_no_reading(page: Client):
    Exposure.objects.all().delete()
    answer = page.get(HERE)
    assert "Words about lamps." in answer.content.decode() and answer["X-Tidings-Reader"]
    assert answer["Cache-Control"] == "no-store"  # the worker's store alone has it
    assert not Reading.objects.exists() and not Exposure.objects.exists()


def test_who_did_not_ask_has_none(page: Client, ada: Reader):
    assert 'name="offline-today"' in page.get("/").content.decode()
    Reader.objects.filter(pk=ada.pk).update(offline_today=False)
    assert page.get(HERE).status_code == 404
    assert 'name="offline-today"' not in page.get("/").content.decode()


def test_two_readers_have_two_names(page: Client, ben: Reader):
    Reader.objects.filter(pk=ben.pk).update(offline_today=True)
    mine = page.get(HERE)["X-Tidings-Reader"]
    page.force_login(ben)
    answer = page.get(HERE)
    assert answer["X-Tidings-Reader"] != mine and "lamps" not in answer.content.decode()


def test_it_costs_the_same_for_one_item_and_many(page: Client, ada: Reader):
    def cost() -> int:
        page.get("/")
        with CaptureQueriesContext(connection) as caught:
            page.get(HERE)
        return len(caught)

    first = cost()
    for n in range(8):
        fresh_item(ada, key=f"s{n}.example", title=f"Another {n}", body_hash=1)
    assert cost() <= first + 1  # bodies


def test_signing_out_has_the_browser_wipe_the_site_for_who_asked(page: Client, ada: Reader):
    assert page.post("/accounts/logout/")["Clear-Site-Data"] == '"cache", "storage"'
    Reader.objects.filter(pk=ada.pk).update(offline_today=False)
    page.force_login(ada)
    assert "Clear-Site-Data" not in page.post("/accounts/logout/")


def test_the_site_can_be_installed(client: Client, db):
    body = client.get("/accounts/login/").content.decode()
    assert f'rel="manifest" href="{static("tidings.webmanifest")}"' in body
    manifest = json.loads((settings.BASE_DIR / "static" / "tidings.webmanifest").read_text())
    assert {icon["sizes"] for icon in manifest["icons"]} >= {"192x192", "512x512"}
    for icon in manifest["icons"]:
        assert (settings.BASE_DIR / "static" / Path(icon["src"])).exists()
    assert client.get("/favicon.ico").url == static("icon-192.png")
    assert "manifest-src 'self'" in client.get("/accounts/login/")["Content-Security-Policy"]
