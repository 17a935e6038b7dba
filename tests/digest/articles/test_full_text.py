"""Full texts over real sockets: asked for, allowed by robots.txt, bounded, cleaned, and each feed's own."""

import random
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from config.apps import check_full_text
from digest.articles import full_text
from digest.articles.full_text import full_text_get, full_text_of, full_texts_update, full_texts_wanted
from digest.articles.page_text import PAGES, page_article, robots_answer
from digest.errors import FullTextMissing
from digest.feeds.entities import FeedProblem
from digest.models import Feed, FullText, Item, Reader, Subscription
from digest.tasks import feeds_fetch_task
from tests.support.factories import FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db

SENTENCE = "The weir held through the ninth night, though the gauge at the bridge had never read so high"
HOSTILE = (
    "<script>steal()</script><p onclick=steal() style='x'>{words} <a href='javascript:steal()'>here</a></p>"
    "<svg onload=steal()></svg><iframe srcdoc='<script>steal()</script>'></iframe><img src=x onerror=steal()>"
    "<math><mtext></p><style><img src=x onerror=steal()></style></math><form action=//evil><input></form>"
)

ADA_ID = UUID(int=1)


def markup(words: str = SENTENCE, more: str = "") -> str:
    paragraphs = "".join(f"<p>{words}, and the <b>{n}th</b> boat came.</p>" for n in range(8))
    return (
        f"<html><head><title>Floods</title></head><body><nav><a href='/'>Menu of the site</a></nav>"
        f"<article><h1>Floods</h1>{paragraphs}{more}</article><footer>Imprint</footer></body></html>"
    )


@pytest.fixture(autouse=True)
def on(settings, httpserver: HTTPServer, own_cache: None) -> None:
    settings.FULL_TEXT, settings.FETCH_HOST_GAP_S = True, 0.0
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]


@pytest.fixture
def feed(httpserver: HTTPServer) -> Feed:
    """Return a feed of the publisher on this machine."""
    url = httpserver.url_for("/feed.xml")
    return FeedFactory(url=url, source=SourceFactory(key="weir.example"), state=Feed.State.ACTIVE)


def item_at(feed: Feed, path: str, httpserver: HTTPServer) -> Item:
    return ItemFactory(
        feed=feed,
        source=feed.source,
        url=path if "://" in path else httpserver.url_for(path),
        text="A summary.",
        published_at=timezone.now(),
    )


def serve(
    httpserver: HTTPServer,
    body: str | bytes = "",
    *,
    robots: str = "",
    kind: str = "text/html",
) -> None:
    httpserver.expect_request("/robots.txt").respond_with_data(robots, content_type="text/plain")
    httpserver.expect_request("/a").respond_with_data(body or markup(), content_type=kind)


def refused(item: Item) -> str:
    """Why there is no full text, in code and words."""
    with pytest.raises(FullTextMissing) as missing:
        full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
    assert full_text_of(item=item) is None
    row = FullText.objects.filter(item=item).first()
    return f"{row.problem if row else ''}: {missing.value.message}"


def asked(httpserver: HTTPServer) -> list[str]:
    return [request.path for request, _ in httpserver.log]


def test_a_page_is_fetched_after_its_robots_txt_and_once(feed: Feed, httpserver: HTTPServer):
    serve(httpserver)
    item = item_at(feed, "/a?secret=1", httpserver)
    for _ in range(2):
        full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
    assert asked(httpserver) == ["/robots.txt", "/a"]
    found = full_text_of(item=item)
    assert found is not None and found.html.count(SENTENCE) == 8 and "<strong>7th</strong>" in found.html
    assert "Menu" not in found.html and "Imprint" not in found.html and found.host == httpserver.host
    row = FullText.objects.get()
    assert "secret" not in row.url and len(row.html) < len(found.html)
    request, _ = httpserver.log[1]
    assert not {"Referer", "Cookie", "Authorization"} & set(dict(request.headers))
    item.refresh_from_db()
    assert item.text == "A summary."


