"""Open histories through the real import and one run of the advisor for each reader.

Everybody's first thumbs are imported, spread over the last 60 days, so that community figures exist. A
nightly job publishes the spread of tastes. The tested readers get a run and accept its suggestions, and their
later thumbs measure the gain. The sources bring items of the last two days, similar to the rated ones,
because a change that moves nothing on a reader's page of today is not proposed.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import F, Value
from django.db.models.functions import Concat

from advisor.models import Run
from advisor.run.request import run_request
from digest.days import utc_day
from digest.feedback.noisy_counts import AGE_DAYS, community_publish
from digest.feedback.peers import PERIOD_DAYS
from digest.feedback.transfer import feedback_import
from digest.feeds.identity import URN_PREFIX, article_hash
from digest.models import Feed, Feedback, Item, Reader, Source, Subscription
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from suggestions.planner import tastes
from suggestions.planner.population import taste_spread_publish
from suggestions.selectors import suggestions_pending
from suggestions.services.resolve import suggestion_accept
from tests.lab.histories.data import movielens, nemig
from tests.lab.histories.pools import (
    HELD_MIN,
    About,
    Halves,
    History,
    Pools,
    Rated,
    start_config,
    targets_of,
)
from tests.lab.histories.scholar import SCHOLAR, scholar_histories
from tests.lab.model.readers import PREFIX as LABELS
from tests.lab.model.readers import label_about, label_histories
from tests.lab.world.entities import Asked, Course

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
SPAN = timedelta(days=60)
PROGRESS_EVERY = 10
BATCH = 500
# Twice the items of today's page, with the ages of those in the pools.
NEWS, NEWS_HOURS = 60, 48
# Some of the 13,352 readers of Scholar Inbox: importing all of their thumbs would take hours.
HISTORIES_MAX = 300
# An installation of one: the tested readers are in one database, and nothing is published.
ALONE = 1
Json = dict[str, Any]
Progress = Callable[[int], None]
# A reader's name and some of their thumbs.
Thumbs = tuple[str, Sequence[Rated]]


@dataclass(frozen=True, slots=True)
class Trial:
    """Which data, how many first thumbs of everybody, and how many readers get a run (0: all).

    Only readers with at least `held` thumbs after those get one. `there` readers are in the installation (0:
    all); in one of a single reader nothing is published. `bar` is the false sign rate up to which the planner
    asks, if it is not its own.
    """

    data: str
    thumbs: int = 0
    readers: int = 0
    shuffled: bool = False
    by_genre: bool = False
    seed: int = 0
    held: int = HELD_MIN
    there: int = 0
    bar: float | None = None


def histories_for(trial: Trial) -> list[History]:
    """Return the trial's histories, shuffled if it says so; its data may be "scholar-inbox:FOLDER"."""
    name, _, place = trial.data.partition(":")
    folder = Path(place or settings.TIDINGS_DATA)
    if name == SCHOLAR:
        histories = scholar_histories(folder, limit=HISTORIES_MAX)
    elif trial.data.startswith("movielens"):
        histories = movielens(folder, trial.data, by_genre=trial.by_genre)
    elif trial.data.startswith(LABELS):
        histories = label_histories(folder, trial.data, trial.seed, trial.readers)
    else:
        histories = nemig(folder, trial.data.removeprefix("nemig-"))
    if trial.shuffled:
        histories = [h.shuffled(trial.seed * 100_003 + n) for n, h in enumerate(histories)]
    return histories


