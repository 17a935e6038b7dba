"""Views of the account: settings, mail and its signed links, own feed, tokens, deletion, welcome, signing in.

Nobody signs in behind a signed link; the link is the key. A GET of one never acts, since mail scanners open
every link of a mail. It shows the effect of the link, and a script on the page sends the form in a real
browser.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, cast

import structlog
from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows.reauthentication import resume_request
from allauth.account.views import LoginView
from allauth.core import ratelimit
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import DisallowedRedirect
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone, translation
from django.utils.translation import get_language, gettext_noop, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from digest.accounts.adapters import has_app, has_passkey, signed_in_again
from digest.accounts.assistant_access import assistant_connections
from digest.accounts.services import (
    Display,
    deleted_words,
    reader_delete,
    reader_display_update,
    reader_mail_update,
    reader_update,
)
from digest.accounts.tokens import TOKENS_MAX, IssuedToken, token_issue, tokens_of
from digest.accounts.tokens import token_revoke as revoke
from digest.daily.first_fetch import first_fetch_wake
from digest.errors import DigestError
from digest.feeds.selectors import subscriptions_of
from digest.mail.due import address_is_confirmed, delivery_trouble
from digest.mail.links import (
    feed_token_issue,
    feed_token_revoke,
    reader_unsubscribe,
    thumb_link_state,
    thumb_link_undo,
    thumb_link_use,
    unsubscribe_link_reader,
)
from digest.mail.render import mail_goes_out
from digest.models import Reader
from digest.places import SIGN_INS
from digest.requests import reader_of
from digest.sources.recommended import interests_offered, welcome_answer
from digest.sources.subscriptions import FEED_GONE_REASON, left_out_words
from digest.sources.views import WELCOME
from digest.web.pages.forms import (
    AccountForm,
    DeleteForm,
    DisplayForm,
    MailForm,
    TokenForm,
    WelcomeForm,
)

log = structlog.get_logger(__name__)
FEED_ON = gettext_noop("Your feed is on, at the addresses below.")
FEED_MOVED = gettext_noop("Your feed has a new address; the earlier one no longer works.")
TOO_OFTEN = gettext_noop("Too many tries. Wait a minute, then type it again.")
# As long as failures count against an account (`login_failed` in ACCOUNT_RATE_LIMITS), in seconds.
LOGIN_RETRY_S = 300
TOO_MANY = "too_many_login_attempts"

View = Callable[[HttpRequest, str], HttpResponse]
METHODS = ["GET", "HEAD", "POST"]


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Show the account page; a POST stores the time zone and the switches."""
    reader = reader_of(request)
    if request.method != "POST":
        return _page(request)
    form = AccountForm(request.POST)
    if not form.is_valid():
        return _page(request, form=form)
    reader_update(reader=reader, **form.cleaned_data)
    # In the language of the page that shows it.
    with translation.override(reader.language or translation.get_language_from_request(request)):
        messages.success(request, _("Saved."))
    return redirect("digest:account")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def display(request: HttpRequest) -> HttpResponse:
    """Show the settings of how pages look; a POST stores them, all at once."""
    reader = reader_of(request)
    if request.method != "POST":
        current = {name: getattr(reader, name) for name in DisplayForm.base_fields}
        current["read_gone"] = int(bool(reader.read_gone))
        return render(request, "digest/display.html", {"form": DisplayForm(initial=current)})
    form = DisplayForm(request.POST)
    if not form.is_valid():
        return render(request, "digest/display.html", {"form": form}, status=422)
    reader_display_update(reader=reader, display=Display(**form.cleaned_data))
    messages.success(request, _("Saved."))
    return redirect("digest:display")


@login_required
@require_POST
def mail(request: HttpRequest) -> HttpResponse:
    """Store when the digest comes by mail."""
    form = MailForm(request.POST)
    if not form.is_valid():
        return _page(request, mail_form=form)
    reader_mail_update(reader=reader_of(request), **form.cleaned_data)
    messages.success(request, _("Saved."))
    return redirect(f"{reverse('digest:account')}#mail")


