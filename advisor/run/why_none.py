"""Why no suggestion waits for a reader: one answer for the page, the admin and `run_advisor`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from advisor.models import Run
from advisor.run.status_words import STATUSES, last_run_message
from advisor.run.workers import any_worker_at
from advisor.selectors import (
    ACTIVE_STATUSES,
    feedback_missing,
    run_last,
    run_reason,
    run_suggestions_count,
)
from digest.models import Reader
from ranking.language import gettext as _
from ranking.language import gettext_noop

# In the order in which they are looked for. The first one that holds is the answer.
INSTALLATION_OFF, READER_OFF, ACCOUNT_OFF = "installation_off", "reader_off", "account_off"
RUN_WAITS, RUN_UNDER_WAY = "run_waits", "run_under_way"
THIN_DATA, NOT_LOOKED, LAST_RUN = "thin_data", "not_looked", "last_run"
# Nothing is worked out, whatever the reader does on this page.
OFF: Final = frozenset({INSTALLATION_OFF, READER_OFF, ACCOUNT_OFF})
SWITCHED_OFF = gettext_noop("You have switched suggestions off. Your account page switches them on again.")
UNDER_WAY = gettext_noop("Your feedback is being read; this takes a moment.")
WAITS = gettext_noop("Your run waits for a worker of this site. If it goes on waiting, tell whoever runs it.")
NEVER_LOOKED = gettext_noop("The advisor has not looked yet; by itself it looks about once a week.")
NO_WORKER = gettext_noop(
    "No worker of this site runs, so nothing is looked at by itself. Tell whoever runs it."
)
# The same for operators, where other words or cures fit.
OPERATORS: Final = {
    INSTALLATION_OFF: "Suggestions are switched off on this installation: set ADVISOR_ENABLED=true.",
    READER_OFF: "This reader has switched suggestions off on their account page.",
    ACCOUNT_OFF: "This account is not active, so the advisor does not look.",
    RUN_WAITS: "A run waits for a worker. If it goes on waiting, see the page “Health” or /readyz.",
    RUN_UNDER_WAY: "A run is under way.",
    NOT_LOOKED: "The advisor has not looked yet; it does so about once a week.",
}
OPERATORS_NO_WORKER: Final = "No worker has worked for hours: start manage.py work, or Celery with its beat."
# A queued run that has waited for so long has no worker to begin it.
WAITED_LONG = timedelta(minutes=1)
# One job of an embedded worker may take up to six hours, the night, and no other begins meanwhile.
WORKER_SILENT = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class WhyNone:
    """Why no suggestion waits: a stable `code`, the words for the reader, and those for operators.

    `last` is the reader's last run, if any. `idle` is true if no worker will look by itself.
    """

    code: str
    words: str
    operators: str
    last: Run | None = None
    idle: bool = False

    @property
    def is_off(self) -> bool:
        """Return whether nothing is worked out until a switch is turned."""
        return self.code in OFF


def advice_off(reader: Reader) -> str:
    """Return the code of the switch that keeps the advisor from this reader, "" if none does. No query."""
    if not settings.ADVISOR_ENABLED:
        return INSTALLATION_OFF
    if not reader.suggestions_enabled:
        return READER_OFF
    return "" if reader.is_active else ACCOUNT_OFF


def why_none(*, reader: Reader, now: datetime) -> WhyNone:
    """Return why no suggestion waits for `reader`, provided that none does. At most five queries.

    In order: a switch is off, here or theirs; a run waits or is under way; too little feedback; the advisor
    has not looked; the result of the last run. The budget and the kinds that this installation leaves out
    are such results, because a run finds them.
    """
    if off := advice_off(reader):
        words = {INSTALLATION_OFF: STATUSES["ready"], READER_OFF: SWITCHED_OFF}.get(off, "")
        return WhyNone(off, _(words) if words else "", OPERATORS[off])
    last = run_last(reader_id=reader.pk)
    if last and last.status in ACTIVE_STATUSES:
        waits = last.status == Run.Status.QUEUED and now - last.created_at > WAITED_LONG
        code, words = (RUN_WAITS, WAITS) if waits else (RUN_UNDER_WAY, UNDER_WAY)
        return WhyNone(code, _(words), OPERATORS[code], last)
    at = any_worker_at(now=now)
    idle = at is None or now - at > WORKER_SILENT
    if missing := feedback_missing(reader_id=reader.pk):
        return WhyNone(THIN_DATA, missing, missing, last, idle)
    if last is None:
        return WhyNone(NOT_LOOKED, _(NEVER_LOOKED), OPERATORS[NOT_LOOKED], last, idle)
    words = run_outcome(last)
    return WhyNone(LAST_RUN, words, words, last, idle)


def run_outcome(run: Run) -> str:
    """Return how a run that is over ended, for its reader. One query."""
    return last_run_message(run.status, run_suggestions_count(run_id=run.pk), run_reason(run))
