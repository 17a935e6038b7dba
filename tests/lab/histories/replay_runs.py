"""The weekly replay through the real services: import, nightly job, run, review, and a reader who accepts
all.

Each week everybody's thumbs are imported, spread over its seven days. The nightly job publishes the spread of
tastes. Then the tested readers get the week's run, with the usual cooldowns and caps. Each week brings new
items. The learning loop is off, as for the simple rules.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from advisor.models import Run
from advisor.run.request import run_request
from digest.models import Reader
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.selectors import suggestions_pending
from suggestions.services.resolve import suggestion_accept
from tests.lab.histories.pools import History, start_config, targets_of
from tests.lab.histories.replay import WEEKS, course_weekly, judge_change, judge_next, week_rated
from tests.lab.histories.trials import (
    Progress,
    Trial,
    asked_of,
    histories_for,
    news_publish,
    nights_pass,
    readers_tested,
    run_ended,
    thumbs_import,
)
from tests.lab.world.entities import Asked, Course
from tests.support.changes import change_applied

# A midnight, so that ten thumbs of a week are on its first and its seventh day.
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)
# Before the end of a week, so that no thumb lies in the future of a run.
EARLY = timedelta(minutes=1)


@dataclass(slots=True)
class _Life:
    """One reader under way."""

    number: int
    history: History
    reader: Reader
    first: EffectiveConfig
    starts: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)


def replay_run(trial: Trial, progress: Progress) -> list[Course]:
    """Return the courses of the readers under test, in the current database."""
    histories = histories_for(trial)
    topics = start_config(targets_of(histories)).config.topics
    lives: list[_Life] = []
    for week in range(1, WEEKS):
        now = BEGIN + WEEK * week - EARLY
        thumbs_import([(h.reader, week_rated(h, week)) for h in histories], now - WEEK, now)
        nights_pass(now - WEEK, now)
        lives = lives or _begun(histories, readers_tested(histories, trial), topics, now)
        news_publish(histories, [life.reader for life in lives], trial.seed + week, now)
        for life in lives:
            _advised(life, week, now)
        progress(week)
    return [course_weekly(one.number, one.starts, one.gains, one.asked, dict(one.runs)) for one in lives]


def _begun(
    histories: Sequence[History], tested: Sequence[int], topics: Sequence[str], now: datetime
) -> list[_Life]:
    readers = {reader.username: reader for reader in Reader.objects.all()}
    lives = []
    for n in tested:
        reader = readers[histories[n].reader]
        config_edit(reader_id=reader.pk, edit=ConfigEdit(topics=topics), expected_version=0, now=now)
        lives.append(_Life(n, histories[n], reader, config_effective(reader_id=reader.pk)))
    return lives


def _advised(life: _Life, week: int, now: datetime) -> None:
    """Run the week's advisor and accept all suggestions. Measure the settings on the following week."""
    pk = life.reader.pk
    result = run_request(reader=life.reader, trigger=Run.Trigger.SCHEDULED, now=now, force=True, inline=True)
    pending = suggestions_pending(reader_id=pk)
    one = judge_change(life.history, life.number, week) if pending else None
    for suggestion in pending:
        before = config_effective(reader_id=pk)
        after = change_applied(
            before, suggestion.suggestion_type, suggestion.target_key, suggestion.suggested_value
        )
        suggestion_accept(reader_id=pk, suggestion_id=suggestion.pk, now=now)
        life.asked.append(asked_of(suggestion, week, one.gain(before, after) if one else 0.0))
    life.runs[run_ended(result.status, bool(pending))] += 1
    judge = judge_next(life.history, life.number, week)
    life.starts.append(judge.value(life.first))
    life.gains.append(judge.gain(life.first, config_effective(reader_id=pk)))
