"""Signing up wakes a first fetch through a real broker and worker, without waiting for beat."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from config.celery import app
from config.jobs.schedule import FETCH, JOBS
from digest.models import Feed, Item, Reader
from tests.support.processes import wait_until
from tests.support.publishers import address, opml, publishers

ROOT = Path(__file__).resolve().parents[3]
RSS = (
    "<rss><channel><title>{0}</title><item><title>Rain in {0}</title><link>https://{0}.example/</link></item>"
    "</channel></rss>"
)


def test_it_is_woken_and_not_scheduled():
    assert "digest.first_round" not in {job.task for job in JOBS}
    assert app.amqp.router.route({}, "digest.first_round")["queue"].name == FETCH


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_an_import_is_fetched_by_a_celery_worker_within_seconds(
    broker_alone, settings, client: Client, ada: Reader
):
    app.control.purge()
    hosts = [address(n) for n in range(20)]
    settings.FETCH_ALLOW_HOSTS = hosts
    options = connection.settings_dict
    database = f"postgres://{options['USER']}@{options['HOST']}:{options['PORT']}/{options['NAME']}"
    environment = os.environ | {
        "DATABASE_URL": database,
        "FETCH_ALLOW_HOSTS": ",".join(hosts),
        "LOG_LEVEL": "INFO",
    }
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "1", "--queues", FETCH]
    documents = {host: RSS.format(f"town{n}").encode() for n, host in enumerate(hosts)}
    with publishers(documents) as (port, asked):
        worker = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: app.control.ping(timeout=1.0), "no worker came up")
            client.force_login(ada)
            feeds = {host: f"http://{host}:{port}/" for host in hosts}
            began = time.monotonic()
            client.post("/ui/sources/import", {"file": SimpleUploadedFile("mine.opml", opml(feeds))})
            waiting = Feed.objects.filter(last_fetched_at=None)
            wait_until(lambda: not waiting.exists(), "nobody fetched")
            seconds = time.monotonic() - began
            ended = Reader.objects.exclude(sources_filled_at=None)
            wait_until(ended.exists, "the end was not noted")
        finally:
            worker.terminate()
            _, log = worker.communicate(timeout=60)
    print(f"{len(hosts)} feeds in {seconds:.1f} s")
    assert seconds < 30, log[-2000:]
    assert Item.objects.count() == len(hosts) and sorted(asked) == sorted(hosts)
    assert len(client.get("/").context["shown"]) == len(hosts)
