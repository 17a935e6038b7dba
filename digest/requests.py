"""Readers and values in requests and command arguments, and the pages a request came from and returns to."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Collection, Sequence
from datetime import date
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

from django.core.management.base import CommandError
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from digest.errors import SignInNeeded
from digest.models import Reader


def reader_of(request: HttpRequest) -> Reader:
    """Return the signed-in reader of a request. Raises `SignInNeeded`."""
    if not isinstance(request.user, Reader):
        raise SignInNeeded(_("Sign in first, then repeat the request."))
    return request.user


def is_seen(request: HttpRequest) -> bool:
    """Return whether the reader gets to see the page: a GET that is no prefetch, nor another site's doing.

    Another site may lead here by a link that somebody follows, not by a picture or by itself
    (https://www.w3.org/TR/fetch-metadata/), and an article's sound or film, which is played on our own page,
    may not lead here at all. What a browser is made to load is no sign of interest.
    """
    headers = request.headers
    purposes = (headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    if request.method != "GET" or any("prefetch" in purpose or "preview" in purpose for purpose in purposes):
        return False
    place = headers.get("Sec-Fetch-Dest", "document")
    ours = headers.get("Sec-Fetch-Site", "none") in {"same-origin", "none"}
    followed = headers.get("Sec-Fetch-User") == "?1"
    return (place == "document" and (ours or followed)) or (place == "empty" and ours)


def page_of(request: HttpRequest) -> int:
    """Return the page number of a request's `?page=`, from 1 to 10,000; 1 if it is invalid."""
    typed = request.GET.get("page", "")
    return min(max(int(typed), 1), 10_000) if typed.isdecimal() and len(typed) < 6 else 1


def reader_argument_add(parser: ArgumentParser) -> None:
    """Add the required `--user-id` to a command: the id or the username of one reader."""
    parser.add_argument("--user-id", metavar="UUID|NAME", required=True, help="the reader, by id or username")


def reader_arguments_add(parser: ArgumentParser) -> None:
    """Add `--user-id UUID|NAME` and `--all-users` to a command; neither or both is a usage error."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--user-id", metavar="UUID|NAME", help="one reader, by id or username")
    group.add_argument("--all-users", action="store_true", help="every active reader")


def readers_named(user_id: UUID | str | None) -> Sequence[Reader]:
    """Return the reader with this id, else with this username; without either all active ones by name.

    A username in other capitals will do where it is nobody else's.

    Raises `CommandError` where there is none.
    """
    if user_id is None:
        return list(Reader.objects.filter(is_active=True).order_by("username"))
    try:
        found = list(Reader.objects.filter(pk=UUID(str(user_id))))
    except ValueError:
        found = []
    found = found or list(Reader.objects.filter(username=user_id))
    if not found and len(alike := list(Reader.objects.filter(username__iexact=user_id)[:2])) == 1:
        found = alike
    if not found:
        raise CommandError(
            _(
                "There is no reader with the id or username “{user_id}”. Both are listed under Users, "
                "at /admin/digest/reader/."
            ).format(user_id=user_id)
        )
    return found


def date_argument(text: str) -> date:
    """Return the day written as YYYY-MM-DD; an argparse type."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            _("“{text}” is not a day. Write it as YYYY-MM-DD.").format(text=text)
        ) from None


def operators_remain(*, readers: Collection[Reader]) -> bool:
    """Return whether an active superuser would remain without `readers`; one query."""
    operators = Reader.objects.filter(is_superuser=True, is_active=True)
    return operators.exclude(pk__in=[reader.pk for reader in readers]).exists()


def referrer_path(request: HttpRequest) -> str:
    """Return the path and query of the page of this site that linked here (`Referer`); else ""."""
    try:
        referer = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return ""
    own = referer.netloc == request.get_host() and referer.path != request.path
    return urlunsplit(("", "", referer.path, referer.query, "")) if own else ""


def return_path(request: HttpRequest) -> str:
    """Return the page that a form names in `next`, if it is a path of this site; else the front page."""
    return own_path(request.POST.get("next", "")) or "/"


def own_path(path: str) -> str:
    """Return a path that somebody gave, if it is one of this site; else ""."""
    own = path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    return path if own else ""