def trial_run(trial: Trial, progress: Progress) -> list[Course]:
    """Return the courses of the readers who got a run. Without held-out items, gains are 0."""
    histories = histories_for(trial)
    tested = readers_tested(histories, trial)
    if trial.bar is not None:
        tastes.FALSE_SIGN_MAX = trial.bar
    there = _there(histories, tested, trial)
    thumbs_import([(h.reader, h.rated[: trial.thumbs or None]) for h in there], NOW - SPAN, NOW)
    if trial.there != ALONE:
        nights_pass(NOW - SPAN, NOW)
    readers = {reader.username: reader for reader in Reader.objects.all()}
    news_publish(histories, [readers[histories[n].reader] for n in tested], trial.seed, NOW)
    topics = start_config(targets_of(histories)).config.topics if trial.thumbs else ()
    courses, about = [], about_for(trial)
    for done, n in enumerate(tested, start=1):
        courses.append(_tested(n, histories[n], readers[histories[n].reader], topics, trial, about))
        if done % PROGRESS_EVERY == 0:
            progress(done)
    return courses


def about_for(trial: Trial) -> About | None:
    """Return what finds a trial's items by meaning; `None` if its data have titles alone."""
    is_labelled = trial.data.startswith(LABELS)
    return label_about(Path(settings.TIDINGS_DATA), trial.data) if is_labelled else None


def _there(histories: Sequence[History], tested: Sequence[int], trial: Trial) -> list[History]:
    """Return the histories of the installation's readers: the tested ones, then others up to its size."""
    if not trial.there:
        return list(histories)
    others = [n for n in range(len(histories)) if n not in set(tested)]
    random.Random(trial.seed).shuffle(others)
    return [histories[n] for n in (*tested, *others[: max(0, trial.there - len(tested))])]


def nights_pass(begin: datetime, end: datetime) -> None:
    """Publish community figures as the nightly jobs after `begin` and until `end` do.

    Only nights that close a period publish figures of sources. The others publish figures of items, which no
    setting follows. The spread of tastes is published at the end.
    """
    for days in range(1, (end - begin).days + 1):
        night = begin + timedelta(days=days)
        if (utc_day(night) - AGE_DAYS + 1) % PERIOD_DAYS == 0:
            community_publish(now=night)
    taste_spread_publish(now=end)


def readers_tested(histories: Sequence[History], trial: Trial) -> list[int]:
    """Return the numbers of the readers who get runs, from those with enough thumbs."""
    needed = trial.thumbs + trial.held if trial.thumbs else 0
    tested = [n for n, h in enumerate(histories) if len(h.rated) >= needed]
    if trial.readers:
        tested = sorted(random.Random(trial.seed).sample(tested, min(trial.readers, len(tested))))
    return tested


def thumbs_import(thumbs: Sequence[Thumbs], begin: datetime, end: datetime) -> None:
    """Import thumbs, each reader's spread evenly over the time, with the texts and categories of their items.

    They count as given on feeds that everybody could read; imported histories are in no published figure.
    """
    feedback_import(lines=_lines(thumbs, begin, end), now=end)
    imported = Feed.objects.filter(url__startswith=URN_PREFIX)
    imported.update(url=Concat(Value("https://histories.example/"), F("url")))
    more = {(reader, one.url): one for reader, rated in thumbs for one in rated if one.categories or one.text}
    urls = sorted({url for _, url in more})
    for begin_at in range(0, len(urls), BATCH):
        some = Feedback.objects.filter(item__url__in=urls[begin_at : begin_at + BATCH])
        items = []
        for row in some.select_related("item", "reader"):
            if one := more.get((row.reader.username, row.item.url)):
                row.item.categories, row.item.text = list(one.categories), one.text
                items.append(row.item)
        Item.objects.bulk_update(items, ["categories", "text"], batch_size=BATCH)


