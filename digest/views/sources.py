"""The sources behind the paper."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import DigestError
from digest.forms import FeedForm
from digest.pages_sources import sources_of
from digest.readers import reader_of
from digest.services.subscriptions import subscription_add, subscription_remove


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sources(request: HttpRequest) -> HttpResponse:
    """The reader's sources and how their feeds are doing; a POST adds a feed by its address."""
    form = FeedForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            added = subscription_add(
                reader=reader_of(request), url=form.cleaned_data["url"], now=timezone.now()
            )
        except DigestError as error:
            form.add_error("url", error.message)
        else:
            messages.success(request, f"You now read {added.feed}. Its items arrive within a few minutes.")
            return redirect("digest:sources")
    page = {"form": form, "sources": sources_of(reader_of(request), timezone.now())}
    return render(request, "digest/sources.html", page, status=422 if form.errors else 200)


@login_required
@require_POST
def source_remove(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Stop reading a feed; what was said about its items is kept."""
    if not subscription_remove(reader=reader_of(request), feed_id=feed_id):
        raise Http404("You do not read that feed.")
    messages.success(request, "Removed. What you said about its items is kept.")
    return redirect("digest:sources")
