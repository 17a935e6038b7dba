"""Pages on which readers allow assistants: the form with its permissions, and the list of connected
assistants.

`allauth.idp.oidc` speaks the protocol. This module fills its gaps: only PKCE by S256, and no redirect to
another site without a page of ours in between.
"""

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from digest.accounts.adapters import signed_in_lately
from digest.accounts.assistant_access import (
    assistant_connections,
    assistant_disconnect,
    client_redirects,
    mcp_resource,
)
from digest.accounts.oauth import is_protected, redirect_is_registered, redirect_problem
from digest.feeds.selectors import models_allowed
from digest.requests import reader_of
from digest.web.oauth.protocol import for_us, protocol_answer, switched_on
from digest.web.oauth.refusals import MODELS_OFF, NO_PKCE, NOT_OURS


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@switched_on
@reauthentication_required(  # type: ignore[untyped-decorator]
    app="allauth.account", enabled=lambda request: not signed_in_lately(request)
)
def consent(request: HttpRequest) -> HttpResponse:
    """Ask the reader for an assistant's permissions, and lead back to it with the answer."""
    if request.method != "POST":
        return _form(request)
    if "request" not in request.POST:
        return _refuse(request, NOT_OURS)
    if request.POST.get("action") == "grant" and not models_allowed(reader_id=reader_of(request).pk):
        return _refuse(request, MODELS_OFF, is_fault=False)
    try:
        answer = protocol_answer("Consent", request)
    except ObjectDoesNotExist:  # the client was deleted while its reader read the page
        return _refuse(request, NOT_OURS)
    if answer.status_code != 302:
        return _page_of_ours(request, answer)
    return render(
        request, "socialaccount/leaving.html", {"name": _("the assistant"), "address": answer["Location"]}
    )


def _form(request: HttpRequest) -> HttpResponse:
    asked = {name: request.GET.get(name, "") for name in ("client_id", "redirect_uri")}
    client, uri = asked["client_id"], asked["redirect_uri"]
    is_known = "\0" not in client and not redirect_problem(uri) and for_us(request.GET)
    if not is_known or not redirect_is_registered(uri, client_redirects(client_id=client)):
        return _refuse(request, NOT_OURS)
    challenge, method = (request.GET.get(f"code_challenge{part}", "") for part in ("", "_method"))
    if not is_protected(challenge=challenge, method=method):
        return _refuse(request, NO_PKCE)
    answer = protocol_answer("Consent", request)
    if answer.status_code == 302 and not answer["Location"].startswith("/"):
        # The client may have made this request only to send a reader to that address.
        return _refuse(request, NOT_OURS)
    return _page_of_ours(request, answer)


def _page_of_ours(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """Return the form, or our own page instead of allauth's page about a faulty request."""
    is_ours = isinstance(answer, TemplateResponse) or answer.status_code != 200
    return answer if is_ours else _refuse(request, NOT_OURS)


def _refuse(request: HttpRequest, words: str, *, is_fault: bool = True) -> HttpResponse:
    page = {"words": _(words), "is_fault": is_fault}
    return render(request, "digest/assistant_refused.html", page, status=400)


@login_required
@never_cache
@require_safe
@switched_on
def connections(request: HttpRequest) -> HttpResponse:
    """Show the assistants that are connected, and how to connect one."""
    page = {"connections": assistant_connections(reader_id=reader_of(request).pk), "address": mcp_resource()}
    return render(request, "digest/assistants.html", page)


@login_required
@require_POST
@switched_on
def disconnect(request: HttpRequest, client_id: str) -> HttpResponse:
    """Revoke all that one assistant was allowed."""
    if not assistant_disconnect(reader=reader_of(request), client_id=client_id):
        raise Http404(_("You have connected no such assistant."))
    messages.success(request, _("Disconnected. That assistant can no longer reach anything of yours."))
    return redirect("digest:assistants")
