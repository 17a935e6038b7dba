"""Views that change many sources at once, from their list: the choice, the change, and its undo."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, ngettext_lazy
from django.views.decorators.http import require_POST

from digest.errors import DigestError
from digest.feeds.selectors import subscription_of, subscriptions_exist, subscriptions_of
from digest.models import Reader
from digest.requests import reader_of
from digest.sources.list_page import FIND_CHARS, SHOWN, lines_find, source_lines
from digest.sources.subscription_changes import (
    FetchAsked,
    SubscriptionEdit,
    feeds_fetch_now,
    folder_clean,
    folder_rename,
    subscription_change,
    subscriptions_move,
    subscriptions_move_back,
    subscriptions_remove,
    subscriptions_restore,
)
from digest.sources.weights import sources_weigh
from digest.undo import step_forget, step_keep, steps_of
from ranking.entities import InvalidSetting
from ranking.language import date_words
from ranking.setting_scale import LEVELS

REMOVAL: Final = "removed"
MOVE: Final = "moved"
ID_CHARS: Final = 18
# Words for levels in messages.
LEVEL_WORDS: Final = {
    "less": ngettext_lazy("Less of {n} source.", "Less of {n} sources.", "n"),
    "usual": ngettext_lazy("As usual: {n} source.", "As usual: {n} sources.", "n"),
    "more": ngettext_lazy("More of {n} source.", "More of {n} sources.", "n"),
}


@login_required
@require_POST
def sources_change(request: HttpRequest) -> HttpResponse:
    """Do something with the chosen sources: `do` is move, weigh, fetch or remove.

    Chosen are each `feed`, those in `feeds` (with commas), or with `whole` all that `find` and `show` leave.
    The buttons of a row are `less`, `usual`, `more` and `fetch`, with its feed as the value.
    """
    reader, now, typed = reader_of(request), timezone.now(), request.POST
    if level := next((name for name in LEVELS if name in typed), ""):
        return _weigh(request, reader, _ids([typed[level]]), level, now)
    if "fetch" in typed:
        return _fetch(request, reader, _ids([typed["fetch"]]), now)
    chosen = feeds_chosen(reader, typed, now)
    if not chosen:
        messages.info(request, _("Nothing was chosen. Tick some sources first."))
        return _back(request)
    match typed.get("do", ""):
        case "move":
            folder = folder_clean(typed.get("folder", ""))
            before = subscriptions_move(reader=reader, feed_ids=chosen, folder=folder)
            return _report_move(request, before, folder, now)
        case "weigh":
            return _weigh(request, reader, chosen, typed.get("level", ""), now)
        case "fetch":
            return _fetch(request, reader, chosen, now)
        case "remove":
            return _remove(request, reader, chosen, now)
    raise Http404(_("There is no such change."))


def feeds_chosen(reader: Reader, typed: QueryDict, now: datetime) -> list[int]:
    """Return the feeds that a form of the list chooses, as `sources_change` says; none of others' feeds."""
    if typed.get("whole") == "1":
        find, show = typed.get("find", "")[:FIND_CHARS], typed.get("show", "")
        found = lines_find(source_lines(reader, now), find, show)
        return [line.subscription.feed_id for line in found]
    wanted = set(_ids([*typed.getlist("feed"), *typed.get("feeds", "").split(",")]))
    if not wanted:
        return []
    return [row.feed_id for row in subscriptions_of(reader_id=reader.pk) if row.feed_id in wanted]


@login_required
@require_POST
def folder_change(request: HttpRequest) -> HttpResponse:
    """Give a folder another name; without one its sources are in no folder. It can be undone all day."""
    folder, name = (folder_clean(request.POST.get(field, "")) for field in ("folder", "name"))
    before = folder_rename(reader=reader_of(request), folder=folder, name=name)
    if not before:
        raise Http404(_("You have no such folder."))
    return _report_move(request, before, name, timezone.now())


