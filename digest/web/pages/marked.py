"""The line "News: 30 items marked as read at 9:14 · Undo" of the lists, until the reader's next day.

The last five markings are kept, so a second marking does not take the way back from the first. They are
undone one after the other, the latest first.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from digest.items.listing import EPOCH, MICROSECOND
from digest.items.reading import readings_undo
from digest.requests import reader_of, return_path
from digest.undo import step_forget, step_keep, steps_of
from ranking.language import thousands

MARKED = "marked"
STAMP_CHARS = 17
PLACE_CHARS = 200
NEW_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Marking:
    """Several items that were marked as read at one moment, and their number.

    `place` is the name of their list or page. `is_new`: just now. The page says it in a louder voice, because
    it may have been a mistake.
    """

    at: datetime
    count: int
    place: str
    is_new: bool


def marking_keep(request: HttpRequest, count: int, place: str, now: datetime) -> None:
    """Keep what was marked as read at `now` in `place` for the line with Undo; nothing if it was no item."""
    if count:
        values = {"count": count, "place": place[:PLACE_CHARS]}
        step_keep(reader=reader_of(request), kind=MARKED, values=values, now=now)


def marking_latest(request: HttpRequest, now: datetime) -> Marking | None:
    """Return the latest marking of the reader's day that is not undone. No query."""
    steps = steps_of(reader_of(request), MARKED, now)
    if not steps:
        return None
    step, at = steps[-1], datetime.fromisoformat(steps[-1]["at"])
    # Steps of the release before have no place.
    return Marking(at, step["count"], step.get("place", ""), now - at < NEW_FOR)


@login_required
@require_POST
def marking_undo(request: HttpRequest) -> HttpResponse:
    """Make the items unread again that were marked at the moment in `undo`, and go back to the page."""
    reader, at = reader_of(request), moment_or_404(request.POST.get("undo", ""))
    count = readings_undo(reader=reader, at=at)
    step_forget(reader=reader, kind=MARKED, at=at, now=timezone.now())
    if count:  # none at a second press of the key, before the page of the first one came
        words = ngettext("{count} item unread again.", "{count} items unread again.", count)
        messages.success(request, words.format(count=thousands(count)))
    return redirect(return_path(request))


def page_stamp(now: datetime) -> int:
    """Return the moment a page was made, as its form sends it back: microseconds since 1970."""
    return (now - EPOCH) // MICROSECOND


def page_made(typed: str, now: datetime) -> datetime:
    """Return the moment of a `page_stamp`; now for any other text."""
    if not typed.isdecimal() or len(typed) > STAMP_CHARS:
        return now
    return min(EPOCH + int(typed) * MICROSECOND, now)


def moment_or_404(typed: str) -> datetime:
    """Return the moment `typed` in ISO 8601, in UTC. Raises `Http404` for any other text."""
    try:
        moment = parse_datetime(typed)
        if moment is not None and timezone.is_aware(moment):
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the year 10,000 begins early in the east
        pass
    raise Http404(_("Nothing was marked at that moment."))
