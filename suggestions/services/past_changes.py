"""Undo one change of a reader's history.

Protected: no code of an agent imports this module.
"""

from datetime import date, datetime

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from digest.daily.services import digest_refresh
from digest.days import day_of
from digest.feedback.selectors import interview_answers
from digest.feedback.services import answers_undo
from digest.models import Digest, Reader
from ranking.entities import RankingError
from ranking.selectors import VersionRow, config_effective, config_versions_by_number
from ranking.services import learning_undo, version_undo
from suggestions.past_changes import ANSWERS, LEARNED, VERSION
from suggestions.proposals import Refusal

log = structlog.get_logger(__name__)
NUMBER_DIGITS = 12


def past_change_undo(*, reader: Reader, what: str, ref: str, now: datetime) -> Refusal | VersionRow | None:
    """Undo a change that no suggestion made: `ref` is a version's number, or a day. Build today's page again.

    Return the version of the settings that says what is different, or `None` if only ratings are. Of settings
    that were changed again since, the newer change stays. Refuses with `nothing_to_undo` if there is no such
    change, or nothing of it is left, and else with the code of the settings.
    """
    seen = config_effective(reader_id=reader.pk).config.version
    try:
        with transaction.atomic():
            made = _settings_undo(reader, what, ref, now)
            is_undone = made not in (None, seen) or (what == ANSWERS and _answers_undo(reader, ref))
    except RankingError as error:
        return Refusal(error.code, error.message)
    if not is_undone:
        return Refusal("nothing_to_undo", _("There is nothing left of that change to undo."))
    # What today's page told of is over. The new page tells of the undo.
    Digest.objects.filter(reader=reader, date=day_of(now, reader.zone)).update(change=None)
    digest_refresh(reader=reader, now=now)
    log.info("past_change_undone", user_id=str(reader.pk), what=what, ref=ref)
    return config_versions_by_number(reader_id=reader.pk, versions=[made])[made] if made else None


def _settings_undo(reader: Reader, what: str, ref: str, now: datetime) -> int | None:
    """Undo a change of settings or of learning, and return their version afterwards; `None` for any other."""
    if what == VERSION and ref.isascii() and ref.isdigit() and len(ref) <= NUMBER_DIGITS:
        return version_undo(reader_id=reader.pk, version=int(ref), now=now)
    if what == LEARNED and (day := _day(ref)):
        return learning_undo(reader_id=reader.pk, cycle=day, now=now)
    return None


def _answers_undo(reader: Reader, ref: str) -> bool:
    """Take back the answers of an interview of the day `ref`; return whether there were any."""
    day = _day(ref)
    given = interview_answers(reader_id=reader.pk) if day else []
    ids = [item_id for item_id, at in given if day_of(at, reader.zone) == day]
    return bool(ids) and bool(answers_undo(reader_id=reader.pk, item_ids=ids))


def _day(ref: str) -> date | None:
    try:
        return date.fromisoformat(ref)
    except ValueError:
        return None
