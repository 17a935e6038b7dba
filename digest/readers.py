"""Who is at a door: the reader of a request, the readers a command names."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from datetime import date
from uuid import UUID

from django.core.management.base import CommandError
from django.http import HttpRequest

from digest.errors import SignInNeeded
from digest.models import Reader


def reader_of(request: HttpRequest) -> Reader:
    """The signed-in reader of an API request. Raises `SignInNeeded`."""
    if not isinstance(request.user, Reader):
        raise SignInNeeded("Sign in first, then repeat the request.")
    return request.user


def fetched_ahead(request: HttpRequest) -> bool:
    """Whether a browser fetches the page before anybody asked to see it."""
    purposes = (request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return any("prefetch" in purpose or "preview" in purpose for purpose in purposes)


def page_of(request: HttpRequest) -> int:
    """The page a request asks for with `?page=`, from 1 to 10,000; 1 for anything else."""
    typed = request.GET.get("page", "")
    return min(max(int(typed), 1), 10_000) if typed.isdecimal() and len(typed) < 6 else 1


def reader_argument_add(parser: ArgumentParser) -> None:
    """Make a command take `--user-id`, the id or the username of one reader."""
    parser.add_argument("--user-id", metavar="UUID|NAME", required=True, help="the reader, by id or username")


def reader_arguments_add(parser: ArgumentParser) -> None:
    """Let a command take `--user-id UUID|NAME` or `--all-users`; neither or both is a usage error."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--user-id", metavar="UUID|NAME", help="one reader, by id or username")
    group.add_argument("--all-users", action="store_true", help="every active reader")


def readers_named(user_id: UUID | str | None) -> Sequence[Reader]:
    """The reader with this id, else with this username, or all active ones by name.

    Raises `CommandError` where there is none.
    """
    if user_id is None:
        return list(Reader.objects.filter(is_active=True).order_by("username"))
    found = _with_id(str(user_id)) or list(Reader.objects.filter(username=user_id))
    if not found:
        raise CommandError(
            f"There is no reader with the id or username “{user_id}”. "
            "Both are listed under Users, at /admin/digest/reader/."
        )
    return found


def _with_id(text: str) -> list[Reader]:
    try:
        return list(Reader.objects.filter(pk=UUID(text)))
    except ValueError:
        return []


def date_argument(text: str) -> date:
    """An argparse type: a day as YYYY-MM-DD."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"“{text}” is not a day. Write it as YYYY-MM-DD.") from None
