"""The app of the config room, and system checks of settings that concern several rooms."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from email.utils import parseaddr
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ValidationError
from django.core.signals import got_request_exception
from django.core.validators import validate_email
from django.db import connections
from django.http.request import validate_host
from django.utils import timezone

from config.disk import damage_sentence, database_file
from config.retention import retention_problems
from ranking.common.damage import damage_found
from ranking.common.start import SETTINGS

# The smallest useful values. A run needs a turn, a tool call and a second. Money, days and counts may be 0.
MINIMUM_VALUES: Mapping[str, int] = MappingProxyType(
    {
        "DATABASE_POOL": 0,
        "HSTS_SECONDS": 0,
        "SESSION_DAYS": 1,
        "FETCH_WATCHDOG_MINUTES": 1,
        "PICTURE_CACHE_MB": 0,
        "SUBSCRIPTIONS_MAX": 1,
        "LOCAL_LLM_CONTEXT": 1,
        "LOCAL_LLM_TIMEOUT_S": 1,
        "LLM_DAILY_CAP_USD": 0,
        "LLM_SUMMARIES_PER_NIGHT": 0,
        "ADVISOR_DAILY_CAP_USD": 0,
        "ADVISOR_RUN_CAP_USD": 0,
        "ADVISOR_READER_DAILY_CAP_USD": 0,
        "ADVISOR_MAX_TURNS": 1,
        "ADVISOR_MAX_TOOL_CALLS": 1,
        "ADVISOR_HISTORY_TURNS": 1,
        "ADVISOR_TIMEOUT_S": 1,
        "ADVISOR_SCHEDULED_TIMEOUT_S": 1,
        "ADVISOR_MIN_ITEMS": 0,
        "ADVISOR_MIN_DAYS": 0,
        "ADVISOR_MIN_TAGGED": 0,
        "COOLDOWN_DAYS": 0,
    }
)
# SQLite looks through some 500 MB a second, if the disk is as fast.
DAMAGE_SEARCH_S = 10
# Hosts of addresses that name this machine, on every machine.
LOOPBACK_NAMES = ("127.0.0.1", "::1", "localhost")
# Settings that have another name in Django than in the environment.
DJANGO_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "HSTS_SECONDS": "SECURE_HSTS_SECONDS",
        "HSTS_SUBDOMAINS": "SECURE_HSTS_INCLUDE_SUBDOMAINS",
        "EMAIL_FROM": "DEFAULT_FROM_EMAIL",
    }
)
# The values of settings that do nothing without another one, as long as nobody sets them.
LONELY_DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        "EMAIL_FROM": "tidings@localhost",
        "DATABASE_POOL": 0,
        "HSTS_SUBDOMAINS": False,
        "OIDC_NAME": "single sign-on",
        "OPENAI_BASE_URL": "",
        "LOCAL_LLM_KEY": "",
        "LOCAL_LLM_MODEL": "default",
        "LOCAL_LLM_CONTEXT": 16384,
        "LLM_REASONING_EFFORT": "low",
        "ADVISOR_PANEL_THRIFTY": False,
        "GUIDANCE": {},
    }
)
# Schemes of redis.Redis.from_url.
BROKER_SCHEMES = ("redis", "rediss", "unix")


def check_schedule(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E011`: `NIGHTLY_HOUR` is not an hour from 0 to 23."""
    if 0 <= settings.NIGHTLY_HOUR <= 23:
        return []
    text = f"NIGHTLY_HOUR={settings.NIGHTLY_HOUR} must be from 0 to 23 (UTC)."
    return [Error(text, hint="The default is 3.", id="tidings.E011")]


