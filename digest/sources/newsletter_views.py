"""The page of newsletters: the reader's own address, a new one, and removed lists."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import FeedNotFound, TooManySubscriptions
from digest.requests import reader_of
from digest.sources.newsletters import (
    newsletter_address,
    newsletter_address_issue,
    newsletter_resume,
    newsletters_are_on,
    newsletters_removed,
)


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
    removed = newsletters_removed(reader_id=reader.pk)
    page = {"address": newsletter_address(reader=reader), "removed": removed}
    return render(request, "digest/newsletters.html", page)


@login_required
@require_POST
def resume(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Take up a newsletter again that the reader had removed."""
    try:
        feed = newsletter_resume(reader=reader_of(request), feed_id=feed_id, now=timezone.now())
    except FeedNotFound as error:
        raise Http404(error.message) from error
    except TooManySubscriptions as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("You read {name} again, from its next issue on.").format(name=feed.name))
    return redirect("digest:newsletters")
