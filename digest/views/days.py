"""The digest of a day."""

from datetime import date as Date
from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.days import day_of
from digest.pages import paper_of
from digest.readers import reader_of

# How far back digests are shown: a build for the year 1 would help nobody.
OLDEST = timedelta(days=730)


@login_required
@require_safe
def today(request: HttpRequest) -> HttpResponse:
    """Today's digest, in the reader's time zone."""
    reader, now = reader_of(request), timezone.now()
    return render(request, "digest/day.html", paper_of(reader, day_of(now, reader.zone), now))


@login_required
@require_safe
def day(request: HttpRequest, date: Date) -> HttpResponse:
    """The digest of one day; a day that has not come yet, or is long gone, is not found."""
    reader, now = reader_of(request), timezone.now()
    if not timedelta() <= day_of(now, reader.zone) - date <= OLDEST:
        raise Http404("There is no digest of that day.")
    return render(request, "digest/day.html", paper_of(reader, date, now))
