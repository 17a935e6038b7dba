"""The rules for one source on its page: the choices, and the items its kept places have shown."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from digest.daily.receipts import receipt_of
from digest.models import Reader
from ranking.entities import Config
from ranking.source_rules import DAILY_LIMIT_MAX, SHELF_CHOICES, hours_words, limit_words, rules_of

# (value that the form sends, words, whether it is chosen)
Option = tuple[str, str, bool]
RECEIPT_DAYS = 30


def rules_context(
    reader: Reader, source: str, config: Config, sent: Mapping[str, Any] | None, now: datetime
) -> dict[str, Any]:
    """Return the choices of a source's rules; if it is never missed, with the receipt (two queries).

    A form that was `sent` and refused keeps what was chosen in it.
    """
    rules = rules_of(config, source)
    chosen = (str(rules.shelf_life or ""), str(rules.daily_limit or ""), rules.never_missed)
    if sent is not None:
        chosen = (sent.get("shelf_life", ""), sent.get("daily_limit", ""), "never_missed" in sent)
    lives = sorted({*SHELF_CHOICES, *([rules.shelf_life] if rules.shelf_life else [])})
    since = now - timedelta(days=RECEIPT_DAYS)
    return {
        "lives": [_option(hours, chosen[0], hours_words(hours)) for hours in (None, *lives)],
        "limits": [
            _option(most, chosen[1], limit_words(most)) for most in (None, *range(1, DAILY_LIMIT_MAX + 1))
        ],
        "never_missed": chosen[2],
        "receipt": receipt_of(reader=reader, source=source, since=since, now=now)
        if rules.never_missed
        else None,
    }


def _option(value: int | None, chosen: str, words: str) -> Option:
    text = str(value or "")
    return text, words, text == chosen
