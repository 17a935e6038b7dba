"""Configure structured logs: one JSON object per line on stderr, because stdout belongs to commands."""

import json
import logging
import re
import sys
from collections.abc import Collection, MutableMapping
from typing import Any

# structlog imports rich if it is installed, for tracebacks that we do not print: 4 MB in every process.
_rich: object = sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
import structlog  # noqa: E402

if _rich is None:
    del sys.modules["rich"]

MASK, SECRET_CHARS_MIN, UNKNOWN = "***", 8, "unknown"
OWN_HOST_REFUSED = (
    "Refused: a request for %s, the host of SITE_URL, which is not among ALLOWED_HOSTS: add it."
)
HOST_REFUSED = "Refused: a request for a host that is not among ALLOWED_HOSTS."
# Matches the address in a line of the development server: `"GET /ui/search?q=x HTTP/1.1" 404 12`. Possessive,
# and only from the start of a word, so that the time is linear in a stranger's text.
ADDRESS = re.compile(r"(?<!\w)(\w++ )\S++ (?=HTTP/)")
# The development server quotes malformed requests, up to 64 KiB of a stranger's text.
SERVER_CHARS_MAX = 500
SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def structlog_configure() -> None:
    """Make structlog send its events through the standard library's handlers."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def request_path_hide(logger: object, name: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace a request's address by its route, `/ui/items/<int:item_id>`: an address may hold a secret."""
    if line.get("logger") == "django.server":
        line["event"] = ADDRESS.sub(r"\1", str(line["event"]))[:SERVER_CHARS_MAX]
        return line
    request = getattr(line.get("_record"), "request", None)
    path = getattr(request, "path", "")
    if path and isinstance(event := line.get("event"), str):
        match = request.resolver_match if request else None
        # Django may have written non-ASCII characters with backslashes.
        for spelling in (path, path.encode("unicode_escape").decode("ascii")):
            event = event.replace(spelling, f"/{match.route}" if match else UNKNOWN)
        line["event"] = event
    return line


class HostNameFilter(logging.Filter):
    """Hide the host name of a refused request, because any client can choose it. Show only `own`."""

    def __init__(self, own: str = "") -> None:
        super().__init__()
        self._quoted = f"'{own}'" if own else ""

    def filter(self, record: logging.LogRecord) -> bool:
        """Turn the record into a warning without its traceback, which quotes the name, too. Keep it."""
        asked = re.sub(r":\d+'", "'", record.getMessage()[:SERVER_CHARS_MAX])
        is_own = bool(self._quoted) and asked.startswith(f"Invalid HTTP_HOST header: {self._quoted}.")
        record.msg = OWN_HOST_REFUSED if is_own else HOST_REFUSED
        record.args, record.exc_info = (self._quoted.strip("'"),) if is_own else (), None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


class SecretRedactor:
    """The last log processor. It replaces all known secrets in a line by `***`.

    Secrets under eight characters stay, because they could occur within ordinary words.
    """

    def __init__(self, secrets: Collection[str]) -> None:
        spellings = {spelling for secret in secrets for spelling in (secret, json.dumps(secret)[1:-1])}
        # The longest first, because one secret may be a part of another.
        self._secrets = sorted((s for s in spellings if len(s) >= SECRET_CHARS_MIN), key=len, reverse=True)

    def __call__(self, logger: object, name: str, line: str) -> str:
        """Return the line with each secret replaced by `***`."""
        for secret in self._secrets:
            line = line.replace(secret, MASK)
        return line


def logging_config(level: str, secrets: Collection[str] = (), own_host: str = "") -> dict[str, Any]:
    """Return Django's `LOGGING`: one JSON renderer for structlog and `logging` that hides `secrets`.

    A refused request's host is hidden, unless it is `own_host`, that of SITE_URL.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    request_path_hide,
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    structlog.processors.JSONRenderer(),
                    SecretRedactor(secrets),
                ],
            }
        },
        "filters": {"host_hidden": {"()": HostNameFilter, "own": own_host}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # At DEBUG Django would log every query and lookup.
            "django": {"level": "INFO" if level == "DEBUG" else level},
            "django.server": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            # Scanners try any host name. Log one line and not an error.
            "django.security.DisallowedHost": {
                "handlers": ["stderr"],
                "filters": ["host_hidden"],
                "propagate": False,
            },
            "httpx2": {"level": "WARNING"},
            "mcp": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
        },
    }
