"""The reader's pages: the digest of a day, one item with its reasons, the sources behind them."""

from datetime import date as Date
from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from digest.days import day_of
from digest.errors import DigestError
from digest.forms import AccountForm, FeedForm, ThumbForm
from digest.models import Item, Reader
from digest.pages import item_page, paper_of, responses_of, sources_of
from digest.readers import reader_of
from digest.selectors import feedback_by_items, item_for
from digest.services.feedback import feedback_clear, feedback_set, feedback_tags_set
from digest.services.readers import reader_update
from digest.services.subscriptions import subscription_add, subscription_remove

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


@login_required
@require_safe
def item(request: HttpRequest, item_id: int) -> HttpResponse:
    """One item, its text and the whole of its score."""
    found = _item_or_404(reader_of(request), item_id)
    return render(request, "digest/item.html", item_page(reader_of(request), found, timezone.now()))


@login_required
@require_POST
def feedback(request: HttpRequest, item_id: int) -> HttpResponse:
    """Take a thumb, its undoing or a reason; a script gets the changed part of the page back."""
    found = _item_or_404(reader_of(request), item_id)
    form = ThumbForm(request.POST)
    try:
        if form.is_valid():
            _respond(reader_of(request), found, form.cleaned_data)
    except DigestError as error:
        return HttpResponse(error.message, status=error.status, content_type="text/plain")
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        back = "/"
    if request.headers.get("X-Requested-With") == "fetch":
        return render(
            request, "digest/_response.html", {**responses_of(reader_of(request), found), "back": back}
        )
    return redirect(f"{back}#item-{item_id}")


def _respond(reader: Reader, item: Item, said: dict[str, str]) -> None:
    """Store what one tap said; a reason counts only beside a thumb."""
    now = timezone.now()
    if said["useful"] == "clear":
        feedback_clear(reader=reader, item_id=item.pk)
    elif said["useful"]:
        feedback_set(reader=reader, item_id=item.pk, useful=said["useful"] == "1", now=now)
    elif thumb := feedback_by_items(reader_id=reader.pk, item_ids=[item.pk]).get(item.pk):
        tags = sorted({*thumb.tags} ^ ({said["tag"]} - {""}))
        feedback_tags_set(reader=reader, item_id=item.pk, tags=tags)


def _item_or_404(reader: Reader, item_id: int) -> Item:
    found = item_for(reader_id=reader.pk, item_id=item_id)
    if found is None:
        raise Http404("No such item among your sources.")
    return found


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
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The reader's time zone and the switches for models and for sums over readers."""
    reader = reader_of(request)
    now_set = {name: getattr(reader, name) for name in AccountForm.base_fields}
    form = AccountForm(request.POST or None, initial=now_set)
    if request.method == "POST" and form.is_valid():
        reader_update(reader=reader, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("digest:account")
    return render(request, "digest/account.html", {"form": form}, status=422 if form.errors else 200)


@login_required
@require_POST
def source_remove(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Stop reading a feed; what was said about its items is kept."""
    if not subscription_remove(reader=reader_of(request), feed_id=feed_id):
        raise Http404("You do not read that feed.")
    messages.success(request, "Removed. What you said about its items is kept.")
    return redirect("digest:sources")
