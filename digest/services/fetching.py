"""The round: many feeds over HTTP at once, into the database as they answer."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue

import structlog
from django.conf import settings

from digest.feeds import FeedProblem
from digest.fetch import Fetched, fetch, host_of
from digest.models import Feed
from digest.parse import parse_document
from digest.politeness import HostGate, HostQueue, Visit, host_gate
from digest.reports import FetchReport, IngestResult, broken
from digest.selectors.feeds import feeds_due
from digest.services.polling import Failed, Heard, answers_keep, feeds_claim, problems_keep

# A round ends after this time; what it did not reach stays due for the next. Rounds begin every 5 minutes.
ROUND_S = 240.0
# A round looks at so many feeds at most, those that wait longest.
ROUND_FEEDS = 5_000
# A claim outlives its round by more than the longest fetch takes.
CLAIM_SLACK_S = 300.0
# How long a host is left alone after 429, by default and at most, in seconds.
HOLD_S, HOLD_MAX_S = 300.0, 24 * 3600.0
log = structlog.get_logger(__name__)
# A wait that is worth a word to whoever watches; the usual pause between two visits is shorter.
WAIT_TOLD_S = 5.0
Progress = Callable[[str], None]
Waiting = Callable[[str, float], None]
Take = Callable[..., list[Feed]]
Answer = Fetched | FeedProblem
Answers = SimpleQueue[tuple[str, Feed, Answer]]
Kept = list[IngestResult | FeedProblem]


def _quiet(name: str) -> None:
    """No progress is shown."""


def _untold(host: str, seconds: float) -> None:
    """Nobody is told what is waited for."""


def feeds_fetch(
    *,
    now: datetime,
    feeds: Iterable[Feed] | None = None,
    progress: Progress = _quiet,
    seconds: float = ROUND_S,
    draw: Callable[[], float] = random.random,
    waiting: Waiting = _untold,
) -> FetchReport:
    """Fetch `feeds` (by default those that are due) over HTTP, several at once, and keep their items.

    Each is claimed before it is asked, so that no other worker asks too. One connection at a time goes to a
    host, with a pause between two; a round takes at most `seconds`. Only this thread talks to the database.
    Feeds that are paused, gone or imported are left alone. `draw` gives random numbers from 0 to 1; `waiting`
    hears of a host, and for how many seconds, whose pause is all that the round waits for.
    """
    report = FetchReport()
    chosen = feeds_due(now=now)[:ROUND_FEEDS] if feeds is None else feeds
    queue = HostQueue((host_of(feed.url), feed) for feed in chosen if feed.state == Feed.State.ACTIVE)
    until = now + timedelta(seconds=seconds + CLAIM_SLACK_S)
    take = partial(feeds_claim, now=now, until=until)
    for group in _answers(queue, host_gate(), take, time.monotonic() + seconds, waiting):
        for (feed, answer), outcome in zip(group, _group_keep(group, now, draw), strict=True):
            progress(feed.url)
            report.add(feed.url, outcome, unchanged=isinstance(answer, Fetched) and answer.body is None)
    report.left = len(queue)
    return report


def _group_keep(group: Sequence[tuple[Feed, Answer]], now: datetime, draw: Callable[[], float]) -> Kept:
    """Keep the answers that came together; a fault of our own becomes one feed's problem only."""
    read = [_read(feed, answer, draw()) for feed, answer in group]
    heard = [one for one in read if isinstance(one, Heard)]
    kept = dict(zip((one.feed.pk for one in heard), _heard_keep(heard, now), strict=True))
    outcomes = [kept[one.feed.pk] if isinstance(one, Heard) else one for one in read]
    failed = [
        Failed(feed, outcome, draw())
        for (feed, _), outcome in zip(group, outcomes, strict=True)
        if isinstance(outcome, FeedProblem)
    ]
    problems_keep(failed=failed, now=now)
    for one in failed:
        log.warning(
            "feed.refused",
            feed_id=one.feed.pk,
            host=host_of(one.feed.url),
            code=one.problem.code,
        )
    return outcomes


