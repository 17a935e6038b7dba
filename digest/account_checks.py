"""System checks of what the settings say about accounts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from digest.mail_way import mail_goes_out


def check_accounts(**kwargs: Any) -> list[CheckMessage]:
    """What the settings say about accounts.

    Error: `tidings.E010` `TRUSTED_PROXY_COUNT` is below zero. Warning: `tidings.W010` addresses must be
    confirmed, and no mail leaves this machine.
    """
    found: list[CheckMessage] = []
    if settings.ALLAUTH_TRUSTED_PROXY_COUNT < 0:
        found.append(Error("TRUSTED_PROXY_COUNT must be 0 or more.", id="tidings.E010"))
    if settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not mail_goes_out():
        text = (
            "New readers must confirm their address, but no mail leaves this machine: none of them gets in."
        )
        hint = "Set EMAIL_URL to a mail server (smtp://…), or ACCOUNT_EMAIL_VERIFICATION=none."
        found.append(Warning(text, hint=hint, id="tidings.W010"))
    return found
