"""Remember the last alert about the database outside of it, for /readyz and the admin's first page."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache

log = structlog.get_logger(__name__)

# An alert is told of for so long after it was raised.
REMEMBERED: Final = timedelta(days=1)
_KEY: Final = "alert-remembered"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert: what failed, with which error, and when (ISO 8601)."""

    where: str
    reason: str
    at: str


def alert_remember(*, where: str, reason: str, now: datetime) -> None:
    """Store the alert in the shared cache if there is one (`REDIS_URL`), else in a file of `VAR_DIR`."""
    text = json.dumps(asdict(Alert(where, reason, now.isoformat())))
    if settings.REDIS_URL:
        cache.set(_KEY, text, REMEMBERED.total_seconds())
        return
    part = _file().with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(_file())


def alert_forget() -> None:
    """Forget the alert: the database was replaced."""
    if settings.REDIS_URL:
        cache.delete(_KEY)
    _file().unlink(missing_ok=True)


def alert_remembered(*, now: datetime) -> Alert | None:
    """Return the last alert if it was raised within `REMEMBERED` before `now`."""
    text = None
    with suppress(FileNotFoundError):
        text = cache.get(_KEY) if settings.REDIS_URL else _file().read_text(encoding="utf-8")
    try:
        alert = Alert(**json.loads(text)) if text else None
        is_new = alert is not None and now - datetime.fromisoformat(alert.at) < REMEMBERED
    except (TypeError, ValueError):
        log.warning("alert_unreadable")
        return None
    return alert if is_new else None


def _file() -> Path:
    return Path(settings.VAR_DIR) / f"{_KEY}.json"
