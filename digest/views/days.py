"""The digest of a day, and the calendar of them."""

from datetime import UTC, datetime, timedelta
from datetime import date as Date

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.views.decorators.http import require_POST, require_safe

from digest.days import day_of
from digest.models import Exposure, Reader
from digest.pages import OLDEST, calendar_page, digest_items, paper_of
from digest.readers import fetched_ahead, reader_of
from digest.selectors.digests import digest_for
from digest.services.exposures import exposures_log
from digest.services.readers import reader_nudge_quiet
from digest.services.readings import items_read, items_unread

DAY = timedelta(days=1)


@login_required
@require_safe
def today(request: HttpRequest) -> HttpResponse:
    """Today's digest, in the reader's time zone."""
    reader, now = reader_of(request), timezone.now()
    return _paper(request, reader, day_of(now, reader.zone), now)


@login_required
@require_safe
def day(request: HttpRequest, date: Date) -> HttpResponse:
    """The digest of one day; a day that has not come yet, or is long gone, is not found."""
    reader, now = reader_of(request), timezone.now()
    if said := _unknown(reader, date, now):
        return render(request, "404.html", {"said": said}, status=404)
    return _paper(request, reader, date, now)


@login_required
@require_safe
def calendar(request: HttpRequest) -> HttpResponse:
    """A month of digests to choose from: `?month=2026-03`, this month without."""
    page = calendar_page(reader_of(request), request.GET.get("month", ""), timezone.now())
    return render(request, "digest/calendar.html", page)


@login_required
@require_POST
def read(request: HttpRequest, date: Date) -> HttpResponse:
    """Mark everything in a day's digest as read; with `at`, take back what was marked at that moment."""
    reader, now = reader_of(request), timezone.now()
    _known_or_404(reader, date, now)
    items = digest_items(reader, date)
    if "at" in request.POST:
        count = items_unread(reader=reader, item_ids=items, at=_moment_or_404(request.POST["at"]))
        messages.success(request, f"{_items(count)} unread again.")
    else:
        count = items_read(reader=reader, item_ids=items, now=now)
        messages.success(request, f"{_items(count)} marked as read.")
    here = date == day_of(now, reader.zone)
    return redirect("digest:today") if here else redirect("digest:day", date)


@login_required
@require_POST
def nudge_dismiss(request: HttpRequest) -> HttpResponse:
    """Say no more for a week that suggestions wait."""
    reader_nudge_quiet(reader=reader_of(request), now=timezone.now())
    return redirect("digest:today")


def _paper(request: HttpRequest, reader: Reader, date: Date, now: datetime) -> HttpResponse:
    """The page of a day, and the log of what it put before its reader."""
    page = paper_of(reader, date, now)
    if page["digest"] and request.method == "GET" and not fetched_ahead(request):
        exposures_log(digest=page["digest"], door=Exposure.Door.PAGE, now=now)
    return render(request, "digest/day.html", page)


def _known_or_404(reader: Reader, date: Date, now: datetime) -> None:
    if said := _unknown(reader, date, now):
        raise Http404(said)


def _unknown(reader: Reader, date: Date, now: datetime) -> str:
    """Why there can be no digest of `date`, and which days have one; "" where there may be."""
    today = day_of(now, reader.zone)
    if today - OLDEST <= date <= today:
        return ""
    if date == today + DAY and digest_for(reader_id=reader.pk, date=date):
        return ""  # made where it was tomorrow already, before the reader moved west
    first, last = (date_format(day, "j F Y") for day in (today - OLDEST, today))
    return f"There is no digest of that day. Digests go back from today, {last}, to {first}."


def _moment_or_404(typed: str) -> datetime:
    try:
        moment = parse_datetime(typed)
        if moment is not None and timezone.is_aware(moment):
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the year 10,000 begins early in the east
        pass
    raise Http404("Nothing was marked at that moment.")


def _items(count: int) -> str:
    return f"{count} item{'s' * (count != 1)}"
