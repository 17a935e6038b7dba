"""A check by headlines under attack: late, settled, somebody else's, twice and beside another answer."""

from datetime import timedelta

import pytest
from django.test import Client

from digest.accounts.tokens import token_issue
from digest.models import Feedback
from ranking.selectors import config_effective
from suggestions.models import Outcome, Suggestion
from suggestions.proposals import EXPIRE_DAYS, Refusal, Resolved
from suggestions.services.checks import Checked, suggestion_check, suggestion_check_begin
from suggestions.services.resolve import suggestion_accept, suggestion_undo
from tests.suggestions.services.test_checks import begin, thumbs_weak
from tests.support.concurrency import at_once, database_on_disk, seen_by_writers
from tests.support.factories import CLOCK, ReaderFactory
from tests.support.suggestion_worlds import LOVED, proposed, unread

pytestmark = pytest.mark.django_db
Status = Suggestion.Status


def check(reader, suggestion: Suggestion, answers: dict[int, bool], now=CLOCK) -> Checked | Refusal:
    return suggestion_check(reader=reader, suggestion_id=suggestion.pk, answers=answers, now=now)


@pytest.fixture
def suggestion(ada) -> Suggestion:
    thumbs_weak(ada)
    return proposed(ada)


@pytest.fixture
def ids(ada, suggestion) -> list[int]:
    return [one.item_id for one in begin(ada, suggestion)]


@pytest.mark.parametrize("status", [one for one in Status if one != Status.PENDING])
def test_a_suggestion_that_does_not_wait_is_neither_shown_nor_checked(status, ada, suggestion, ids):
    Suggestion.objects.filter(pk=suggestion.pk).update(
        status=status, snoozed_until=CLOCK + timedelta(days=1) if status == Status.SNOOZED else None
    )
    answers = dict.fromkeys(ids, False)
    for found in (
        check(ada, suggestion, answers),
        suggestion_check_begin(reader=ada, suggestion_id=suggestion.pk, now=CLOCK),
    ):
        code = "not_found" if status in Suggestion.UNSEEN else "already_resolved"
        assert isinstance(found, Refusal) and found.code == code
    suggestion.refresh_from_db()
    assert (suggestion.status, suggestion.checked) == (status, None)
    assert not Feedback.objects.filter(origin="check").exists() and not Outcome.objects.exists()


def test_an_expired_suggestion_is_not_checked_before_the_sweep_either(ada, suggestion, ids):
    late = CLOCK + timedelta(days=EXPIRE_DAYS, seconds=1)
    unread(at=late)
    done = check(ada, suggestion, dict.fromkeys(ids, True), late)
    assert isinstance(done, Refusal) and done.code == "already_resolved"
    assert not Feedback.objects.filter(origin="check").exists()


def test_another_reader_by_page_api_or_token_changes_nothing(ada, suggestion, ids, settings):
    ben = ReaderFactory(username="ben")
    address = f"/api/suggestions/{suggestion.pk}/check"
    answers = {"answers": [{"item_id": pk, "useful": False} for pk in ids]}
    client = Client()
    client.force_login(ben)
    sent = {"content_type": "application/json"}
    assert client.get(address).status_code == client.post(address, answers, **sent).status_code == 404
    assert client.get(f"/ui/suggestions/{suggestion.pk}/check").status_code == 404
    posted = {f"item-{pk}": "no" for pk in ids}
    assert client.post(f"/ui/suggestions/{suggestion.pk}/check", posted).status_code == 404
    for reader, scope, status in ((ben, "full", 404), (ada, "read", 403)):
        secret = token_issue(reader=reader, name="x", scope=scope, expires_at=None, now=CLOCK).secret
        head = {"Authorization": f"Bearer {secret}"}
        assert Client().post(address, answers, headers=head, **sent).status_code == status, scope
    assert not Feedback.objects.filter(origin="check").exists()


def test_what_a_check_withdrew_is_brought_back_by_no_undo(ada, suggestion, ids):
    done = check(ada, suggestion, dict.fromkeys(ids, False))
    assert isinstance(done, Checked) and done.is_withdrawn
    undone = suggestion_undo(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
    assert isinstance(undone, Refusal)
    suggestion.refresh_from_db()
    assert suggestion.status == "withdrawn" and Outcome.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_answers_to_a_check_at_once_exactly_one_counts(ada, suggestion, ids, tmp_path):
    with database_on_disk(tmp_path / "shared.sqlite3"):
        done = at_once(lambda n: check(ada, suggestion, dict.fromkeys(ids, bool(n % 2))))
        given, outcomes = seen_by_writers(
            lambda: (list(Feedback.objects.filter(origin="check")), Outcome.objects.count())
        )
    (counted,) = (one for one in done if isinstance(one, Checked))
    assert {one.code for one in done if isinstance(one, Refusal)} <= {"already_checked", "already_resolved"}
    assert len(given) == len(ids) and len({one.useful for one in given}) == 1
    assert outcomes == counted.is_withdrawn and given[0].useful != counted.is_withdrawn


@pytest.mark.django_db(transaction=True)
def test_of_a_yes_and_a_check_that_withdraws_at_once_exactly_one_wins(ada, suggestion, ids, tmp_path):
    def answer(n: int) -> object:
        if n % 2:
            return suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=CLOCK)
        return check(ada, suggestion, dict.fromkeys(ids, False))

    with database_on_disk(tmp_path / "shared.sqlite3"):
        answers = at_once(answer)
        status, weight, outcomes = seen_by_writers(
            lambda: (
                Suggestion.objects.get().status,
                config_effective(reader_id=ada.pk).weight(LOVED),
                [row.outcome for row in Outcome.objects.all()],
            )
        )
    accepted = [one for one in answers if isinstance(one, Resolved)]
    withdrew = [one for one in answers if isinstance(one, Checked)]
    assert len(accepted) + len(withdrew) == 1, answers
    assert status == outcomes[0] == ("accepted" if accepted else "withdrawn") and len(outcomes) == 1
    assert (weight > 1) == bool(accepted)
