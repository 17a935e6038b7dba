"""Rate limits per reader for costly requests, on pages and in the API, and places for long ones.

Uses are counted in the cache in fixed time windows: in Redis for all processes together, or else in each
process separately. If the cache is down, nothing is counted, so nobody is locked out.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from math import ceil
from typing import Concatenate, ParamSpec, TypeVar

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from digest.errors import TooManyRequests
from digest.places import (
    LONG,
    PROGRAM_LINE,
    Places,
    credential_keep,
    stream_shared,
    turn_give_way,
    turn_take,
)
from digest.requests import reader_of

KEYS = "digest:limit"
MINUTE, HOUR = 60, 3600
# A preview may be requested again while the last one is computed, for example by a second click.
LONG_WAIT_S = 10.0
# A page waits out no longer pause by itself: `PAUSE_MAX_S` of static/http.js.
AGAIN_MAX_S = 10
# Caches count in whole numbers, so a use is a thousand parts.
PARTS = 1000


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `times` uses per window of `seconds`. `message` is the text for the reader."""

    name: str
    times: int
    seconds: int
    message: str


# Far above the needs of a person or a fair script, far below a load that slows the site for others. Lists and
# exports read or write thousands of rows each. A lookup may send eight requests to other sites.
API = Limit("api", 600, MINUTE, gettext_noop("More than 600 requests in a minute. Wait for the next one."))
SEARCH = Limit("search", 60, MINUTE, gettext_noop("You can search 60 times a minute. Wait for the next one."))
GENERATE = Limit(
    "generate",
    10,
    MINUTE,
    gettext_noop("You can ask for suggestions 10 times a minute. Wait for the next one."),
)
# The same counter, with a message for wishes: either may ask a model.
WISH = replace(
    GENERATE,
    message=gettext_noop("You can ask in your own words 10 times a minute. Wait for the next one."),
)
DECIDE = Limit(
    "decide", 60, MINUTE, gettext_noop("You can answer 60 suggestions a minute. Wait for the next one.")
)
IMPORT = Limit("import", 12, HOUR, gettext_noop("You can import 12 lists an hour. Wait for the next one."))
EXPORT = Limit("export", 12, HOUR, gettext_noop("You can take 12 exports an hour. Wait for the next one."))
LOOKUP = Limit(
    "lookup",
    10,
    MINUTE,
    gettext_noop("You can look up 10 sites a minute. Wait for the next one, or import a list."),
)
# The same counter, with a message that suggests no list: lists hold no private feeds.
LOOKUP_PRIVATE = replace(
    LOOKUP, message=gettext_noop("You can look up 10 sites a minute. Wait for the next one.")
)
TEACH = Limit(
    "teach", 120, MINUTE, gettext_noop("You can answer 120 questions a minute. Wait for the next one.")
)
PICTURES = Limit(
    "pictures", 600, MINUTE, gettext_noop("More than 600 pictures in a minute. Wait for the next one.")
)
FULL_TEXT = Limit(
    "full_text", 30, HOUR, gettext_noop("You can fetch 30 full texts an hour. Wait for the next one.")
)
SEND_ON = Limit(
    "send_on", 20, MINUTE, gettext_noop("You can send 20 things on in a minute. Wait for the next one.")
)
LIMITS = (API, SEARCH, GENERATE, DECIDE, LOOKUP, IMPORT, EXPORT, TEACH, PICTURES, FULL_TEXT, SEND_ON)
# Each sign-in stores a session for `SESSION_DAYS`. Only successful ones count, so nobody shuts out others.
SIGN_IN = Limit("sign_in", 60, HOUR, gettext_noop("You can sign in 60 times an hour. Wait for the next one."))


def limit_count(*, limit: Limit, who: object, now: datetime, cost: float = 1) -> None:
    """Count a use of `limit` by `who`, the id of a reader or a token. It counts `cost` times.

    Raises `TooManyRequests` with the seconds until the window ends.
    """
    if limit_charge(limit=limit, who=who, now=now, cost=cost) > limit.times:
        elapsed = now.timestamp() % limit.seconds
        raise TooManyRequests(gettext(limit.message), retry_after_s=ceil(limit.seconds - elapsed))


