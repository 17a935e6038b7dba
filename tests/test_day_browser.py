"""The reader's whole day in a real browser, from signing up to going back on a change; then by keys alone."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect
from pytest_httpserver import HTTPServer

from digest.feedback.services import feedback_set
from digest.feeds.fetch_batch import feeds_fetch
from digest.models import Feedback, Item, Reader, Reading
from ranking.selectors import config_effective
from tests.support.chromium import listening, until
from tests.test_pages_browser import browser, tab
from tests.test_ring import DAYS, GAZETTE, RUMOURS, last_noon, rss

__all__ = ["browser", "tab"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.alike,
    pytest.mark.django_db(transaction=True),
]

PASSWORD = "a-lamp-and-a-kettle"
TABS_MAX = 150


@pytest.fixture
def feeds(httpserver: HTTPServer, settings) -> dict[str, str]:
    """Two publishers on this machine, an item a day each; the rumours always a little fresher."""
    settings.FETCH_ALLOW_HOSTS, settings.FETCH_HOST_GAP_S = [GAZETTE, RUMOURS], 0
    addresses = {}
    for host, headline, hours in ((GAZETTE, "Council report", 1), (RUMOURS, "Shocking rumour", 0)):
        body = rss(host, headline, last_noon(timezone.now()) - timedelta(hours=hours))
        httpserver.expect_request(f"/{hours}").respond_with_data(body)
        addresses[host] = f"http://{host}:{httpserver.port}/{hours}"
    return addresses


def opml(addresses: dict[str, str]) -> bytes:
    lines = "".join(f'<outline type="rss" text="{host}" xmlUrl="{url}"/>' for host, url in addresses.items())
    return f'<opml version="2.0"><body><outline text="News">{lines}</outline></body></opml>'.encode()


def weeks_of_thumbs(reader: Reader) -> None:
    """Store her thumbs of three weeks before: the council's reports are useful, the rumours are not."""
    old = timezone.now() - timedelta(days=8)
    for item in Item.objects.filter(dated_at__lt=old):
        useful = item.source_id == GAZETTE
        at = item.dated_at + timedelta(minutes=30)
        feedback_set(
            reader=reader, item_id=item.pk, useful=useful, tags=["depth" if useful else "hype"], now=at
        )


def titles(page: Page) -> list[str]:
    page.goto("/")
    return page.locator("article.item h2").all_inner_texts()


def test_a_whole_day_by_mouse(tab: Page, feeds: dict[str, str]):
    tab.goto("/accounts/signup/")
    tab.get_by_label("Username").fill("cleo")
    tab.locator("[name=password1]").fill(PASSWORD)
    tab.locator("[name=password2]").fill(PASSWORD)
    tab.get_by_role("button", name="Create my account").click()

    # She comes from another reader and brings her list along.
    tab.get_by_role("link", name="Import your list of feeds").click()
    list_of_hers = {"name": "mine.opml", "mimeType": "text/x-opml", "buffer": opml(feeds)}
    tab.locator("#id_file").set_input_files(list_of_hers)
    tab.get_by_role("button", name="Import", exact=True).click()
    expect(tab.locator("main")).to_contain_text("2 feeds")
    assert feeds_fetch(now=timezone.now()).as_dict()["items_new"] == 2 * DAYS
    cleo = Reader.objects.get(username="cleo")
    weeks_of_thumbs(cleo)

    # She reads, rates with a reason, saves and searches.
    before = titles(tab)
    assert before[0] == "Shocking rumour 0"
    first = tab.locator(".item").last
    first.get_by_role("button", name="Useful", exact=True).click()
    first.locator(".tags > summary").click()
    first.get_by_role("button", name="Real depth").click()
    expect(first.get_by_role("button", name="Real depth")).to_have_attribute("aria-pressed", "true")
    first.locator("[data-key=s]").click()
    tab.goto("/ui/search?q=council")
    expect(tab.locator("main")).to_contain_text("Council report")
    expect(tab.locator("main")).not_to_contain_text("Shocking rumour")

    # She asks for suggestions, looks at the effect of one, and accepts it there.
    tab.goto("/ui/suggestions")
    tab.get_by_role("button", name="Generate suggestions").click()
    card = tab.locator("[data-card]").first
    expect(card).to_be_visible(timeout=30_000)
    card.get_by_text("The articles behind it").click()
    card.get_by_role("link", name="before and after").click()
    expect(tab.get_by_role("columnheader", name="After")).to_be_visible()
    promised = tab.locator("tbody td:last-child a").all_inner_texts()
    tab.get_by_role("button", name="Yes").click()
    expect(tab.locator(".messages")).to_contain_text("Applied")

    # The digest is the one she was shown, until she goes back on it.
    assert [f"{n}" for n in titles(tab)] == promised != before
    tab.goto("/ui/history")
    tab.get_by_role("button", name="Undo").first.click()
    expect(tab.locator(".messages")).to_be_visible()
    assert titles(tab) == before
    assert config_effective(reader_id=cleo.pk).weights() == {}


