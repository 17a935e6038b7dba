"""Added difficulties of the day: hostile feeds among good ones, hostile rows, and a reader who puts on the
heaviest load.

The feeds answer with bombs, broken bodies, a byte a second, or an order to go away. The reader is Mallory of
`tests.lab faults fairness`, for the whole day.
"""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from digest.models import Feed, Reader
from tests.lab.bench.publisher import address
from tests.lab.faults.fairness import feeds_filled, reader_new
from tests.lab.faults.mallory import doing_the_worst
from tests.lab.load.day.poisoned import Poisoned
from tests.support.factories import SourceFactory, SubscriptionFactory

HOSTILE = ("bomb", "truncated", "drip", "busy", "down", "moved/9")
# The first host of these feeds' publishers, after Mallory's.
FIRST_HOST = 600
# Mallory's suggestions stay out: the day's figures on runs are about readers who asked once each.
LEFT_OUT = ("suggestions",)


@dataclass(slots=True)
class Worst:
    """Both difficulties, from `start` to `stop`, with counts."""

    port: int
    publisher: int
    poisoned: Poisoned
    answers: Counter[str] = field(default_factory=Counter)
    good: list[int] = field(default_factory=list)
    hostile: list[int] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self, reader: Reader) -> None:
        """Give `reader` a hostile feed before each good one, and let Mallory begin."""
        now = timezone.now()
        for n in range(2 * len(HOSTILE)):
            kind = "good" if n % 2 else HOSTILE[n // 2]
            feed = Feed.objects.create(
                url=f"http://{address(FIRST_HOST + n)}:{self.publisher}/{kind}/day{n}",
                source=SourceFactory(key=f"day{n}.example"),
                next_check_at=now - timedelta(minutes=30 - n),
            )
            SubscriptionFactory(reader=reader, feed=feed)
            (self.good if n % 2 else self.hostile).append(feed.pk)
        self.poisoned.start(reader)
        mallory = reader_new(feeds_filled(self.publisher), self.publisher)
        self._stack.enter_context(
            doing_the_worst(mallory, self.port, self.publisher, self.answers, without=LEFT_OUT)
        )

    def stop(self) -> None:
        """Let Mallory's last requests end."""
        self._stack.close()

    def counted(self) -> int:
        """How many of Mallory's requests were answered."""
        return sum(count for answer, count in self.answers.items() if answer.split()[-1].isdecimal())

    def unanswered(self) -> int:
        """How many of Mallory's requests she gave up before an answer: the site may have counted them."""
        return self.answers.total() - self.counted()

    def busy(self) -> int:
        """How many were answered with 503: pictures for which she had no place."""
        return self.answers["picture 503"]

    def feeds(self) -> dict[str, Any]:
        """Return the number of good feeds that were not fetched, and of hostile ones that were not asked."""
        return {
            "unfetched": Feed.objects.filter(pk__in=self.good, last_fetched_at=None).count(),
            "unasked": Feed.objects.filter(pk__in=self.hostile, last_fetched_at=None, failures=0).count(),
        }
