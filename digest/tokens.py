"""Personal tokens at the API's door: `Authorization: Bearer tidings_…`."""

from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from digest.errors import ScopeMissing
from digest.limits import MINUTE, Limit, limit_count
from digest.models import ApiToken
from digest.scopes import scope_allows, scope_needed
from digest.services.tokens import token_use

# Five a second over a minute: far above what a script needs, far below what would slow the site down.
REQUESTS_PER_MINUTE = 300
TOO_OFTEN = "More than 300 requests in a minute with one token. Wait for the next one."


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
        limit = Limit("token", REQUESTS_PER_MINUTE, MINUTE, TOO_OFTEN)
        limit_count(limit=limit, who=used.pk, now=now)
        needed = scope_needed(request.method or "GET", request.path_info)
        if not scope_allows(used.scope, needed):
            raise ScopeMissing(
                f"This token has the scope “{used.scope}”; this needs “{needed}”. Make one that may do it."
            )
        request.user = used.reader
        return used
