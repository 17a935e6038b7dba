"""What a reader and the worker do to one day's page at the same moment: nothing breaks, and no answer counts
twice."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from digest.daily.services import digest_build, digest_refresh
from digest.errors import DigestError
from digest.feedback.services import feedback_set, weights_update
from digest.models import Digest, Reader
from digest.undo import step_keep
from ranking.entities import RankingError
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import learning_undo
from suggestions.models import Outcome, Suggestion
from suggestions.services.lifecycle import suggestions_sweep
from suggestions.services.resolve import (
    change_undo,
    suggestion_accept,
    suggestion_reject,
    suggestion_undo,
)
from tests.suggestions.services.test_changes import TODAY, learned, look, offer, week_of
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers

pytestmark = pytest.mark.django_db(transaction=True)
TURNS = 6


def test_answers_undos_learning_and_new_pages_at_once_break_nothing(ada: Reader, now, tmp_path):
    week_of(ada, now)
    items = list(look(ada, now).impressions.order_by("rank").values_list("item_id", flat=True))
    offer(ada, now)
    learned(ada, now, source="a.example")
    later = now + timedelta(minutes=5)

    def latest() -> int:
        return Suggestion.objects.order_by("-pk").values_list("pk", flat=True)[0]

    def answer(decide: Callable[..., object]) -> Callable[[int], object]:
        return lambda n: decide(reader_id=ada.pk, suggestion_id=latest(), now=later)

    def undo(n: int) -> None:
        version = config_effective(reader_id=ada.pk).config.version
        change_undo(reader=Reader.objects.get(pk=ada.pk), version=version, cycle="", now=later)

    acts: list[Callable[[int], object]] = [
        answer(suggestion_accept),
        answer(suggestion_undo),
        answer(suggestion_reject),
        undo,
        lambda n: digest_refresh(reader=Reader.objects.get(pk=ada.pk), now=later),
        lambda n: digest_build(reader=Reader.objects.get(pk=ada.pk), date=TODAY, now=later),
        lambda n: feedback_set(reader=ada, item_id=items[n], useful=bool(n % 2), now=later),
        lambda n: weights_update(reader_id=ada.pk, now=later + timedelta(days=7 * n)),
        lambda n: learning_undo(reader_id=ada.pk, cycle=TODAY, now=later),
        lambda n: suggestions_sweep(now=later, reader_id=ada.pk),
        lambda n: step_keep(reader=ada, kind="marked", values={"count": n}, now=later),
    ]

    def act(number: int) -> int:
        refused = 0
        for n in range(TURNS):
            try:
                acts[number](n)
            except (DigestError, RankingError):
                refused += 1
        return refused

    with database_on_disk(tmp_path / "shared.sqlite3"):
        at_once(act, writers=len(acts))
        pending, decided, versions, ranks = seen_by_writers(
            lambda: (
                Suggestion.objects.filter(status="pending").count(),
                list(Outcome.objects.filter(kind="decision").values_list("suggestion", flat=True)),
                list(ConfigVersion.objects.order_by("version").values_list("version", flat=True)),
                list(Digest.objects.get().impressions.order_by("rank").values_list("rank", flat=True)),
            )
        )
    assert pending <= 1 and len(decided) == len({*decided})
    assert versions == list(range(versions[0], versions[0] + len(versions))) if versions else True
    assert ranks == list(range(1, len(ranks) + 1))
