"""The digest room as an installed app, and the system checks of its settings.

With these checks a wrong setting fails at the start, not in the middle of a run.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from digest.llm.cures import ask_cure
from digest.llm.providers import (
    PROVIDERS,
    PURPOSES,
    RESPONSES,
    ModelRef,
    chain_setting,
    local_reasoning_effort,
    model_ref_parse,
    prices_configured,
    provider_endpoint,
    reasoning_effort,
    tool_mode_of,
    wire_of,
)
from ranking.common.start import SETTINGS

OPENAI_HOST = "api.openai.com"
# The highest number of fetch workers. Each may hold a document of 10 MiB.
FETCH_WORKERS_MAX = 256
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_models(**kwargs: Any) -> list[CheckMessage]:
    """Check the settings for language models.

    Errors:
    - `tidings.E001`: a chain names an unknown provider.
    - `tidings.E002`: `LLM_PRICES` holds something that is not a price.
    - `tidings.E003`, `E004`, `E005`: a wire (`OPENAI_WIRE`, `LOCAL_LLM_WIRE`), `LOCAL_LLM_TOOL_MODE`, or a
      reasoning effort (`LLM_REASONING_EFFORT`, `LOCAL_LLM_REASONING_EFFORT`) has an unknown value.

    Warnings:
    - `tidings.W001`: a configured provider's model has no price, so it would be skipped.
    - `tidings.W002`: the Responses API is chosen for a server that is not OpenAI's, or no model uses it.
    - `tidings.W003`: a key or address is set and no chain names its provider, or a chain that was set names
      only providers without a key.
    """
    own_chains = {name: getattr(settings, name) for name in map(chain_setting, PURPOSES)}
    chains = [settings.LLM_CHAIN, *own_chains.values()]
    entries = list(dict.fromkeys(entry for chain in chains for entry in chain))
    problems = [
        *(_problem(partial(model_ref_parse, entry), "tidings.E001") for entry in entries),
        _problem(prices_configured, "tidings.E002"),
        *(_problem(partial(wire_of, provider), "tidings.E003") for provider in PROVIDERS.values()),
        *(_problem(partial(tool_mode_of, provider), "tidings.E004") for provider in PROVIDERS.values()),
        _problem(reasoning_effort, "tidings.E005"),
        _problem(local_reasoning_effort, "tidings.E005"),
    ]
    errors = [problem for problem in problems if problem]
    if errors:
        return errors
    refs = [model_ref_parse(entry) for entry in entries]
    return [*_warnings(refs), *_unused(refs, own_chains)]


def check_fetching(**kwargs: Any) -> list[CheckMessage]:
    """Check the settings for fetching feeds.

    Errors: `tidings.E008` for an impossible port; `tidings.E009` for a pause outside 0 to 3600 seconds, no
    worker, or more than 256.
    """
    found: list[CheckMessage] = []
    wrong = [port for port in settings.FETCH_PORTS if not 1 <= port <= 65535]
    if wrong or not settings.FETCH_PORTS:
        text = f"FETCH_PORTS={settings.FETCH_PORTS} must list ports from 1 to 65535."
        found.append(Error(text, hint="The default is 80,443.", id="tidings.E008"))
    if not 0 <= settings.FETCH_HOST_GAP_S < 3600 or not 1 <= settings.FETCH_WORKERS <= FETCH_WORKERS_MAX:
        text = (
            f"FETCH_HOST_GAP_S={settings.FETCH_HOST_GAP_S} must be from 0 to 3600 and "
            f"FETCH_WORKERS={settings.FETCH_WORKERS} from 1 to {FETCH_WORKERS_MAX}."
        )
        found.append(Error(text, id="tidings.E009"))
    return found


def check_accounts(**kwargs: Any) -> list[CheckMessage]:
    """Check the settings for accounts.

    Error: `tidings.E010`, `TRUSTED_PROXY_COUNT` is below zero. Warning: `tidings.W010`, readers must or may
    confirm their address, but no mail leaves this machine.
    """
    found: list[CheckMessage] = []
    if settings.ALLAUTH_TRUSTED_PROXY_COUNT < 0:
        found.append(Error("TRUSTED_PROXY_COUNT must be 0 or more.", id="tidings.E010"))
    if settings.ACCOUNT_EMAIL_VERIFICATION != "none" and not _mail_goes_out():
        is_needed = settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory"
        effect = "none of them gets in" if is_needed else "no address is ever confirmed"
        text = (
            f"New readers {'must' if is_needed else 'may'} confirm their address, but no mail leaves this "
            f"machine: {effect}."
        )
        hint = "Set EMAIL_URL to a mail server (smtp+tls://…), or ACCOUNT_EMAIL_VERIFICATION=none."
        found.append(Warning(text, hint=hint, id="tidings.W010"))
    return found


def check_relay(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W020` if mail leaves this machine and nobody has to confirm an address.

    Digests still go to confirmed addresses only. But account mails go to any address that somebody types.
    """
    if settings.ACCOUNT_EMAIL_VERIFICATION != "none" or not _mail_goes_out():
        return []
    text = "ACCOUNT_EMAIL_VERIFICATION is none although there is a mail server: addresses are not confirmed."
    hint = "Set it to mandatory, or to optional: digests go by mail to confirmed addresses only."
    return [Warning(text, hint=hint, id="tidings.W020")]


