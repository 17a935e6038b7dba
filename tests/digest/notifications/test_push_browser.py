"""In a real browser the page subscribes to Web Push, and the worker shows a push service's messages."""

import json
import time
from collections.abc import Iterator

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from digest.models import Destination, Reader
from ranking.common.encryption import secret_decrypt
from tests.digest.notifications.test_send import SUBSCRIPTION
from tests.support.chromium import CHROMIUM, chromium
from tests.test_pages_browser import page, watched

__all__ = ["page"]
pytestmark = [pytest.mark.browser, pytest.mark.alike, pytest.mark.django_db(transaction=True)]
ENDPOINT = "https://push.example/ada"
PUSH = """async (data) => {
    const event = new PushEvent("push", { data });
    await new Promise((done) => {
        event.waitUntil = (work) => done(work);
        self.dispatchEvent(event);
    });
    const [one] = await self.registration.getNotifications();
    return [one.title, one.body, one.data];
}"""
SHOWN = """navigator.serviceWorker.ready.then((one) => one.getNotifications()).then((all) => all.length)"""


@pytest.fixture
def tab(live_server) -> Iterator[Page]:
    """Open a tab in a Chromium with windows and its own profile. Headless Chromium shows no notifications."""
    context = chromium(program=CHROMIUM).new_context(base_url=live_server.url, reduced_motion="reduce")
    with context, watched(context.new_page(), live_server.url) as window:
        yield window


@pytest.fixture
def allowed(page: Page) -> Iterator[Page]:
    """Open Ada's page of notifications, with permission to show some.

    Only the push service's answers are made up, because tests cannot reach one.
    """
    page.goto("/ui/account/notifications")
    page.context.grant_permissions(["notifications"], origin=page.evaluate("location.origin"))
    yield page
    page.context.clear_permissions()


def test_a_browser_subscribes_with_our_key_and_is_listed(allowed: Page, ada: Reader):
    allowed.evaluate(
        """(made) => {
          PushManager.prototype.getSubscription = async () => null;
          PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
            if (!userVisibleOnly || applicationServerKey.length !== 87) throw new Error("refused");
            return { ...made, toJSON: () => made };
          };
        }""",
        json.loads(SUBSCRIPTION) | {"endpoint": ENDPOINT},
    )
    allowed.get_by_role("button", name="Notify me in this browser").click()
    expect(allowed.locator(".rows strong")).to_have_text("This browser")
    row = Destination.objects.get(reader=ada)
    assert row.address == ENDPOINT and json.loads(secret_decrypt(row.secret)).keys() >= {"keys"}


def test_a_push_is_shown_with_its_words_and_where_it_leads(allowed: Page):
    origin = allowed.evaluate("location.origin")
    allowed.evaluate("navigator.serviceWorker.ready.then(() => null)")
    data = json.dumps({"title": "Tidings", "body": "“tides”: Tides rise", "url": f"{origin}/ui/saved"})
    # A private window has no push service, and a worker gets more time only for events of its own browser.
    shown = allowed.context.service_workers[-1].evaluate(PUSH, data)
    assert shown == ["Tidings", "“tides”: Tides rise", f"{origin}/ui/saved"]


@pytest.mark.parametrize("end", ["signs out", "is signed out elsewhere"])
def test_whoever_comes_next_finds_no_notification_of_the_reader_before(allowed: Page, end: str):
    allowed.evaluate("navigator.serviceWorker.ready.then(() => null)")
    data = json.dumps({"title": "Tidings", "body": "“tides”: Tides rise", "url": allowed.url})
    allowed.context.service_workers[-1].evaluate(PUSH, data)
    allowed.goto("/ui/saved")
    assert allowed.evaluate(SHOWN) == 1, "they stay for who is signed in"
    if end == "signs out":
        allowed.locator(".menu summary").click()
        allowed.get_by_role("button", name="Sign out").click()
    else:
        Session.objects.all().delete()
        allowed.goto("/ui/saved")
    allowed.get_by_role("link", name="Sign in").or_(allowed.get_by_label("Password")).first.wait_for()
    late = time.monotonic() + 5
    while allowed.evaluate(SHOWN):
        assert time.monotonic() < late
        allowed.wait_for_timeout(50)
