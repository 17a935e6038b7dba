"""Rows of `tests.lab advisor --data fortnight`: all that Today asks of new readers in their first fortnight.

Simulated readers open Today at eight in the morning and at six in the evening, and answer whatever the page
itself asks, until it asks nothing. Thumbs, runs and decisions are those of the other simulations. Two of
three readers take up the interview. Each checks every card that can be checked, so checks are an upper bound.
A run asks a question of its own only with a model; without one there is none.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

from django.conf import settings
from django.test import Client

from advisor.models import Run
from advisor.run.request import run_request
from digest.feedback.services import weights_update
from suggestions.selectors import suggestions_pending
from suggestions.services.early import early_change_put_off
from tests.lab.advisor.day_one import early_answer
from tests.lab.advisor.driver import (
    BEGIN,
    WEEK,
    Life,
    Setting,
    interview_answer,
    life_begin,
    numbers_new,
    page_read,
    suggestion_checked,
    suggestion_decide,
)
from tests.lab.advisor.feeds import day_ingest, feeds_open
from tests.lab.advisor.report import Scale
from tests.lab.advisor.stage import Say, shards_run
from tests.lab.world.world import World, world_make

Json = dict[str, Any]
DAYS, READERS_MAX, SHARDS = 14, 12, 2
MORNING = timedelta(hours=10)
CARDS, EARLY, READ, OFFER, TIP = (
    "Suggestions",
    "An early change",
    "What you have read",
    "What you like",
    "Tip",
)
# As the page labels them.
ASKS = (CARDS, "A question", EARLY, READ, OFFER, TIP)
# More than the product's own bound, so that a fault of it would be seen.
ASKED_MAX = 8


def fortnight_rows(scale: Scale, say: Say) -> list[Json]:
    """Return a row for readers with preferences and one for those without: means over readers."""
    readers = range(min(scale.readers, READERS_MAX))
    tasks = [
        {"kind": "fortnight", "name": f"fortnight, part {part + 1}", "seed": scale.seeds[0], "readers": one}
        for part in range(SHARDS)
        if (one := list(readers[part::SHARDS]))
    ]
    lives = [life for result in shards_run(tasks, say=say) for life in result["lives"]]
    rows = []
    for null in (False, True):
        if some := [life for life in lives if life["null"] == null]:
            rows.append(_row(f"fortnight, {'no ' if null else ''}preferences", some))
    return rows


def _row(name: str, lives: Sequence[Json]) -> Json:
    total = sum((Counter(life["asks"]) for life in lives), Counter[str]())
    return {
        "name": name,
        "readers": len(lives),
        "asks": {kind: round(total[kind] / len(lives), 2) for kind in (*ASKS, "cards", "checks")},
        "asks_in_all": round(sum(total[kind] for kind in ASKS) / len(lives), 2),
        "most_in_all": max(sum(life["asks"].get(kind, 0) for kind in ASKS) for life in lives),
        "most_a_day": max(life["most_a_day"] for life in lives),
        "most_at_a_time": max(life["most_at_a_time"] for life in lives),
        "days_with_none": round(sum(life["days_with_none"] for life in lives) / len(lives), 2),
    }


def fortnight_run(
    seed: int, readers: Sequence[int], progress: Callable[[int], None], days: int = DAYS
) -> list[Json]:
    """Live through the fortnight in the current database, which must be empty and disposable."""
    world = world_make(seed, days)
    feeds = feeds_open(now=BEGIN - MORNING)
    lives = [_Asked(life_begin(world, number, shuffled=False)) for number in readers]
    numbers: dict[int, int] = {}
    for day in range(days):
        now = BEGIN + timedelta(days=day)
        day_ingest(world=world, feeds=feeds, day=day, now=now - MORNING)
        numbers |= numbers_new(now - MORNING)
        for life in lives:
            life.day(world, numbers, now)
        progress(day + 1)
    return [life.as_dict() for life in lives]


def _form_after(mark: str, body: str) -> str:
    """Return where the first form after `mark` is sent to."""
    return body[body.index(mark) :].partition('action="')[2].partition('"')[0]


class _Asked:
    """A reader's fortnight, and what was asked in it."""

    def __init__(self, life: Life) -> None:
        """Take a reader who has just begun."""
        self.life = life
        self.counts: Counter[str] = Counter()
        self.by_day: list[int] = []
        self.most_at_a_time = 0
        host = next((h for h in settings.ALLOWED_HOSTS if h.strip("*.")), "localhost")
        self.client = Client(HTTP_HOST=host)

    def day(self, world: World, numbers: dict[int, int], now: datetime) -> None:
        """Open Today twice, and answer it; read and rate in the evening."""
        reader = self.life.reader
        run_request(reader=reader, trigger=Run.Trigger.SCHEDULED, now=now - MORNING, inline=True)
        if len(self.by_day) % WEEK == WEEK - 1:
            weights_update(reader_id=reader.pk, now=now)
        asked = self._visit(numbers, now - MORNING)
        page_read(self.life, world, numbers, now, False, Setting(world.seed, DAYS // WEEK, ()))
        self.by_day.append(asked + self._visit(numbers, now + timedelta(minutes=5)))

    def _visit(self, numbers: dict[int, int], now: datetime) -> int:
        """Open the page, answer what it asks, and open it again until it asks nothing; return how often."""
        for answered in range(ASKED_MAX):
            with mock.patch("django.utils.timezone.now", return_value=now + timedelta(seconds=answered)):
                self.client.force_login(self.life.reader)
                response = self.client.get("/", secure=True)
                assert response.status_code == 200, response
                body = response.content.decode()
                shown = [name for name in ASKS if f'aria-label="{name}"' in body]
                self.most_at_a_time = max(self.most_at_a_time, len(shown))
                if not shown:
                    return answered
                self.counts[shown[0]] += 1
                self._answer(shown[0], numbers, now, body)
            self.life.reader.refresh_from_db()
        return ASKED_MAX

    def _answer(self, ask: str, numbers: dict[int, int], now: datetime, body: str) -> None:
        reader, person = self.life.reader, self.life.person
        if ask == CARDS:
            for suggestion in suggestions_pending(reader_id=reader.pk):
                self.counts["cards"] += 1
                self.counts["checks"] += suggestion_checked(self.life, suggestion, numbers, now, False)
                suggestion_decide(self.life, suggestion, 1, now, False)
        elif ask == EARLY:
            early_answer(reader, person, self.life.judge, now, flipped=False)
            early_change_put_off(reader=reader, now=now)
        elif ask == READ:
            self.client.post("/ui/today/read-gone", {"read_gone": "1"}, secure=True)
        elif ask == OFFER and person.number % 3:
            interview_answer(self.life, numbers, now)
            self.client.post("/ui/offer/end", secure=True)
        elif ask == OFFER:
            self.client.post("/ui/offer/end", secure=True)
        else:
            self.client.post(_form_after(f'aria-label="{ask}"', body), secure=True)

    def as_dict(self) -> Json:
        """Return the counts as JSON."""
        return {
            "null": self.life.person.null,
            "asks": dict(self.counts),
            "most_a_day": max(self.by_day),
            "most_at_a_time": self.most_at_a_time,
            "days_with_none": self.by_day.count(0),
        }