def limit_charge(*, limit: Limit, who: object, now: datetime, cost: float) -> float:
    """Add `cost` uses to a limit, and return the uses in this window.

    It refuses nothing. Call it instead of `limit_count` for work that is done already: the next request pays.
    """
    key = f"{KEYS}:{limit.name}:{who}:{int(now.timestamp() // limit.seconds)}"
    cache.add(key, 0, timeout=2 * limit.seconds)
    try:
        return float(cache.incr(key, round(cost * PARTS))) / PARTS
    except ValueError:  # The cache dropped the key in between, or is down.
        return 0


P = ParamSpec("P")
Response = TypeVar("Response", bound=HttpResponseBase)


def rate_limited(
    limit: Limit,
    when: Callable[[HttpRequest], bool] = lambda request: request.method == "POST",
    *,
    is_long: bool = False,
) -> Callable[
    [Callable[Concatenate[HttpRequest, P], Response]],
    Callable[Concatenate[HttpRequest, P], Response | HttpResponse],
]:
    """Decorate a view: it answers a signed-in reader with 429 beyond `limit`.

    Only requests for which `when` is true count. A view that `is_long` also needs a place for long work.
    """

    def decorate(
        view: Callable[Concatenate[HttpRequest, P], Response],
    ) -> Callable[Concatenate[HttpRequest, P], Response | HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> Response | HttpResponse:
            try:
                if when(request):
                    limit_count(limit=limit, who=reader_of(request).pk, now=timezone.now())
                with long_work(reader_of(request).pk) if is_long else nullcontext():
                    return view(request, *args, **kwargs)
            except TooManyRequests as refused:
                return too_many_requests_page(request, refused)

        return guarded

    return decorate


def too_many_requests_page(request: HttpRequest, refused: TooManyRequests | None = None) -> HttpResponse:
    """Return the 429 page with `Retry-After`. Without `refused` its text is about sign-in.

    If the page was only read and the pause is short, the page asks again by itself.
    """
    pause = refused.retry_after_s if refused else MINUTE
    again = pause if request.method == "GET" and pause <= AGAIN_MAX_S else 0
    page = {"words": refused.message if refused else "", "again": again}
    response = render(request, "429.html", page, status=429)
    response["Retry-After"] = str(pause)
    return response


@contextmanager
def long_work(who: object) -> Iterator[None]:
    """Take a place for long work, and wait for it if needed. Raises `TooManyRequests` if there is none."""
    with LONG.place(who, wait_s=LONG_WAIT_S) as has_place:
        if not has_place:
            raise busy_refusal()
        turn_give_way()
        yield


def turn_begin(who: object, line: str = PROGRAM_LINE, *, check: Callable[[], object]) -> None:
    """Wait for the turn of a reader's request. After this and each later wait, `check` its credential again.

    An earlier request may have deleted the account, ended the session or revoked the token. Raises
    `TooManyRequests` if too many of theirs wait, and what `check` raises.
    """
    if not turn_take(who, line):
        raise busy_refusal()
    credential_keep(check)


Answering = TypeVar("Answering", bound=Callable[..., HttpResponseBase])


def without_turn(view: Answering) -> Answering:
    """Decorate a view of which a page asks for dozens at once, or a browser by itself: it takes no turns."""
    view.without_turn = True  # type: ignore[attr-defined]
    return view


def busy_refusal() -> TooManyRequests:
    """Return the refusal of a request that got no place (`digest.places`), because earlier ones still run."""
    words = gettext("An earlier request is still being worked on. Try again in a moment.")
    return TooManyRequests(words, retry_after_s=2)


class PlacedStream:
    """Parts of a response that is sent as it is made, and the place that it has until it is sent.

    Django calls `close` when the response ends or its client has gone. Raises `TooManyRequests` if `who` has
    no place.
    """

    def __init__(self, places: Places, who: object, parts: Iterable[str]) -> None:
        self._parts, self._place = stream_shared(who, parts), ExitStack()
        if not self._place.enter_context(places.place(who)):
            raise busy_refusal()

    def __iter__(self) -> Iterator[str]:
        """Yield the parts, and let others go first between them."""
        return self._parts

    def close(self) -> None:
        """Give the place back."""
        self._parts.close()
        self._place.close()