@login_required
@require_POST
def feed(request: HttpRequest) -> HttpResponse:
    """Give the reader's own feed a new address, or switch it off."""
    if request.POST.get("action") == "off":
        feed_token_revoke(reader=reader_of(request))
        messages.success(request, _("Your feed is off. Its address no longer works."))
    else:
        reader = reader_of(request)
        had = bool(reader.feed_token)
        feed_token_issue(reader=reader)
        messages.success(request, _(FEED_MOVED) if had else _(FEED_ON))
    return redirect(f"{reverse('digest:account')}#feed")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """Ask before deleting the account. A POST with username and password deletes it and lists its contents.

    Who has no password shows in another way that it is them, as before other sensitive changes.
    """
    reader = reader_of(request)
    by_password = reader.has_usable_password() or not _ways_again(request)
    sent = request.POST if request.method == "POST" else None
    form = DeleteForm(sent, reader=reader, by_password=by_password)
    if request.method != "POST":
        return _delete_page(request, form)
    if not by_password:
        return cast(HttpResponse, _delete_again(request, form))
    # A password is checked here, so tries are counted, as on the page that asks for it again.
    if not ratelimit.consume(request, action="reauthenticate", user=reader):
        fresh = DeleteForm(reader=reader, by_password=by_password)
        answer = _delete_page(request, fresh, _(TOO_OFTEN), status=429)
        answer["Retry-After"] = "60"
        return answer
    return _delete(request, form)


def _ways_again(request: HttpRequest) -> list[dict[str, Any]]:
    """Return how the reader can show that it is them."""
    return cast(list[dict[str, Any]], get_adapter(request).get_reauthentication_methods(request.user))


def _delete(request: HttpRequest, form: DeleteForm) -> HttpResponse:
    """Delete the account if the form confirms it."""
    if not form.is_valid():
        return _delete_page(request, form, status=422)
    try:
        gone = reader_delete(reader=form.reader)
    except DigestError as error:
        return _delete_page(request, form, error.message, status=error.status)
    name = form.reader.username
    logout(request)
    return render(request, "digest/account_deleted.html", {"name": name, "gone": deleted_words(gone)})


@reauthentication_required(app="allauth.account")  # type: ignore[untyped-decorator]
def _delete_again(request: HttpRequest, form: DeleteForm) -> HttpResponse:
    """Delete the account of a reader who has just shown, elsewhere than in the form, that it is them."""
    return _delete(request, form)


def _delete_page(
    request: HttpRequest, form: DeleteForm, refused: str = "", status: int = 200
) -> HttpResponse:
    page = {"form": form, "refused": refused, "by_password": "password" in form.fields}
    return render(request, "digest/account_delete.html", page, status=status)


def _page(
    request: HttpRequest,
    form: AccountForm | None = None,
    mail_form: MailForm | None = None,
) -> HttpResponse:
    """Show the account page, with a refused form in place of a fresh one."""
    reader = reader_of(request)
    current = {name: getattr(reader, name) for name in AccountForm.base_fields}
    at = {name: getattr(reader, f"mail_{name}") for name in MailForm.base_fields}
    page = {
        "form": form or AccountForm(initial=current),
        "mail_form": mail_form or MailForm(initial=at),
        "mail_works": mail_goes_out(),
        "mail_confirmed": address_is_confirmed(reader=reader),
        "mail_trouble": delivery_trouble(reader_id=reader.pk),
        "feeds": _feeds(request, reader),
        "mcp_http": settings.MCP_HTTP,
        "assistant_count": len(assistant_connections(reader_id=reader.pk)) if settings.MCP_HTTP else 0,
        "token_count": len(tokens_of(reader_id=reader.pk)),
        "second_factor": is_mfa_enabled(reader),
        "export_opml": _address("digest:opml_export"),
        "list_lacks": left_out_words([row.feed for row in subscriptions_of(reader_id=reader.pk)]),
    }
    refused = any(one and one.errors for one in (form, mail_form))
    return render(request, "digest/account.html", page, status=422 if refused else 200)


def _feeds(request: HttpRequest, reader: Reader) -> dict[str, Any]:
    """Return whether this installation serves readers' own feeds, and the addresses of this reader's."""
    probe = reader.feed_token or "none"
    links = {
        name: _address(f"digest:feed_{kind}", token=probe)
        for name, kind in (("Atom", "atom"), ("JSON Feed", "json"))
    }
    found = {name: request.build_absolute_uri(link) for name, link in links.items() if link}
    return {"served": bool(found), "links": found if reader.feed_token else {}}


def _address(name: str, **kwargs: str) -> str:
    """Return the address of the page `name`; "" if this installation has no such page."""
    try:
        return reverse(name, kwargs=kwargs or None)
    except NoReverseMatch:
        return ""


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the reader's tokens; a POST makes one, for which the password is asked again after a while."""
    return _issue(request) if request.method == "POST" else _tokens_page(request, TokenForm())