def test_a_whole_day_by_keyboard_alone(tab: Page, feeds: dict[str, str]):
    keys = tab.keyboard
    tab.goto("/accounts/signup/")
    reach(tab, tab.get_by_label("Username"))
    keys.type("dora")
    for field in ("password1", "password2"):
        reach(tab, tab.locator(f"[name={field}]"))
        keys.type(PASSWORD)
    press(tab, tab.get_by_role("button", name="Create my account"))
    press(tab, tab.get_by_role("button", name="Not now"))
    expect(tab.get_by_text("no sources yet")).to_be_visible()  # a visit at once would cut it off

    # A feed at a time, typed.
    for address in feeds.values():
        tab.goto("/ui/sources")
        reach(tab, tab.locator("#id_url"))
        keys.type(address)
        keys.press("Enter")
        expect(tab.locator(".messages")).to_contain_text("You now read")
    feeds_fetch(now=timezone.now())
    dora = Reader.objects.get(username="dora")
    weeks_of_thumbs(dora)

    # Down to the second item, up or down, saved, found again.
    before = titles(tab)
    for key in "jjus":
        keys.press(key)
    expect(tab.locator(".item").nth(1).get_by_role("button", name="Useful", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    until(tab, Reading.objects.filter(reader=dora, saved_at__isnull=False).exists)
    assert Feedback.objects.filter(reader=dora, item__title=before[1], useful=True).exists()
    keys.press("/")
    expect(tab.get_by_role("searchbox")).to_be_focused()
    keys.type("council")
    keys.press("Enter")
    expect(tab.locator("main")).to_contain_text("Council report")

    source_by_keys(tab, dora)

    # A suggestion, its preview, and the answer.
    tab.goto("/ui/suggestions")
    press(tab, tab.get_by_role("button", name="Generate suggestions"))
    card = tab.locator("[data-card]").first
    expect(card).to_be_visible(timeout=30_000)
    press(tab, card.locator("summary").last)
    press(tab, card.get_by_role("link", name="before and after"))
    press(tab, tab.get_by_role("button", name="Yes"))
    expect(tab.locator(".messages")).to_contain_text("Applied")
    assert titles(tab) != before
    tab.goto("/ui/history")
    press(tab, tab.get_by_role("button", name="Undo").first)
    expect(tab.locator(".messages")).to_be_visible()
    assert titles(tab) == before


def source_by_keys(tab: Page, dora: Reader) -> None:
    """Go from all items to one source, then down, read, all read, and undo."""
    press(tab, tab.locator("nav").get_by_role("link", name="All", exact=True))
    expect(tab.get_by_role("heading", name="All items")).to_be_visible()
    tab.keyboard.press("j")
    source = tab.locator("article.item").first.locator(".meta a").first
    wanted = source.locator("bdi").inner_text()
    press(tab, source)
    expect(tab.get_by_role("heading", level=1)).to_have_text(wanted)
    listening(tab)
    for key in "jjm":
        tab.keyboard.press(key)
    until(tab, Reading.objects.filter(reader=dora, read_at__isnull=False).count, 1)
    tab.keyboard.press("A")
    expect(tab.locator(".marked")).to_be_visible()
    listening(tab)
    tab.keyboard.press("z")
    expect(tab.locator(".messages")).to_contain_text("unread again")
    assert Reading.objects.filter(reader=dora, read_at__isnull=False).count() == 1


def reach(page: Page, target: Locator) -> None:
    """Press Tab until `target` has the focus. Fail if it is never reached."""
    expect(target).to_be_visible()
    for _ in range(TABS_MAX):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {target}.")


def press(page: Page, target: Locator) -> None:
    reach(page, target)
    page.keyboard.press("Enter")
