"""Secrets stay secret: every secret of the settings is planted, and searched for in all output of the
product.

Private data is searched for in the logs: titles, texts and words of readers.
"""

import json
import logging
import os
import re
import subprocess
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
import structlog
from django.apps import apps
from django.core import serializers
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django.views.debug import technical_500_response
from pytest_httpserver import HTTPServer

from advisor.mcp_server import session_call, session_close, session_open
from advisor.models import Run
from advisor.models import Step as RunStep
from advisor.run.request import run_request
from advisor.tools.registry import TOOLS
from config.environment import URL_SETTINGS
from digest.models import Reader
from suggestions.models import Suggestion
from tests.support.browser import fresh_item, suggested
from tests.support.documents import MADE
from tests.support.factories import FeedFactory
from tests.support.histories import opinionated
from tests.support.logs import lines, logged
from tests.support.routes import routes
from tests.support.scripted_model import Script, Step, calls, garbage, status, text

ROOT = Path(__file__).resolve().parent.parent
MARK, PRIVATE = "c4n4ry", "wrenfeather"
NAMED = re.compile(r"^#?([A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD)|\w+_URL)=", re.MULTILINE)
# Addresses that hold no password: the site's own.
NO_SECRETS = {"SITE_URL"}
CANARIES = {
    name: f"{MARK}-{name.lower()}-0f9e8d7c6b5a"
    for name in (
        *(
            "SECRET_KEY",
            "SECRETS_KEY",
            "METRICS_TOKEN",
            "OIDC_CLIENT_SECRET",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "LOCAL_LLM_KEY",
        ),
        *("OPENROUTER_API_KEY", *URL_SETTINGS),
    )
}


@pytest.fixture
def planted(settings, httpserver: HTTPServer) -> None:
    """Every secret holds its canary; the mail server and the broker are away, the model answers here."""
    for name in CANARIES.keys() - URL_SETTINGS:
        setattr(settings, name, CANARIES[name])
    # Asked at fixed addresses elsewhere: no test gets there, so that their keys stay out of the chain.
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"):
        setattr(settings, name, "")
    settings.OPENAI_BASE_URL = httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna", "openai:gpt-4o"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    settings.EMAIL_HOST_PASSWORD = CANARIES["EMAIL_URL"]


def advised(reader: Reader, server: HTTPServer, *steps: Step) -> Run:
    """Return a run by a model that answers these steps, and breaks after them."""
    rest = iter(steps)
    with Script(server, [], beyond=lambda body: next(rest, status(500, f"key {CANARIES['OPENAI_API_KEY']}"))):
        result = run_request(reader=reader, trigger=Run.Trigger.UI, now=timezone.now(), inline=True)
    return Run.objects.get(pk=result.run_id)


def rows() -> str:
    """Return all that the database holds."""
    return "".join(serializers.serialize("jsonl", model.objects.all()) for model in apps.get_models())


def pages(client: Client) -> str:
    """Return every page that needs no id, and those of the admin about each kind of row."""
    said = []
    for route in routes():
        if route.ids or not route.name or route.name == "account_logout":
            continue
        answer = client.get(route.url(), headers={"Authorization": f"Bearer {CANARIES['METRICS_TOKEN']}"})
        said.append(b"".join(answer).decode(errors="replace"))
    for model in (Run, RunStep):
        for row in model.objects.all():
            said.append(
                client.get(f"/admin/advisor/{model._meta.model_name}/{row.pk}/change/").content.decode()
            )
    return "".join(said)


def by_mcp(reader: Reader) -> str:
    """Return the answers of a session with the tools."""
    session = session_open(reader=reader, now=timezone.now())
    said = [session_call(session=session, name=name, arguments={}, now=timezone.now()) for name in TOOLS]
    session_close(session=session, now=timezone.now())
    return "".join(answer.content for answer in said)


def test_every_secret_of_the_settings_has_a_canary():
    named = set(NAMED.findall((ROOT / ".env.example").read_text()))
    assert named - NO_SECRETS == CANARIES.keys()


def test_no_secret_is_logged_kept_or_shown_whatever_servers_echo(
    planted, operator: Reader, client: Client, httpserver: HTTPServer
):
    opinionated(operator, now=timezone.now())
    key = CANARIES["OPENAI_API_KEY"]
    client.force_login(operator)
    with logged() as log:
        advised(
            operator,
            httpserver,
            status(401, f"Incorrect API key provided: {key}"),
            garbage(f"<pre>Authorization: Bearer {key}</pre>".encode()),
            text(f"My key is {key}"),
        )
        client.post("/accounts/password/reset/", {"email": operator.email})
        said = pages(client) + by_mcp(operator)
        client.raise_request_exception = False
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr("digest.web.pages.reading.saved_page", None)
            broken.setattr("digest.web.pages.search.search_page", None)
            failed = client.get("/ui/search?q=x")
    assert failed.status_code == 500 and "model_call" in log.getvalue() and "mail_failed" in log.getvalue()
    for where in (said, failed.content.decode(), rows(), log.getvalue()):
        assert MARK not in where, re.search(f".{{0,80}}{MARK}.{{0,80}}", where)


def test_the_page_of_a_crash_in_debugging_hides_every_secret(planted, settings, rf):
    settings.CACHES = {"default": {"LOCATION": f"redis://:{CANARIES['REDIS_URL']}@127.0.0.1:1/0"}}
    settings.DATABASE_URL = settings.REDIS_URL = settings.CELERY_BROKER_URL = f"redis://:{MARK}@127.0.0.1/"
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        request = rf.get("/", **{name: value for name, value in CANARIES.items()})
        body = technical_500_response(request, *sys.exc_info()).content.decode()
    assert "RuntimeError" in body and "SECRET_KEY" in body and MARK not in body


