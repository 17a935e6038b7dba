"""axe-core on every page a reader or a visitor can open, in light and dark: no violation at all.

The pages are found in the URL conf, so a page that is added is looked at, too.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page

from digest.models import Digest, Reader
from digest.services.readings import item_read, item_save
from tests.factories import FeedbackFactory
from tests.pages import fresh_item, suggested
from tests.test_isolation import ALL, ids
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "ids", "page", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.rendering, pytest.mark.django_db(transaction=True)]

SCHEMES = ("light", "dark")
VISITORS = ["/offline", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/nowhere"]
# Pages whose looks hang on what is asked for, beside the plain one.
ASKED = [
    "/ui/search?q=lamp",
    "/ui/search?q=zeppelin",
    "/ui/calendar?month=2024-02",
    "/accounts/password/change/",
]
# Leaves nobody signed in, or leads off the site.
LEAVING = {"digest:account_delete"}


def complaints(page: Page, address: str) -> list[str]:
    """What axe finds wrong on one page, in both schemes, every part of it unfolded."""
    page.goto(address)
    for summary in page.locator("main summary:visible").all():
        summary.click()
    found = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        said: dict[str, Any] = Axe().run(page).response
        found += [
            f"{address} ({scheme}) {fault['id']}: {node['target']} {node['failureSummary'][:300]}"
            for fault in said["violations"]
            for node in fault["nodes"]
        ]
    return found


def pages_of(reader: Reader, ids: dict[str, list[object]]) -> Iterator[str]:
    """Every address of the rooms that answers a GET with a page."""
    client = Client()
    client.force_login(reader)
    day = timezone.now().astimezone(reader.zone).date()
    for address in ALL:
        if address.name.startswith("api:") or address.name in LEAVING:
            continue
        known = {**ids, "date": [day]}
        if not {*address.ids} <= {*known}:
            continue  # a secret in the address: no reader's own page
        url = reverse(address.name, kwargs={name: known[name][0] for name in address.ids})
        answer = client.get(url)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            yield url


@pytest.fixture
def full(ada: Reader, ids: dict[str, list[object]]) -> dict[str, list[object]]:
    """A paper with items read, saved and rated either way, and suggestions that wait; Ada also operates."""
    now = timezone.now()
    ada.is_staff = ada.is_superuser = True
    ada.save()
    for n in range(4):
        item = fresh_item(ada, hours=n + 1, title=f"A lamp {n}", text="Words about lamps. " * 20)
        if n < 2:
            FeedbackFactory(reader=ada, item=item, useful=bool(n))
        item_save(reader=ada, item_id=item.pk, saved=n % 2 == 0, now=now)
        item_read(reader=ada, item_id=item.pk, now=now) if n > 2 else None
    suggested(ada, target_key="other.example", label="Other")
    return ids


def test_no_page_of_a_reader_has_a_violation(page: Page, ada: Reader, full):
    addresses = [*pages_of(ada, full), *ASKED]
    assert {"/", "/ui/search", "/ui/saved", "/ui/calendar", "/ui/sources", "/ui/config"} <= {*addresses}
    assert Digest.objects.exists()
    found = [line for address in addresses for line in complaints(page, address)]
    assert found == [], "\n".join(found)


def test_no_page_of_a_visitor_has_a_violation(browser: Browser, live_server):
    with browser.new_context(base_url=live_server.url, reduced_motion="reduce") as context:
        tab = context.new_page()
        found = [line for address in VISITORS for line in complaints(tab, address)]
    assert found == [], "\n".join(found)


def test_a_reader_with_nothing_yet_meets_no_violation_either(page: Page, ada: Reader):
    found = [line for address in ("/", "/ui/saved", "/ui/sources") for line in complaints(page, address)]
    assert found == [], "\n".join(found)


def test_the_list_of_keys_has_no_violation(page: Page, ada: Reader):
    fresh_item(ada)
    page.goto("/")
    page.keyboard.press("?")
    assert Axe().run(page).response["violations"] == []


def test_a_fault_would_be_found(page: Page, ada: Reader):
    page.goto("/ui/saved")
    page.evaluate(
        "document.querySelector('main').append(Object.assign(new Image(), {src: '/static/icon.svg'}))"
    )
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == ["image-alt"]
