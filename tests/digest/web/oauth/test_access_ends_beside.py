"""A new password is chosen while an assistant is just being given tokens: none of these is left."""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from allauth.idp.oidc.adapter import get_adapter
from allauth.idp.oidc.internal.oauthlib.authorization_codes import cache_key
from allauth.idp.oidc.internal.oauthlib.request_validator import OAuthLibRequestValidator
from allauth.idp.oidc.models import Client as Program
from allauth.idp.oidc.models import Token
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from digest.accounts.assistant_access import mcp_resource
from digest.accounts.services import reader_access_end
from digest.models import Reader
from tests.support.assistants import CALLBACK
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_cache")]
VERIFIER = "v" * 64


def refreshed(program: Program, ada: Reader) -> dict[str, str]:
    """Return what is sent for a refresh token of Ada's."""
    row = Token(client=program, user=ada, type=Token.Type.REFRESH_TOKEN)
    row.expires_at = timezone.now() + timedelta(days=1)
    row.set_value("secret")
    row.set_scopes(["read"])
    row.set_resources([mcp_resource()])
    row.save()
    return {"grant_type": "refresh_token", "refresh_token": "secret"}


def redeemed(program: Program, ada: Reader) -> dict[str, str]:
    """Return what is sent for a code that Ada gave."""
    hashed = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    code: dict[str, Any] = {
        "code": {"code": "secret"},
        "client_id": program.pk,
        "redirect_uri": CALLBACK,
        "sub": get_adapter().get_user_sub(program, ada),
        "scopes": ["read"],
        "claims": {},
        "resources": [mcp_resource()],
        "pkce": {"code_challenge": hashed, "code_challenge_method": "S256"},
    }
    cache.set(cache_key(program.pk, "secret"), code, timeout=60)
    sent = {"grant_type": "authorization_code", "code": "secret", "code_verifier": VERIFIER}
    return sent | {"redirect_uri": CALLBACK}


@pytest.mark.parametrize("asked", [refreshed, redeemed])
def test_no_token_that_is_given_beside_a_new_password_outlives_it(
    ada: Reader,
    settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    asked: Callable[[Program, Reader], dict[str, str]],
):
    settings.MCP_HTTP = True
    program = Program.objects.create(
        name="Harbour",
        type=Program.Type.PUBLIC,
        redirect_uris=CALLBACK,
        grant_types="authorization_code\nrefresh_token",
        scopes="read",
    )
    sent = asked(program, ada) | {"client_id": program.pk}

    def password_choose() -> None:
        ada.set_password("a-kettle-and-a-lamp")
        ada.save()
        reader_access_end(reader=ada)
        connection.close()

    beside, save = Thread(target=password_choose), OAuthLibRequestValidator.save_bearer_token

    def save_late(*args: Any, **more: Any) -> None:
        beside.start()
        beside.join(2)
        save(*args, **more)

    monkeypatch.setattr(OAuthLibRequestValidator, "save_bearer_token", save_late)
    with database_on_disk(tmp_path / "shared.sqlite3"):
        (answer,) = at_once(lambda _: Client().post("/oauth/token", sent), writers=1)
        beside.join(60)
        left = seen_by_writers(Token.objects.count)
    assert answer.status_code == 200, answer.content
    assert left == 0