def test_nothing_is_fetched_where_the_setting_is_off(
    feed: Feed, httpserver: HTTPServer, settings, ada: Reader
):
    item = item_at(feed, "/a", httpserver)
    SubscriptionFactory(reader=ada, feed=feed, full_text=True)
    settings.FULL_TEXT = False
    assert "no page" in refused(item) and full_texts_update(now=timezone.now()) == 0
    client = Client()
    client.force_login(ada)
    assert client.post(f"/ui/item/{item.pk}/full-text").status_code == 404
    assert "full-text" not in client.get(f"/ui/item/{item.pk}").content.decode()
    assert "full_text" not in client.get(f"/ui/sources/{feed.pk}").content.decode()
    assert not httpserver.log


@pytest.mark.parametrize("robots", ["User-agent: *\nDisallow: /", "User-agent: tidings\nDisallow: /*a$"])
def test_a_page_that_robots_txt_forbids_is_never_asked_for(robots: str, feed: Feed, httpserver: HTTPServer):
    serve(httpserver, robots=robots)
    assert refused(item_at(feed, "/a", httpserver)).startswith("robots_refused: Its robots.txt")
    assert asked(httpserver) == ["/robots.txt"]


@pytest.mark.parametrize(
    ("status", "code"), [(404, ""), (403, ""), (500, "robots_unknown"), (429, "http_429")]
)
def test_a_missing_robots_txt_allows_and_a_broken_one_does_not(
    status: int, code: str, feed: Feed, httpserver: HTTPServer
):
    httpserver.expect_request("/robots.txt").respond_with_data("", status=status)
    httpserver.expect_request("/a").respond_with_data(markup(), content_type="text/html")
    item = item_at(feed, "/a", httpserver)
    if code:
        assert refused(item).startswith(code) and asked(httpserver) == ["/robots.txt"]
    else:
        full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
        assert full_text_of(item=item)


def test_no_site_fills_the_cache_with_its_robots_txt(feed: Feed, httpserver: HTTPServer):
    rules = "".join(f"Disallow: /private/{n}\n" for n in range(10_000))
    noise = random.Random(7).randbytes(200_000).hex()
    for robots, times in (("User-agent: *\n" + rules, 1), (f"# {noise}", 2)):
        cache.clear()
        httpserver.clear()
        serve(httpserver, robots=robots)
        for n in range(2):
            full_text_get(
                item=item_at(feed, f"/a?{times}{n}", httpserver), reader_id=ADA_ID, now=timezone.now()
            )
        assert asked(httpserver).count("/robots.txt") == times
        assert all(len(one) < 40_000 for one in cache._cache.values())


def test_robots_txt_is_kept_for_an_hour_and_asked_again_of_another_path(feed: Feed, httpserver: HTTPServer):
    serve(httpserver, robots="User-agent: *\nDisallow: /b")
    full_text_get(item=item_at(feed, "/a", httpserver), reader_id=ADA_ID, now=timezone.now())
    assert refused(item_at(feed, "/b", httpserver)).startswith("robots_refused")
    assert asked(httpserver) == ["/robots.txt", "/a"]


def test_a_redirect_is_asked_about_too(feed: Feed, httpserver: HTTPServer):
    serve(httpserver, robots="User-agent: *\nDisallow: /private")
    httpserver.expect_request("/moved").respond_with_data("", status=302, headers={"Location": "/private/a"})
    assert refused(item_at(feed, "/moved", httpserver)).startswith("robots_refused")
    assert "/private/a" not in asked(httpserver)


@pytest.mark.parametrize("inner", ["http://169.254.169.254/latest", "http://127.0.0.2:80/", "http://[::1]/"])
def test_an_inner_address_is_refused_directly_and_by_redirect(inner: str, feed: Feed, httpserver: HTTPServer):
    serve(httpserver)
    httpserver.expect_request("/moved").respond_with_data("", status=301, headers={"Location": inner})
    for path in ("/moved", inner):
        assert refused(item_at(feed, path, httpserver)).startswith("forbidden_address: That address is not")