@login_required
@require_POST
def source_remove(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Stop reading a feed; ratings of its items stay, and it can be undone all day, until a feed is added."""
    reader = reader_of(request)
    if subscription_of(reader_id=reader.pk, feed_id=feed_id) is None:
        raise Http404(_("You do not read that feed."))
    return _remove(request, reader, [feed_id], timezone.now())


@login_required
@require_POST
def source_out(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Keep a feed out of Today. Go to its page, whose switch brings it back."""
    reader = reader_of(request)
    row = subscription_of(reader_id=reader.pk, feed_id=feed_id)
    if row is None:
        raise Http404(_("You do not read that feed."))
    edit = SubscriptionEdit(in_today=False)
    subscription_change(reader=reader, feed_id=feed_id, edit=edit, now=timezone.now())
    words = _(
        "From your next look at Today, {name} is not in it, but in All, its folder and search. "
        "Its page under Sources brings it back."
    )
    messages.success(request, words.format(name=row.name))
    return redirect("digest:source", feed_id)


@login_required
@require_POST
def source_undo(request: HttpRequest) -> HttpResponse:
    """Undo the last removal, if it is on offer (`removal_read`): with folders and switches as before."""
    removal = removal_read(request, timezone.now())
    if removal is None:
        messages.error(request, _("That can no longer be undone. Add the feed again by its address."))
        return redirect("digest:sources")
    try:
        subscriptions_restore(reader=reader_of(request), removed=removal["feeds"], now=timezone.now())
    except DigestError as error:
        messages.error(request, error.message)
    else:
        _forget(request, REMOVAL, removal)
        messages.success(request, _("You read {name} again.").format(name=removal["name"]))
    return redirect("digest:sources")


@login_required
@require_POST
def move_undo(request: HttpRequest) -> HttpResponse:
    """Undo the last move to a folder, if it was today."""
    move = _undo_read(request, MOVE, timezone.now())
    if move is None:
        messages.error(request, _("That can no longer be undone."))
        return redirect("digest:sources")
    before = {feed_id: folder for feed_id, folder in move["feeds"]}
    count = subscriptions_move_back(reader=reader_of(request), before=before, folder=move["folder"])
    _forget(request, MOVE, move)
    messages.success(
        request, ngettext("{n} feed moved back.", "{n} feeds moved back.", count).format(n=count)
    )
    return redirect("digest:sources")


def removal_read(request: HttpRequest, now: datetime) -> dict[str, Any] | None:
    """Return the reader's last removal, `name`, `count` and `feeds`; `None` if it was not today.

    Nor after the reader added a feed, by whatever way: the list is another then. At most one query.
    """
    removal = _undo_read(request, REMOVAL, now)
    if removal is None:
        return None
    at = datetime.fromisoformat(removal["at"])
    if subscriptions_exist(reader_id=reader_of(request).pk, since=at):
        return None
    # A number of feeds is told in the language of this page, whichever they were removed in.
    count = removal.get("count", 1)
    return {**removal, "name": _feeds(count)} if count > 1 else removal


def move_words(request: HttpRequest, now: datetime) -> str:
    """Return words for the last move to a folder; "" if it was not today."""
    move = _undo_read(request, MOVE, now)
    return _move_words(len(move["feeds"]), move["folder"]) if move else ""


def _undo_read(request: HttpRequest, name: str, now: datetime) -> dict[str, Any] | None:
    steps = steps_of(reader_of(request), name, now)
    return steps[-1] if steps else None


def _forget(request: HttpRequest, name: str, step: dict[str, Any]) -> None:
    at = datetime.fromisoformat(step["at"])
    step_forget(reader=reader_of(request), kind=name, at=at, now=timezone.now())


def _report_move(request: HttpRequest, before: dict[int, str], folder: str, now: datetime) -> HttpResponse:
    # Pairs, because JSON has no numbers as keys.
    values = {"folder": folder, "feeds": list(before.items())}
    step_keep(reader=reader_of(request), kind=MOVE, values=values, now=now)
    return _back(request)


def _remove(request: HttpRequest, reader: Reader, chosen: list[int], now: datetime) -> HttpResponse:
    row = subscription_of(reader_id=reader.pk, feed_id=chosen[0])
    removed = subscriptions_remove(reader=reader, feed_ids=chosen, now=now)
    name = row.name if row and len(chosen) == 1 else _feeds(len(chosen))
    values = {"name": name, "count": len(chosen), "feeds": removed}
    step_keep(reader=reader, kind=REMOVAL, values=values, now=now)
    return _back(request)


def _weigh(
    request: HttpRequest, reader: Reader, chosen: list[int], level: str, now: datetime
) -> HttpResponse:
    try:
        count = sources_weigh(reader=reader, feed_ids=chosen, level=level, now=now)
    except InvalidSetting as error:
        messages.error(request, error.message)
        return _back(request)
    if not count:
        raise Http404(_("You do not read that feed."))
    if request.headers.get("X-Requested-With") == "fetch":
        return HttpResponse(status=204)
    other = ngettext("Set to {level}: {n} source.", "Set to {level}: {n} sources.", count)
    words = str(LEVEL_WORDS[level] % {"n": count}) if level in LEVEL_WORDS else other
    follows = _("Your digest follows.")
    messages.success(request, f"{words.format(n=count, level=level)} {follows}")
    return _back(request)


def _fetch(request: HttpRequest, reader: Reader, chosen: list[int], now: datetime) -> HttpResponse:
    asked = feeds_fetch_now(reader=reader, feed_ids=chosen, now=now)
    sentences = [
        ngettext(
            "{n} feed will be fetched within minutes.", "{n} feeds will be fetched within minutes.", asked.due
        ).format(n=asked.due)
        if asked.due
        else "",
        ngettext(
            "{n} feed tried in the last ten minutes: try again later.",
            "{n} feeds tried in the last ten minutes: try again later.",
            asked.lately,
        ).format(n=asked.lately)
        if asked.lately
        else "",
        _pause_words(asked, now),
        ngettext("{n} feed cannot be fetched.", "{n} feeds cannot be fetched.", asked.never).format(
            n=asked.never
        )
        if asked.never
        else "",
    ]
    if not any(sentences):
        raise Http404(_("You do not read that feed."))
    messages.info(request, " ".join(filter(None, sentences)))
    return _back(request)


def _pause_words(asked: FetchAsked, now: datetime) -> str:
    """Return the sentence about feeds whose servers asked for a pause, "" if there are none."""
    if asked.paused_until is None:
        return ""
    until, today = localtime(asked.paused_until), localtime(now).date()
    at = until.strftime("%H:%M") if until.date() == today else f"{date_words(until)}, {until:%H:%M}"
    return ngettext(
        "{n} feed waits: its server asked for a pause until {time}.",
        "{n} feeds wait: their servers asked for pauses, the last until {time}.",
        asked.paused,
    ).format(n=asked.paused, time=at)


def _back(request: HttpRequest) -> HttpResponse:
    """Return a redirect to the list as it was cut when the form was sent."""
    find, show = request.POST.get("find", "")[:FIND_CHARS], request.POST.get("show", "")
    query = {"find": find, "show": show if show in SHOWN else ""}
    query_string = urlencode({name: value for name, value in query.items() if value})
    return redirect(reverse("digest:sources") + (f"?{query_string}" if query_string else ""))


def _ids(typed: Iterable[str]) -> list[int]:
    return [int(one) for one in typed if one.isdecimal() and len(one) <= ID_CHARS]


def _feeds(count: int) -> str:
    return ngettext("{n} feed", "{n} feeds", count).format(n=count)


def _move_words(count: int, folder: str) -> str:
    if not folder:
        return ngettext("{n} feed moved to no folder.", "{n} feeds moved to no folder.", count).format(
            n=count
        )
    words = ngettext("{n} feed moved to {folder}.", "{n} feeds moved to {folder}.", count)
    return words.format(n=count, folder=folder)
