"""Limits of failed sign-ins: by the login that was typed, by account, and by network address.

Answers depend on what was typed alone, so that they tell nobody which accounts there are: a typed login is
refused with 429 after five failures, whether it is anybody's or not; an account that was tried under several
logins silently accepts no password after ten. allauth clears `login_failed` after a second factor, so the
limit per network address is an action of its own.
"""

from collections.abc import Sequence

from allauth.account.internal.userkit import filter_users_by_email, get_user_by_username
from allauth.account.models import EmailAddress
from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from django.http import HttpRequest

from digest.models import Reader

APP = "allauth.account"
TYPED, ACCOUNT, ADDRESS = "login_failed", "login_failed_account", "login_failed_address"
# The longest address (RFC 5321, section 4.5.3.1); names have 150 characters. SQLite matches no more than
# 50,000 bytes.
LOGIN_CHARS = 254
PASSWORD_CHARS = 4096
# Of one address: as many accounts are tried, as each costs a hash.
ACCOUNTS_MAX = 5
# For an address, work is done for two at least: a second account may be the visitor's own.
ADDRESS_SLOTS = 2


def login_key(login: str) -> str:
    """Return the key that failures of a typed name or address count against, in whatever spelling."""
    return f"typed:{login.strip().lower()}"


def account_keys(login: str, readers: Sequence[Reader], *, slots: int) -> list[str]:
    """Return the keys of the readers that a login may mean, filled up to `slots` with keys of nobody."""
    fill = [f"nobody:{n}:{login.lower()}" for n in range(len(readers), slots)]
    return [*(str(reader.pk) for reader in readers), *fill]


def address_is_open(request: HttpRequest) -> bool:
    """Return whether the network address may fail once more; nothing is counted or stored."""
    return bool(ratelimit.consume(request, app=APP, action=ADDRESS, dry_run=True))


def failure_count(request: HttpRequest, *, action: str, key: str | None = None) -> RateLimitUsage | None:
    """Count a failure; `None` beyond the limit. What turns out to be none is rolled back."""
    return ratelimit.consume(request, app=APP, action=action, key=key)


def failures_forget(request: HttpRequest, user: Reader) -> None:
    """Forget the failures of a reader who has a new password from a link.

    Those of an address only where it is the reader's: confirmed, or the only one, to which the link came.
    """
    rows = list(EmailAddress.objects.filter(user=user))
    own = [row.email for row in rows if row.verified or len(rows) == 1]
    for login in (user.username, *own):
        ratelimit.clear(request, app=APP, action=TYPED, key=login_key(login))
    ratelimit.clear(request, app=APP, action=ACCOUNT, key=str(user.pk))


def readers_by_login(*, username: str, email: str) -> list[Reader]:
    """Return whom a login may mean: the reader of that name, then those of that address, at most five.

    Confirmed addresses come first, then the oldest accounts.
    """
    found: dict[object, Reader] = {}
    if username and len(username) <= LOGIN_CHARS and (named := get_user_by_username(username)):
        found[named.pk] = named
    if email and len(email) <= LOGIN_CHARS:
        found |= {one.pk: one for one, _ in readers_by_address(email) if one.pk not in found}
    return list(found.values())[:ACCOUNTS_MAX]


def readers_by_address(email: str) -> list[tuple[Reader, bool]]:
    """Return the readers who have an address, each with whether they confirmed it; always three queries.

    Those who did come first, then the oldest accounts.
    """
    rows = EmailAddress.objects.filter(email=email.lower(), verified=True)
    confirmed = set(rows.values_list("user_id", flat=True))
    readers = [(one, one.pk in confirmed) for one in filter_users_by_email(email, for_login=True)]
    return sorted(readers, key=lambda row: (not row[1], row[0].date_joined, row[0].pk))
