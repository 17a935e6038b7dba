"""Pages of private feeds: adding one with its access, and changing that."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from digest.errors import DigestError, FeedNotFound, TooManyRequests
from digest.feeds.access import (
    LOCKED,
    NAME_CHARS_MAX,
    SECRET_CHARS_MAX,
    USER_AGENT_CHARS_MAX,
    AccessGiven,
    Kind,
)
from digest.feeds.identity import web_url
from digest.feeds.problem_words import problem_words
from digest.feeds.selectors import subscription_of, subscriptions_exist
from digest.models import Feed, FeedAccess
from digest.requests import reader_of
from digest.sources.private_feeds import access_of_feed, private_feed_add, private_feed_change
from digest.throttling import LOOKUP_PRIVATE, limit_count


class AccessForm(forms.Form):
    """The access to a feed, and the user agent to send. Stored secrets are never shown again."""

    kind = forms.ChoiceField(choices=Kind.choices, label=gettext_lazy("What opens it"))
    name = forms.CharField(
        label=gettext_lazy("Name (optional for a cookie)"),
        max_length=NAME_CHARS_MAX,
        required=False,
        help_text=gettext_lazy("The user name, or the header’s name."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    value = forms.CharField(
        label=gettext_lazy("Secret (optional for a user agent alone)"),
        max_length=SECRET_CHARS_MAX,
        required=False,
        strip=False,
        help_text=gettext_lazy("The password, the header’s value, or cookies as name=value; name=value."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    user_agent = forms.CharField(
        label=gettext_lazy("User agent"),
        max_length=USER_AGENT_CHARS_MAX,
        required=False,
        help_text=gettext_lazy("Only where a server insists on one. Empty: that of Tidings."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    @property
    def given(self) -> AccessGiven:
        """Return the access typed into a valid form."""
        return AccessGiven(
            **{name: self.cleaned_data[name] for name in ("kind", "name", "value", "user_agent")}
        )


class PrivateFeedForm(AccessForm):
    """The address of a feed, and its access."""

    url = forms.CharField(
        label=gettext_lazy("The feed’s address"),
        max_length=2000,
        widget=forms.TextInput(
            attrs={"autocomplete": "url", "inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    field_order = ("url",)


def access_form(feed: Feed, stored: FeedAccess | None) -> AccessForm | None:
    """Return the form of a feed's access without its secrets; `None` for a feed that is not fetched."""
    if not web_url(feed.address):
        return None
    shown = {"kind": stored.kind, "user_agent": stored.user_agent} if stored else {}
    return AccessForm(initial=shown)


@login_required
@never_cache
@sensitive_post_parameters("name", "value")
@require_http_methods(["GET", "HEAD", "POST"])
def private_source(request: HttpRequest) -> HttpResponse:
    """Show the form for a private feed. A POST fetches the feed with the given access and adds it."""
    form = PrivateFeedForm(request.POST or None, initial={"url": request.GET.get("url", "")[:2000]})
    if request.method == "POST" and form.is_valid():
        try:
            reader, now = reader_of(request), timezone.now()
            limit_count(limit=LOOKUP_PRIVATE, who=reader.pk, now=now)
            is_first = not subscriptions_exist(reader_id=reader.pk)
            added = private_feed_add(reader=reader, url=form.cleaned_data["url"], given=form.given, now=now)
        except DigestError as error:
            form.add_error(None, error.message)
            return _refuse(private_page(request, form, status=422), error)
        messages.success(
            request, _("You now read {name}. Nobody else here can.").format(name=added.subscription.feed.name)
        )
        return redirect("digest:today" if is_first else "digest:sources")
    return private_page(request, form, status=422 if form.errors else 200)


def private_page(
    request: HttpRequest, form: PrivateFeedForm, *, locked: str = "", status: int = 200
) -> HttpResponse:
    """Show the form. `locked` is the server's answer to the address without any access."""
    return render(request, "digest/private_source.html", {"form": form, "locked": locked}, status=status)


@login_required
@never_cache
@sensitive_post_parameters("name", "value")
@require_http_methods(["GET", "HEAD", "POST"])
def source_access(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Show the kind of secret that opens a source. A POST tries the typed one and stores it if it works."""
    reader, now = reader_of(request), timezone.now()
    row = subscription_of(reader_id=reader.pk, feed_id=feed_id)
    if row is None or not web_url(row.feed.address):
        raise Http404(_("You read no such feed that is fetched from an address."))
    stored = access_of_feed(feed=row.feed)
    form = AccessForm(request.POST) if request.method == "POST" else access_form(row.feed, stored)
    status = 200
    if request.method == "POST" and form and form.is_valid():
        try:
            limit_count(limit=LOOKUP_PRIVATE, who=reader.pk, now=now)
            added = private_feed_change(reader=reader, feed_id=feed_id, given=form.given, now=now)
        except FeedNotFound as error:
            raise Http404(error.message) from error
        except DigestError as error:
            form.add_error(None, error.message)
            return _refuse(_access_page(request, row.feed, form, stored, 422), error)
        messages.success(
            request,
            _("Saved: {name} opens, and nobody else here reads it.").format(name=added.subscription.name),
        )
        return redirect("digest:source", added.subscription.feed_id)
    if form and form.errors:
        status = 422
    return _access_page(request, row.feed, form, stored, status)


def _access_page(
    request: HttpRequest, feed: Feed, form: AccessForm | None, stored: FeedAccess | None, status: int
) -> HttpResponse:
    page: dict[str, Any] = {"feed": feed, "form": form, "stored": stored, "locked": feed.error_code in LOCKED}
    page["error"] = problem_words(feed.error_code, feed.error_message)
    return render(request, "digest/source_access.html", page, status=status)


def _refuse(answer: HttpResponse, error: DigestError) -> HttpResponse:
    if isinstance(error, TooManyRequests):
        answer.status_code, answer["Retry-After"] = error.status, str(error.retry_after_s)
    return answer