@login_required
@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one token; it stops working at once."""
    if not revoke(reader=reader_of(request), token_id=token_id):
        raise Http404(_("You have no such token."))
    messages.success(request, _("Revoked. That token no longer works."))
    return redirect("digest:tokens")


@reauthentication_required(app="allauth.account")  # type: ignore[untyped-decorator]
def _issue(request: HttpRequest) -> HttpResponse:
    """Make a token and show it only once: neither the page nor the secret is stored."""
    form, now = TokenForm(request.POST), timezone.now()
    if not form.is_valid():
        return _tokens_page(request, form)
    name, scope, days = (form.cleaned_data[field] for field in ("name", "scope", "days"))
    expires_at = now + timedelta(days=days) if days else None
    try:
        issued = token_issue(
            reader=reader_of(request),
            name=name,
            scope=scope,
            expires_at=expires_at,
            now=now,
        )
    except DigestError as error:
        form.add_error(None, error.message)
        return _tokens_page(request, form)
    return _tokens_page(request, TokenForm(), issued)


def _tokens_page(request: HttpRequest, form: TokenForm, issued: IssuedToken | None = None) -> HttpResponse:
    now = timezone.now()
    page = {
        "form": form,
        "issued": issued,
        "tokens": tokens_of(reader_id=reader_of(request).pk),
        "now": now,
        "most": TOKENS_MAX,
    }
    return render(request, "digest/account_tokens.html", page, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest) -> HttpResponse:
    """Offer sources by interest; a POST subscribes to those chosen, or skips this.

    After *Add* of a site, everything ticked is still ticked. If that failed, its words and the error are at
    its field.
    """
    form = WelcomeForm(request.POST if request.method == "POST" else None)
    state = request.session.get(WELCOME, {})
    if request.method == "POST" and form.is_valid():
        wanted = [] if "skip" in request.POST else form.chosen()
        if wanted or "skip" in request.POST:
            request.session.pop(WELCOME, None)
            answered = welcome_answer(reader=reader_of(request), feeds=wanted, now=timezone.now())
            if added := answered.added:
                words = ngettext("Your first {n} source is here.", "Your first {n} sources are here.", added)
                if answered.waiting:
                    words = ngettext(
                        "Your first {n} source is being fetched.",
                        "Your first {n} sources are being fetched.",
                        added,
                    )
                    first_fetch_wake()
                messages.success(request, words.format(n=added))
            for title in answered.gone:
                messages.warning(
                    request,
                    _("{title}: {feed_gone_reason} You are not subscribed to it.").format(
                        title=title, feed_gone_reason=_(FEED_GONE_REASON)
                    ),
                )
            return redirect("digest:today")
        form.add_error(None, _("Choose at least one interest or source, or skip this."))
    page = {
        "form": form,
        "interests": [(one, _(one.name)) for one in interests_offered(get_language() or "")],
        "picked": form.picked() if form.is_bound else state.get("picked", ()),
        "own": {"url": request.POST.get("url", "")} if form.is_bound else state,
    }
    if "errors" in state:  # said once
        request.session[WELCOME] = {"picked": state["picked"]}
    return render(request, "digest/welcome.html", page, status=422 if form.errors else 200)


class LoginLimit:
    """Answers a refused form with status 429 once there were too many failures."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """Return the form with its errors; the header tells programs when to try again."""
        answer: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        if any(error.code == TOO_MANY for errors in form.errors.as_data().values() for error in errors):
            answer.status_code, answer["Retry-After"] = 429, str(LOGIN_RETRY_S)
        return answer


class SignIn(LoginLimit, LoginView):  # type: ignore[misc]
    """Signs in by name or address, and password."""


@require_http_methods(["GET", "HEAD", "POST"])
def oidc_login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Ask before leading to the provider, then lead there, or show an error if it does not answer.

    This needs a page of ours, because our policy lets no form end at another site.
    """
    from allauth.socialaccount.providers.openid_connect.views import login  # noqa: PLC0415  # with OIDC_ISSUER

    refused = request.method == "POST" and ratelimit.consume_or_429(request, action="provider")
    if refused:
        return cast(HttpResponse, refused)
    return _leave_by(request, lambda: cast(HttpResponse, login(request, provider_id=provider_id)))


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def oidc_again(request: HttpRequest) -> HttpResponse:
    """Ask a reader without a password to sign in at the provider again, then go back to their page."""
    from digest.accounts.oidc import PROVIDER, SIGN_IN_AGAIN, provider_of  # noqa: PLC0415  # with OIDC_ISSUER

    if signed_in_again(request):
        return resume_request(request) or redirect("digest:account")
    if request.method != "POST":
        return render(request, "socialaccount/again.html", {"name": settings.OIDC_NAME})
    provider = provider_of(request, PROVIDER).get_provider()
    back, fresh = request.get_full_path(), {"prompt": "login", "max_age": "0"}

    def lead() -> HttpResponse:
        answer = provider.redirect(request, "redirect", next_url=back, data=SIGN_IN_AGAIN, auth_params=fresh)
        return cast(HttpResponse, answer)

    return _leave_by(request, lead)


