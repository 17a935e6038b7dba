"""axe-core finds no violation on any page of a reader, a visitor or an operator, in light and in dark.

The URL conf and the admin's registry say which pages there are, so a new page is checked without a change.
The pages are dealt out to several cases: workers share them, and the world is built once for each case. A
sixth of the operators' pages is looked at with every change, and every third of the readers' in the dark,
where only colours are others. `make nightly` looks at all.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page

from config.models import NightlyReport
from digest.items.reading import item_read, item_save
from digest.models import Digest, Reader
from tests.support.browser import fresh_item, suggested
from tests.support.factories import FeedbackFactory, FeedFactory
from tests.support.thinned import mostly_nightly
from tests.test_isolation import ALL, ids, tip_of
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "ids", "page", "tab"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.alike,
    pytest.mark.django_db(transaction=True),
]

# Cases for readers' and for operators' pages; twenty and ten seconds each on a quiet machine.
PARTS, PARTS_OF_OPERATORS = range(3), range(6)
# Of so many pages one is looked at in the dark, unless every page is.
DARK_EVERY = 3
VIOLATIONS = {"resultTypes": ["violations"]}
# In the dark only colours are others: all else is looked at once.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
SCHEMES: dict[str, dict[str, Any]] = {"light": VIOLATIONS, "dark": {**VIOLATIONS, **COLOURS}}
# Django's own, beside our pages in its admin: the list of everything at the side, the same on every page and
# looked at as the index, is taken out, being half of many a page; the question mark beside its double lists,
# which may not have a name, and the heads of the rows within a form, two of which are empty, are left out.
SIDE = "#nav-sidebar"
DJANGOS_OWN = [".help-tooltip", ".inline-group thead"]
# The page of the API makes all its operations by one form: of each area the first is looked at.
REPEATED = ["section > .operation ~ .operation"]
RUN = """([exclude, options]) => {
  for (const part of document.querySelectorAll("main details")) part.open = true;
  return axe.run({exclude: exclude.map(one => [one])}, options).then(found => found.violations);
}"""
# A colour on its way from one scheme to the other is neither's.
AT_ONCE = """{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { transition: none !important }");
  document.adoptedStyleSheets = [sheet];
}"""
ADMIN_ROOMS = {"advisor", "digest", "ranking", "suggestions", "tidings"}
FIGURES = ["advisor_guidance", "advisor_kpis", "advisor_autonomy"]
VISITORS = ["/", "/offline", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/nowhere"]
API = "/api/docs"
# Variants of pages that depend on their query.
ASKED = [
    "/ui/all?order=best&source=gazette.example",
    "/ui/all?unread=1&folder=Nowhere",
    "/ui/all?before=1.1",
    "/ui/search?q=lamp",
    "/ui/search?q=zeppelin",
    "/ui/search?q=lapms&source=gazette.example&since=2020-01-01&until=never&saved=1",
    "/ui/calendar?month=2024-02",
    "/accounts/password/change/",
    "/accounts/email/",
    "/accounts/2fa/",
]


def ready(page: Page) -> Page:
    """Return a tab that brings axe to every page it goes to."""
    goto = page.goto

    def brought(url: str) -> None:
        goto(url)
        page.evaluate(AXE_SCRIPT + AT_ONCE)

    page.goto = brought
    return page


def complaints(page: Page, address: str, schemes: Iterable[str] = SCHEMES) -> list[str]:
    """Return axe's complaints about one page, in these schemes, with every part unfolded."""
    page.goto(address)
    page.evaluate("side => document.querySelector(side)?.remove()", SIDE)
    exclude = DJANGOS_OWN if address.startswith("/admin/") else REPEATED
    found = []
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        said: list[dict[str, Any]] = page.evaluate(RUN, [exclude, SCHEMES[scheme]])
        found += [
            f"{address} ({scheme}) {fault['id']}: {node['target']} {node['failureSummary'][:300]}"
            for fault in said
            for node in fault["nodes"]
        ]
    return found


def pages_of(reader: Reader, ids: dict[str, list[object]]) -> Iterator[str]:
    """Yield every address of the rooms that answers a GET with a page."""
    client = Client()
    client.force_login(reader)
    day = timezone.now().astimezone(reader.zone).date()
    for address in ALL:
        if address.name.startswith("api:"):
            continue
        known = {**ids, "date": [day]}
        if not {*address.ids} <= {*known}:
            continue  # a secret in the address: no reader's own page
        url = reverse(address.name, kwargs={name: known[name][0] for name in address.ids})
        answer = client.get(url)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            yield url


def pages_of_operators() -> Iterator[str]:
    """Yield the admin's index, each of our lists with the page of a row if there is one, and our own
    pages."""
    yield reverse("admin:index")
    for model in admin.site._registry:
        named = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        if model._meta.app_label in ADMIN_ROOMS:
            yield reverse(f"{named}_changelist")
            for row in model._default_manager.order_by("-pk")[:1]:
                yield reverse(f"{named}_change", args=[quote(row.pk)])
    yield from (reverse(f"admin:{name}") for name in FIGURES)


@pytest.fixture
def full(ada: Reader, ids: dict[str, list[object]]) -> dict[str, list[object]]:
    """Return a paper with items read, saved and rated either way, and suggestions that wait; Ada also
    operates."""
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


