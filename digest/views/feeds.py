"""The reader's own feed: the digest for any feed reader, at an address that is itself the secret."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.http import http_date, quote_etag
from django.views.decorators.http import require_safe

from digest.channels import channel_of
from digest.models import Exposure
from digest.selectors.syndicated import reader_of_token
from digest.services.exposures import exposures_log
from digest.syndication import Channel, atom_write, json_feed_write

# Digests are built by the hour at most: a client that asks more often is answered from its own copy.
MAX_AGE_S = 900
# Stands for the moment of the build where two feeds are compared.
ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@require_safe
def feed_atom(request: HttpRequest, token: str) -> HttpResponse:
    """The digest as Atom 1.0."""
    return _feed(request, token, atom_write, "application/atom+xml; charset=utf-8")


@require_safe
def feed_json(request: HttpRequest, token: str) -> HttpResponse:
    """The digest as JSON Feed 1.1."""
    return _feed(request, token, json_feed_write, "application/feed+json; charset=utf-8")


def _feed(
    request: HttpRequest, token: str, write: Callable[[Channel], bytes], content_type: str
) -> HttpResponse:
    """Answer with the feed, or with 304 where the client has it already; a foreign secret finds nothing.

    The ETag is of the content: a digest built again to the same items and reasons is not sent again. It is a
    weak one (RFC 9110, section 8.8.1), as the moment of the build, which the document names, may differ.
    """
    now = timezone.now()
    if (reader := reader_of_token(token=token)) is None:
        raise Http404("There is no feed at this address. Its reader may have replaced it.")
    channel, digests = channel_of(reader=reader, token=token, now=now)
    body = write(channel)
    etag = f"W/{quote_etag(sha256(write(replace(channel, updated=ANY_TIME))).hexdigest()[:32])}"
    modified = int(channel.updated.astimezone(UTC).timestamp())
    answer: HttpResponse = get_conditional_response(  # type: ignore[assignment]
        request, etag, modified, HttpResponse(body, content_type=content_type)
    )
    if answer.status_code == 200 and request.method == "GET":
        for digest in digests:
            exposures_log(digest=digest, door=Exposure.Door.FEED, now=now)
    answer["ETag"] = etag
    answer["Last-Modified"] = http_date(modified)
    answer["Cache-Control"] = f"private, max-age={MAX_AGE_S}"
    answer["Referrer-Policy"] = "no-referrer"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    return answer
