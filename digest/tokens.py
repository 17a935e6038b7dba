"""Personal tokens at the API's door: `Authorization: Bearer tidings_…`."""

from django.core.cache import cache
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from digest.errors import ScopeMissing, TooManyRequests
from digest.models import ApiToken
from digest.scopes import scope_allows, scope_needed
from digest.services.tokens import token_use

# Five a second over a minute: far above what a script needs, far below what would slow the site down.
REQUESTS_PER_MINUTE = 300


class TokenAuth(HttpBearer):
    """Signs a request in by a personal token, within the token's scope; needs no CSRF token, since a browser
    never sends this header by itself."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """The token that was sent, its reader being the request's user from here on.

        Raises `InvalidToken`, `TokenExpired`, `ScopeMissing` or `TooManyRequests`; a bad token never falls
        back to a session.
        """
        now = timezone.now()
        used = token_use(secret=token.strip(), now=now)
        _count(used, minute=int(now.timestamp() // 60))
        needed = scope_needed(request.method or "GET", request.path_info)
        if not scope_allows(used.scope, needed):
            raise ScopeMissing(
                f"This token has the scope “{used.scope}”; this needs “{needed}”. Make one that may do it."
            )
        request.user = used.reader
        return used


def _count(token: ApiToken, minute: int) -> None:
    """Count a request against the token's minute. Raises `TooManyRequests`. Each process counts for itself
    where the cache is not shared."""
    key = f"digest:token:{token.pk}:{minute}"
    cache.add(key, 0, timeout=120)
    try:
        count = cache.incr(key)
    except ValueError:  # the cache dropped it in between
        return
    if count > REQUESTS_PER_MINUTE:
        raise TooManyRequests(f"More than {REQUESTS_PER_MINUTE} requests in a minute. Wait for the next one.")