@pytest.fixture
def looked(page: Page) -> Page:
    """Ada's tab with axe in it."""
    return ready(page)


def test_the_registry_of_pages_has_the_ones_we_know(ada: Reader, full):
    readers, operators = [*pages_of(ada, full)], [*pages_of_operators()]
    assert {"/", "/ui/all", "/ui/search", "/ui/saved", "/ui/calendar", "/ui/sources"} <= {*readers}
    assert {"/ui/config", "/ui/account/delete"} <= {*readers}
    assert Digest.objects.exists()
    assert {"/admin/digest/feed/", "/admin/advisor/guidanceevent/figures/"} <= {*operators}
    assert len(readers) > 2 * len(PARTS) and len(operators) > 2 * len(PARTS_OF_OPERATORS)


@pytest.mark.parametrize("part", PARTS)
def test_no_page_of_a_reader_has_a_violation(looked: Page, ada: Reader, full, part: int):
    addresses = [*pages_of(ada, full), *ASKED][part :: len(PARTS)]
    found = [
        line
        for n, address in enumerate(addresses)
        for line in complaints(looked, address, ["light"] if n % DARK_EVERY else SCHEMES)
    ]
    assert found == [], "\n".join(found)


@pytest.mark.nightly
def test_no_page_of_a_reader_has_a_violation_in_the_dark(looked: Page, ada: Reader, full):
    addresses = [*pages_of(ada, full), *ASKED, API]
    found = [line for address in addresses for line in complaints(looked, address, ["dark"])]
    assert found == [], "\n".join(found)


PARTS_NAMED = {str(part): part for part in PARTS_OF_OPERATORS}


@pytest.mark.parametrize("part", mostly_nightly(PARTS_NAMED, always=["0"]))
def test_no_page_of_an_operator_has_a_violation(
    browser: Browser, live_server, page: Page, ada: Reader, full, part: int
):
    NightlyReport.objects.create(day=timezone.now().date(), status="completed", started_at=timezone.now())
    FeedFactory(error_code="http_error", failures=3)
    addresses = [*pages_of_operators()]
    assert any(re.fullmatch(r"/admin/tidings/nightlyreport/\d+/change/", address) for address in addresses)
    with browser.new_context(base_url=live_server.url, reduced_motion="reduce") as context:
        context.add_cookies(page.context.cookies())
        tab = ready(context.new_page())
        found = [line for address in addresses[part :: len(PARTS_NAMED)] for line in complaints(tab, address)]
    assert found == [], "\n".join(found)


def test_no_page_of_a_visitor_has_a_violation(browser: Browser, live_server):
    with browser.new_context(base_url=live_server.url, reduced_motion="reduce") as context:
        tab = ready(context.new_page())
        found = [line for address in VISITORS for line in complaints(tab, address)]
        found += complaints(tab, API, ["light"])
    assert found == [], "\n".join(found)


def test_a_reader_with_nothing_yet_meets_no_violation_either(looked: Page, ada: Reader):
    found = [
        line
        for address in ("/", "/ui/all", "/ui/saved", "/ui/sources")
        for line in complaints(looked, address)
    ]
    assert found == [], "\n".join(found)


def test_the_list_of_keys_has_no_violation(looked: Page, ada: Reader):
    fresh_item(ada)
    looked.goto("/")
    looked.keyboard.press("?")
    assert looked.evaluate(RUN, [[], VIOLATIONS]) == []


def test_a_fault_would_be_found(looked: Page, ada: Reader):
    looked.goto("/ui/saved")
    looked.evaluate(
        "document.querySelector('main').append(Object.assign(new Image(), {src: '/static/icon.svg'}))"
    )
    assert [fault["id"] for fault in looked.evaluate(RUN, [[], VIOLATIONS])] == ["image-alt"]


def test_a_colour_too_faint_in_the_dark_alone_would_be_found(looked: Page, ada: Reader):
    looked.goto("/ui/saved")
    looked.evaluate(
        "document.adoptedStyleSheets[0].insertRule("
        "'@media (prefers-color-scheme: dark) { main * { color: #222 !important } }')"
    )
    assert looked.evaluate(RUN, [[], SCHEMES["light"]]) == []
    looked.emulate_media(color_scheme="dark")
    found = looked.evaluate(RUN, [[], SCHEMES["dark"]])
    assert [fault["id"] for fault in found] == ["color-contrast"]


def test_a_tip_has_no_violation(looked: Page, ada: Reader):
    tip_of(ada, timezone.now())
    assert complaints(looked, "/") == []
    assert looked.get_by_role("complementary", name="Tip").is_visible()


def test_what_a_finger_can_press_is_large_enough(page: Page, ada: Reader):
    for n in range(3):
        fresh_item(ada, title=f"A lamp {n} that says so much that its title goes on for two lines of a phone")
    suggested(ada)
    tab = ready(page)
    tab.set_viewport_size({"width": 360, "height": 740})
    for address in ("/", "/ui/all", "/ui/search?q=lamp", "/ui/suggestions", "/ui/config"):
        tab.goto(address)
        found = tab.evaluate(RUN, [[], {"runOnly": {"type": "rule", "values": ["target-size"]}}])
        faults = [(node["html"], node["failureSummary"]) for fault in found for node in fault["nodes"]]
        assert faults == [], address
