"""Limits for failed sign-ins: per typed login, per account, and per network address.

An attacker must not learn which accounts exist. So the answer depends only on the typed login: after five
failures it gets 429, whether or not an account has it. An account that was tried under several logins
silently accepts no password after ten failures. The limit per network address is an action of its own,
because allauth clears `login_failed` after a second factor.
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
# The longest e-mail address (RFC 5321, section 4.5.3.1). Usernames have at most 150 characters, and SQLite
# matches no pattern beyond 50,000 bytes.
LOGIN_CHARS = 254
PASSWORD_CHARS = 4096
# How many accounts with one address are tried at most. Each costs a password hash.
ACCOUNTS_MAX = 5
# The least number of accounts that a sign-in by address does work for. Two, because a visitor may have a
# second account with it themselves.
ADDRESS_SLOTS = 2


def login_key(login: str) -> str:
    """Return the key under which failures of a typed name or address are counted, however it is spelled."""
    return f"typed:{login.strip().lower()}"


def account_keys(login: str, readers: Sequence[Reader], *, slots: int) -> list[str]:
    """Return one key per reader that a login may mean, padded to `slots` with keys of no account."""
    fill = [f"nobody:{n}:{login.lower()}" for n in range(len(readers), slots)]
    return [*(str(reader.pk) for reader in readers), *fill]


def address_is_open(request: HttpRequest) -> bool:
    """Return whether the network address may fail once more. Counts nothing."""
    return bool(ratelimit.consume(request, app=APP, action=ADDRESS, dry_run=True))


def failure_count(request: HttpRequest, *, action: str, key: str | None = None) -> RateLimitUsage | None:
    """Count a failure; return `None` beyond the limit.

    If it was no failure after all, roll the result back.
    """
    return ratelimit.consume(request, app=APP, action=action, key=key)


def failures_forget(request: HttpRequest, user: Reader) -> None:
    """Forget the failed sign-ins of a reader who set a new password through a link.

    Failures of an e-mail address are forgotten only if the address is the reader's: if it is confirmed, or if
    it is their only one (the link went there).
    """
    rows = list(EmailAddress.objects.filter(user=user))
    own = [row.email for row in rows if row.verified or len(rows) == 1]
    for login in (user.username, *own):
        ratelimit.clear(request, app=APP, action=TYPED, key=login_key(login))
    ratelimit.clear(request, app=APP, action=ACCOUNT, key=str(user.pk))


def readers_by_login(*, username: str, email: str) -> list[Reader]:
    """Return the readers that a login may mean, at most five: by name first, then by e-mail address.

    Among those with the address, confirmed addresses come first, then the oldest accounts.
    """
    found: dict[object, Reader] = {}
    if username and len(username) <= LOGIN_CHARS and (named := get_user_by_username(username)):
        found[named.pk] = named
    if email and len(email) <= LOGIN_CHARS:
        found |= {one.pk: one for one, _ in readers_by_address(email) if one.pk not in found}
    return list(found.values())[:ACCOUNTS_MAX]


def readers_by_address(email: str) -> list[tuple[Reader, bool]]:
    """Return (reader, whether they confirmed it) for all readers with this address; always three queries.

    Readers who confirmed it come first, then the oldest accounts.
    """
    rows = EmailAddress.objects.filter(email=email.lower(), verified=True)
    confirmed = set(rows.values_list("user_id", flat=True))
    readers = [(one, one.pk in confirmed) for one in filter_users_by_email(email, for_login=True)]
    return sorted(readers, key=lambda row: (not row[1], row[0].date_joined, row[0].pk))
