"""First fetches on pages: how far they are, and what has come since today's digest was built."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from digest.daily.first_round import first_round_advance
from digest.daily.selectors import digest_for, items_newer
from digest.daily.services import digest_refresh
from digest.days import day_of
from digest.entities import DIGEST_FROZEN
from digest.feeds.filling import Filling, feeds_overdue, filling_of, reader_filling
from digest.models import Digest, Reader, Subscription
from digest.requests import reader_of

Place = Literal["today", "sources"]


@dataclass(frozen=True, slots=True)
class FillingPart:
    """What a page says of new feeds: how far their fetch is, and how many items today's digest has not seen.

    `watched`: the page asks again by itself. `overdue` feeds wait though nobody has just added them, and the
    digest is empty.
    """

    place: Place
    progress: Filling | None
    watched: bool
    newer: int = 0
    overdue: int = 0


def today_filling(
    reader: Reader, digest: Digest, now: datetime, is_empty: bool = False
) -> FillingPart | None:
    """Return the part of the page of today's `digest`; None where there is nothing to say."""
    progress = reader_filling(reader_id=reader.pk, now=now)
    # One that was built long ago was compared with what there is a moment ago, and changed nothing.
    newer = items_newer(digest=digest, now=now) if digest.built_at > now - DIGEST_FROZEN else 0
    if progress or newer or not is_empty:
        return _part("today", progress, newer, now) if progress or newer else None
    return _overdue_part(reader, now)


def _overdue_part(reader: Reader, now: datetime) -> FillingPart | None:
    overdue = feeds_overdue(reader_id=reader.pk, now=now)
    return FillingPart("today", None, watched=True, overdue=overdue) if overdue else None


def sources_filling(subscriptions: Sequence[Subscription], now: datetime) -> FillingPart | None:
    """Return the part of the sources' page; None where no feed waits."""
    progress = filling_of(subscriptions=subscriptions, now=now)
    return _part("sources", progress, 0, now) if progress else None


def import_filling(reader: Reader, now: datetime) -> FillingPart | None:
    """Return the part of the page after an import; None where no feed waits."""
    progress = reader_filling(reader_id=reader.pk, now=now)
    return _part("sources", progress, 0, now) if progress else None


def _part(place: Place, progress: Filling | None, newer: int, now: datetime) -> FillingPart:
    return FillingPart(place, progress, progress is not None and progress.is_watched(now), newer)


@login_required
@require_safe
def filling(request: HttpRequest) -> HttpResponse:
    """Return the part of a page anew to a script; a browser without scripts is led back to the page.

    Where no worker comes for the feeds, some are fetched meanwhile (`first_round_advance`).
    """
    reader = reader_of(request)
    place: Place = "sources" if request.GET.get("page") == "sources" else "today"
    first_round_advance(reader=reader, now=timezone.now())
    if request.headers.get("X-Requested-With") != "fetch":
        return redirect(f"digest:{place}")
    now = timezone.now()
    digest = digest_for(reader_id=reader.pk, date=day_of(now, reader.zone)) if place == "today" else None
    newer = items_newer(digest=digest, now=now) if digest else 0
    progress = reader_filling(reader_id=reader.pk, now=now, finished=True)
    part = _part(place, progress, newer, now)
    if digest and not (part.watched or newer or digest.impressions.exists()):
        part = _overdue_part(reader, now) or part
    return render(request, "digest/_filling.html", {"filling": part})


@login_required
@require_POST
def newer(request: HttpRequest) -> HttpResponse:
    """Build today's digest again with what came since, though it is not due yet."""
    digest_refresh(reader=reader_of(request), now=timezone.now())
    return redirect("digest:today")
