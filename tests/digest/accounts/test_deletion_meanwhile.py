"""An account is deleted while its reader's own requests and tasks write."""

from collections.abc import Callable
from threading import Barrier

import pytest
from django.apps import apps
from django.db import DatabaseError
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from advisor.models import Run
from advisor.run.request import run_begin, run_request, run_wait
from digest import places
from digest.accounts.services import reader_delete
from digest.accounts.tokens import token_issue
from digest.daily.services import digest_build
from digest.errors import DigestError, SignInNeeded
from digest.feedback.services import feedback_set, weights_update
from digest.models import Reader
from digest.places import TURNS, Places
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
        except (DatabaseError, DigestError, Reader.DoesNotExist, RankingError) as error:
            return type(error).__name__
        return "done"

    with database_on_disk(tmp_path / "shared.sqlite3"):
        answers = at_once(act, writers=2)
        assert answers[1] == "deleted", answers
        left, others = seen_by_writers(lambda: (rows_of(ada.pk), Reader.objects.filter(pk=ben.pk).count()))
    assert (left, others) == ({}, 1), answers


def test_who_asks_for_suggestions_while_the_account_is_deleted_is_led_to_the_sign_in(ada: Reader):
    opinionated(ada, now=CLOCK)
    run = Run.objects.create(reader=ada, day=CLOCK.date(), trigger=Run.Trigger.UI, created_at=CLOCK)
    reader_delete(reader=Reader.objects.get(pk=ada.pk))
    for wait in (
        lambda: run_begin(run=run, now=CLOCK),
        lambda: run_wait(run_id=run.pk, now=CLOCK, timeout_s=1),
    ):
        with pytest.raises(SignInNeeded):
            wait()


ANSWERS: dict[str, tuple[int, Callable[[Client, str, str], HttpResponse]]] = {
    "page": (302, lambda client, token, feed: client.get("/ui/all")),
    "form": (302, lambda client, token, feed: client.post("/ui/searches/save", {"q": "harbour"})),
    "wish": (302, lambda client, token, feed: client.post("/ui/wishes", {"words": "mute cats"})),
    "api": (401, lambda client, token, feed: client.get("/api/items")),
    "call with a key": (
        401,
        lambda client, token, feed: Client().post(
            "/api/searches",
            {"q": "harbour"},
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}", "Idempotency-Key": "k1"},
        ),
    ),
    "app": (
        401,
        lambda client, token, feed: Client().post(
            "/reader/api/0/mark-all-as-read",
            {"s": "user/-/state/com.google/reading-list"},
            headers={"Authorization": f"GoogleLogin auth={token}"},
        ),
    ),
    "feed": (404, lambda client, token, feed: Client().get(f"/feeds/{feed}/atom.xml")),
}


@pytest.mark.parametrize("door", ANSWERS)
def test_a_request_that_waited_for_its_turn_while_the_account_was_deleted_does_nothing(
    door: str, ada: Reader, client: Client, monkeypatch: pytest.MonkeyPatch
):
    token = token_issue(reader=ada, name="app", scope="full", expires_at=None, now=timezone.now()).secret
    ada.feed_token, ada.welcomed_at = "lamp-and-kettle", timezone.now()
    ada.save()
    client.force_login(ada)

    def deleted_meanwhile(self: Places, who: object, wait_s: float, line: str) -> bool:
        if self is TURNS and Reader.objects.filter(pk=who).exists():
            reader_delete(reader=Reader.objects.get(pk=who))
            places._request.waited = True  # as if that request had been answered first
        return take(self, who, wait_s, line)

    take = Places._take
    monkeypatch.setattr(Places, "_take", deleted_meanwhile)
    expected, ask = ANSWERS[door]
    answer = ask(client, token, "lamp-and-kettle")
    assert answer.status_code == expected
    assert not Reader.objects.filter(pk=ada.pk).exists() and not rows_of(ada.pk)
    if expected == 302:
        assert answer["Location"] == "/accounts/login/" and "_auth_user_id" not in client.session