def test_a_feed_from_outside_cannot_send_us_to_the_hosts_an_operator_allows(httpserver: HTTPServer, db: None):
    serve(httpserver)
    outside = FeedFactory(source=SourceFactory(key="far.example"), state=Feed.State.ACTIVE)
    assert refused(item_at(outside, "/a", httpserver)).split(":")[0] in ("forbidden_address", "bad_port")
    assert not httpserver.log


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"%PDF-1.7 " * 900, "application/pdf", "not_a_page"),
        (b"<p>" + b"x" * (full_text.PAGE_MAX_BYTES + 1), "text/html", "too_large"),
        (b"<html><body><nav>Menu</nav></body></html>", "text/html", "no_article"),
        (b" ", "text/html", "empty"),
    ],
)
def test_what_is_no_article_is_refused_in_words(
    body: bytes, kind: str, code: str, feed: Feed, httpserver: HTTPServer
):
    serve(httpserver, body, kind=kind)
    said = refused(item_at(feed, "/a", httpserver))
    assert said.startswith(code) and "feed" not in said and said.endswith(".")


COOKIES = (
    "We and our partners store information on your device, measure how this website is used and choose "
    "advertising for you. Accept everything, or change your choices in the settings of your account."
)
STANDFIRST = (
    f"{SENTENCE}. Engineers opened the upper sluice before midnight, and farmers below Osterbrook moved "
    "their cattle to the churchyard hill."
)


@pytest.mark.parametrize(
    ("page", "text", "code"),
    [
        (markup(COOKIES), STANDFIRST, "another_text: What can be read on that page is another text"),
        (markup(), STANDFIRST * 10, "not_more: That page has no more of the article than its feed."),
        (markup(), STANDFIRST, ""),
        (markup(COOKIES), "水位は高い。" * 12, ""),
    ],
)
def test_a_page_that_is_worse_than_its_feeds_text_does_not_replace_it(
    page: str, text: str, code: str, feed: Feed, httpserver: HTTPServer
):
    serve(httpserver, page)
    item = item_at(feed, "/a", httpserver)
    item.title, item.text = "The weir held", text
    item.save()
    if code:
        assert refused(item).startswith(code)
    else:
        full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
        assert full_text_of(item=item)


def test_a_slow_server_is_not_waited_for(feed: Feed, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(full_text, "READ_S", 0.3)
    serve(httpserver)

    def late(request: Request) -> Response:
        import time  # noqa: PLC0415

        time.sleep(1.0)
        return Response("late")

    httpserver.expect_request("/slow").respond_with_handler(late)
    assert refused(item_at(feed, "/slow", httpserver)).startswith("timeout: The server took too long")


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [
        ("utf-8", "text/html"),
        ("iso-8859-1", "text/html; charset=ISO-8859-1"),
        ("koi8-r", "text/html; charset=koi8-r"),
        ("shift_jis", "text/html"),
    ],
)
def test_words_keep_their_letters(encoding: str, kind: str, feed: Feed, httpserver: HTTPServer):
    words = {"koi8-r": "Вода стояла", "shift_jis": "水位は高い"}.get(encoding, "Die Brücke über den Fluß")
    page = markup(f"{words} {SENTENCE}").replace("<head>", f"<head><meta charset='{encoding}'>")
    serve(httpserver, page.encode(encoding), kind=kind)
    item = item_at(feed, "/a", httpserver)
    full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
    assert (found := full_text_of(item=item)) and words in found.html


def test_a_hostile_page_brings_no_script(feed: Feed, httpserver: HTTPServer, ada: Reader):
    serve(httpserver, markup(more=HOSTILE.format(words=SENTENCE) * 3))
    SubscriptionFactory(reader=ada, feed=feed)
    item = item_at(feed, "/a", httpserver)
    full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
    client = Client()
    client.force_login(ada)
    shown = client.get(f"/ui/item/{item.pk}").content.decode().partition('<div class="article"')[2]
    shown = shown.partition('<div class="item-foot"')[0]
    assert SENTENCE in shown
    for bad in ("steal", "javascript:", "<script", "<iframe", "<form", "<svg", "onerror", "onclick", "evil"):
        assert bad not in shown, bad


def test_a_page_that_never_ends_costs_three_seconds_at_most():
    before = PAGES.spent_s
    for page in ("<div>" * 400_000, "<a href='" * 200_000, "<table><tr><td>" * 60_000, "&amp;" * 600_000):
        try:
            page_article(page, url="https://a.example/")
        except FeedProblem as problem:
            assert problem.code in ("no_article", "page_timeout", "page_crashed")
        assert PAGES.spent_s - before < 4.5
        before = PAGES.spent_s


