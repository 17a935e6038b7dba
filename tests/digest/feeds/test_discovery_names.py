"""Names typed without a scheme: https first, http where there is no https, and what is reported of both."""

import ssl

import pytest
from pytest_httpserver import HTTPServer

from digest.errors import SiteUnreachable
from digest.feeds import discovery
from digest.feeds.discovery import FoundFeed, feeds_discover, site_addresses
from digest.feeds.entities import FeedProblem
from tests.support.documents import MADE


@pytest.mark.parametrize(
    ("typed", "addresses"),
    [
        ("example.org", ("https://example.org", "http://example.org")),
        (" //example.org", ("https://example.org", "http://example.org")),
        ("https://example.org", ("https://example.org",)),
        ("feed://example.org", ("https://example.org",)),
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
    assert feeds_discover(url=url.removeprefix("http://")) == [FoundFeed(url, "Rivers", 2)]


def test_a_name_that_nobody_answers_to_is_reported_once(httpserver: HTTPServer, settings):
    settings.FETCH_ALLOW_HOSTS = ["127.0.0.1"]
    with pytest.raises(SiteUnreachable, match="does not accept connections") as problem:
        feeds_discover(url="127.0.0.1:9")
    assert problem.value.may_answer


def test_http_is_not_tried_where_a_certificate_cannot_be_trusted():
    """An answer over http would be anybody's who stands in between."""
    problem = FeedProblem("tls_failed", "The certificate is somebody else's.")
    assert discovery._lacks_https(problem)
    problem.__cause__ = ssl.SSLError()
    problem.__cause__.__cause__ = ssl.SSLCertVerificationError()
    assert not discovery._lacks_https(problem)
