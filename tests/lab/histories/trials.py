"""Open histories through the real import and one run of the advisor for each reader.

Everybody's first thumbs are imported, spread over the last 60 days, so that what readers have in common is
there; a night publishes how much tastes vary; the readers under test get a run, accept what comes, and their
later thumbs say what it was worth.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from advisor.models import Run
from advisor.run.request import run_request
from digest.feedback.transfer import feedback_import
from digest.models import Reader
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from suggestions.planner.population import taste_spread_publish
from suggestions.rules import change_applied
from suggestions.selectors import suggestions_pending
from suggestions.services.resolve import suggestion_accept
from tests.lab.histories.data import movielens, nemig
from tests.lab.histories.pools import HELD_FROM, RATINGS_MIN, History, Pools, start_config, targets_of
from tests.lab.world.entities import Asked, Course

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
SPAN = timedelta(days=60)
PROGRESS_EVERY = 50
Json = dict[str, Any]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """Which data, how many first thumbs of everybody, and how many readers get a run (0: all)."""

    data: str
    thumbs: int = 0
    readers: int = 0
    shuffled: bool = False
    by_genre: bool = False
    seed: int = 0


def histories_for(trial: Trial) -> list[History]:
    """The trial's histories, shuffled where it says so."""
    folder = Path(settings.TIDINGS_DATA)
    if trial.data.startswith("movielens"):
        histories = movielens(folder, trial.data, by_genre=trial.by_genre)
    else:
        histories = nemig(folder, trial.data.removeprefix("nemig-"))
    if trial.shuffled:
        histories = [h.shuffled(trial.seed * 100_003 + n) for n, h in enumerate(histories)]
    return histories


def trial_run(trial: Trial, progress: Progress) -> list[Course]:
    """The courses of the readers who got a run; where nothing is held out, gains are 0."""
    histories = histories_for(trial)
    tested = [n for n, h in enumerate(histories) if not trial.thumbs or len(h.rated) >= RATINGS_MIN]
    if trial.readers:
        tested = sorted(random.Random(trial.seed).sample(tested, min(trial.readers, len(tested))))
    feedback_import(lines=_lines(histories, trial.thumbs), now=NOW)
    taste_spread_publish(now=NOW)
    readers = {reader.username: reader for reader in Reader.objects.all()}
    topics = start_config(targets_of(histories)).config.topics if trial.thumbs else ()
    courses = []
    for done, n in enumerate(tested, start=1):
        courses.append(_tested(n, histories[n], readers[histories[n].reader], topics, trial))
        if done % PROGRESS_EVERY == 0:
            progress(done)
    return courses


def _lines(histories: Sequence[History], thumbs: int) -> Iterator[str]:
    """The thumbs as lines of an import, each reader's spread evenly over the last 60 days."""
    for history in histories:
        rated = history.rated[: thumbs or None]
        for i, one in enumerate(rated):
            at = (NOW - SPAN + SPAN * (i + 1) / (len(rated) + 1)).isoformat()
            row = {"reader": history.reader, "url": one.url, "title": one.title, "source": one.source}
            yield json.dumps(row | {"useful": int(one.liked), "at": at, "published": at})


def _tested(n: int, history: History, reader: Reader, topics: Sequence[str], trial: Trial) -> Course:
    """One reader's run and what came of it."""
    if topics:
        edit = ConfigEdit(topics=topics)
        config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=NOW)
    first = config_effective(reader_id=reader.pk)
    judge = Pools(history.rated[HELD_FROM:], [n, 0]) if trial.thumbs else None
    result = run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=NOW, force=True, inline=True)
    asked = []
    for suggestion in suggestions_pending(reader_id=reader.pk):
        after = change_applied(
            first, suggestion.suggestion_type, suggestion.target_key, suggestion.suggested_value
        )
        gain = judge.gain(first, after) if judge else 0.0
        suggestion_accept(reader_id=reader.pk, suggestion_id=suggestion.pk, now=NOW)
        asked.append(_asked(suggestion, gain))
    last = config_effective(reader_id=reader.pk)
    start_value, end = (judge.value(first), judge.value(last)) if judge else (0.0, 0.0)
    runs = Counter({_ended(result.status, bool(asked)): 1})
    rated = len(history.rated[: trial.thumbs or None])
    return Course(n, False, start_value, (0.0, end - start_value), (rated,), tuple(asked), dict(runs))


def _asked(suggestion: Suggestion, gain: float) -> Asked:
    kind, target = suggestion.suggestion_type, suggestion.target_key
    return Asked(1, kind, target, gain, True, suggestion.p_helpful, suggestion.confidence)


def _ended(status: str, advised: bool) -> str:
    if status != "completed":
        return status
    return "advised" if advised else "silent"
