"""From a reader's input to a feed: names without a scheme, pages, usual places, few requests, messages."""

import re
import ssl
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest import places
from digest.errors import (
    DigestError,
    FeedIsGone,
    InvalidFeedUrl,
    NoFeedFound,
    SiteUnreachable,
    TooManyRequests,
)
from digest.feeds import discovery, rate_limit
from digest.feeds.discovery import (
    LINKS_MAX,
    FoundFeed,
    feeds_discover,
    page_feeds,
    site_address,
    site_addresses,
)
from digest.feeds.entities import FeedProblem
from digest.feeds.fetch import FetchResponse
from digest.feeds.rate_limit import HostLimiter
from digest.models import Reader
from digest.places import LOOKUPS
from digest.throttling import LOOKUP, limit_count
from tests.support.documents import MADE

ADA_ID = UUID(int=1)

RSS = MADE[0]
Site = Callable[..., str]


@pytest.fixture
def site(httpserver: HTTPServer, settings) -> Site:
    """Return a local site of pages by path; its address."""
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]

    def serve(**pages: bytes | str) -> str:
        for path, body in pages.items():
            address = "/" if path == "home" else f"/{path.replace('__', '.')}"
            httpserver.expect_request(address).respond_with_data(body)
        return httpserver.url_for("/")

    return serve


def link(href: str, kind: str = "application/rss+xml", title: str = "") -> str:
    return f'<link rel="alternate" type="{kind}" title="{title}" href="{href}">'


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("example.org", "https://example.org"),
        (" example.org/blog ", "https://example.org/blog"),
        ("//example.org", "https://example.org"),
        ("http://example.org", "http://example.org"),
        ("feed://example.org/rss", "https://example.org/rss"),
        ("feed:http://example.org/rss", "http://example.org/rss"),
        ("", ""),
    ],
)
def test_what_is_typed_becomes_an_address(typed: str, address: str):
    assert site_address(typed) == address


def test_a_page_names_its_feeds_by_alternate_links_alone():
    page = (
        "<!doctype html><html><head><base href='https://cdn.example/a/'>"
        + link("b.xml", title="News &amp; <b>more</b>")
        + link("b.xml", title="Again")
        + link("/comments/feed", title="Comments")
        + link("https://else.example/atom", "application/atom+xml; charset=utf-8")
        + '<link rel="stylesheet" type="application/rss+xml" href="no.xml">'
        + '<link rel="alternate" hreflang="de" type="application/rss+xml" href="de.xml">'
        + link("javascript:alert(1)")
        + link("http://[broken")
        + "<a href='feed.xml'>Feed</a></head>"
    )
    assert [(f.url, f.title) for f in page_feeds(page, url="https://site.example/")] == [
        ("https://cdn.example/a/b.xml", "News & more"),
        ("https://else.example/atom", ""),
        ("https://cdn.example/comments/feed", "Comments"),
    ]


def test_a_page_of_links_is_read_to_a_limit():
    page = "".join(link(f"/{n}") for n in range(500))
    assert len(page_feeds(page, url="https://site.example/")) == LINKS_MAX


@pytest.mark.parametrize(
    "junk", ["<" * 300_000, "<link " * 100_000, "<!--" * 100_000, "<link href='" * 50_000]
)
def test_no_page_breaks_the_reading(junk: str):
    assert page_feeds(junk, url="https://site.example/") == []


def test_an_address_that_is_a_feed_is_found_by_one_request(site: Site, httpserver: HTTPServer):
    url = site(rss__xml=RSS) + "rss.xml"
    assert feeds_discover(reader_id=ADA_ID, url=url) == [FoundFeed(url, "Rivers", 2)]
    assert len(httpserver.log) == 1


def test_a_site_with_several_feeds_offers_those_that_can_be_read(site: Site):
    head = link("/one") + link("/dead") + link("/two", title="Two")
    url = site(home=f"<html><head>{head}</head></html>", one=RSS, two=MADE[1])
    assert [feed.url for feed in feeds_discover(reader_id=ADA_ID, url=url)] == [f"{url}one", f"{url}two"]


