"""Views of the sources: add a site or feed, change a subscription, remove, undo, import and export."""

from typing import Any

from django import forms
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

from digest.errors import DigestError, SiteUnreachable, TooManyRequests
from digest.feeds.discovery import FoundFeed, feed_as_typed, feeds_discover, site_address
from digest.feeds.opml import FOLDER_MAX_CHARS, OPML_BYTES_MAX
from digest.feeds.selectors import subscription_of
from digest.feeds.subscriptions import (
    check_address,
    opml_export,
    opml_import,
    subscription_add,
    subscription_change,
    subscription_remove,
    subscription_restore,
)
from digest.requests import reader_of
from digest.throttling import IMPORT, LOOKUP, limit_count, rate_limited
from digest.web.pages import source_lines, sources_page

UNDO_SALT, UNDO_S = "digest.source_removed", 3600


class AddressForm(forms.Form):
    """The name or address of a site, or a feed's own address."""

    url = forms.CharField(
        label="A site or a feed",
        max_length=2000,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "url",
                "inputmode": "url",
                "autocapitalize": "none",
                "spellcheck": "false",
                "aria-describedby": "url-hint",
            }
        ),
    )
    as_is = forms.BooleanField(required=False)


class SubscriptionForm(forms.Form):
    """A subscription's folder, and whether models may read its items for this reader."""

    folder = forms.CharField(
        label="Folder",
        max_length=FOLDER_MAX_CHARS,
        required=False,
        help_text="Any name; “News / Local” is a folder in a folder. Empty for none.",
        widget=forms.TextInput(attrs={"list": "folders", "autocomplete": "off"}),
    )
    ai_enabled = forms.BooleanField(
        label="Language models may read what this feed brings, for summaries and the like",
        required=False,
        help_text="Off: no text of this feed leaves this machine on your behalf. As your thumbs are studied "
        "all together, suggestions then come from statistics alone.",
    )


class OpmlForm(forms.Form):
    """A subscription list from a file."""

    file = forms.FileField(
        label="An OPML list",
        widget=forms.ClearableFileInput(attrs={"accept": ".opml,.xml,text/xml,text/x-opml"}),
        error_messages={"required": "Choose a file first.", "empty": "The file is empty."},
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sources(request: HttpRequest) -> HttpResponse:
    """Show the reader's sources and feed health; a POST adds a site's feed, or offers several."""
    form = AddressForm(request.POST or None)
    found: list[FoundFeed] = []
    if request.method == "POST" and form.is_valid():
        try:
            found = _feeds_of(request, form)
            if len(found) == 1:
                return _subscribe(request, found[0], seen=not form.cleaned_data["as_is"])
        except DigestError as error:
            form.add_error("url", error.message)
            can_add = isinstance(error, SiteUnreachable) and error.may_answer
            answer = _page(request, form, can_add=can_add, status=422)
            if isinstance(error, TooManyRequests):
                answer.status_code, answer["Retry-After"] = error.status, str(error.retry_after_s)
            return answer
    return _page(request, form, found=found, status=422 if form.errors else 200)


def _feeds_of(request: HttpRequest, form: AddressForm) -> list[FoundFeed]:
    """Return the feeds to choose from; an address to be taken as it is, is the only one."""
    url = form.cleaned_data["url"]
    if form.cleaned_data["as_is"]:
        return [FoundFeed(feed_as_typed(url=url), "", 0)]
    check_address(url=site_address(url))  # before a lookup is counted
    limit_count(limit=LOOKUP, who=reader_of(request).pk, now=timezone.now())
    return feeds_discover(url=url)


def _subscribe(request: HttpRequest, found: FoundFeed, *, seen: bool) -> HttpResponse:
    """Subscribe; the message promises items only of a feed that was `seen` to be one."""
    now = timezone.now()
    added = subscription_add(reader=reader_of(request), url=found.url, now=now, alive=seen)
    name = added.feed.title or found.title or str(added.feed)
    if added.created_at < now:
        messages.info(request, f"You read {name} already.")
        return redirect("digest:sources")
    next_step = "Its items arrive within a few minutes." if seen else "Its status below shows if it answers."
    messages.success(request, f"You now read {name}. {next_step}")
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
    """Show one subscription: feed health, folder, and whether models may read it; a POST changes it."""
    reader = reader_of(request)
    lines = source_lines(reader, timezone.now())
    line = next((line for line in lines if line.subscription.feed_id == feed_id), None)
    if line is None:
        raise Http404("You do not read that feed.")
    current = {name: getattr(line.subscription, name) for name in SubscriptionForm.base_fields}
    form = SubscriptionForm(request.POST or None, initial=current)
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
    """Stop reading a feed; ratings of its items stay, and it can be undone for an hour."""
    reader = reader_of(request)
    subscription = subscription_of(reader_id=reader.pk, feed_id=feed_id)
    if subscription is None or not subscription_remove(reader=reader, feed_id=feed_id, now=timezone.now()):
        raise Http404("You do not read that feed.")
    undo = {
        "reader": str(reader.pk),
        "feed": feed_id,
        "name": subscription.feed.title or str(subscription.feed.source),
        "folder": subscription.folder,
        "ai": subscription.ai_enabled,
    }
    query = urlencode({"removed": signing.dumps(undo, salt=UNDO_SALT, compress=True)})
    return redirect(f"{reverse('digest:sources')}?{query}")


@login_required
@require_POST
def source_undo(request: HttpRequest) -> HttpResponse:
    """Subscribe again to a feed that was removed within the last hour, with folder and switch as before."""
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
    """Return the signed fields of a removal, if it was this reader's and not long ago."""
    try:
        undo: dict[str, Any] = signing.loads(signed, salt=UNDO_SALT, max_age=UNDO_S)
    except signing.BadSignature:
        return None
    return {**undo, "signed": signed} if undo["reader"] == str(reader_of(request).pk) else None


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(IMPORT)
def opml_upload(request: HttpRequest) -> HttpResponse:
    """Import a list and show line by line what was refused; a GET leads to the form."""
    if request.method != "POST":
        return redirect("digest:sources")
    form = OpmlForm(request.POST, request.FILES)
    if form.is_valid():
        document = form.cleaned_data["file"].read(OPML_BYTES_MAX + 1)
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
    """Return the reader's feeds as an OPML file."""
    document = opml_export(reader=reader_of(request), now=timezone.now())
    answer = HttpResponse(document, content_type="text/x-opml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="tidings.opml"'
    return answer
