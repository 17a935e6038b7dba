"""An account is deleted while its reader's own requests and tasks write."""

from threading import Barrier

import pytest
from django.apps import apps
from django.db import DatabaseError

from advisor.models import Run
from advisor.run.request import run_request
from digest.accounts.services import reader_delete
from digest.daily.services import digest_build
from digest.feedback.services import feedback_set, weights_update
from digest.models import Reader
from digest.sources.past_import import past_import
from ranking.entities import RankingError
from ranking.services import ConfigEdit, config_edit
from tests.support.browser import fresh_item
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import CLOCK
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db(transaction=True)


def rows_of(reader_id) -> dict[str, int]:
    """Return how many rows of each table name the reader."""
    found = {}
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.related_model is Reader:
                found[f"{model.__name__}.{field.name}"] = model._base_manager.filter(
                    **{field.attname: reader_id}
                ).count()
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("what", ["digest", "run", "weights", "settings", "stars", "thumbs"])
def test_no_task_that_runs_beside_a_deletion_leaves_rows_of_its_reader(what: str, ada: Reader, ben, tmp_path):
    opinionated(ada, now=CLOCK)
    item, _ = fresh_item(ada), fresh_item(ben)
    stars = b'[{"url": "https://own.example/1", "title": "own"}]'
    tasks = {
        "digest": lambda: digest_build(reader=ada, date=CLOCK.date(), now=CLOCK),
        "run": lambda: run_request(reader=ada, trigger=Run.Trigger.COMMAND, now=CLOCK, force=True),
        "weights": lambda: weights_update(reader_id=ada.pk, now=CLOCK),
        "settings": lambda: config_edit(
            reader_id=ada.pk, edit=ConfigEdit(topics=["tides"]), expected_version=0, now=CLOCK
        ),
        "thumbs": lambda: [
            feedback_set(reader=ada, item_id=item.pk, useful=bool(n % 2), now=CLOCK) for n in range(50)
        ],
        "stars": lambda: past_import(reader=ada, document=stars, now=CLOCK),
    }
    start = Barrier(2)

    def act(n: int) -> str:
        try:
            if n:
                start.wait()
                reader_delete(reader=Reader.objects.get(pk=ada.pk))
                return "deleted"
            start.wait()
            for _ in range(4):
                tasks[what]()
        except (DatabaseError, Reader.DoesNotExist, RankingError) as error:
            return type(error).__name__
        return "done"

    with database_on_disk(tmp_path / "shared.sqlite3"):
        answers = at_once(act, writers=2)
        assert answers[1] == "deleted", answers
        left, others = seen_by_writers(lambda: (rows_of(ada.pk), Reader.objects.filter(pk=ben.pk).count()))
    assert (left, others) == ({}, 1), answers