def _heard_keep(heard: Sequence[Heard], now: datetime) -> Kept:
    """What each answer brought. Where they cannot be kept together, each is tried by itself."""
    try:
        return list(answers_keep(heard=heard, now=now))
    except Exception as error:
        if len(heard) > 1:
            return [outcome for one in heard for outcome in _heard_keep([one], now)]
        log.exception("feed.broke", feed_id=heard[0].feed.pk, host=host_of(heard[0].feed.url))
        return [broken("keep this document", error)]


def _read(feed: Feed, answer: Answer, draw: float) -> Heard | FeedProblem:
    if isinstance(answer, FeedProblem):
        return answer
    try:
        body = answer.body
        parsed = None if body is None else parse_document(body, url=answer.url or feed.url)
        return Heard(feed, answer, parsed, draw)
    except FeedProblem as problem:
        return problem
    except Exception as error:
        log.exception("feed.broke", feed_id=feed.pk, host=host_of(feed.url))
        return broken("read this document", error)


def _answers(
    queue: HostQueue[Feed], gate: HostGate, take: Take, end: float, waiting: Waiting
) -> Iterator[list[tuple[Feed, Answer]]]:
    """Fetch in threads; give the answers as they come, those that came meanwhile together.

    As many are on their way or waiting to be kept as there are threads: that bounds the memory, at 5 MiB
    packed or 10 MiB plain for each.
    """
    workers = max(settings.FETCH_WORKERS, 1)
    answers: Answers = SimpleQueue()
    under_way = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="fetch") as pool:
        while True:
            free = workers - under_way if time.monotonic() < end else 0
            for host, feed in _taken(queue, gate, take, free):
                pool.submit(_ask_into, answers, host, feed, Visit(gate, host))
                under_way += 1
            pause = queue.pause_s()
            useful = under_way < workers and time.monotonic() + pause < end
            if not under_way and not useful:
                return
            if not under_way and pause >= WAIT_TOLD_S:
                waiting(queue.next_host(), pause)
            group = _arrived(answers, timeout=pause if useful else None)
            under_way -= len(group)
            for host, _, _ in group:
                queue.again(host)
            if group:
                yield [(feed, answer) for _, feed, answer in group]


def _taken(queue: HostQueue[Feed], gate: HostGate, take: Take, most: int) -> list[tuple[str, Feed]]:
    """Up to `most` feeds whose hosts may be visited now, claimed; what others have claimed is passed over."""
    found: list[tuple[str, Feed]] = []
    while len(found) < most and (one := queue.next(gate)):
        found.append(one)
    ours = {id(feed) for feed in take(feeds=[feed for _, feed in found])} if found else set()
    for host, feed in found:
        if id(feed) not in ours:
            gate.forgo(host)
            queue.again(host)
    return [(host, feed) for host, feed in found if id(feed) in ours]


def _arrived(answers: Answers, *, timeout: float | None) -> list[tuple[str, Feed, Answer]]:
    """Every answer that is there, once there is one; none where none comes in time."""
    group: list[tuple[str, Feed, Answer]] = []
    with suppress(Empty):
        group.append(answers.get(timeout=timeout))
        while True:
            group.append(answers.get_nowait())
    return group


def _ask_into(answers: Answers, host: str, feed: Feed, visit: Visit) -> None:
    """Put the answer where it is waited for; a fault of our own is this one feed's problem."""
    try:
        answer = _ask(feed, visit)
    except Exception as error:
        log.exception("feed.broke", feed_id=feed.pk, host=host_of(feed.url))
        answer = broken("ask for this feed", error)
    answers.put((host, feed, answer))


def _ask(feed: Feed, visit: Visit) -> Answer:
    """One fetch in a thread of its own; a server that was asked too often holds up its host's other feeds."""
    hold_s = 0.0
    try:
        return fetch(
            feed.url,
            etag=feed.etag,
            last_modified=feed.last_modified,
            allow=settings.FETCH_ALLOW_HOSTS,
            ports=settings.FETCH_PORTS,
            journey=visit,
        )
    except FeedProblem as problem:
        if problem.code == "http_429":
            hold_s = min(problem.retry_after_s or HOLD_S, HOLD_MAX_S)
        return problem
    finally:
        visit.end(hold_s=hold_s)
