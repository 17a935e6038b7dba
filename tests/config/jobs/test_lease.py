"""The lease of a night: failed steps are retried, a dead worker is noticed, a hanging one can be replaced."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from advisor.models import Decision
from config.jobs.lease import (
    LEASE,
    STEP_NAMES,
    TRIES_MAX,
    NightNotLeased,
    night_is_leased,
    night_lease_renewal,
    night_release,
    steps_to_retry,
)
from config.jobs.nightly import STEPS, nightly_run
from config.jobs.schedule import JOBS
from config.models import NightlyReport
from tests.support.concurrency import database_on_disk, seen_by_writers

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@pytest.fixture
def done() -> list[str]:
    """Return the list of steps that `night` ran, in order."""
    return []


@pytest.fixture
def night(done: list[str]) -> dict:
    """Return seven steps that only record that they ran."""
    return {name: lambda now, name=name: done.append(name) or {"n": len(done)} for name in STEP_NAMES}


def breaking(_now: object) -> dict:
    raise ValueError("no ink")


class Killed(BaseException):
    """Stands for a killed process: no code after it runs."""


def killing(_now: object) -> dict:
    raise Killed


def held(now: datetime, **fields: object) -> NightlyReport:
    fields = {"started_at": now, "lease_until": now + MINUTE, "token": 3} | fields
    return NightlyReport.objects.create(day=now.astimezone(UTC).date(), **fields)


# --- Trying again --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_step_that_failed_is_done_again_alone_and_makes_the_night_whole(night, done, now):
    nightly_run(now=now, steps=night | {"cluster": breaking})
    assert nightly_run(now=now + 9 * MINUTE, steps=night).status == "failed" and len(done) == 6
    row = nightly_run(now=now + 11 * MINUTE, steps=night)
    assert row.status == "completed" and done[6:] == ["cluster"]
    assert (row.steps["cluster"]["tries"], row.steps["cluster"]["error"]) == (2, "")
    assert row.started_at == now and row.finished_at >= now + 11 * MINUTE
    nightly_run(now=now + 60 * MINUTE, steps=night)
    assert len(done) == 7


@pytest.mark.django_db
def test_what_goes_on_failing_is_tried_three_times_ever_later(night, done, now):
    tries = []
    steps = night | {"deliver": lambda at: tries.append(at) or breaking(at)}
    for minute in range(0, 12 * 60, 2):
        nightly_run(now=now + minute * MINUTE, steps=steps)
    assert [round((at - now) / MINUTE) for at in tries] == [0, 12, 44]  # the test looks every two minutes
    assert done.count("fetch") == 1 and NightlyReport.objects.get().status == "failed"


@pytest.mark.django_db
def test_a_person_may_try_at_once_and_as_often_as_they_like(night, done, now):
    for minute in range(5):
        nightly_run(now=now + minute * MINUTE, steps=night | {"learn": breaking}, manual=True)
    assert NightlyReport.objects.get().steps["learn"]["tries"] == 5 and len(done) == 6
    assert nightly_run(now=now + 5 * MINUTE, steps=night, manual=True).status == "completed"
    assert done[6:] == ["learn"]


@pytest.mark.django_db
def test_what_ended_its_process_twice_waits_for_a_person(night, done, now):
    for n in range(2):
        with pytest.raises(Killed):
            nightly_run(now=now + n * 2 * LEASE, steps=night | {"summarise": killing})
    nightly_run(now=now + 4 * LEASE, steps=night)
    assert nightly_run(now=now + 6 * 60 * MINUTE, steps=night).status == "failed"
    assert "summarise" not in done
    assert nightly_run(now=now + 7 * 60 * MINUTE, steps=night, manual=True).status == "completed"
    assert done[6:] == ["summarise"]


@pytest.mark.django_db
def test_the_next_day_has_a_night_of_its_own_and_leaves_the_failed_one(night, done, now):
    nightly_run(now=now, steps=night | {"learn": breaking})
    nightly_run(now=now + DAY, steps=night)
    assert done.count("learn") == 1
    assert [row.status for row in NightlyReport.objects.order_by("day")] == ["failed", "completed"]


@given(
    tries=st.integers(1, 6),
    crashes=st.integers(0, 3),
    minutes=st.integers(0, 24 * 60),
    status=st.sampled_from(["done", "failed"]),
)
def test_only_what_failed_is_due_again_and_by_itself_not_beyond_its_tries(tries, crashes, minutes, status):
    ended = datetime(2026, 3, 18, 4, tzinfo=UTC)
    steps = {"learn": {"status": status, "tries": tries, "crashes": crashes, "error": "", "counts": {}}}
    again = steps_to_retry(steps, ended_at=ended, now=ended + minutes * MINUTE)
    manual = steps_to_retry(steps, ended_at=ended, now=ended + minutes * MINUTE, manual=True)
    assert set(again) <= set(manual) == ({"learn"} if status == "failed" else set())
    if again:
        assert tries < TRIES_MAX and crashes < 2 and minutes >= 10
        assert again["learn"]["status"] == "waiting" and again["learn"]["tries"] == tries


# --- A sign of life ------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_long_step_keeps_its_night_and_renews_no_more_once_it_is_over(now, tmp_path):
    row = held(now, lease_until=now + LEASE)
    ticks = iter(range(10_000))

    def clock() -> datetime:  # each call of the clock is a minute later
        return now + next(ticks) * MINUTE

    def lease() -> datetime:
        return seen_by_writers(lambda: NightlyReport.objects.get().lease_until)

    with database_on_disk(tmp_path / "night.sqlite3"):
        with night_lease_renewal(row, clock, beat_s=0.01):
            ends = time.monotonic() + 10
            while lease() < now + 10 * MINUTE and time.monotonic() < ends:
                time.sleep(0.02)
        kept = lease()
        assert kept >= now + 10 * MINUTE
        time.sleep(0.1)
        assert lease() == kept


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", [{"token": 4}, {"status": "completed"}])
def test_a_night_that_is_somebody_elses_is_not_renewed(now, tmp_path, change):
    row = held(now)
    NightlyReport.objects.update(**change)
    with database_on_disk(tmp_path / "night.sqlite3"):
        with night_lease_renewal(row, lambda: now + MINUTE, beat_s=0.01):
            time.sleep(0.2)
        found = seen_by_writers(lambda: NightlyReport.objects.get().lease_until)
    assert found == now + MINUTE


@pytest.mark.django_db(transaction=True)
def test_a_step_that_hangs_loses_the_night_in_the_end(now, tmp_path):
    row = held(now)
    ticks = iter(range(10_000))
    with database_on_disk(tmp_path / "night.sqlite3"):
        with night_lease_renewal(row, lambda: now + next(ticks) * MINUTE, beat_s=0.01, lasting_s=600):
            time.sleep(0.5)  # enough for far more than ten calls of the clock
        found = seen_by_writers(lambda: NightlyReport.objects.get().lease_until)
    assert now + MINUTE < found <= now + 12 * MINUTE


def test_a_dead_worker_is_noticed_within_two_minutes():
    every = {job.name: job.interval for job in JOBS}
    assert LEASE + every["nightly"] <= timedelta(minutes=2)


CHILD = """
import time, django
django.setup()
from datetime import timedelta
from django.utils import timezone
import config.jobs.lease as lease
row = lease.night_claim(now=timezone.now())
with lease.night_lease_renewal(row, timezone.now, beat_s=0.05):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.django_db(transaction=True)
def test_the_signs_of_life_die_with_the_process(tmp_path, night):
    with database_on_disk(tmp_path / "night.sqlite3"):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, env=os.environ | _database(tmp_path)
        )
        try:
            assert child.stdout.readline() == b"held\n"
            first = _lease_after(lambda lease: True)
            assert _lease_after(lambda lease: lease > first) > first
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
            child.stdout.close()
        last = _lease_after(lambda lease: True)
        time.sleep(0.3)
        assert _lease_after(lambda lease: True) == last
        ended = seen_by_writers(lambda: nightly_run(now=last + MINUTE / 60, steps=night).status)
        assert ended == "completed"


