"""The early change after a reader's first answers, on open histories through the real services.

There are twenty answers within an hour, as in an interview. A film's subjects are its categories, since half
of all feeds name some. Then the change that Today would ask about is accepted unchanged, and the later thumbs
measure its gain.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from digest.models import Reader
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.proposals import Refusal
from suggestions.services.early import early_change_apply, early_change_find
from tests.lab.histories.pools import History, Pools, start_config, targets_of
from tests.lab.histories.trials import (
    NOW,
    Progress,
    Trial,
    histories_for,
    news_publish,
    readers_tested,
    thumbs_import,
)
from tests.lab.world.entities import Asked, Course

ANSWERS = 20
SPAN = timedelta(hours=1)


class EarlyRefused(Exception):
    """A change was found and could not be applied: that is a fault of the product."""


def early_run(trial: Trial, progress: Progress) -> list[Course]:
    """Return the courses of the readers under test: one change at most, its worth as `gain`."""
    histories = [_with_categories(h) for h in histories_for(trial)]
    tested = readers_tested(histories, trial)
    answers = [(histories[n].reader, histories[n].rated[: trial.thumbs]) for n in tested]
    thumbs_import(answers, NOW - SPAN, NOW)
    readers = {reader.username: reader for reader in Reader.objects.all()}
    news_publish(histories, [readers[histories[n].reader] for n in tested], trial.seed, NOW)
    topics = start_config(targets_of(histories)).config.topics
    courses = [_answered(n, histories[n], readers[histories[n].reader], topics, trial) for n in tested]
    progress(len(courses))
    return courses


def _with_categories(history: History) -> History:
    rated = (replace(one, categories=one.named) for one in history.rated)
    return replace(history, rated=tuple(rated))


def _answered(n: int, history: History, reader: Reader, topics: Sequence[str], trial: Trial) -> Course:
    edit = ConfigEdit(topics=topics)
    config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=NOW)
    before = config_effective(reader_id=reader.pk)
    judge = Pools(history.rated[trial.thumbs :], [n, 0])
    found = early_change_find(reader=reader, now=NOW)
    if found is not None:
        applied = early_change_apply(reader=reader, signed=found.signed, now=NOW)
        if isinstance(applied, Refusal):
            raise EarlyRefused(f"{applied.code}: {applied.message}")
    gain = judge.gain(before, config_effective(reader_id=reader.pk)) if found else 0.0
    asked = (Asked(1, "early", found.words, gain, True),) if found else ()
    return Course(n, False, judge.value(before), (0.0, gain), (trial.thumbs,), asked)
