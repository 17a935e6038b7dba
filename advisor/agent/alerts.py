"""Remember the last alert about the database outside of it, for /readyz and the admin's first page."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.core.cache import cache

from ranking.common.clocks import is_ahead
from ranking.common.damage import is_damage

log = structlog.get_logger(__name__)

# An alert is told of for so long after it was raised.
REMEMBERED: Final = timedelta(days=1)
# Each job that fails renews the alert. The least frequent of those that always run begins every 15 minutes.
QUIET: Final = timedelta(minutes=20)
_KEY: Final = "alert-remembered"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert: what failed, with which error, when, and when the database was seen to be well again.

    Times are in ISO 8601; `over_at` is "" if nobody looked since.
    """

    where: str
    reason: str
    at: str
    over_at: str = ""

    def is_over(self, *, now: datetime) -> bool:
        """Return whether the database is well again.

        Damage does not go away: it is over once somebody has looked through the file. Any other failure is
        over if nothing failed for 20 minutes, because jobs use the database more often.
        """
        is_quiet = now - datetime.fromisoformat(self.at) >= QUIET
        return bool(self.over_at) or (is_quiet and not is_damage(self.reason))


def alert_remember(*, where: str, reason: str, now: datetime) -> None:
    """Store the alert in the shared cache if there is one (`REDIS_URL`), else in a file of `VAR_DIR`."""
    _store(Alert(where, reason, now.isoformat()))


def alert_end(*, now: datetime) -> None:
    """Note that the database was looked through and is well. Nothing happens without an alert."""
    if alert := alert_remembered(now=now):
        _store(replace(alert, over_at=alert.over_at or now.isoformat()))


def _store(alert: Alert) -> None:
    text = json.dumps(asdict(alert))
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
        at = datetime.fromisoformat(alert.at) if alert else None
        is_new = at is not None and now - at < REMEMBERED and not is_ahead(at, now)
    except (TypeError, ValueError):
        log.warning("alert_unreadable")
        return None
    return alert if is_new else None


def _file() -> Path:
    return Path(settings.VAR_DIR) / f"{_KEY}.json"