def news_publish(histories: Sequence[History], readers: Sequence[Reader], seed: int, now: datetime) -> None:
    """Store fresh articles like those that anybody rated, as feeds that the readers read."""
    rated = sorted((one for h in histories for one in h.rated), key=lambda one: len(one.categories))
    found = {(one.source, one.title): (one.categories, one.text) for one in rated}
    rng = random.Random(seed)
    drawn = rng.sample(sorted(found), min(NEWS, len(found)))
    sources = sorted({source for source, _ in drawn})
    Source.objects.bulk_create([Source(key=key, title=key) for key in sources], ignore_conflicts=True)
    rows = [Feed(url=f"https://{key}/news.xml", source_id=key) for key in sources]
    Feed.objects.bulk_create(rows, ignore_conflicts=True)
    feeds = dict(Feed.objects.filter(url__in=[row.url for row in rows]).values_list("source_id", "pk"))
    Item.objects.bulk_create(
        _item(
            f"{now:%F}/{n}",
            feeds[source],
            Rated("", title, source, (), True, *found[source, title]),
            now - timedelta(hours=NEWS_HOURS * rng.random()),
        )
        for n, (source, title) in enumerate(drawn)
    )
    Subscription.objects.bulk_create(
        (
            Subscription(reader=reader, feed_id=pk, created_at=now - SPAN)
            for reader in readers
            for pk in feeds.values()
        ),
        batch_size=500,
        ignore_conflicts=True,
    )


def _item(name: str, feed_id: int, one: Rated, at: datetime) -> Item:
    url = f"https://{one.source}/news/{name}"
    dates = {"published_at": at, "first_seen_at": at, "dated_at": at}
    article = article_hash(url)
    own = {"guid": url, "url": url, "article": article, "own": True, "fingerprint": f"{article % 2**64:064x}"}
    words = {"title": one.title, "text": one.text, "categories": list(one.categories)}
    return Item(feed_id=feed_id, source_id=one.source, **words, **dates, **own)


def _lines(thumbs: Sequence[Thumbs], begin: datetime, end: datetime) -> Iterator[str]:
    for reader, rated in thumbs:
        for i, one in enumerate(rated):
            at = (begin + (end - begin) * (i + 1) / (len(rated) + 1)).isoformat()
            row = {"reader": reader, "url": one.url, "title": one.title, "source": one.source}
            row |= {"reason_tags": one.reasons} if one.reasons else {}
            yield json.dumps(row | {"useful": int(one.liked), "at": at, "published": at})


def _tested(
    n: int, history: History, reader: Reader, topics: Sequence[str], trial: Trial, about: About | None
) -> Course:
    """Run the advisor for one reader. Return the result."""
    if topics:
        edit = ConfigEdit(topics=topics)
        config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=NOW)
    first = config_effective(reader_id=reader.pk)
    later = history.rated[trial.thumbs :]
    judge = Pools(later, [n, 0], about) if trial.thumbs else None
    halves = Halves(later, n, about) if trial.thumbs else None
    result = run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=NOW, force=True, inline=True)
    asked = []
    for suggestion in suggestions_pending(reader_id=reader.pk):
        after = suggestion.change.applied(first)
        gain = judge.gain(first, after) if judge else 0.0
        twice = halves.gains(first, after) if halves else ()
        suggestion_accept(reader_id=reader.pk, suggestion_id=suggestion.pk, now=NOW)
        asked.append(replace(asked_of(suggestion, 1, gain), halves=twice))
    last = config_effective(reader_id=reader.pk)
    start_value, end = (judge.value(first), judge.value(last)) if judge else (0.0, 0.0)
    runs = Counter({run_ended(result.status, bool(asked)): 1})
    rated = len(history.rated[: trial.thumbs or None])
    return Course(n, False, start_value, (0.0, end - start_value), (rated,), tuple(asked), dict(runs))


def asked_of(suggestion: Suggestion, week: int, gain: float) -> Asked:
    """Return the record of an accepted suggestion."""
    kind, target = suggestion.suggestion_type, suggestion.target_key
    return Asked(week, kind, target, gain, True, suggestion.p_helpful, suggestion.confidence)


def run_ended(status: str, advised: bool) -> str:
    """How a run ended; one that was completed either advised or was silent."""
    if status != "completed":
        return status
    return "advised" if advised else "silent"
