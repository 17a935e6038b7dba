"""Read settings from the environment. For an unreadable one, raise an error that names the setting."""

import contextlib
import logging
import os
import re
import secrets
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

# Settings that not `config.settings` reads, but deploy/ or a library.
READ_ELSEWHERE = (
    "TIDINGS_ENV_FILE",
    "OPENBLAS_NUM_THREADS",
    "PROMETHEUS_MULTIPROC_DIR",
    "BIND",
    "WEB_WORKERS",
    "WORK_CONCURRENCY",
    "NIGHT_CONCURRENCY",
    "ADVISE_CONCURRENCY",
)
# What the library reads as a setting; it ignores every other line but comments.
READ_LINE = re.compile(r"(?:export )?[A-Za-z_0-9]+=")
ASSIGNMENT = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=", re.MULTILINE)
# Names before which somebody may write our own, and what Kubernetes makes of a service of that name.
PREFIX, KUBERNETES = "TIDINGS_", ("PORT", "SERVICE")
# In the environment, names this long may have one wrong letter, and longer ones two.
NEAR_CHARS_MIN = 6
# SIGN_UP and SIGNUP have 0.92, OPENAI_KEY and OPENAI_API_KEY 0.83.
RESEMBLANCE_MIN = 0.8
FOLDER_MODE, FILE_MODE = 0o700, 0o600
TYPE_NAMES = {int: "a whole number", float: "a number", dict: "a list of NAME=VALUE pairs"}
TRUE_WORDS, FALSE_WORDS = ("true", "on", "yes", "ok", "y", "1"), ("false", "off", "no", "n", "0", "")
DATABASE_URL_EXAMPLE = "postgres://NAME:PASSWORD@HOST:5432/DATABASE or sqlite:///FILE"
EMAIL_URL_EXAMPLE = "smtp+tls://NAME:PASSWORD@HOST:587 or consolemail://"
# The schemes of databases that we support, as `environ` reads them.
DATABASE_SCHEMES = ("sqlite", "postgres", "postgresql", "psql", "pgsql")
SPECIAL = re.compile(r"[@/?#\s]|%(?![0-9A-Fa-f]{2})")
# Settings that are secrets, and settings that are addresses and may contain a password.
SECRET_SETTINGS = (
    "SECRETS_KEY",
    "OIDC_CLIENT_SECRET",
    "METRICS_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "LOCAL_LLM_KEY",
)
URL_SETTINGS = (
    "DATABASE_URL",
    "REDIS_URL",
    "EMAIL_URL",
    "OPENAI_BASE_URL",
    "LOCAL_LLM_BASE_URL",
    "NEWSLETTERS_URL",
)


