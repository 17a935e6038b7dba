"""Work to interrupt, its recovery, and the checks for lost or doubled rows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.conf import settings
from django.utils import timezone

from advisor.models import Run
from advisor.run.request import run_execute_next, run_request, runs_reconcile
from config.jobs.lease import LEASE
from config.jobs.nightly import nightly_run
from config.models import NightlyReport
from digest.feeds.fetch_batch import feeds_fetch
from digest.mail.send import digests_deliver
from digest.models import Digest, Feed, Impression, Item, Reader
from ranking.models import ConfigVersion, RankConfig, WeightSnapshot
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.services.resolve import suggestion_accept
from tests.lab.bench.publisher import address
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)
from tests.support.histories import opinionated
from tests.support.suggestion_worlds import proposed, tastes

State = dict[str, Any]
EVIDENCE_LEAST = 3
ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)


class Scene(Protocol):
    """One thing to interrupt. `prepare` fills the database once, everything else works on copies of it."""

    now: datetime

    def prepare(self) -> None:
        """Fill the database."""

    def act(self) -> None:
        """Do the work that is killed."""

    def mend(self) -> None:
        """Do what workers and people do afterwards without help."""

    def state(self) -> State:
        """Return the state that must be the same after a kill at any moment."""

    def torn(self) -> list[str]:
        """Return signs of half a transaction. Signs that a run without a kill leaves, too, do not count."""


@dataclass
class Generate:
    """A run for a reader, with models on the panel, and the process that carries it out dies."""

    now: datetime = field(default_factory=timezone.now)

    def prepare(self) -> None:
        """A reader with clear opinions."""
        opinionated(ReaderFactory(username="ada", time_zone="UTC"), now=self.now)

    def act(self) -> None:
        """Ask, and carry the run out here."""
        run_request(reader=Reader.objects.get(), trigger=Run.Trigger.SCHEDULED, now=self.now, inline=True)

    def mend(self) -> None:
        """Run the reconciler and a worker. If no run was begun, the schedule asks again."""
        later = runs_attended(self.now)
        if not Run.objects.exists():
            run_request(reader=Reader.objects.get(), trigger=Run.Trigger.SCHEDULED, now=later, inline=True)

    def state(self) -> State:
        """Return the runs and their proposals."""
        return runs_state()

    def torn(self) -> list[str]:
        """Return a suggestion without its evidence."""
        return suggestions_torn()


@dataclass
class Accept:
    """A reader accepts a suggestion, and the process that writes it down dies."""

    now: datetime = field(default_factory=timezone.now)

    def prepare(self) -> None:
        """A reader with a suggestion."""
        reader = ReaderFactory(username="ada", time_zone="UTC")
        tastes(reader)
        proposed(reader)
        Suggestion.objects.update(created_at=self.now)

    def act(self) -> None:
        """Accept it."""
        suggestion_accept(reader_id=Reader.objects.get().pk, suggestion_id=_the_suggestion(), now=self.now)

    def mend(self) -> None:
        """The reader, who saw an error, presses the button again."""
        self.act()

    def state(self) -> State:
        """Return the settings, their versions, the outcome and the profile."""
        profile = PreferenceProfile.objects.first()
        return {
            "statuses": list(Suggestion.objects.values_list("status", flat=True)),
            "outcomes": list(Outcome.objects.values_list("kind", "outcome")),
            "versions": list(ConfigVersion.objects.order_by("version").values_list("version", "cause")),
            "weights": [config.source_weights for config in RankConfig.objects.all()],
            "profile": [profile.total_outcomes, profile.acceptance_stats] if profile else None,
        }

    def torn(self) -> list[str]:
        """Any of it without the rest."""
        accepted = Suggestion.objects.filter(status="accepted").count()
        parts = {accepted, Outcome.objects.count(), ConfigVersion.objects.filter(cause="accept").count()}
        return [f"{sorted(parts)} of a kind"] if len(parts) > 1 else []


@dataclass
class Nightly:
    """The night's work, in a worker that dies; `port` is the publishers'."""

    port: int
    now: datetime = field(default_factory=timezone.now)

    def prepare(self) -> None:
        """Two readers with mail, items, feeds to fetch and opinions to learn from."""
        for n, name in enumerate(("ada", "ben")):
            reader = ReaderFactory(username=name, time_zone="UTC", mail_rhythm="daily", mail_hour=0)
            feed = FeedFactory(source=SourceFactory(key=f"{name}.example"))
            SubscriptionFactory(reader=reader, feed=feed)
            ItemFactory.create_batch(3, source=feed.source, published_at=self.now - timedelta(hours=3))
            published = Feed.objects.create(
                url=f"http://{address(n)}:{self.port}/good/{name}",
                source=SourceFactory(key=f"published-{name}.example"),
                next_check_at=self.now - timedelta(minutes=1),
            )
            SubscriptionFactory(reader=reader, feed=published)
        opinionated(Reader.objects.get(username="ada"), now=self.now)

    def act(self) -> None:
        """The whole night."""
        nightly_run(now=self.now)

    def mend(self) -> None:
        """Run the later schedule: the nightly job again, the reconciler, the fetch batches and the mails."""
        night = NightlyReport.objects.filter(status="running")
        for n in range(1, 4):
            nightly_run(now=self.now + n * (LEASE + timedelta(seconds=2)))
            if not night.exists():
                break
        runs_attended(self.now + timedelta(minutes=8))
        feeds_fetch(now=self.now + timedelta(minutes=11))
        for minutes in (16, 40):
            digests_deliver(now=self.now + timedelta(minutes=minutes))

    def state(self) -> State:
        """Digests, items, learning cycles, runs and suggestions."""
        shown = Impression.objects.order_by("digest__reader__username", "rank")
        return {
            **runs_state(),
            "night": list(NightlyReport.objects.values_list("status", flat=True)),
            "items": Item.objects.count(),
            "feeds": Feed.objects.filter(last_fetched_at__isnull=False, error_code="").count(),
            "shown": list(shown.values_list("digest__reader__username", "item_id")),
            "digests": Digest.objects.count(),
            "cycles": sorted(
                Counter(WeightSnapshot.objects.values_list("reader__username", flat=True)).items()
            ),
        }

    def torn(self) -> list[str]:
        """Return a digest without its items, or a suggestion without its evidence."""
        empty = Digest.objects.filter(impressions=None).values_list("reader__username", "date")
        return [*suggestions_torn(), *(f"digest of {name}, {day}" for name, day in empty)]


def runs_attended(now: datetime) -> datetime:
    """Run the reconciler once every lease has ended, then a worker until nothing is queued. Return the time
    then."""
    leases = Run.objects.filter(status=Run.Status.RUNNING).values_list("lease_until", flat=True)
    later = max([now, *(lease for lease in leases if lease)]) + timedelta(seconds=1)
    runs_reconcile(now=later)
    while run_execute_next(now=later):
        pass
    return later


def runs_state() -> State:
    """Return the outcomes of runs, and their proposals with the amount of evidence."""
    rows = Suggestion.objects.order_by("reader__username", "target_key", "pk").prefetch_related("evidence")
    return {
        "runs": sorted(Run.objects.values_list("reader__username", "status")),
        "suggestions": [
            (row.suggestion_type, row.target_key, row.suggested_value, row.status, row.evidence.count())
            for row in rows
        ],
    }


def suggestions_torn() -> list[str]:
    """Suggestions that lack evidence."""
    rows = Suggestion.objects.prefetch_related("evidence")
    return [f"suggestion {row.target_key}" for row in rows if row.evidence.count() < EVIDENCE_LEAST]


def _the_suggestion() -> int:
    return int(Suggestion.objects.values_list("pk", flat=True).get())


def scenes(port: int) -> Iterator[tuple[str, Scene]]:
    """Yield each by its name; `port` is the publishers'."""
    assert not settings.REDIS_URL, "runs are carried out in the process that is killed"
    yield "crash_generate", Generate()
    yield "crash_accept", Accept()
    yield "crash_nightly", Nightly(port)
