"""The sources behind the paper: add by site or feed, file away, remove and undo, lists in and out."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from digest.discovery import site_address
from digest.errors import DigestError, SiteUnreachable, TooManyRequests
from digest.forms_sources import AddressForm, OpmlForm, SubscriptionForm
from digest.limited import limited
from digest.limits import IMPORT, LOOKUP, limit_count
from digest.opml import BYTES_MAX
from digest.pages_sources import sources_of, sources_page
from digest.readers import reader_of
from digest.selectors.subscriptions import subscription_of
from digest.services.discovery import FoundFeed, feed_as_typed, feeds_discover
from digest.services.opml import opml_export, opml_import
from digest.services.subscriptions import (
    address_checked,
    subscription_add,
    subscription_change,
    subscription_remove,
    subscription_restore,
)

UNDO_SALT, UNDO_S = "digest.source_removed", 3600


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sources(request: HttpRequest) -> HttpResponse:
    """The reader's sources and how their feeds are doing; a POST adds a site's feed, or offers several."""
    form = AddressForm(request.POST or None)
    found: list[FoundFeed] = []
    if request.method == "POST" and form.is_valid():
        try:
            found = _found(request, form)
            if len(found) == 1:
                return _added(request, found[0], seen=not form.cleaned_data["as_is"])
        except DigestError as error:
            form.add_error("url", error.message)
            can_add = isinstance(error, SiteUnreachable) and error.may_answer
            answer = _page(request, form, can_add=can_add, status=422)
            if isinstance(error, TooManyRequests):
                answer.status_code, answer["Retry-After"] = error.status, str(error.retry_after_s)
            return answer
    return _page(request, form, found=found, status=422 if form.errors else 200)


def _found(request: HttpRequest, form: AddressForm) -> list[FoundFeed]:
    """The feeds to choose from; an address to be taken as it is stands for itself."""
    url = form.cleaned_data["url"]
    if form.cleaned_data["as_is"]:
        return [FoundFeed(feed_as_typed(url=url), "", 0)]
    address_checked(url=site_address(url))  # what is no address costs no lookup
    limit_count(limit=LOOKUP, who=reader_of(request).pk, now=timezone.now())
    return feeds_discover(url=url)


def _added(request: HttpRequest, found: FoundFeed, *, seen: bool) -> HttpResponse:
    """Subscribe; items are promised only of a feed that was `seen` to be one."""
    now = timezone.now()
    added = subscription_add(reader=reader_of(request), url=found.url, now=now, alive=seen)
    name = added.feed.title or found.title or str(added.feed)
    if added.created_at < now:
        messages.info(request, f"You read {name} already.")
        return redirect("digest:sources")
    asked, unasked = "Its items arrive within a few minutes.", "Below it says whether it answers, once asked."
    messages.success(request, f"You now read {name}. {asked if seen else unasked}")
    return redirect("digest:sources")


def _page(
    request: HttpRequest,
    form: AddressForm,
    *,
    found: list[FoundFeed] | None = None,
    can_add: bool = False,
    list_form: OpmlForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page = sources_page(reader_of(request), timezone.now()) | {
        "form": form,
        "found": found,
        "can_add": can_add,
        "list_form": list_form or OpmlForm(),
        "undo": _undo_read(request, request.GET.get("removed", "")),
    }
    return render(request, "digest/sources.html", page, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def source(request: HttpRequest, feed_id: int) -> HttpResponse:
    """One subscription: how its feed is doing, where it is filed, whether models may read it."""
    reader = reader_of(request)
    lines = sources_of(reader, timezone.now())
    line = next((line for line in lines if line.subscription.feed_id == feed_id), None)
    if line is None:
        raise Http404("You do not read that feed.")
    kept = {name: getattr(line.subscription, name) for name in SubscriptionForm.base_fields}
    form = SubscriptionForm(request.POST or None, initial=kept)
    if request.method == "POST" and form.is_valid():
        subscription_change(reader=reader, feed_id=feed_id, **form.cleaned_data)
        messages.success(request, f"Saved: {line.name}.")
        return redirect("digest:sources")
    folders = sorted({line.folder for line in lines if line.folder}, key=str.casefold)
    page = {"form": form, "line": line, "folders": folders}
    return render(request, "digest/source.html", page, status=422 if form.errors else 200)


@login_required
@require_POST
def source_remove(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Stop reading a feed; what was said about its items is kept, and an hour long it can be undone."""
    reader = reader_of(request)
    had = subscription_of(reader_id=reader.pk, feed_id=feed_id)
    if had is None or not subscription_remove(reader=reader, feed_id=feed_id, now=timezone.now()):
        raise Http404("You do not read that feed.")
    said = {
        "reader": str(reader.pk),
        "feed": feed_id,
        "name": had.feed.title or str(had.feed.source),
        "folder": had.folder,
        "ai": had.ai_enabled,
    }
    query = urlencode({"removed": signing.dumps(said, salt=UNDO_SALT, compress=True)})
    return redirect(f"{reverse('digest:sources')}?{query}")


@login_required
@require_POST
def source_undo(request: HttpRequest) -> HttpResponse:
    """Read a feed again that was removed within the last hour, filed as it was."""
    undo = _undo_read(request, request.POST.get("removed", ""))
    if undo is None:
        messages.error(request, "That can no longer be undone. Add the feed again by its address.")
        return redirect("digest:sources")
    try:
        subscription_restore(
            reader=reader_of(request),
            feed_id=undo["feed"],
            folder=undo["folder"],
            ai_enabled=undo["ai"],
            now=timezone.now(),
        )
    except DigestError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"You read {undo['name']} again.")
    return redirect("digest:sources")


def _undo_read(request: HttpRequest, signed: str) -> dict[str, Any] | None:
    """What a removal said about itself, if it was this reader's and not long ago."""
    try:
        said: dict[str, Any] = signing.loads(signed, salt=UNDO_SALT, max_age=UNDO_S)
    except signing.BadSignature:
        return None
    return {**said, "signed": signed} if said["reader"] == str(reader_of(request).pk) else None


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@limited(IMPORT)
def opml_upload(request: HttpRequest) -> HttpResponse:
    """Import a list and say line by line what could not be; a GET leads to the form."""
    if request.method != "POST":
        return redirect("digest:sources")
    form = OpmlForm(request.POST, request.FILES)
    if form.is_valid():
        document = form.cleaned_data["file"].read(BYTES_MAX + 1)
        try:
            report = opml_import(reader=reader_of(request), document=document, now=timezone.now())
        except DigestError as error:
            form.add_error("file", error.message)
        else:
            return render(request, "digest/opml_imported.html", {"report": report})
    return _page(request, AddressForm(), list_form=form, status=422)


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def opml_download(request: HttpRequest) -> HttpResponse:
    """The reader's feeds as an OPML file."""
    document = opml_export(reader=reader_of(request), now=timezone.now())
    answer = HttpResponse(document, content_type="text/x-opml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="tidings.opml"'
    return answer
