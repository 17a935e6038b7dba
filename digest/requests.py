"""Helpers for requests and command arguments: readers, dates, page numbers, and paths to return to."""

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
from ranking.common.commands import near_words


def reader_of(request: HttpRequest) -> Reader:
    """Return the signed-in reader of a request. Raises `SignInNeeded`."""
    if not isinstance(request.user, Reader):
        raise SignInNeeded(_("Sign in first, then repeat the request."))
    return request.user


def account_check(*, reader_id: UUID) -> None:
    """Raise `SignInNeeded` if the account was deleted or switched off meanwhile."""
    if not Reader.objects.filter(pk=reader_id, is_active=True).exists():
        raise SignInNeeded(_("This account was deleted or switched off meanwhile."))


def body_await(request: HttpRequest) -> None:
    """Read the whole body before its sender is looked up.

    A body may take half a minute to arrive, and what its sender may do can end meanwhile.
    """
    _ = request.POST if request.content_type == "multipart/form-data" else request.body


def is_seen(request: HttpRequest) -> bool:
    """Return whether the reader really sees the page: not a prefetch, and not caused by another site.

    A link on another site counts only if somebody followed it; a picture or a script does not
    (https://www.w3.org/TR/fetch-metadata/). Audio and video of an article are played on our own page, so
    another site may not start them at all. A page that a browser was made to load shows no interest.
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
    """Return the page number in `?page=`, from 1 to 10,000; 1 if it is missing or invalid."""
    typed = request.GET.get("page", "")
    return min(max(int(typed), 1), 10_000) if typed.isdecimal() and len(typed) < 6 else 1


def reader_argument_add(parser: ArgumentParser) -> None:
    """Add the required `--user-id` to a command: the id or username of one reader."""
    parser.add_argument(
        "--user-id", metavar="UUID|NAME", required=True, help="The reader, by id or username."
    )


def reader_arguments_add(parser: ArgumentParser) -> None:
    """Add `--user-id UUID|NAME` and `--all-users` to a command; neither or both is a usage error."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--user-id", metavar="UUID|NAME", help="Do it for one reader, by id or username.")
    group.add_argument("--all-users", action="store_true", help="Do it for every active reader.")


def readers_named(user_id: UUID | str | None) -> Sequence[Reader]:
    """Return the reader with this id, else with this username; for `None`, all active readers by name.

    A username in other capitals is accepted if only one reader has it. Raises `CommandError`, which names
    similar usernames, if no reader matches.
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
        names = Reader.objects.values_list("username", flat=True)
        raise CommandError(
            f"There is no reader with the id or username “{user_id}”.{near_words(str(user_id), names)} "
            "Both are listed under Users, at /admin/digest/reader/."
        )
    return found


def date_argument(text: str) -> date:
    """Return the date written as YYYY-MM-DD; for use as an argparse type."""
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
    """Return path and query of the page of this site that linked here (`Referer`), else "".

    A stranger may link to `//evil.example/` below our host, whose path would be an address of theirs.
    """
    try:
        referer = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return ""
    own = referer.netloc == request.get_host() and referer.path != request.path
    return own_path(urlunsplit(("", "", referer.path, referer.query, ""))) if own else ""


def return_path(request: HttpRequest) -> str:
    """Return the path in the form field `next`, if it belongs to this site; else the front page."""
    return own_path(request.POST.get("next", "")) or "/"


def own_path(path: str) -> str:
    """Return `path` if it is a path of this site, else ""."""
    own = path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    return path if own else ""
