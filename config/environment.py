"""Settings as the environment gives them; one that cannot be read is refused in a sentence that names it."""

import logging
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

KINDS = {int: "a whole number", float: "a number", dict: "a list of NAME=VALUE pairs"}
# Settings that are secrets, and those that are addresses and may carry a password.
KEYS = ("METRICS_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
ADDRESSES = ("DATABASE_URL", "REDIS_URL", "EMAIL_URL", "OPENAI_BASE_URL", "LOCAL_LLM_BASE_URL")
DATABASE_LIKE = "postgres://NAME:PASSWORD@HOST:5432/DATABASE or sqlite:///FILE"
SPECIAL = re.compile(r"[@/?#\s]|%(?![0-9A-Fa-f]{2})")
YES, NO = ("true", "on", "yes", "ok", "y", "1"), ("false", "off", "no", "n", "0", "")
MAIL_LIKE = "smtp://NAME:PASSWORD@HOST:25 or consolemail://"


class Environment(environ.Env):  # type: ignore[misc]  # a library without types
    """`environ.Env` that raises `ImproperlyConfigured` for every value it cannot read."""

    def get_value(self, var: Any, cast: Any = None, *rest: Any, **options: Any) -> Any:
        """A setting's value. The sentence repeats no value: there may be a password in it."""
        if cast in (int, float) and self.ENVIRON.get(var) == "":
            return options.get("default", rest[0] if rest else None)  # a line without a value is no value
        try:
            return super().get_value(var, cast, *rest, **options)
        except (TypeError, ValueError) as error:
            wanted = KINDS.get(cast[0] if isinstance(cast, list) else cast, "something else")
            wanted = f"a list, each {wanted}" if isinstance(cast, list) else wanted
            raise ImproperlyConfigured(f"{var} cannot be read: it must be {wanted}.") from error

    def read_named(self, var: str, default: Path) -> None:
        """Read the file of settings that `var` names, else the one at `default` where there is one; an empty
        `var` means none. Raises `ImproperlyConfigured` for a file that is named and not there."""
        named = os.environ.get(var)
        if named and not Path(named).is_file():
            raise ImproperlyConfigured(f"{var} names “{named}”, where no file is.")
        if named or (named is None and default.is_file()):
            self.read_env(named or default)

    def bool(self, var: str, default: Any = environ.Env.NOTSET) -> bool:
        """Yes or no; a word that is neither would otherwise be a silent no."""
        said = str(self.str(var, default=str(default))).strip().lower()
        if said not in YES + NO:
            raise ImproperlyConfigured(f"{var} cannot be read: it must be true or false.")
        return said in YES

    def level(self, var: str, default: str) -> str:
        """A log level of the standard library."""
        value = str(self.str(var, default="") or default).upper()
        if value not in (known := logging.getLevelNamesMapping()):
            raise ImproperlyConfigured(f"{var} must be one of {', '.join(sorted(known))}.")
        return value

    def database(self, var: str, default: str) -> dict[str, Any]:
        """Django's description of the database behind an address."""
        return self.database_at(var, self.str(var, default="") or default)

    def database_at(self, var: str, url: str) -> dict[str, Any]:
        """The same of an address that is known; `var` names it where it is refused."""
        if not url.startswith("sqlite:") and _unencoded(url):
            raise ImproperlyConfigured(
                f"{var} cannot be read: percent-encode what is special in its name and password "
                "(@ is %40, / %2F, # %23, ? %3F, % %25)."
            )
        found = _address(var, DATABASE_LIKE, lambda: self.db_url_config(url))
        if found.get("ENGINE") not in self.DB_SCHEMES.values():
            raise ImproperlyConfigured(f"{var} cannot be read: it must be an address like {DATABASE_LIKE}.")
        return found

    def mail(self, var: str, default: str) -> dict[str, Any]:
        """Django's settings of the mail server behind an address."""
        return _address(var, MAIL_LIKE, lambda: self.email_url_config(self.str(var, default=default)))

    def secrets(self) -> list[str]:
        """What must never be logged, as far as it is set here: keys, and the passwords within addresses."""
        found = [self.str(name, default="") for name in KEYS]
        found += [password_in(self.str(name, default="")) for name in ADDRESSES]
        return [secret for secret in found if secret]


def password_in(address: str) -> str:
    """The password within an address; "" where there is none, or no address."""
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:
        return ""


def _unencoded(address: str) -> bool:
    """Whether the name and password within an address hold what would end them early.

    What came after would be taken for the host, and be told as such.
    """
    named = address.partition("://")[2].rpartition("@")[0]
    return bool(SPECIAL.search(named))


def _address(var: str, like: str, read: Callable[[], Any]) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():  # the library warns of what is refused here, and quotes it
            warnings.simplefilter("ignore")
            return dict(read())
    except (ImproperlyConfigured, KeyError, ValueError) as error:
        raise ImproperlyConfigured(f"{var} cannot be read: it must be an address like {like}.") from error


def postgresql_settings(found: dict[str, Any], *, pool: int) -> dict[str, Any]:
    """A PostgreSQL database's settings with the options that it leaves open.

    Connections are kept: one for each thread, or with `pool` so many that the threads of a process share. A
    host that swallows packets would hold a thread for two minutes, one that is gone meanwhile for hours.
    """
    options: dict[str, Any] = {
        **{"connect_timeout": 5, "tcp_user_timeout": 30_000},
        **{"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3},
        **found.get("OPTIONS", {}),
    }
    kept = {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True} | found | {"OPTIONS": options}
    if pool > 0:
        options["pool"] = {"min_size": 1, "max_size": pool, "timeout": 10}
        kept["CONN_MAX_AGE"] = 0  # a pool keeps them itself
    return kept
