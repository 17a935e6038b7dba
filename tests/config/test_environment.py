"""Unreadable settings are refused, and a missing Redis breaks nothing."""

import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import ConnectionHandler, OperationalError
from django.db.utils import load_backend
from django.test import Client

from config.environment import Environment, postgresql_settings
from digest.accounts.tokens import token_issue
from digest.feeds.rate_limit import HostLimiter

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NIGHTLY_HOUR", "abc"),
        ("FETCH_PORTS", "80,abc"),
        ("DATABASE_URL", "foo:secret"),
        ("DATABASE_URL", "mysql://ada:secret@host/name"),
        ("DATABASE_URL", "postgres://ada:secret@host:port/name"),
        ("EMAIL_URL", "smtpx://ada:secret@host"),
        ("LOG_LEVEL", "LOUD"),
        ("DEBUG", "maybe"),
        ("TIDINGS_VAR_DIR", "/dev/null/state"),
        ("TIDINGS_ENV_FILE", "/nowhere/environment"),
        ("DATABASE_URL", "postgres://ada:p@secret#w@127.0.0.1:1/name"),
        ("DATABASE_URL", "postgres://ada:12/secret@127.0.0.1:1/name"),
        ("DATABASE_URL", "postgres://ada:secret%w@127.0.0.1:1/name"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_in_one_sentence(name, value, tmp_path):
    place = os.environ | {"TIDINGS_VAR_DIR": str(tmp_path), "TIDINGS_ENV_FILE": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=place | {name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert name in line and "secret" not in line


@pytest.mark.parametrize("line", ["SIGNUP = invite", "SIGNUP: invite", " SIGNUP=invite", "SIGNUP"])
def test_a_line_that_is_no_setting_is_refused_since_it_may_have_closed_a_door(line: str, tmp_path):
    file = tmp_path / "environment"
    file.write_text(f"# Who may sign up\n\nLOG_LEVEL=WARNING\n{line}\n")
    place = os.environ | {"TIDINGS_VAR_DIR": str(tmp_path), "TIDINGS_ENV_FILE": str(file)}
    command = [sys.executable, "manage.py", "check"]
    done = subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Line 4 of " in done.stderr and "invite" not in done.stderr


@pytest.mark.parametrize("scheme", ["mysql", "oracle", "cockroachdb", "spatialite"])
def test_a_database_of_another_kind_is_told_which_kinds_there_are(scheme: str):
    with pytest.raises(ImproperlyConfigured, match="PostgreSQL and SQLite") as refused:
        Environment().database_from_url("DATABASE_URL", f"{scheme}://ada:secret@host/name")
    assert scheme in str(refused.value) and "secret" not in str(refused.value)


def test_a_password_is_read_percent_encoded_and_a_switch_by_many_words(monkeypatch):
    read = Environment()
    found = read.database_from_url("DATABASE_URL", "postgres://ada:p%40s%23%2F%25@db.internal:5432/name")
    assert (found["PASSWORD"], found["HOST"]) == ("p@s#/%", "db.internal")
    for word, meant in {"Yes": True, "1": True, "on": True, "no": False, "OFF": False, "": False}.items():
        monkeypatch.setenv("DEBUG", word)
        assert read.bool("DEBUG", default=True) is meant
    monkeypatch.delenv("DEBUG")
    assert read.bool("DEBUG", default=True) is True


def postgresql_at(url: str) -> dict[str, Any]:
    """Return a database's settings as `config.settings` makes them."""
    return postgresql_settings(Environment().database_from_url("DATABASE_URL", url), pool=0)


def test_a_database_that_takes_the_call_and_says_nothing_is_given_up_within_seconds(django_db_blocker):
    assert postgresql_at("postgres://host/name")["OPTIONS"]["connect_timeout"] == 5
    with socket.create_server(("127.0.0.1", 0)) as mute, django_db_blocker.unblock():
        ours = postgresql_at(f"postgres://ada@127.0.0.1:{mute.getsockname()[1]}/tidings?connect_timeout=2")
        settings = ConnectionHandler({"default": ours}).settings["default"]
        began = time.monotonic()
        with pytest.raises(OperationalError, match="timeout"):
            load_backend(ours["ENGINE"]).DatabaseWrapper(settings).ensure_connection()
    assert time.monotonic() - began < 15


@pytest.fixture
def dead_redis(settings):
    """Return a cache at a port without a server."""
    settings.CACHES = {
        "default": {"BACKEND": "config.cache.FaultTolerantRedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    }


def test_without_its_cache_the_site_signs_people_in(dead_redis, ada):
    ada.set_password("a long word for ada")
    ada.save()
    client = Client()
    form = {"login": "ada", "password": "a long word for ada"}
    answer = client.post("/accounts/login/", form)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.post("/accounts/login/", {**form, "password": "wrong"}).status_code in (200, 302)


def test_without_its_cache_tokens_and_hosts_go_on(dead_redis, settings, ada, now):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    issued = token_issue(reader=ada, name="notes", scope="read", expires_at=None, now=now)
    answer = Client().get("/api/search?q=tides", headers={"Authorization": f"Bearer {issued.secret}"})
    assert answer.status_code == 200
    gate = HostLimiter(gap_s=5.0)
    assert gate.enter("gazette.example") == 0.0
    gate.leave("gazette.example")


def test_a_cache_that_is_down_is_told_once_and_misses_everything(dead_redis):
    with structlog.testing.capture_logs() as said:
        for _ in range(2):
            cache.set("name", 1)
            cache._cache._outage.until = 0.0  # end the cache's pause
            assert cache.get("name", "nobody") == "nobody" and cache.add("name", 1)
    assert [entry["event"] for entry in said] == ["cache_down"]
    assert cache.get_many(["name"]) == {} and not cache.delete("name") and not cache.touch("name")
    cache.set_many({"name": 1})
    cache.delete_many(["name"])
    assert "name" not in cache and not cache.clear()
    with pytest.raises(ValueError, match="name"):
        cache.incr("name")


@pytest.fixture
def full_redis(settings) -> Iterator[None]:
    """Have a cache in a Redis that is full: it answers each write with an error."""
    refusal = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"

    class Full(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self.rfile.readline():
                words = [
                    self.rfile.readline() and self.rfile.readline().strip() for _ in range(int(head[1:]))
                ]
                reads = {b"GET": b"$-1\r\n", b"HELLO": b"-ERR unknown command\r\n", b"CLIENT": b"+OK\r\n"}
                self.wfile.write(reads.get(words[0].upper(), refusal))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Full) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"redis://127.0.0.1:{server.server_address[1]}/0"
        settings.CACHES = {
            "default": {"BACKEND": "config.cache.FaultTolerantRedisCache", "LOCATION": url},
            "claims": {"BACKEND": "config.cache.FaultTolerantRedisCache", "LOCATION": url},
        }
        yield
        cache._cache.get_client(write=True).connection_pool.disconnect()
        server.shutdown()


def test_with_a_cache_that_is_full_the_site_goes_on(full_redis, ada, now):
    """Strangers add counters, and an operator may have given Redis little memory, or its disk is full."""
    with structlog.testing.capture_logs() as said:
        cache.set("name", 1)
        assert cache.add("name", 1) and cache.get("name", "nobody") == "nobody"
        cache.set_many({"name": 1})
    assert [entry["event"] for entry in said] == ["cache_down"] and "OOM" not in str(cache.get("name"))
    ada.set_password("a long word for ada")
    ada.save()
    form = {"login": "ada", "password": "a long word for ada"}
    assert Client().post("/accounts/login/", form).status_code == 302
    issued = token_issue(reader=ada, name="notes", scope="read", expires_at=None, now=now)
    answer = Client().get("/api/search?q=tides", headers={"Authorization": f"Bearer {issued.secret}"})
    assert answer.status_code == 200


@pytest.mark.services
def test_with_a_redis_that_answers_it_is_a_cache_like_any_other(settings):
    url = os.environ["REDIS_URL"]
    settings.CACHES = {"default": {"BACKEND": "config.cache.FaultTolerantRedisCache", "LOCATION": url}}
    cache.delete_many(["one", "two"])
    assert cache.add("one", 1, 30) and not cache.add("one", 1, 30) and cache.incr("one") == 2
    cache.set_many({"two": [2]}, 30)
    assert cache.get_many(["one", "two", "three"]) == {"one": 2, "two": [2]}
    assert cache.touch("two", 30) and cache.delete("two") and "two" not in cache
    with pytest.raises(ValueError, match="two"):
        cache.incr("two")


def test_a_number_left_empty_is_the_default(monkeypatch):
    read = Environment()
    monkeypatch.setenv("NIGHTLY_HOUR", "")
    assert read.int("NIGHTLY_HOUR", default=3) == 3 and read.float("NIGHTLY_HOUR", default=0.5) == 0.5
