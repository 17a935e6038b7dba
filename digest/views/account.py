"""The reader's own account: their settings, their feed, and the way out."""

from typing import Any

from allauth.core import ratelimit
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import DigestError
from digest.farewell import deleted_words
from digest.forms import AccountForm, DeleteForm, MailForm
from digest.mail_way import mail_goes_out
from digest.models import Reader
from digest.readers import reader_of
from digest.selectors.deliveries import delivery_trouble
from digest.selectors.tokens import tokens_of
from digest.services.links import feed_token_issue, feed_token_revoke
from digest.services.readers import reader_delete, reader_mail_update, reader_update

FEED_ON = "Your feed is on, at the addresses below."
FEED_MOVED = "Your feed has a new address; the earlier one no longer works."
TOO_OFTEN = "Too many tries. Wait a minute, then type it again."


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Everything about the account; a POST keeps the time zone and the switches."""
    reader = reader_of(request)
    if request.method != "POST":
        return _page(request)
    form = AccountForm(request.POST)
    if not form.is_valid():
        return _page(request, form=form)
    reader_update(reader=reader, **form.cleaned_data)
    messages.success(request, "Saved.")
    return redirect("digest:account")


@login_required
@require_POST
def mail(request: HttpRequest) -> HttpResponse:
    """Keep when the digest comes by mail."""
    form = MailForm(request.POST)
    if not form.is_valid():
        return _page(request, mail_form=form)
    reader_mail_update(reader=reader_of(request), **form.cleaned_data)
    messages.success(request, "Saved.")
    return redirect(f"{reverse('digest:account')}#mail")


@login_required
@require_POST
def feed(request: HttpRequest) -> HttpResponse:
    """Give the reader's own feed a new address, or switch it off."""
    if request.POST.get("action") == "off":
        feed_token_revoke(reader=reader_of(request))
        messages.success(request, "Your feed is off. Its address leads nowhere now.")
    else:
        reader = reader_of(request)
        had = bool(reader.feed_token)
        feed_token_issue(reader=reader)
        messages.success(request, FEED_MOVED if had else FEED_ON)
    return redirect(f"{reverse('digest:account')}#feed")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """Ask before the account goes; a POST with username and password deletes it and says what is gone."""
    reader = reader_of(request)
    if request.method != "POST":
        return _delete_page(request, DeleteForm(reader=reader))
    # A password is checked here, so tries are counted as they are where it is asked for again.
    if not ratelimit.consume(request, action="reauthenticate", user=reader):
        answer = _delete_page(request, DeleteForm(reader=reader), TOO_OFTEN, status=429)
        answer["Retry-After"] = "60"
        return answer
    form = DeleteForm(request.POST, reader=reader)
    if not form.is_valid():
        return _delete_page(request, form, status=422)
    try:
        gone = reader_delete(reader=reader)
    except DigestError as error:
        return _delete_page(request, form, error.message, status=error.status)
    name = reader.username
    logout(request)
    return render(request, "digest/account_deleted.html", {"name": name, "gone": deleted_words(gone)})


def _delete_page(
    request: HttpRequest, form: DeleteForm, refused: str = "", status: int = 200
) -> HttpResponse:
    """The question before an account goes, with the reason why it did not."""
    return render(request, "digest/account_delete.html", {"form": form, "refused": refused}, status=status)


def _page(
    request: HttpRequest, form: AccountForm | None = None, mail_form: MailForm | None = None
) -> HttpResponse:
    """The account page, with a form that was refused in the place of a fresh one."""
    reader = reader_of(request)
    fresh = {name: getattr(reader, name) for name in AccountForm.base_fields}
    at = {"rhythm": reader.mail_rhythm, "hour": reader.mail_hour, "weekday": reader.mail_weekday}
    page = {
        "form": form or AccountForm(initial=fresh),
        "mail_form": mail_form or MailForm(initial=at),
        "mail_works": mail_goes_out(),
        "mail_trouble": delivery_trouble(reader_id=reader.pk),
        "feeds": _feeds(request, reader),
        "token_count": len(tokens_of(reader_id=reader.pk)),
        "second_factor": is_mfa_enabled(reader),
        "export_opml": _address("digest:opml_export"),
    }
    refused = bool((form and form.errors) or (mail_form and mail_form.errors))
    return render(request, "digest/account.html", page, status=422 if refused else 200)


def _feeds(request: HttpRequest, reader: Reader) -> dict[str, Any]:
    """Whether this installation serves readers' own feeds, and the addresses of this reader's."""
    probe = reader.feed_token or "none"
    links = {
        name: _address(f"digest:feed_{kind}", token=probe)
        for name, kind in (("Atom", "atom"), ("JSON Feed", "json"))
    }
    found = {name: request.build_absolute_uri(link) for name, link in links.items() if link}
    return {"served": bool(found), "links": found if reader.feed_token else {}}


def _address(name: str, **kwargs: str) -> str:
    """Where `name` leads; "" where this installation has no such page."""
    try:
        return reverse(name, kwargs=kwargs or None)
    except NoReverseMatch:
        return ""
