"""The views of `allauth.idp.oidc` as this site has them: its own page, its own scopes, its own clients."""

from typing import Any, cast

from allauth.idp.oidc.forms import AuthorizationForm
from allauth.idp.oidc.views import AuthorizationView, ClientRegistrationView, RevokeView, TokenView
from django.utils.translation import gettext as _

from digest.accounts.assistant_access import SCOPES, client_name, hosts_words, mcp_resource
from digest.accounts.oauth import registration_clean
from digest.feeds.selectors import models_allowed
from digest.requests import reader_of
from digest.web.oauth.refusals import MODELS_OFF

__all__ = ["Consent", "Registration", "RevokeView", "TokenView"]


class ConsentForm(AuthorizationForm):  # type: ignore[misc]
    """The permissions that a reader may give, the smallest first. Each can be unticked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        asked = {scope for scope, _words in self.fields["scopes"].choices}
        self.fields["scopes"].choices = [
            (scope, _(words)) for scope, words in SCOPES.items() if scope in asked
        ]
        self.fields["scopes"].error_messages["required"] = _("Choose what it may do, or cancel.")


class Consent(AuthorizationView):  # type: ignore[misc]
    """The page of `allauth`, for our resource if the client names none."""

    form_class = ConsentForm
    template_name = "digest/assistant_consent.html"

    def get_initial(self) -> dict[str, Any]:
        """Return the signed request."""
        self._request_info["resources"] = self._request_info.get("resources") or [mcp_resource()]
        return cast(dict[str, Any], super().get_initial())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the client's name and the host that the answer goes to: a client may have several."""
        page = super().get_context_data(**kwargs)
        host = hosts_words([self._request_info["redirect_uri"]])
        off = "" if models_allowed(reader_id=reader_of(self.request).pk) else _(MODELS_OFF)
        return {**page, "name": client_name(page["client"], host), "host": host, "models_off": off}


class Registration(ClientRegistrationView):  # type: ignore[misc]
    """Registers a client as we decide that it is."""

    def _get_client_metadata(self) -> dict[str, Any] | None:
        try:
            metadata = super()._get_client_metadata()
        except RecursionError:
            return None
        return None if metadata is None else registration_clean(metadata)