def private_folder_create(path: Path, setting: str) -> None:
    """Create a folder with mode 700. Leave an existing one unchanged.

    Raises `ImproperlyConfigured` with the name of `setting` if it cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{setting} cannot be used: the folder “{path}” cannot be made ({error.strerror})."
        ) from error


def data_folder(base: Path, *, is_checkout: bool) -> Path:
    """Return the default data folder: `var` in a checkout, or the user's data folder for an installed wheel.

    An installed wheel reads its `.env` there. TIDINGS_VAR_DIR in the environment replaces the user's folder.
    """
    if is_checkout:
        return base / "var"
    named = os.environ.get("TIDINGS_VAR_DIR")
    if named:
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only an installed wheel needs it

    return platformdirs.user_data_path("tidings", appauthor=False)


class PrivateConnection(sqlite3.Connection):
    """A connection that creates a missing database file with mode 600.

    SQLite itself would make the file readable for everybody. It gives `-wal` and `-shm` the mode of the file.
    """

    def __init__(self, database: Any, *args: Any, **options: Any) -> None:
        if not str(database).startswith((":", "file:")):
            # Ignore other problems here. SQLite reports them itself, in words that Django knows.
            with contextlib.suppress(OSError):
                os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        super().__init__(database, *args, **options)


def stored_secret_key(path: Path) -> str:
    """Return the secret key stored at `path`. If there is none, generate and store one (mode 600).

    Raises `ImproperlyConfigured` if this user may not write or read it.
    """
    try:
        if not path.exists():
            # Write a temporary file and link it into place, so that no other process reads half a key.
            handle, draft = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(50))
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            os.unlink(draft)
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set, and “{path}” cannot be read or made ({error.strerror}): is this the "
            "user that Tidings runs as?"
        ) from error


class UnreadName(NamedTuple):
    """A name that nothing reads, the place where it has a value, and the setting that it resembles."""

    name: str
    place: str
    meant: str


def errors_allowed(name: str) -> int:
    """Return how many letters of this setting may be wrong in a name that is meant for it."""
    if len(name) < NEAR_CHARS_MIN:
        return 0
    return 1 if len(name) == NEAR_CHARS_MIN else 2


def typing_errors(one: str, other: str) -> int:
    """Return how many letters were left out, added, changed or swapped with the next; 3 for more than 2."""
    if abs(len(one) - len(other)) > 2:
        return 3
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, its in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != its))
            is_swapped = i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == its
            row.append(min(cost, last[j - 2] + 1) if is_swapped else cost)
    return min(row[-1], 3)


class Environment(environ.Env):  # type: ignore[misc]  # a library without types
    """An `environ.Env` that raises `ImproperlyConfigured` for each value that it cannot read.

    `names` are those of all settings that there are, `names_in_file` those in the settings file.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names, self.names_in_file = set(READ_ELSEWHERE), list[str]()

    def get_value(self, var: Any, cast: Any = None, *rest: Any, **options: Any) -> Any:
        """Return a setting's value. Errors do not quote the value, because it may be a password."""
        self.names.add(str(var))
        if cast in (int, float) and self.ENVIRON.get(var) == "":
            return options.get("default", rest[0] if rest else None)  # an empty line counts as unset
        try:
            return super().get_value(var, cast, *rest, **options)
        except (TypeError, ValueError) as error:
            wanted = TYPE_NAMES.get(cast[0] if isinstance(cast, list) else cast, "something else")
            wanted = f"a list, each {wanted}" if isinstance(cast, list) else wanted
            raise ImproperlyConfigured(f"{var} cannot be read: it must be {wanted}.") from error

    def read_settings_file(self, var: str, default: Path) -> None:
        """Read the settings file named by the variable `var`, or the one at `default` if it exists.

        If `var` is set but empty, read no file. Raises `ImproperlyConfigured` if the named file does not
        exist, or has a line that is no setting: ignored, it may leave a door open that it was to close.
        """
        named = os.environ.get(var)
        if named and not Path(named).is_file():
            raise ImproperlyConfigured(f"{var} names “{named}”, where no file is.")
        if named or (named is None and default.is_file()):
            text = Path(named or default).read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip() and not line.startswith("#") and not READ_LINE.match(line):
                    raise ImproperlyConfigured(
                        f"Line {number} of “{named or default}” is no setting. Write NAME=VALUE, without a "
                        "space before the name or around the equals sign."
                    )
            self.read_env(named or default)
            self.names_in_file = ASSIGNMENT.findall(text)

    def names_unread(self) -> list[UnreadName]:
        """Return the names that nothing reads, each with the setting that it resembles.

        Names in the settings file may resemble it less than those of the environment, of which most are
        other programs'. A name that resembles none is left out.
        """
        unread = (name for name in dict.fromkeys(self.names_in_file) if name not in self.names)
        near = {name: get_close_matches(name.upper(), self.names, 1, RESEMBLANCE_MIN) for name in unread}
        found = [UnreadName(name, "the settings file", names[0]) for name, names in near.items() if names]
        others = sorted(self.ENVIRON.keys() - self.names - set(self.names_in_file))
        meant = {name: self._meant(name) for name in others}
        return found + [UnreadName(name, "the environment", one) for name, one in meant.items() if one]

    def _meant(self, name: str) -> str:
        """Return the setting that a name of the environment is meant for, or "".

        It is a setting with our prefix before it, or with one or two letters wrong. If that setting has a
        value anyway, the name is another program's. So are the names that Kubernetes gives each container.
        """
        bare = name.removeprefix(PREFIX)
        if bare != name and bare in self.names and not bare.startswith(KUBERNETES):
            return bare
        unset = sorted(self.names - set(self.ENVIRON))
        return next((known for known in unset if typing_errors(name, known) <= errors_allowed(known)), "")

    def bool(self, var: str, default: Any = environ.Env.NOTSET) -> bool:
        """Return true or false. Raise an error for other words, which the library would read as false."""
        value = str(self.str(var, default=str(default))).strip().lower()
        if value not in TRUE_WORDS + FALSE_WORDS:
            raise ImproperlyConfigured(f"{var} cannot be read: it must be true or false.")
        return value in TRUE_WORDS

    def level(self, var: str, default: str) -> str:
        """Return the name of a log level of the standard library."""
        value = str(self.str(var, default="") or default).upper()
        if value not in (known := logging.getLevelNamesMapping()):
            raise ImproperlyConfigured(f"{var} must be one of {', '.join(sorted(known))}.")
        return value

    def database(self, var: str, default: str) -> dict[str, Any]:
        """Return Django's settings for the database at the address in `var`."""
        return self.database_from_url(var, self.str(var, default="") or default)

    def database_from_url(self, var: str, url: str) -> dict[str, Any]:
        """Return Django's settings for the database at `url`. Error texts call the address `var`."""
        if not url.startswith("sqlite:") and _has_unencoded(url):
            raise ImproperlyConfigured(
                f"{var} cannot be read: percent-encode what is special in its name and password "
                "(@ is %40, / %2F, # %23, ? %3F, % %25)."
            )
        scheme = url.partition(":")[0]
        if scheme not in DATABASE_SCHEMES and scheme in self.DB_SCHEMES:
            raise ImproperlyConfigured(
                f"{var} names {scheme}, which is not supported: PostgreSQL and SQLite are, as in "
                f"{DATABASE_URL_EXAMPLE}."
            )
        database = _address(var, DATABASE_URL_EXAMPLE, lambda: self.db_url_config(url))
        if database.get("ENGINE") not in self.DB_SCHEMES.values():
            raise ImproperlyConfigured(
                f"{var} cannot be read: it must be an address like {DATABASE_URL_EXAMPLE}."
            )
        return database

    def mail(self, var: str, default: str) -> dict[str, Any]:
        """Return Django's mail settings from the address in `var`."""
        return _address(var, EMAIL_URL_EXAMPLE, lambda: self.email_url_config(self.str(var, default=default)))

    def secrets(self) -> list[str]:
        """Return the values that must never be logged: keys, and passwords in addresses."""
        found = [self.str(name, default="") for name in SECRET_SETTINGS]
        found += [url_password(self.str(name, default="")) for name in URL_SETTINGS]
        return [secret for secret in found if secret]


