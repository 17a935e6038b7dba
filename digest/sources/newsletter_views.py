"""The page of newsletters: the reader's own address, lists that wait for a yes, and removed ones."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import FeedNotFound, TooManySubscriptions
from digest.models import Feed
from digest.requests import reader_of
from digest.sources.newsletters import (
    WAITING_MAX,
    newsletter_accept,
    newsletter_address,
    newsletter_address_issue,
    newsletter_refuse,
    newsletters_are_on,
    newsletters_removed,
    newsletters_waiting,
)
from digest.sources.subscriptions import NEWSLETTERS_MAX


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def newsletters(request: HttpRequest) -> HttpResponse:
    """Show the reader's address for newsletters; a POST makes one, or another in its place."""
    if not newsletters_are_on():
        raise Http404(_("This site has no mailbox for newsletters."))
    reader = reader_of(request)
    if request.method == "POST":
        had = newsletter_address(reader=reader)
        newsletter_address_issue(reader=reader)
        messages.success(
            request,
            _("You have a new address; the old one reaches nobody.") if had else _("Your address is made."),
        )
        return redirect("digest:newsletters")
    waiting = list(newsletters_waiting(reader_id=reader.pk).prefetch_related("items"))
    page = {
        "address": newsletter_address(reader=reader),
        "waiting": waiting,
        "is_full": len(waiting) >= WAITING_MAX,
        "most": NEWSLETTERS_MAX,
        "removed": newsletters_removed(reader_id=reader.pk),
    }
    return render(request, "digest/newsletters.html", page)


@login_required
@require_POST
def resume(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Read a newsletter that waits for the reader's yes, or that they had removed."""
    try:
        feed = newsletter_accept(reader=reader_of(request), feed_id=feed_id, now=timezone.now())
    except FeedNotFound as error:
        raise Http404(error.message) from error
    except TooManySubscriptions as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("You read {name} now.").format(name=feed.name))
        if feed.state == Feed.State.WAITING:
            return redirect("digest:source", feed.pk)
    return redirect("digest:newsletters")


@login_required
@require_POST
def refuse(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Refuse a newsletter that waits for the reader's yes."""
    try:
        feed = newsletter_refuse(reader=reader_of(request), feed_id=feed_id)
    except FeedNotFound as error:
        raise Http404(error.message) from error
    messages.success(request, _("Refused. What {name} sends is thrown away.").format(name=feed.name))
    return redirect("digest:newsletters")
