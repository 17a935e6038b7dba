"""What a page shows of a reader's runs, put together: selectors asked, words found."""

from typing import Any
from uuid import UUID

from advisor.presenters import last_words, need_words, script_words
from advisor.selectors import run_active, run_last, run_made, sufficiency


def run_panel_of(*, reader_id: UUID, pending: int) -> dict[str, Any]:
    """The "Generate" button, what the last run came to, what is missing for the next; four queries."""
    last, active = run_last(reader_id=reader_id), run_active(reader_id=reader_id)
    created = run_made(run_id=last.pk) if last else 0
    needs = sufficiency(reader_id)
    return {
        "pending": pending,
        "active": active,
        "last": None if active else last,
        "outcome": last_words(last.status, created, last.message) if last else "",
        "needs": [
            (need_words(need.label, need.have, need.need), min(need.have, need.need), need.need, need.met)
            for need in needs
        ],
        "enough": all(need.met for need in needs),
        "words": script_words(),
    }
