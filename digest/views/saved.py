"""What a reader keeps for later."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.pages import saved_page
from digest.readers import page_of, reader_of


@login_required
@require_safe
def saved(request: HttpRequest) -> HttpResponse:
    """The saved items, the latest first."""
    return render(
        request, "digest/saved.html", saved_page(reader_of(request), page_of(request), timezone.now())
    )
