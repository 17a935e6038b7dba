"""Helpers of all OAuth views: the switch of the feature, our resource, and calls of `allauth`'s views."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _

from digest.accounts.assistant_access import mcp_resource

View = Callable[..., HttpResponse]


def switched_on(view: View) -> View:
    """Answer 404 while `MCP_HTTP` is off."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.MCP_HTTP:
            raise Http404(_("Assistants are switched off here."))
        return view(request, *args, **kwargs)

    return guarded


def for_us(fields: QueryDict) -> bool:
    """Return whether a token is asked for our MCP endpoint, or for no named resource."""
    return all(uri == mcp_resource() for uri in fields.getlist("resource"))


def protocol_answer(name: str, request: HttpRequest) -> HttpResponse:
    """Return the answer of the class `name` in `allauth_views`.

    Imported here and not above: it loads libraries that no other page needs.
    """
    from digest.web.oauth import allauth_views  # noqa: PLC0415

    return cast(HttpResponse, getattr(allauth_views, name).as_view()(request))
