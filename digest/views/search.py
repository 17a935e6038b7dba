"""Searching one's own items."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.limited import limited
from digest.limits import SEARCH
from digest.pages import search_page
from digest.readers import page_of, reader_of
from digest.searching import QUERY_CHARS
from digest.selectors.search import Order


@login_required
@require_safe
@limited(SEARCH, when=lambda request: bool(request.GET.get("q")))
def search(request: HttpRequest) -> HttpResponse:
    """What `?q=` finds, the best first, or with `order=newest` the newest."""
    query = request.GET.get("q", "").replace("\0", " ").strip()[:QUERY_CHARS]
    order: Order = "newest" if request.GET.get("order") == "newest" else "best"
    found = search_page(reader_of(request), query, order, page_of(request), timezone.now())
    return render(request, "digest/search.html", found)