def check_tls(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.W014`: HTTP is redirected to HTTPS, but no trusted proxy says which one was used."""
    if not settings.SECURE_SSL_REDIRECT or settings.ALLAUTH_TRUSTED_PROXY_COUNT > 0:
        return []
    text = (
        "SITE_URL says https and TRUSTED_PROXY_COUNT is 0: unless this server speaks TLS itself, every page "
        "redirects to itself without end."
    )
    hint = "Set TRUSTED_PROXY_COUNT to the number of your proxies, which set X-Forwarded-Proto."
    return [Warning(text, hint=hint, id="tidings.W014")]


def check_https(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.W027` for each setting without which passwords or cookies may travel in clear.

    Django's own checks (`security.W004`, `W005`, `W008`, `W012`, `W016`) name settings that follow from ours.
    """
    if not settings.TLS:
        text = (
            "SITE_URL does not begin with https://: passwords and cookies travel in clear, and no browser is "
            "told to use TLS."
        )
        return [Warning(text, hint="As in SITE_URL=https://news.example.org", id="tidings.W027")]
    wrong = {
        "HTTPS_REDIRECT=false leaves plain HTTP open.": not settings.SECURE_SSL_REDIRECT,
        "HSTS_SECONDS=0 lets browsers come back by plain HTTP.": not settings.SECURE_HSTS_SECONDS,
        "HSTS_SUBDOMAINS=false leaves subdomains out of HSTS.": bool(settings.SECURE_HSTS_SECONDS)
        and not settings.SECURE_HSTS_INCLUDE_SUBDOMAINS,
    }
    return [Warning(text, id="tidings.W027") for text, is_wrong in wrong.items() if is_wrong]


def check_own_host(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E027`: the site refuses requests for the host of `SITE_URL`.

    A proxy may send another host, if `CSRF_TRUSTED_ORIGINS` has the origin that browsers see.
    """
    parts = _split_address(settings.SITE_URL)
    host = (parts and parts.hostname) or ""
    host = f"[{host}]" if ":" in host else host
    if not host or settings.DEBUG or validate_host(host, settings.ALLOWED_HOSTS):
        return []
    if settings.SITE_URL.rstrip("/") in settings.CSRF_TRUSTED_ORIGINS:
        return []
    text = f"ALLOWED_HOSTS lacks {host}, the host of SITE_URL: every page there would be refused with 400."
    hint = f"ALLOWED_HOSTS={','.join([host, *settings.ALLOWED_HOSTS])}"
    return [Error(text, hint=hint, id="tidings.E027")]


def check_alerts(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W028` if alerts should go by mail, but no mail leaves this machine."""
    from digest.mail.render import mail_goes_out  # noqa: PLC0415 - what lays out mails

    if not settings.ALERT_EMAILS or mail_goes_out():
        return []
    text = "ALERT_EMAILS is set, but no mail leaves this machine: alerts are in the log alone."
    return [Warning(text, hint="Set EMAIL_URL to a mail server (smtp+tls://…).", id="tidings.W028")]


def check_mail_links(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W031` if mails leave this machine, but their links name this machine itself."""
    from digest.mail.render import mail_goes_out  # noqa: PLC0415 - what lays out mails

    parts = _split_address(settings.SITE_URL)
    host = (parts and parts.hostname) or ""
    if not mail_goes_out() or host not in LOOPBACK_NAMES:
        return []
    text = f"EMAIL_URL is a mail server, but links in mails would begin with {settings.SITE_URL}."
    hint = "Set SITE_URL to the address that readers use, as in SITE_URL=https://news.example.org"
    return [Warning(text, hint=hint, id="tidings.W031")]


def check_lonely_settings(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W029` of each setting that does nothing without another one.

    A setting with its default value counts as unset.
    """
    from digest.mail.render import mail_goes_out  # noqa: PLC0415 - what lays out mails

    pairs = (
        ("EMAIL_FROM", "EMAIL_URL to be a mail server", mail_goes_out()),
        ("DATABASE_POOL", "DATABASE_URL to be PostgreSQL", not _is_sqlite()),
        ("HSTS_SUBDOMAINS", "SITE_URL to begin with https://, or HSTS_SECONDS", settings.SECURE_HSTS_SECONDS),
        ("OIDC_NAME", "OIDC_ISSUER", settings.OIDC_ISSUER),
        ("OPENAI_BASE_URL", "OPENAI_API_KEY", settings.OPENAI_API_KEY),
        ("LOCAL_LLM_KEY", "LOCAL_LLM_BASE_URL", settings.LOCAL_LLM_BASE_URL),
        ("LOCAL_LLM_MODEL", "LOCAL_LLM_BASE_URL", settings.LOCAL_LLM_BASE_URL),
        ("LOCAL_LLM_CONTEXT", "LOCAL_LLM_WIRE=ollama", settings.LOCAL_LLM_WIRE == "ollama"),
        ("LLM_REASONING_EFFORT", "OPENAI_WIRE=responses", settings.OPENAI_WIRE == "responses"),
        ("ADVISOR_PANEL_THRIFTY", "ADVISOR_PANEL", settings.ADVISOR_PANEL),
        ("GUIDANCE", "ADVISOR_GUIDANCE", settings.ADVISOR_GUIDANCE),
    )
    return [
        Warning(
            f"{name} does nothing: it needs {needed}.",
            hint=f"Set both, or take {name} out.",
            id="tidings.W029",
        )
        for name, needed, has_it in pairs
        if not has_it and getattr(settings, DJANGO_NAMES.get(name, name)) != LONELY_DEFAULTS[name]
    ]


def check_names(**kwargs: Any) -> list[CheckMessage]:
    """Warn with `tidings.W033` of each name in the settings file or the environment that nothing reads, but
    that resembles a setting."""
    return [
        Warning(f"{one.name} in {one.place} does nothing: did you mean {one.meant}?", id="tidings.W033")
        for one in settings.NAMES_UNREAD
    ]


def check_retention(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E014`: `KEEP_DAYS` has an unknown kind, or fewer days than the product needs."""
    return [Error(problem, id="tidings.E014") for problem in retention_problems(settings.KEEP_DAYS)]


def check_bounds(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E015`: a number is below its minimum in `MINIMUM_VALUES`, or is nan."""
    values = {name: getattr(settings, DJANGO_NAMES.get(name, name)) for name in MINIMUM_VALUES}
    return [
        Error(f"{name}={value} must be {MINIMUM_VALUES[name]} or more.", id="tidings.E015")
        for name, value in values.items()
        if not value >= MINIMUM_VALUES[name]
    ]


def check_addresses(**kwargs: Any) -> list[CheckMessage]:
    """Report invalid addresses, without quoting passwords.

    `tidings.E016`: `REDIS_URL`. `E017`: `SITE_URL`. `E018`: `ALERT_EMAILS` or `EMAIL_FROM`. `E019`:
    `ALLOWED_HOSTS`, `FETCH_ALLOW_HOSTS` or `NOTIFY_ALLOW_HOSTS` has more than hosts.
    """
    found: list[CheckMessage] = []
    if settings.REDIS_URL and not _is_broker(settings.REDIS_URL):
        text = "REDIS_URL must begin with redis://, rediss:// or unix://, and a port is a number."
        found.append(Error(text, hint="redis://HOST:6379/0; empty: no broker.", id="tidings.E016"))
    if not _is_site(settings.SITE_URL):
        text = (
            "SITE_URL must be http:// or https:// and a host, without a path: links in mails begin with it."
        )
        found.append(Error(text, hint="As in https://news.example.org", id="tidings.E017"))
    if wrong := [address for address in settings.ALERT_EMAILS if not _is_mail(address)]:
        text = f"ALERT_EMAILS holds what is no mail address: {', '.join(wrong)}."
        found.append(Error(text, hint="Addresses with commas between, without names.", id="tidings.E018"))
    if not _is_mail(parseaddr(settings.DEFAULT_FROM_EMAIL)[1]):
        text = f"EMAIL_FROM is no mail address: {settings.DEFAULT_FROM_EMAIL}."
        found.append(Error(text, hint="As in Tidings <news@example.org>", id="tidings.E018"))
    for name in ("ALLOWED_HOSTS", "FETCH_ALLOW_HOSTS", "NOTIFY_ALLOW_HOSTS"):
        if wrong := [host for host in getattr(settings, name) if "/" in host or "@" in host]:
            text = f"{name} holds what is no name of a host: {', '.join(map(_without_sign_in, wrong))}."
            found.append(Error(text, hint="Names alone, as in news.example.org", id="tidings.E019"))
    return found


def check_full_text(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E021`: `FULL_TEXT` is on, but its libraries are not installed."""
    if not settings.FULL_TEXT:
        return []
    from digest.articles.page_text import LIBRARIES  # noqa: PLC0415 - imports the cleaning of pages

    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if not missing:
        return []
    hint = "pip install -c constraints.txt -e '.[full-text]', or take FULL_TEXT out."
    return [Error(f"FULL_TEXT needs {' and '.join(missing)}.", hint=hint, id="tidings.E021")]


def check_assistants(**kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E024`: `MCP_HTTP` is on, but assistants cannot connect or tokens could be read."""
    if not settings.MCP_HTTP:
        return []
    found: list[CheckMessage] = []
    parts = _split_address(settings.SITE_URL)
    is_local = parts is not None and parts.hostname in LOOPBACK_NAMES
    if not (settings.DEBUG or is_local or settings.SITE_URL.startswith("https://")):
        text = (
            "MCP_HTTP needs a SITE_URL that begins with https://: tokens must not be readable on their way."
        )
        found.append(Error(text, hint="Set SITE_URL, or take MCP_HTTP out.", id="tidings.E024"))
    if not settings.REDIS_URL and not _is_sqlite():
        text = "MCP_HTTP needs REDIS_URL beside PostgreSQL: another web process redeems a connection's code."
        found.append(Error(text, hint="Set REDIS_URL, or take MCP_HTTP out.", id="tidings.E024"))
    return found


def _is_sqlite() -> bool:
    return bool(settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"))


def _split_address(address: str) -> SplitResult | None:
    """Return the parts of an address, or `None` if its host or port is invalid."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return parts


def _without_sign_in(address: str) -> str:
    """Return an address without the name and password before its host."""
    return address.rpartition("@")[2]


def _is_broker(address: str) -> bool:
    parts = _split_address(address)
    return parts is not None and "://" in address and parts.scheme in BROKER_SCHEMES


def _is_site(address: str) -> bool:
    if (parts := _split_address(address)) is None:
        return False
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not more


def _is_mail(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True


def check_migrations(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E020`: a squashed migration was applied only in part."""
    if not databases:
        return []
    from ranking.common.migrations import migrations_half_applied  # noqa: PLC0415 - psycopg, for `migrate` alone

    hint = "Nothing was changed. Run `migrate` of the code before first: Upgrade notes in CHANGELOG.md."
    return [
        Error(f"Only some of what {one} replaces was applied.", hint=hint, id="tidings.E020")
        for alias in databases
        for one in migrations_half_applied(connections[alias])
    ]


def check_database_file(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Report `tidings.E028` (SQLite's file is damaged), or `W032` (it was not looked through in time)."""
    path = database_file()
    if "default" not in (databases or ()) or path is None:
        return []
    found = damage_found(path, seconds=DAMAGE_SEARCH_S)
    if found:
        return [Error(damage_sentence(found), id="tidings.E028")]
    if found == "":
        _alert_end()
    text = f"In {DAMAGE_SEARCH_S} seconds the database file was not looked through for damage."
    hint = f"sqlite3 {path} 'PRAGMA quick_check' takes as long as it needs."
    return [] if found == "" else [Warning(text, hint=hint, id="tidings.W032")]


def _alert_end() -> None:
    """End an alert about the database: its file was looked through."""
    from advisor.agent.alerts import alert_end  # noqa: PLC0415 - the cache is configured by now

    with suppress(OSError):
        alert_end(now=timezone.now())


def _page_failed(**kwargs: Any) -> None:
    """Raise an alert if a page has just met a damaged database."""
    from advisor.agent.error_policy import page_failure_alert  # noqa: PLC0415 - models are not loaded yet

    page_failure_alert(error=sys.exception(), now=timezone.now())


class ConfigConfig(AppConfig):
    """The app of the config room. Its label `tidings` is part of table names, permissions and check ids."""

    name = "config"
    label = "tidings"

    def ready(self) -> None:
        """Register the system checks. If there is a broker, load the Celery app, which sends the messages."""
        if settings.REDIS_URL:
            import config.celery  # noqa: F401, PLC0415
        register(check_schedule, SETTINGS)
        register(check_tls, SETTINGS, deploy=True)
        register(check_https, SETTINGS, deploy=True)
        register(check_own_host, SETTINGS)
        register(check_alerts, SETTINGS)
        register(check_mail_links, SETTINGS)
        register(check_lonely_settings, SETTINGS)
        register(check_names, SETTINGS)
        register(check_retention, SETTINGS)
        register(check_bounds, SETTINGS)
        register(check_addresses, SETTINGS)
        register(check_full_text, SETTINGS)
        register(check_assistants, SETTINGS)
        register(check_database_file, Tags.database)
        register(check_migrations, Tags.database)
        got_request_exception.connect(_page_failed, dispatch_uid="config.page_failed")
