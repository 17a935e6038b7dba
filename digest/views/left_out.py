"""What a digest left out, and why."""

from datetime import date as Date

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.days import day_of
from digest.pages_left_out import left_out_page
from digest.readers import reader_of


@login_required
@require_safe
def left_out(request: HttpRequest, date: Date) -> HttpResponse:
    """The items a day's digest passed over: `?reason=` picks a kind, `?page=` a page. No future days."""
    reader, now = reader_of(request), timezone.now()
    if date > day_of(now, reader.zone):
        raise Http404("There is no digest of that day.")
    typed = request.GET.get("page", "1")
    page = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 5 else 1
    context = left_out_page(reader, date, request.GET.get("reason", ""), page, now)
    return render(request, "digest/left_out.html", context)