def test_the_page_of_a_crash_in_debugging_hides_what_was_typed_into_a_form(rf):
    sent = rf.post("/accounts/login/", {"password": MARK, "password1": MARK, "code": MARK, "login": "ada"})
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        body = technical_500_response(sent, *sys.exc_info()).content.decode()
    assert "ada" in body and MARK not in body


def test_a_line_of_the_log_is_cleaned_whoever_wrote_it():
    secret = 'quo"ted-0f9e8d7c'
    with logged(secrets=[secret, "short"]) as log:
        structlog.get_logger("any").warning("said", detail=f"key {secret}", fine="short")
        try:
            raise RuntimeError(f"refused: {secret}")
        except RuntimeError:
            logging.getLogger("celery.worker").exception("connection to redis://:%s@broker lost", secret)
    assert secret not in log.getvalue() and json.dumps(secret)[1:-1] not in log.getvalue()
    assert [line["event"] for line in lines(log)] == ["said", "connection to redis://:***@broker lost"]
    assert lines(log)[0]["fine"] == "short" and "refused: ***" in log.getvalue()


def test_every_secret_that_the_settings_read_is_among_those_that_logs_are_cleaned_of(tmp_path):
    place = os.environ | {"TIDINGS_VAR_DIR": str(tmp_path), "TIDINGS_ENV_FILE": ""}
    for name, value in CANARIES.items():
        place[name] = f"http://ada:{value}@127.0.0.1:1/v1" if name in URL_SETTINGS else value
    place |= {"DATABASE_URL": f"postgres://ada:{CANARIES['DATABASE_URL']}@127.0.0.1:1/none"}
    place |= {"EMAIL_URL": f"smtp://ada:{CANARIES['EMAIL_URL']}@127.0.0.1:9"}
    place |= {"REDIS_URL": f"redis://:{CANARIES['REDIS_URL']}@127.0.0.1:1/0"}
    ask = (
        "from django.conf import settings; from django.core.management import call_command; "
        "print(*settings.SECRETS, 'MIGRATE', sep=chr(10)); call_command('migrate')"
    )
    done = command(place, "shell", "-v", "0", "-c", ask)
    told, _, after = done.stdout.partition("MIGRATE\n")
    assert set(CANARIES.values()) <= set(told.split())
    assert done.returncode and done.stderr and MARK not in after + done.stderr


def command(place: dict[str, str], *line: str) -> subprocess.CompletedProcess[str]:
    """Return the output of `manage.py` under these settings."""
    asked = [sys.executable, "manage.py", *line]
    return subprocess.run(asked, cwd=ROOT, env=place, capture_output=True, text=True, check=False)


def test_logs_name_runs_and_readers_and_never_what_is_read_or_said(
    ada: Reader, client: Client, httpserver: HTTPServer, settings, tmp_path: Path
):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-0123456789", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    opinionated(ada, now=timezone.now())
    item = fresh_item(ada, title=f"{PRIVATE} leaves", text=f"{PRIVATE} text", author=PRIVATE)
    client.force_login(ada)
    (tmp_path / "feed.xml").write_bytes(MADE[0].replace(b"Rain", PRIVATE.encode()))
    (tmp_path / "bad.xml").write_bytes(f"<rss><title>{PRIVATE}".encode())
    private = f"http://{httpserver.host}:{httpserver.port}/{PRIVATE}?token={PRIVATE}"
    FeedFactory(url=private, state="active")
    with logged() as log:
        with suppress(CommandError):  # nobody answers
            call_command("fetch_feeds", "--feed", private, stdout=StringIO())
        call_command("fetch_feeds", "--from-dir", str(tmp_path), stdout=StringIO())
        call_command("build_digest", "--user-id", "ada", stdout=StringIO())
        run = advised(
            ada, httpserver, calls(("query_user_feedback", {}), ("no_tool", {"q": PRIVATE})), text(PRIVATE)
        )
        Run.objects.filter(pk=run.pk).delete()
        waiting = suggested(ada, reason=f"{PRIVATE} because", label=PRIVATE)
        client.post(f"/ui/suggestions/{waiting.pk}/reject", {"user_reason": PRIVATE})
        client.post(f"/ui/item/{item.pk}/feedback", {"useful": "1", "reasons": PRIVATE})
        for page in (
            "/",
            f"/ui/item/{item.pk}",
            f"/ui/search?q={PRIVATE}",
            "/ui/history",
            f"/ui/nowhere/{PRIVATE}",
            f"/feeds/{PRIVATE}/atom.xml\u200b",
            f"/ui/mail/end/{PRIVATE}%0A",
            f"/accounts/confirm-email/{PRIVATE}\u2026/",
            f"/{PRIVATE}/\u00e9",
        ):
            client.get(page)
        said = '"GET /ui/search?q=%s HTTP/1.1" 500 12'
        logging.getLogger("django.server").error(said, PRIVATE, extra={"status_code": 500})
    told = lines(log)
    assert [line["event"] for line in told if line["logger"] == "django.server"] == ['"GET HTTP/1.1" 500 12']
    assert {str(ada.pk)} == {line["user_id"] for line in told if "user_id" in line}
    assert {line["host"] for line in told if line["event"] == "feed_refused"} >= {httpserver.host}
    assert str(run.pk) in log.getvalue() and Suggestion.objects.get(pk=waiting.pk).status == "rejected"
    assert PRIVATE not in log.getvalue(), re.search(f".{{0,80}}{PRIVATE}.{{0,80}}", log.getvalue())