def _database(tmp_path) -> dict[str, str]:
    """Return the settings by which a child process finds this test's database."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return {"DATABASE_URL": f"sqlite:///{tmp_path / 'night.sqlite3'}"}
    at = f"{known['USER']}:{known['PASSWORD']}@{known['HOST']}:{known['PORT']}"
    return {"DATABASE_URL": f"postgres://{at}/{known['NAME']}"}


def _lease_after(wanted) -> datetime:
    """Return the lease when it is as wanted, or its state after ten seconds."""
    ends = time.monotonic() + 10
    while True:
        found = seen_by_writers(lambda: NightlyReport.objects.get().lease_until)
        if wanted(found) or time.monotonic() > ends:
            return found
        time.sleep(0.05)


# --- Letting go ----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_night_released_by_hand_goes_on_elsewhere_and_its_old_worker_writes_nothing(night, done, now):
    def relieved(at: datetime) -> dict:
        night_release(day=now.date(), reason="it hangs", actor="olga", now=at)
        nightly_run(now=at + MINUTE, steps=night)
        return {"n": "stale"}

    row = nightly_run(now=now, steps=night | {"learn": relieved})
    assert row.status == "completed" and row.steps["learn"]["counts"] == {"n": 4}
    assert row.steps["learn"]["crashes"] == 1 and done.count("digests") == 1
    said = Decision.objects.get(action="night_released")
    assert (said.actor, said.reason, said.data) == ("olga", "it hangs", {"day": "2026-03-18"})


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields",
    [{"status": "completed"}, {"lease_until": None}, {"lease_until": datetime(2026, 3, 1, tzinfo=UTC)}],
)
def test_what_nobody_holds_cannot_be_released(now, fields):
    row = held(now, **fields)
    with pytest.raises(NightNotLeased, match="nothing to release"):
        night_release(day=row.day, reason="tidying", actor="olga", now=now)
    assert NightlyReport.objects.get().token == 3 and not Decision.objects.exists()


@pytest.mark.django_db
def test_the_command_releases_with_a_reason_and_runs_nothing(capsys):
    row = held(timezone.now())
    with pytest.raises(CommandError, match="Say why"):
        call_command("run_nightly", "--release", " ")
    call_command("run_nightly", "--release", "its machine is gone")
    assert f"The night of {row.day} is released." in capsys.readouterr().out
    row.refresh_from_db()
    assert not night_is_leased(row, timezone.now()) and row.token == 4 and row.steps == {}
    assert Decision.objects.get().reason == "its machine is gone"
    with pytest.raises(CommandError, match="nothing to release"):
        call_command("run_nightly", "--release", "again")


@pytest.mark.django_db
def test_the_command_does_what_failed_and_says_when_it_is_tried_again(monkeypatch, capsys):
    whole = STEPS["cluster"]
    monkeypatch.setitem(STEPS, "cluster", breaking)
    with pytest.raises(CommandError, match=r"tried again from \d\d:\d\d UTC on; `run_nightly` does so now"):
        call_command("run_nightly")
    for _ in range(2):
        with pytest.raises(CommandError) as failed:
            call_command("run_nightly")
    assert "not tried again by itself" in str(failed.value)
    monkeypatch.setitem(STEPS, "cluster", whole)
    call_command("run_nightly")
    row = NightlyReport.objects.get()
    assert row.status == "completed" and row.steps["cluster"]["tries"] == 4
    assert row.steps["fetch"]["tries"] == 1


@pytest.mark.django_db
def test_an_operator_releases_a_night_on_its_page(client, operator):
    row = held(timezone.now())
    client.force_login(operator)
    page, release = (f"/admin/tidings/nightlyreport/{row.pk}/{name}/" for name in ("change", "release"))
    assert release in client.get(page).content.decode()
    assert "Release it if that worker hangs" in client.get(release).content.decode()
    assert client.post(release, {"reason": " "}).status_code == 422
    assert "Released." in client.post(release, {"reason": "it hangs"}, follow=True).content.decode()
    assert Decision.objects.get().actor == "olga" and NightlyReport.objects.get().lease_until is None
    assert release not in client.get(page).content.decode()
    told = client.post(release, {"reason": "again"}, follow=True).content.decode()
    assert "nothing to release" in told and Decision.objects.count() == 1


@pytest.mark.django_db
def test_who_may_only_look_at_nights_cannot_release_one(client, operator):
    row = held(timezone.now())
    operator.is_superuser = False
    operator.save()
    client.force_login(operator)
    assert client.post(f"/admin/tidings/nightlyreport/{row.pk}/release/", {"reason": "x"}).status_code == 403
    assert NightlyReport.objects.get().token == 3