def _leave_by(request: HttpRequest, lead: Callable[[], HttpResponse]) -> HttpResponse:
    """Show the page of ours that leads the browser on to the provider, or an error if it does not answer.

    `lead` asks the provider where that is, and returns a redirect to there.
    """
    from digest.accounts.oidc import MALFORMED, address_with_nonce  # noqa: PLC0415  # with OIDC_ISSUER

    try:
        answer = _asked_at_provider(request, lead)
        if not answer.has_header("Location"):
            return answer
        page = {"name": settings.OIDC_NAME, "address": address_with_nonce(answer["Location"])}
    except (OSError, DisallowedRedirect, *MALFORMED) as error:  # errors of requests are OSErrors
        log.warning("oidc_unreachable", exception=type(error).__name__)
        return _provider_silent(request)
    return render(request, "socialaccount/leaving.html", page)


def _asked_at_provider(request: HttpRequest, ask: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the answer of `ask`, a step of the sign-in that waits for the provider's server.

    Only a few requests may wait for it at a time, so that a provider that hangs cannot take all threads. If
    there is no place left, `ask` is not called, and the answer is the page that says so (503).
    """
    with SIGN_INS.place(object()) as has_place:
        return ask() if has_place else _provider_silent(request)


def _provider_silent(request: HttpRequest) -> HttpResponse:
    """Return the page that says that the provider cannot be reached (503)."""
    page = {"name": settings.OIDC_NAME, "unreachable": True}
    return render(request, "socialaccount/authentication_error.html", page, status=503)


def oidc_callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in the provider's user, or show an error."""
    from allauth.socialaccount.models import SocialApp  # noqa: PLC0415  # with OIDC_ISSUER
    from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView  # noqa: PLC0415

    from digest.accounts.oidc import provider_of  # noqa: PLC0415

    try:
        view = OAuth2CallbackView.adapter_view(provider_of(request, provider_id))
        return _asked_at_provider(request, lambda: cast(HttpResponse, view(request)))
    except SocialApp.DoesNotExist as error:
        raise Http404 from error


class SecondFactor(LoginLimit, AuthenticateView):  # type: ignore[misc]
    """Asks for the code at sign-in, or for a passkey."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the reader's data for the page."""
        user = self.stage.login.user
        return {
            **super().get_context_data(**kwargs),
            "has_app": has_app(user),
            "has_passkey": has_passkey(user),
        }


class SecondFactorAgain(LoginLimit, ReauthenticateView):  # type: ignore[misc]
    """Asks for the code before a sensitive change."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add whether the reader has an app that shows codes."""
        return {**super().get_context_data(**kwargs), "has_app": has_app(self.request.user)}


def _signed_link(view: View) -> View:
    """Wrap the view of a signed link: no session and no CSRF token, and a page for a link that fails.

    The link is not passed on: no cache stores the page, no referrer names it, no search engine lists it.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, link: str) -> HttpResponse:
        try:
            answer = view(request, link)
        except DigestError as error:
            page = {"message": error.message}
            answer = render(request, "digest/link_refused.html", page, status=error.status)
        answer["Referrer-Policy"] = "no-referrer"
        answer["X-Robots-Tag"] = "noindex, nofollow"
        return answer

    # Forging a request takes the link itself, which only the reader's mail holds.
    return csrf_exempt(never_cache(require_http_methods(METHODS)(wrapped)))


@_signed_link
def thumb_link(request: HttpRequest, link: str) -> HttpResponse:
    """Show the thumb of the link. A POST records it once, or undoes it."""
    now = timezone.now()
    if request.method != "POST":
        state, did = thumb_link_state(link=link, now=now), ""
    elif request.POST.get("act") == "undo":
        state, done = thumb_link_undo(link=link, now=now)
        did = "undone" if done else ""
    else:
        state, done = thumb_link_use(link=link, now=now)
        did = "recorded" if done else ""
    return render(request, "digest/link_thumb.html", {"state": state, "did": did})


@_signed_link
def unsubscribe(request: HttpRequest, link: str) -> HttpResponse:
    """Ask; a POST stops the mail, with or without the `List-Unsubscribe=One-Click` of RFC 8058."""
    act = reader_unsubscribe if request.method == "POST" else unsubscribe_link_reader
    reader = act(link=link)
    ended = reader.mail_rhythm == reader.MailRhythm.OFF
    # A mail may be forwarded together with its links, so only the reader sees the account's name.
    name = reader.username if request.user == reader else f"{reader.username[:1]}…"
    page = {"name": name, "rhythm": reader.get_mail_rhythm_display(), "ended": ended}
    return render(request, "digest/link_unsubscribe.html", page)
