"""A newcomer's first days in a real browser: account, feeds, a thumb, a suggestion, a way back."""

from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_httpserver import HTTPServer

from digest.models import Digest, Feedback, Item, Reader, Source
from digest.services.fetching import feeds_fetch
from suggestions.models import Evidence, Suggestion
from tests.test_pages_browser import browser, tab

__all__ = ["browser", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def feed(title: str, hours: float, count: int = 4) -> str:
    """An RSS document with items of `hours` ago, one an hour older than the other."""
    items = ""
    for n in range(count):
        at = format_datetime(timezone.now() - timedelta(hours=hours + n))
        link = f"https://{title.lower()}.example/{n}"
        items += f"<item><title>{title} {n}</title><link>{link}</link><pubDate>{at}</pubDate></item>"
    return f'<rss version="2.0"><channel><title>{title}</title>{items}</channel></rss>'


@pytest.fixture
def opml(httpserver: HTTPServer, settings, tmp_path: Path) -> Path:
    """A list of two feeds of a site on this machine: the Herald's news is fresher than the Gazette's."""
    hosts = {"Herald": f"localhost:{httpserver.port}", "Gazette": f"127.0.0.1:{httpserver.port}"}
    settings.FETCH_ALLOW_HOSTS = list(hosts.values())
    settings.FETCH_PORTS, settings.FETCH_HOST_GAP_S = [httpserver.port], 0.0
    outlines = ""
    for name, hours in (("Herald", 2), ("Gazette", 4)):
        httpserver.expect_request(f"/{name}").respond_with_data(feed(name, hours), content_type="text/xml")
        outlines += f'<outline type="rss" text="{name}" xmlUrl="http://{hosts[name]}/{name}"/>'
    path = tmp_path / "feeds.opml"
    path.write_text(f'<opml version="2.0"><body>{outlines}</body></opml>', encoding="utf-8")
    return path


def suggest_more_of(source: Source, reader: Reader) -> None:
    """A pending suggestion with three liked items of `source` behind it, as a run would leave it."""
    now = timezone.now()
    made = Suggestion.objects.create(
        reader=reader,
        suggestion_type="boost_source",
        field="source_weights",
        target_key=source.key,
        label=str(source),
        current_value="1.0",
        suggested_value="1.3",
        reason="You liked 3 of 3.",
        confidence="high",
        p_helpful=0.93,
        config_version=0,
        created_at=now,
    )
    for item in Item.objects.filter(source=source)[:3]:
        Evidence.objects.create(
            suggestion=made,
            item=item,
            url=item.url,
            title=item.title,
            source_key=source.key,
            useful=True,
            reason_tags=[],
            rated_at=now,
        )


def titles(page: Page) -> list[str]:
    page.goto("/")
    return page.locator(".item h2").all_inner_texts()


def test_from_an_account_to_a_changed_digest_and_back(tab: Page, opml: Path):
    tab.goto("/accounts/signup/")
    tab.get_by_label("Username").fill("cleo")
    tab.locator("[name=password1]").fill("a-lamp-and-a-kettle")
    tab.locator("[name=password2]").fill("a-lamp-and-a-kettle")
    tab.get_by_role("button", name="Create my account").click()
    tab.get_by_role("button", name="Not now").click()
    tab.goto("/ui/sources")
    tab.locator("input[type=file]").set_input_files(opml)
    tab.get_by_role("button", name="Import").click()
    expect(tab.get_by_role("heading", name="2 feeds added")).to_be_visible()
    feeds_fetch(now=timezone.now())

    before = titles(tab)
    assert before[0] == "Herald 0"
    box = tab.locator(".item").filter(has_text="Gazette 0")
    box.get_by_role("button", name="Useful", exact=True).click()
    box.locator(".tags button").first.click()
    expect(box.locator(".tags button").first).to_have_attribute("aria-pressed", "true")
    cleo = Reader.objects.get(username="cleo")
    assert Feedback.objects.get(reader=cleo).has_reason
    tab.keyboard.press("/")
    tab.get_by_label("Words in a title").fill("gazette")
    tab.keyboard.press("Enter")
    expect(tab.locator(".item")).to_have_count(4)

    suggest_more_of(Item.objects.get(title="Gazette 1").source, cleo)
    tab.goto("/")
    tab.get_by_role("complementary", name="Suggestions").get_by_role("link").click()
    tab.wait_for_selector("html[data-scripts=ready]", state="attached")
    tab.get_by_role("button", name="Accept", exact=True).click()
    expect(tab.get_by_text("✓ Applied · Show me more from")).to_be_visible()
    Digest.objects.all().delete()  # another day
    after = titles(tab)
    assert after != before
    assert after.index("Gazette 1") < before.index("Gazette 1")

    tab.goto("/ui/history")
    tab.locator("main form[action$='/undo'] button").first.click()
    Digest.objects.all().delete()
    assert titles(tab) == before