def url_password(address: str) -> str:
    """Return the password in an address, or ""."""
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:
        return ""


def url_host(address: str) -> str:
    """Return the host in an address, or ""."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _has_unencoded(address: str) -> bool:
    """Return whether name or password contain a special character that is not percent-encoded.

    It would end them early, and an error message would show the rest of the password as the host.
    """
    return bool(SPECIAL.search(address.partition("://")[2].rpartition("@")[0]))


def _address(var: str, like: str, read: Callable[[], Any]) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():  # the library's warnings quote the address
            warnings.simplefilter("ignore")
            return dict(read())
    except (ImproperlyConfigured, KeyError, ValueError) as error:
        raise ImproperlyConfigured(f"{var} cannot be read: it must be an address like {like}.") from error


def postgresql_settings(database: dict[str, Any], *, pool: int) -> dict[str, Any]:
    """Return a PostgreSQL database's settings, completed with our defaults.

    Connections persist: one for each thread, or `pool` connections shared by the threads of a process.
    Without the timeouts, a host that drops packets would block a thread for two minutes, and a vanished host
    for hours.
    """
    options: dict[str, Any] = {
        **{"connect_timeout": 5, "tcp_user_timeout": 30_000},
        **{"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3},
        **database.get("OPTIONS", {}),
    }
    result = {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True} | database | {"OPTIONS": options}
    if pool > 0:
        options["pool"] = {"min_size": 1, "max_size": pool, "timeout": 10}
        result["CONN_MAX_AGE"] = 0  # the pool itself keeps connections open
    return result
