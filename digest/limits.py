"""How often one reader may ask for what costs the site, by page or by API.

Counted in the cache by windows of the clock: in Redis for all processes, or in each process for itself. A
cache that is down counts nothing, so that its loss keeps nobody out.
"""

from dataclasses import dataclass
from datetime import datetime
from math import ceil

from django.core.cache import cache

from digest.errors import TooManyRequests

KEYS = "digest:limit"
MINUTE, HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class Limit:
    """`times` within each window of `seconds`; `words` say to the reader what was too much."""

    name: str
    times: int
    seconds: int
    words: str


# Far above what a person does and a fair script needs, far below what would slow the site down for others.
# Lists and exports read or write thousands of rows each; a lookup may cost strangers eight requests.
API = Limit("api", 600, MINUTE, "More than 600 requests in a minute. Wait for the next one.")
SEARCH = Limit("search", 60, MINUTE, "You can search 60 times a minute. Wait for the next one.")
GENERATE = Limit(
    "generate", 10, MINUTE, "You can ask for suggestions 10 times a minute. Wait for the next one."
)
DECIDE = Limit("decide", 60, MINUTE, "You can answer 60 suggestions a minute. Wait for the next one.")
IMPORT = Limit("import", 12, HOUR, "You can import 12 lists an hour. Wait for the next one.")
EXPORT = Limit("export", 12, HOUR, "You can take 12 exports an hour. Wait for the next one.")
LOOKUP = Limit(
    "lookup", 10, MINUTE, "You can look up 10 sites a minute. Wait for the next one, or import a list."
)
LIMITS = (API, SEARCH, GENERATE, DECIDE, LOOKUP, IMPORT, EXPORT)


def limit_count(*, limit: Limit, who: object, now: datetime) -> None:
    """Count one use of `limit` by `who`, the id of a reader or of what acts for one.

    Raises `TooManyRequests`, with the seconds until the window ends.
    """
    window, spent = divmod(now.timestamp(), limit.seconds)
    key = f"{KEYS}:{limit.name}:{who}:{int(window)}"
    cache.add(key, 0, timeout=2 * limit.seconds)
    try:
        count = cache.incr(key)
    except ValueError:  # the cache dropped it in between, or is down
        return
    if count > limit.times:
        raise TooManyRequests(limit.words, retry_after_s=ceil(limit.seconds - spent))
