"""Django's records follow `LOG_LEVEL` like ours, and no log line contains a secret."""

import json
import logging
import logging.config
import time

import pytest
from django.conf import settings
from django.test import Client

from config.logs import logging_config, request_path_hide


@pytest.fixture
def configured():
    """Configure logging for a level, and restore it after the test."""
    yield lambda level: logging.config.dictConfig(logging_config(level))
    logging.config.dictConfig(settings.LOGGING)


@pytest.mark.parametrize(
    ("level", "told"),
    [("ERROR", {"ERROR"}), ("WARNING", {"ERROR", "WARNING"}), ("INFO", {"ERROR", "WARNING", "INFO"})],
)
def test_django_keeps_to_the_level_of_the_settings(configured, level, told):
    configured(level)
    for name in ("django.request", "advisor.services"):
        log = logging.getLogger(name)
        assert {
            word for word in ("ERROR", "WARNING", "INFO") if log.isEnabledFor(logging.getLevelName(word))
        } == told


def test_at_debug_django_does_not_tell_every_query(configured):
    configured("DEBUG")
    assert logging.getLogger("advisor").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("django.db.backends").isEnabledFor(logging.DEBUG)


def test_a_name_that_is_not_ours_is_one_line_without_the_name(configured, capsys):
    """Without its own handler, Python's last resort would print the traceback with the name."""
    configured("INFO")
    assert Client().get("/healthz", headers={"Host": "s3cret-host.test"}).status_code == 400
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert told["level"] == "warning" and "ALLOWED_HOSTS" in told["event"] and "s3cret-host" not in line


def test_the_host_of_our_own_address_is_named_if_it_is_refused(capsys):
    filters = logging.getLogger("django.security.DisallowedHost").filters
    filters.clear()  # dictConfig keeps those of before
    logging.config.dictConfig(logging_config("INFO", own_host="news.example.org"))
    try:
        for host in ("news.example.org", "news.example.org:8443", "news.example.org.evil.test"):
            assert Client().get("/healthz", headers={"Host": host}).status_code == 400
    finally:
        filters.clear()
        logging.config.dictConfig(settings.LOGGING)
    own, with_port, foreign = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert "news.example.org, the host of SITE_URL" in own and with_port == own
    assert "ALLOWED_HOSTS" in foreign and "evil" not in foreign


def test_a_request_line_of_underscores_costs_no_time_and_an_address_stays_hidden():
    began = time.thread_time()
    line = {"logger": "django.server", "event": f'code 400, message Bad request syntax ("{"_" * 65_000}")'}
    event = request_path_hide(None, "", line)["event"]
    assert "_" in event and len(event) <= 500  # malformed requests cannot fill a disk
    assert time.thread_time() - began < 0.5
    line = {"logger": "django.server", "event": '"GET /ui/search?q=secret HTTP/1.1" 404 12'}
    assert request_path_hide(None, "", line)["event"] == '"GET HTTP/1.1" 404 12'
