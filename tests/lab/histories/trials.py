"""Open histories through the real import and one run of the advisor for each reader.

Everybody's first thumbs are imported, spread over the last 60 days, so that what readers have in common is
there; a night publishes how much tastes vary; the readers under test get a run, accept what comes, and their
later thumbs say what it was worth. The sources bring news of the last two days, like what was rated: a change
that moves nothing on a reader's page of today is not proposed.
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
from digest.feeds.identity import article_hash
from digest.models import Feed, Item, Reader, Source, Subscription
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
# As many as a page of today shows, and as many again; as old as those of the pools.
NEWS, NEWS_HOURS = 60, 48
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
    _news_publish(histories, [readers[histories[n].reader] for n in tested], trial.seed)
    topics = start_config(targets_of(histories)).config.topics if trial.thumbs else ()
    courses = []
    for done, n in enumerate(tested, start=1):
        courses.append(_tested(n, histories[n], readers[histories[n].reader], topics, trial))
        if done % PROGRESS_EVERY == 0:
            progress(done)
    return courses


def _news_publish(histories: Sequence[History], readers: Sequence[Reader], seed: int) -> None:
    """Store fresh articles with titles and sources of what anybody rated, as feeds that the readers read."""
    found = sorted({(one.source, one.title) for history in histories for one in history.rated})
    rng = random.Random(seed)
    drawn = rng.sample(found, min(NEWS, len(found)))
    sources = sorted({source for source, _ in drawn})
    Source.objects.bulk_create([Source(key=key, title=key) for key in sources], ignore_conflicts=True)
    made = Feed.objects.bulk_create([Feed(url=f"https://{key}/news.xml", source_id=key) for key in sources])
    feeds = {feed.source_id: feed.pk for feed in made}
    Item.objects.bulk_create(
        _item(n, feeds[source], source, title, NOW - timedelta(hours=NEWS_HOURS * rng.random()))
        for n, (source, title) in enumerate(drawn)
    )
    Subscription.objects.bulk_create(
        (
            Subscription(reader=reader, feed_id=pk, created_at=NOW - SPAN)
            for reader in readers
            for pk in feeds.values()
        ),
        batch_size=500,
    )


def _item(n: int, feed_id: int, source: str, title: str, at: datetime) -> Item:
    url = f"https://{source}/news/{n}"
    dates = {"published_at": at, "first_seen_at": at, "dated_at": at}
    own = {"guid": url, "url": url, "article": article_hash(url), "own": True, "fingerprint": f"{n:064x}"}
    return Item(feed_id=feed_id, source_id=source, title=title, text="", **dates, **own)


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