def test_a_slow_robots_txt_ends_too():
    rules = "User-agent: *\n" + "Disallow: /" + "*a" * 40 + "b$\n"
    try:
        assert robots_answer(rules, url="https://a.example/" + "a" * 1_500)
    except FeedProblem as problem:
        assert problem.code == "page_timeout"


def test_only_readers_of_the_feed_ask_and_see(feed: Feed, httpserver: HTTPServer, ada: Reader, ben: Reader):
    serve(httpserver)
    theirs = FeedFactory(source=SourceFactory(key="other.example"))
    SubscriptionFactory(reader=ada, feed=feed)
    SubscriptionFactory(reader=ben, feed=theirs)
    mine, his = item_at(feed, "/a", httpserver), item_at(theirs, "/a", httpserver)
    client, other = Client(), Client()
    client.force_login(ada)
    other.force_login(ben)
    assert other.post(f"/ui/item/{mine.pk}/full-text").status_code == 404 and not httpserver.log
    assert "Fetch the full text" in client.get(f"/ui/item/{mine.pk}").content.decode()
    assert client.post(f"/ui/item/{mine.pk}/full-text").status_code == 302
    assert "Full text from the page" in (page := client.get(f"/ui/item/{mine.pk}").content.decode())
    assert "Fetch the full text" not in page and SENTENCE in page
    page = other.get(f"/ui/item/{his.pk}").content.decode()
    assert SENTENCE not in page and "Fetch the full text" in page


def test_why_there_is_none_is_said_on_the_page(feed: Feed, httpserver: HTTPServer, ada: Reader):
    serve(httpserver, robots="User-agent: *\nDisallow: /")
    SubscriptionFactory(reader=ada, feed=feed)
    item = item_at(feed, "/a", httpserver)
    client = Client()
    client.force_login(ada)
    page = client.post(f"/ui/item/{item.pk}/full-text", follow=True).content.decode()
    assert "No full text. Its robots.txt asks programs not to read that page." in page
    assert "A summary." in page


def test_the_worker_fetches_new_items_of_feeds_that_want_it_and_tries_each_once(
    feed: Feed, httpserver: HTTPServer, ada: Reader, ben: Reader
):
    serve(httpserver)
    httpserver.expect_request("/feed.xml").respond_with_data("", status=304)
    plain = FeedFactory(url=httpserver.url_for("/2.xml"), state=Feed.State.PAUSED)
    SubscriptionFactory(reader=ada, feed=feed, full_text=True)
    SubscriptionFactory(reader=ben, feed=plain, full_text=True)
    good, bad = item_at(feed, "/a", httpserver), item_at(feed, "/none", httpserver)
    item_at(plain, "/a", httpserver)
    feeds_fetch_task()
    assert full_text_of(item=good) and FullText.objects.get(item=bad).html == b""
    assert not full_texts_wanted(now=timezone.now()).exists() and FullText.objects.count() == 2
    assert asked(httpserver).count("/a") == 1
    Subscription.objects.update(full_text=False)
    FullText.objects.all().delete()
    assert full_texts_update(now=timezone.now()) == 0


def test_a_full_text_goes_with_its_item(feed: Feed, httpserver: HTTPServer):
    serve(httpserver)
    item = item_at(feed, "/a", httpserver)
    full_text_get(item=item, reader_id=ADA_ID, now=timezone.now())
    item.delete()
    assert FullText.objects.count() == 0


def test_the_switch_of_a_subscription_is_the_readers_own(feed: Feed, ada: Reader, ben: Reader):
    SubscriptionFactory(reader=ada, feed=feed)
    SubscriptionFactory(reader=ben, feed=feed)
    client = Client()
    client.force_login(ada)
    client.post(f"/ui/sources/{feed.pk}", {"folder": "", "ai_enabled": "on", "full_text": "on"})
    found = dict(Subscription.objects.values_list("reader__username", "full_text"))
    assert found == {"ada": True, "ben": False}


def test_a_missing_library_is_named_before_anything_runs(settings, monkeypatch: pytest.MonkeyPatch):
    assert check_full_text() == []
    monkeypatch.setattr("config.apps.find_spec", lambda name: None)
    assert [found.id for found in check_full_text()] == ["tidings.E021"]
    settings.FULL_TEXT = False
    assert check_full_text() == []
    cache.clear()
