"""What models cost, for operators."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.costs_page import costs_page
from digest.readers import reader_of


@login_required
@require_safe
def costs(request: HttpRequest) -> HttpResponse:
    """Spend by surface, model, run, reader and day, what was saved and refused, and what comes next."""
    if not reader_of(request).is_staff:
        raise PermissionDenied("Only operators may see what models cost.")
    return render(request, "digest/costs.html", {"page": costs_page(timezone.now())})