@pytest.mark.parametrize("place", ["feed", "rss__xml", "atom__xml", "index__xml", "feed__json"])
def test_a_site_that_names_none_is_looked_through_at_the_usual_places(site: Site, place: str):
    url = site(home="<html><body>Hello</body></html>", **{place: RSS})
    assert [feed.url for feed in feeds_discover(reader_id=ADA_ID, url=url)] == [
        url + place.replace("__", ".")
    ]


def test_a_site_without_a_feed_is_asked_a_few_times_and_reported_plainly(site: Site, httpserver: HTTPServer):
    head = "".join(link(f"/dead{n}") for n in range(50))
    httpserver.expect_request(re.compile("/dead.*")).respond_with_data("No such page", status=404)
    with pytest.raises(NoFeedFound) as problem:
        feeds_discover(reader_id=ADA_ID, url=site(home=f"<html><head>{head}</head></html>"))
    assert "paste that address" in problem.value.message
    assert len(httpserver.log) == 8


def test_a_feed_that_answers_with_an_error_for_now_is_named_with_what_to_do(
    site: Site, httpserver: HTTPServer
):
    url = site(home=f"<html><head>{link('/dead')}{link('/rss')}</head></html>")
    httpserver.expect_request("/dead").respond_with_data("No such page", status=404)
    httpserver.expect_request("/rss").respond_with_data("Down", status=503)
    with pytest.raises(SiteUnreachable) as problem:
        feeds_discover(reader_id=ADA_ID, url=url)
    assert f"{url}rss" in problem.value.message and "(status 503)" in problem.value.message
    assert "paste that address and add it as it is" in problem.value.message
    assert not problem.value.may_answer  # the page that was typed is no feed to add