def check_mail_server(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W026` if the mail server's password goes to another machine in clear.

    Only a warning: the network in between may be the operator's own.
    """
    host = settings.EMAIL_HOST
    is_covered = settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL or host in LOOPBACK
    if is_covered or not settings.EMAIL_HOST_PASSWORD or not _mail_goes_out():
        return []
    text = f"EMAIL_URL sends its password to {host} in clear, and so every mail with its links."
    return [Warning(text, hint="smtp+tls://NAME:PASSWORD@HOST:587, or smtp+ssl://….", id="tidings.W026")]


def check_sign_in(**kwargs: Any) -> list[CheckMessage]:
    """Check the settings for other ways to sign in.

    Errors: `tidings.E022` if OpenID Connect is half configured or its issuer is not https; `tidings.E023` if
    browsers make no passkeys for the address of this site.
    """
    return [*_check_oidc(), *_check_passkeys()]


def _check_passkeys() -> list[CheckMessage]:
    site = urlsplit(settings.SITE_URL)
    if not settings.PASSKEYS or site.scheme == "https" or site.hostname == "localhost":
        return []
    text = f"PASSKEYS is on, and browsers make none for SITE_URL={settings.SITE_URL}."
    return [Error(text, hint="https://, or http://localhost to try them.", id="tidings.E023")]


def _check_oidc() -> list[CheckMessage]:
    names = ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET")
    missing = [name for name in names if not getattr(settings, name)]
    if len(missing) == len(names):
        return []
    if missing:
        hint = "Set all three as the provider shows them, or none."
        return [
            Error(f"Sign-in by OpenID Connect needs {' and '.join(missing)}.", hint=hint, id="tidings.E022")
        ]
    issuer = urlsplit(settings.OIDC_ISSUER)
    if issuer.scheme == "https" or (issuer.scheme == "http" and issuer.hostname in LOOPBACK):
        return []
    hint = "As in https://login.example.org, without /.well-known/…"
    return [
        Error(f"OIDC_ISSUER={settings.OIDC_ISSUER} must begin with https://.", hint=hint, id="tidings.E022")
    ]


def check_newsletters(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E025` if the newsletters' mailbox is half configured or its address is malformed."""
    url, address = settings.NEWSLETTERS_URL, settings.NEWSLETTERS_ADDRESS
    if not url and not address:
        return []
    parts, wrong = urlsplit(url), ""
    if not (url and address):
        wrong = "NEWSLETTERS_URL and NEWSLETTERS_ADDRESS belong together: set both, or none."
    elif parts.scheme not in ("imap", "imaps") or not (parts.hostname and parts.username and parts.password):
        wrong = "NEWSLETTERS_URL is not like imaps://NAME:PASSWORD@HOST/FOLDER."
    elif parts.scheme == "imap" and parts.hostname not in LOOPBACK:
        wrong = "NEWSLETTERS_URL would send the password in clear: only imaps:// goes to another machine."
    elif address.count("*") != 1 or address.count("@") != 1 or "*" not in address.partition("@")[0]:
        wrong = "NEWSLETTERS_ADDRESS needs one * before its @, in the place of each reader's secret."
    hint = "As in imaps://letters:PASSWORD@mail.example.org and letters+*@example.org."
    return [Error(wrong, hint=hint, id="tidings.E025")] if wrong else []


def check_mail_wanted(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W030`, only in `check --deploy`, if readers want mail and none goes out."""
    from django.db import DatabaseError  # noqa: PLC0415 - models cannot be imported before the apps are ready

    from digest.models import Reader  # noqa: PLC0415

    if _mail_goes_out():
        return []
    try:
        wanted = Reader.objects.filter(is_active=True).exclude(mail_rhythm=Reader.MailRhythm.OFF).count()
    except DatabaseError:
        return []  # no database yet, or one that Django's own check reports
    if not wanted:
        return []
    who = f"{wanted} readers want" if wanted > 1 else "1 reader wants"
    text = f"{who} the digest by mail, but no mail leaves this machine."
    return [Warning(text, hint="Set EMAIL_URL to a mail server (smtp+tls://…).", id="tidings.W030")]


def check_mailbox(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W025`, only in `check --deploy`, if the newsletters' mailbox does not open.

    Only a warning, because this asks another server, which may be away for a moment.
    """
    # Models cannot be imported before the apps are ready.
    from digest.sources.newsletters import mailbox_problem  # noqa: PLC0415

    if check_newsletters() or not (problem := mailbox_problem()):
        return []
    hint = "Newsletters wait until NEWSLETTERS_URL opens it; special signs in it are percent-encoded."
    return [Warning(problem, hint=hint, id="tidings.W025")]


def _mail_goes_out() -> bool:
    from digest.mail.render import mail_goes_out  # noqa: PLC0415 - what lays out mails

    return mail_goes_out()


def _warnings(refs: Sequence[ModelRef]) -> list[CheckMessage]:
    found: list[CheckMessage] = [warning for ref in refs if (warning := _price_warning(ref))]
    if settings.OPENAI_WIRE.strip().lower() != RESPONSES:
        return found
    host = urlsplit(settings.OPENAI_BASE_URL).hostname if settings.OPENAI_BASE_URL else OPENAI_HOST
    if host != OPENAI_HOST:
        text = f"OPENAI_WIRE=responses, but {host} is not OpenAI's own server and may not speak it."
        found.append(Warning(text, hint="Unset OPENAI_BASE_URL, or set OPENAI_WIRE=chat.", id="tidings.W002"))
    if not any(ref.provider.responses for ref in refs):
        text = "OPENAI_WIRE=responses has no effect: no chain names a model of OpenAI's own."
        found.append(Warning(text, hint="Other providers are asked by chat completions.", id="tidings.W002"))
    return found


def _unused(refs: Sequence[ModelRef], own_chains: Mapping[str, Sequence[str]]) -> list[CheckMessage]:
    """Return a warning for each configured provider and each chain of one purpose that has no effect."""
    named = {ref.provider.name for ref in refs}
    found: list[CheckMessage] = []
    for provider in PROVIDERS.values():
        if provider.name not in named and provider_endpoint(provider):
            setting = ask_cure([provider.names])
            text = f"{setting} does nothing: no chain names a model of {provider.name}."
            found.append(
                Warning(text, hint="Add one to LLM_CHAIN, or take the setting out.", id="tidings.W003")
            )
    is_chosen = settings.LLM_CHAIN != settings.LLM_CHAIN_DEFAULT
    chains = {"LLM_CHAIN": settings.LLM_CHAIN if is_chosen else [], **own_chains}
    for name, chain in chains.items():
        providers = [model_ref_parse(entry).provider for entry in chain]
        if chain and not any(map(provider_endpoint, providers)):
            text = f"{name} does nothing: none of its providers has a key or an address."
            needed = ask_cure([provider.names for provider in providers])
            instead = "the default is asked" if name == "LLM_CHAIN" else "LLM_CHAIN is asked"
            hint = f"Set {needed}, or take the chain out: then {instead}."
            found.append(Warning(text, hint=hint, id="tidings.W003"))
    return found


def _price_warning(ref: ModelRef) -> CheckMessage | None:
    if provider_endpoint(ref.provider) is None:  # saves the quarter second that the price list takes
        return None
    from digest.llm.entities import PriceUnknown, Usage  # noqa: PLC0415 - where a model is configured
    from digest.llm.prices import cost_usd  # noqa: PLC0415

    try:
        cost_usd(ref, Usage(input_tokens=1, output_tokens=1))
    except PriceUnknown as error:
        return Warning(f"{error} Until then the model is passed over.", id="tidings.W001")
    return None


def _problem(read: Callable[[], object], check_id: str) -> CheckMessage | None:
    try:
        read()
    except ValueError as error:
        return Error(str(error), id=check_id)
    return None


class DigestConfig(AppConfig):
    """The digest room as a Django app."""

    name = "digest"
    label = "digest"

    def ready(self) -> None:
        """Register this room's system checks."""
        for check in (check_accounts, check_models, check_fetching, check_sign_in, check_newsletters):
            register(check, SETTINGS)
        for deployed in (check_relay, check_mail_server, check_mail_wanted, check_mailbox):
            register(deployed, SETTINGS, deploy=True)
