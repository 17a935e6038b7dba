"""Health, readiness and metrics, and who may see their details."""

import os
import re
import shutil
import socket
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from advisor.models import Run
from advisor.run.workers import heartbeat, job_claim_if_due
from config import metrics as figures_module
from config import readiness as module
from config.disk import FREE_LOW_BYTES, FREE_MIN_BYTES
from config.jobs.schedule import JOBS
from config.metrics import metrics_text
from config.readiness import SCHEDULE_LATE, is_ready, readiness
from digest.models import Feed
from tests.support.factories import FeedFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    """Return a client that asks like `curl localhost` on this machine."""
    return Client(headers={"Host": "localhost"})


@pytest.fixture(autouse=True)
def unremembered(monkeypatch):
    """Forget which migrations were found applied, so that each test checks again."""
    monkeypatch.setattr(module, "_migrated", set())


CHECKS = {"database", "migrations", "disk", "network", "alerts", "broker", "schedule", "workers"}


def figures(now) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return all samples by name and label values, as Prometheus reads them."""
    families = text_string_to_metric_families(metrics_text(now=now).decode())
    return {(s.name, tuple(s.labels.values())): s.value for family in families for s in family.samples}


def checks(now) -> dict[str, bool]:
    return {check.name: check.ok for check in readiness(now=now)}


def test_ready_with_a_database_whose_migrations_are_applied(client: Client):
    body = client.get("/readyz").json()
    assert body["ready"] is True and set(body["checks"]) == CHECKS


def test_not_ready_while_a_migration_is_missing(client: Client):
    MigrationRecorder(connection).migration_qs.filter(app="advisor").latest("name").delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    found = answer.json()["checks"]["migrations"]
    assert found["ok"] is False and "manage.py migrate" in found["detail"] and "advisor." in found["detail"]


def test_not_ready_without_a_database_and_the_reason_is_for_operators_alone(client: Client, monkeypatch):
    def gone() -> tuple[bool, str]:
        raise ConnectionError("no route to db.internal")

    monkeypatch.setattr(module, "_database", gone)
    near, far = client.get("/readyz"), client.get("/readyz", REMOTE_ADDR="203.0.113.9")
    assert near.status_code == far.status_code == 503
    assert "db.internal" in near.content.decode() and "db.internal" not in far.content.decode()


def test_a_schedule_that_stands_still_degrades_and_no_more(client: Client, now):
    assert checks(now)["schedule"] is False
    answer = client.get("/readyz")
    assert answer.status_code == 200 and answer.json()["degraded"] is True


@pytest.mark.parametrize(
    ("free", "status", "degraded"), [(FREE_LOW_BYTES, 200, None), (FREE_LOW_BYTES - 1, 200, True),
                                     (FREE_MIN_BYTES - 1, 503, False)]
)  # fmt: skip
def test_a_disk_that_fills_up_degrades_and_a_full_one_is_not_ready(
    client: Client, monkeypatch, tmp_path, now, free, status, degraded
):
    monkeypatch.setattr(module, "is_database_here", lambda: True)
    monkeypatch.setattr(module, "disk_folders", lambda: {"database": tmp_path})
    monkeypatch.setattr(module, "disk_free", lambda folders: dict.fromkeys(folders, free))
    answer = client.get("/readyz")
    found = answer.json()["checks"]["disk"]
    assert (answer.status_code, found["ok"]) == (status, degraded is None)
    assert degraded is None or answer.json()["degraded"] is degraded
    assert f"{free >> 20} MB free" in found["detail"]
    assert figures(now)["tidings_check_ok", ("disk",)] == found["ok"]


def test_a_full_disk_keeps_a_site_ready_whose_database_is_elsewhere(client: Client, monkeypatch):
    monkeypatch.setattr(module, "is_database_here", lambda: False)
    monkeypatch.setattr(module, "disk_free", lambda folders: {"data": 0})
    answer = client.get("/readyz").json()
    assert answer["ready"] and answer["degraded"] and not answer["checks"]["disk"]["ok"]


def test_a_database_that_a_full_disk_closed_is_not_ready_and_the_disk_is_named(client, monkeypatch):
    def gone() -> tuple[bool, str]:
        raise OperationalError("disk I/O error")

    monkeypatch.setattr(module, "_database", gone)
    assert set(client.get("/readyz").json()["checks"]) == {"database", "disk"}


def test_free_space_is_measured_on_the_disk_of_the_data(settings, tmp_path, now):
    settings.VAR_DIR = tmp_path
    free = figures(now)["tidings_disk_free_bytes", ("data",)]
    assert free == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)


def test_a_hung_worker_is_a_figure_to_page_about(settings, tmp_path, now):
    settings.VAR_DIR = tmp_path
    (tmp_path / "worker-box-7.pulse").touch()
    assert figures(now)["tidings_check_ok", ("workers",)] == 1
    os.utime(tmp_path / "worker-box-7.pulse", (0, 0))
    assert figures(now)["tidings_check_ok", ("workers",)] == 0


def test_the_schedule_moves_by_a_worker_or_by_beat(now):
    heartbeat(worker="w1", now=now)
    assert checks(now)["schedule"] is True
    later = now + timedelta(hours=1)
    assert checks(later)["schedule"] is False
    assert job_claim_if_due(name="reconcile", every=timedelta(minutes=1), now=later)
    assert checks(later + SCHEDULE_LATE - timedelta(seconds=1))["schedule"] is True
    assert checks(later + SCHEDULE_LATE)["schedule"] is False


def test_a_broker_that_is_down_is_told_at_once_and_keeps_nobody_out(settings, now, unused_tcp_port):
    settings.REDIS_URL = f"redis://127.0.0.1:{unused_tcp_port}/0"
    found = readiness(now=now)
    broker = next(check for check in found if check.name == "broker")
    assert not broker.ok and is_ready(found) and broker.ms < 3000


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@pytest.mark.parametrize(
    ("token", "sent", "address", "status"),
    [
        ("", "", "127.0.0.1", 200),
        ("", "", "203.0.113.9", 404),
        ("s3cret", "Bearer s3cret", "203.0.113.9", 200),
        ("s3cret", "Bearer wrong", "203.0.113.9", 404),
        ("s3cret", "", "127.0.0.1", 404),
    ],
)
def test_metrics_are_for_whoever_has_the_token_or_sits_here(client, settings, token, sent, address, status):
    settings.METRICS_TOKEN = token
    headers = {"Authorization": sent} if sent else {}
    assert client.get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


@pytest.mark.parametrize(
    "header",
    [
        *("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "Via"),
        *("X-Real-IP", "X-Client-IP"),
    ],
)
def test_a_request_passed_on_by_a_proxy_is_not_this_machines_own(client: Client, header: str):
    assert client.get("/metrics", headers={header: "203.0.113.9"}).status_code == 404


@pytest.mark.parametrize(
    ("site", "host", "proxies", "status"),
    [
        ("http://127.0.0.1:8000", "localhost:8000", 0, 200),
        ("http://[::1]:8000", "[::1]:8000", 0, 200),
        ("http://127.0.0.1:8000", "news.example.org", 0, 404),
        ("https://news.example.org", "127.0.0.1:8000", 0, 404),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", 1, 404),
    ],
)
def test_behind_a_proxy_that_sends_no_header_figures_and_details_need_the_token(
    client: Client, settings, site: str, host: str, proxies: int, status: int
):
    """A proxy on this machine is a local client, and may send its own host name or ours."""
    settings.SITE_URL, settings.ALLOWED_HOSTS = site, ["*"]
    settings.ALLAUTH_TRUSTED_PROXY_COUNT, settings.SECURE_SSL_REDIRECT = proxies, False
    assert client.get("/metrics", headers={"Host": host}).status_code == status
    ready = client.get("/readyz", headers={"Host": host}).json()
    assert ("detail" in ready["checks"]["database"]) == (status == 200)
    settings.METRICS_TOKEN = "s3cret"
    with_token = {"Host": host, "Authorization": "Bearer s3cret", "X-Real-IP": "203.0.113.9"}
    assert client.get("/metrics", headers=with_token).status_code == 200


def test_metrics_count_what_the_database_knows(ada, now):
    due = FeedFactory(state=Feed.State.ACTIVE, next_check_at=now - timedelta(minutes=5))
    SubscriptionFactory(reader=ada, feed=due)
    FeedFactory(state=Feed.State.PAUSED)
    Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now - timedelta(seconds=90))
    assert job_claim_if_due(name="reconcile", every=timedelta(minutes=1), now=now - timedelta(seconds=30))
    found = figures(now)
    assert found["tidings_feeds", ("active",)] == found["tidings_feeds", ("paused",)] == 1
    assert found["tidings_feeds_due", ()] == 1 and found["tidings_feeds_late_seconds", ()] == 300
    assert found["tidings_runs_open", ("queued",)] == 1 and found["tidings_run_queued_seconds", ()] == 90
    assert found["tidings_job_age_seconds", ("reconcile",)] == 30
    assert found["tidings_spend_cap_usd", ("advisor",)] == 1.0
    assert found["tidings_readers", ()] == 1


def test_metrics_ask_no_more_with_more_rows(ada, ben, now, django_assert_num_queries):
    with CaptureQueriesContext(connection) as few:
        metrics_text(now=now)
    for n in range(30):
        FeedFactory(state=Feed.State.ACTIVE, next_check_at=now)
        job_claim_if_due(name=f"job{n}", every=timedelta(minutes=1), now=now)
    with django_assert_num_queries(len(few)):
        metrics_text(now=now)


def test_with_the_database_away_metrics_say_so_and_tell_what_needs_none(client: Client, monkeypatch, now):
    def gone(now) -> None:
        raise OperationalError("the server closed the connection")

    assert figures(now)["tidings_database_up", ()] == 1
    monkeypatch.setattr(figures_module, "_guidance", gone)
    answer = client.get("/metrics")
    told = answer.content.decode()
    assert answer.status_code == 200 and "tidings_database_up 0.0" in told
    assert "tidings_build_info" in told and "tidings_requests_total" in told and "tidings_feeds" not in told


def test_requests_are_counted_by_view_and_never_by_address(client: Client, ada, now):
    client.force_login(ada)
    client.get("/ui/item/424242")
    client.get("/no/such/page/secret-title")
    text = metrics_text(now=now).decode()
    assert re.search(r'tidings_requests_total\{method="GET",status="404",view="digest:item"\} \d', text)
    assert 'view="unknown"' in text and "secret-title" not in text and "424242" not in text
    assert str(ada.pk) not in text and ada.username not in text


def test_a_schedule_that_never_began_grows_old_from_the_first_table_on(now):
    """An installation without beat must raise the same alarm as one with a dead beat."""
    MigrationRecorder.Migration.objects.update(applied=now - timedelta(days=2))
    found = figures(now)
    assert found["tidings_job_age_seconds", ("reconcile",)] == 2 * 86_400
    assert found["tidings_night_age_seconds", ()] == 2 * 86_400
    assert found["tidings_night_steps_failed", ()] == 0
    assert all(("tidings_job_age_seconds", (job.name,)) in found for job in JOBS)