def test_a_slow_site_is_given_up_when_the_time_is_over(
    site: Site, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    url = site(home=f"<html><head>{link('/one')}{link('/two')}</head></html>", one=RSS, two=RSS)
    started = time.monotonic()
    ticks = iter([started, started + 1, started + 19])  # the start, the page, the first link; then too late
    clock = SimpleNamespace(monotonic=lambda: next(ticks, started + 21))
    monkeypatch.setattr(discovery, "time", clock)
    assert [feed.url for feed in feeds_discover(reader_id=ADA_ID, url=url)] == [f"{url}one"]
    assert len(httpserver.log) == 2


@pytest.mark.parametrize("url", ["", "two words", "ftp://example.org", "https://ada:pw@example.org"])
def test_what_is_no_address_is_refused_before_anything_is_asked(url: str):
    with pytest.raises(InvalidFeedUrl):
        feeds_discover(reader_id=ADA_ID, url=url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://169.254.169.254/", "http://[::1]/"])
def test_the_machines_own_network_is_not_asked(url: str):
    with pytest.raises(SiteUnreachable):
        feeds_discover(reader_id=ADA_ID, url=url)


def test_links_into_the_machines_own_network_are_not_followed(site: Site):
    with pytest.raises(NoFeedFound):
        feeds_discover(
            reader_id=ADA_ID,
            url=site(home=f"<html><head>{link('http://169.254.169.254/feed')}</head></html>"),
        )


@pytest.mark.parametrize(
    ("status", "error"), [(410, FeedIsGone), (500, SiteUnreachable), (404, SiteUnreachable)]
)
def test_a_site_that_does_not_answer_is_reported_in_a_sentence(
    site: Site, httpserver: HTTPServer, status: int, error: type[DigestError]
):
    site()
    httpserver.expect_request("/gone").respond_with_data("", status=status)
    with pytest.raises(error) as problem:
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/gone"))
    assert problem.value.message.endswith(".")


# --- Politeness ----------------------------------------------------------------------------------------


class Visits:
    """A clock that only sleeping moves, a gate of two seconds by it, and when a site was asked."""

    def __init__(self, httpserver: HTTPServer) -> None:
        self.start = self.now = time.monotonic()
        self.host, self.gate = httpserver.host, HostLimiter(gap_s=2.0, shared=False)
        self.asked: list[float] = []
        self.was_free = False

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def note(self) -> None:
        self.asked.append(self.now - self.start)
        self.was_free |= self.gate.enter(self.host) == 0.0

    def pauses(self) -> list[float]:
        return [round(b - a, 3) for a, b in pairwise(self.asked)]


@pytest.fixture
def visits(site: Site, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, settings) -> Visits:
    """Serve a site whose pages all name the same ten feeds, none of which exists."""
    site()
    settings.FETCH_HOST_GAP_S = 2.0
    visits = Visits(httpserver)
    page = "".join(link(f"/dead{n}") for n in range(10))

    def answer(request: Request) -> Response:
        visits.note()
        if request.path == "/moved":
            return Response(status=302, headers={"Location": "/"})
        if request.path == "/dead1":
            return Response(status=429, headers={"Retry-After": "600"})
        body = "<p>Hello</p>" if request.path == "/bare" else page
        return Response(f"<html><head>{body}</head></html>")

    httpserver.expect_request(re.compile("/.*")).respond_with_handler(answer)
    monkeypatch.setattr(rate_limit, "time", visits)
    monkeypatch.setattr(discovery, "time", visits)
    monkeypatch.setattr(discovery, "host_limiter", lambda: visits.gate)
    return visits


def test_a_site_is_asked_half_a_second_apart_and_by_nobody_else_meanwhile(
    visits: Visits, httpserver: HTTPServer
):
    with pytest.raises(NoFeedFound):
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/bare"))
    assert visits.pauses() == [0.5] * 5  # the page and five usual places
    assert not visits.was_free
    assert visits.gate.enter(visits.host) == pytest.approx(2.0)  # and then it has its whole pause


def test_a_redirect_is_a_request_like_any_other(visits: Visits, httpserver: HTTPServer):
    with pytest.raises(SiteUnreachable):
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/moved"))
    assert visits.pauses()[:2] == [0.5, 0.5]


def test_a_site_that_a_round_has_just_left_has_its_pause_first(visits: Visits, httpserver: HTTPServer):
    assert visits.gate.enter(visits.host) == 0.0
    visits.gate.leave(visits.host)
    with pytest.raises(NoFeedFound):
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/bare"))
    assert visits.asked[0] == pytest.approx(2.0, abs=0.01)


def test_a_site_that_others_keep_busy_is_not_asked(visits: Visits, httpserver: HTTPServer):
    assert visits.gate.enter(visits.host) == 0.0
    with pytest.raises(SiteUnreachable, match="asked by others"):
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/bare"))
    assert visits.asked == [] and visits.now - visits.start <= 20


def test_a_site_that_wants_a_pause_is_left_alone_at_once(visits: Visits, httpserver: HTTPServer):
    with pytest.raises(SiteUnreachable, match="wants a pause"):
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/"))
    assert len(visits.asked) == 3  # the page, its first link, and the one that asks for ten minutes
    assert 50 < visits.gate.enter(visits.host) < 60.001  # moments are floats


@pytest.mark.usefixtures("own_cache")
def test_a_site_that_wants_a_pause_from_one_reader_is_soon_asked_for_others(
    visits: Visits, httpserver: HTTPServer
):
    """A reader can make any host answer 429. It must not rest for ten minutes, or a day, for everybody."""
    with pytest.raises(SiteUnreachable, match="wants a pause"):
        feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/"))
    visits.now += 61
    asked = len(visits.asked)
    for _ in range(3):
        with pytest.raises(SiteUnreachable, match="asked by others"):
            feeds_discover(reader_id=ADA_ID, url=httpserver.url_for("/bare"))
    assert len(visits.asked) == asked, "the reader who caused it waits as long as the site says"
    with pytest.raises(NoFeedFound):
        feeds_discover(reader_id=uuid4(), url=httpserver.url_for("/bare"))
    visits.now += 3
    assert visits.gate.enter(visits.host) == 0.0, "and so a round may ask it"


@pytest.mark.usefixtures("own_cache")
def test_a_reader_looks_up_ten_sites_a_minute(ada: Reader, ben: Reader, now):
    for _ in range(10):
        limit_count(limit=LOOKUP, who=ada.pk, now=now)
    with pytest.raises(TooManyRequests):
        limit_count(limit=LOOKUP, who=ada.pk, now=now)
    limit_count(limit=LOOKUP, who=ben.pk, now=now)
    limit_count(limit=LOOKUP, who=ada.pk, now=now + timedelta(minutes=1))


@pytest.mark.usefixtures("own_cache")
def test_the_page_says_when_it_was_too_often_and_asks_nobody(
    client: Client, ada: Reader, site: Site, httpserver: HTTPServer
):
    url = site(rss__xml=RSS) + "rss.xml"
    for minutes in (0, 1):  # in whichever minute the request falls
        for _ in range(10):
            limit_count(limit=LOOKUP, who=ada.pk, now=timezone.now() + timedelta(minutes=minutes))
    client.force_login(ada)
    answer = client.post("/ui/sources", {"url": url})
    assert answer.status_code == 429 and "10 sites a minute" in answer.content.decode()
    assert httpserver.log == []
    # sends no request either
    assert client.post("/ui/sources", {"url": url, "as_is": "1"}).status_code == 302


@pytest.mark.parametrize(
    ("typed", "addresses"),
    [
        ("example.org", ("https://example.org", "http://example.org")),
        (" //example.org", ("https://example.org", "http://example.org")),
        ("https://example.org", ("https://example.org",)),
        ("feed://example.org", ("https://example.org", "http://example.org")),
        ("feed:http://example.org", ("http://example.org",)),
        ("http://example.org", ("http://example.org",)),
    ],
)
def test_only_a_name_without_a_scheme_is_tried_over_http_too(typed: str, addresses: tuple[str, ...]):
    assert site_addresses(typed) == addresses


def test_a_name_whose_server_has_http_alone_is_found(httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = [f"{httpserver.host}:{httpserver.port}"]
    httpserver.expect_request("/rss.xml").respond_with_data(MADE[0])
    url = httpserver.url_for("/rss.xml")
    assert feeds_discover(reader_id=ADA_ID, url=url.removeprefix("http://")) == [FoundFeed(url, "Rivers", 2)]


def test_a_name_that_nobody_answers_to_is_reported_once(httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = ["127.0.0.1"]
    with pytest.raises(SiteUnreachable, match="does not accept connections") as problem:
        feeds_discover(reader_id=ADA_ID, url="127.0.0.1:9")
    assert problem.value.may_answer


def test_http_is_not_tried_where_a_certificate_cannot_be_trusted():
    """An answer over http would be anybody's who stands in between."""
    problem = FeedProblem("tls_failed", "The certificate is somebody else's.")
    assert discovery._lacks_https(problem)
    problem.__cause__ = ssl.SSLError()
    problem.__cause__.__cause__ = ssl.SSLCertVerificationError()
    assert not discovery._lacks_https(problem)


def test_a_page_is_cut_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch):
    decoded = []
    monkeypatch.setattr(discovery, "decode", lambda body: decoded.append(len(body)) or "")
    monkeypatch.setattr(discovery, "usual_addresses", lambda url: [])
    page = FetchResponse("https://a.example/", b"<" * (10 << 20), "", "", None)
    assert list(discovery._candidates(page, None, [])) == []
    assert decoded == [discovery.HTML_MAX_CHARS]


@pytest.mark.django_db
def test_pages_keep_a_thread_however_many_sites_are_slow(client: Client, ada: Reader, site: Site):
    """Two accounts could hold all threads of a web process by sites that never answer, 20 s each."""
    address = site(rss__xml=RSS) + "rss.xml"
    client.force_login(ada)
    with LOOKUPS.place("Ben"), LOOKUPS.place("Cleo"):
        page = client.post("/ui/sources", {"url": address})
        assert page.status_code == 422
        assert "Try again in a few seconds" in page.content.decode()
    for _ in range(2 * places.LOOKUPS_AT_ONCE):  # even if nothing is found
        with pytest.raises(SiteUnreachable):
            feeds_discover(reader_id=ADA_ID, url=f"{address}/none")
    assert feeds_discover(reader_id=ADA_ID, url=address)
