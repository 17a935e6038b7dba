"""What a web process reads before it takes requests, so that no reader waits for it."""

from datetime import datetime
from threading import Thread

import structlog
from django.db import DatabaseError, connection
from django.utils import timezone

from digest.selectors.peers import community_prepare

log = structlog.get_logger(__name__)

# Longer is not waited for: the server ends a process that gives no sign of life for a minute.
PATIENCE_S = 20.0


def process_warm() -> None:
    """Read what others say of items, on a thread; return once that is done, or after `PATIENCE_S` seconds.

    Never raises: with the database away the process starts all the same, and its pages say what is wrong.
    """
    reading = Thread(target=_read, args=(timezone.now(),), daemon=True, name="warming")
    reading.start()
    reading.join(PATIENCE_S)


def _read(now: datetime) -> None:
    try:
        community_prepare(now=now)
    except DatabaseError as error:
        log.warning("process_not_warmed", error=type(error).__name__)
    finally:
        connection.close()
