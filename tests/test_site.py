"""The site around the rooms: accounts in our design, error pages, one health check."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from digest.models import Reader
from manage import database_advice

ROOT = Path(__file__).resolve().parent.parent
OPEN = ["login", "signup", "password/reset", "password/reset/done", "password/reset/key/x-y", "inactive"]
OWN = ["logout", "password/change", "email", "reauthenticate"]


def in_our_looks(body: str) -> bool:
    return "tidings.css" in body and 'id="main"' in body and "style=" not in body and "<style" not in body


@pytest.mark.parametrize("page", OPEN)
def test_account_pages_for_visitors_wear_our_looks(client: Client, db, page: str):
    assert in_our_looks(client.get(f"/accounts/{page}/").content.decode())


@pytest.mark.parametrize("page", OWN)
def test_account_pages_of_readers_wear_our_looks(client: Client, ada: Reader, page: str):
    ada.set_password("a-lamp-and-a-kettle")
    ada.save()
    client.force_login(ada)
    assert in_our_looks(client.get(f"/accounts/{page}/").content.decode())


def test_no_cache_keeps_a_list_of_feeds_or_an_old_description(client: Client, ada: Reader):
    client.force_login(ada)
    assert client.get("/ui/sources/export.opml")["Cache-Control"] == "private, no-store"
    assert client.get("/api/openapi.json")["Cache-Control"] == "private, no-cache"


def test_a_page_that_is_not_there_leads_back_to_the_digest(client: Client, db):
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()


def test_a_stale_form_is_explained(ada: Reader):
    wary = Client(enforce_csrf_checks=True)
    wary.force_login(ada)
    answer = wary.post("/ui/sources", {"url": "https://news.example/feed"})
    assert answer.status_code == 403
    assert "That form had gone stale" in answer.content.decode()


def test_a_crash_has_a_page_that_needs_nothing(settings):
    body = server_error(RequestFactory().get("/")).content.decode()
    assert "Something broke on our side" in body
    assert "tidings.css" in body


def test_only_staff_is_shown_the_way_to_the_admin(client: Client, ada: Reader, operator: Reader):
    client.force_login(ada)
    assert 'href="/admin/"' not in client.get("/").content.decode()
    client.force_login(operator)
    assert 'href="/admin/"' in client.get("/").content.decode()


def test_the_page_one_is_on_is_marked(client: Client, ada: Reader):
    client.force_login(ada)
    body = client.get("/ui/sources").content.decode()
    assert '<a data-place="f" href="/ui/sources" aria-current="page">Sources</a>' in body
    assert body.count("aria-current") == 1


@pytest.mark.parametrize(
    ("page", "entry", "current"),
    [
        ("/ui/config", "Settings", "page"),
        ("/ui/history", "History", "page"),
        ("/ui/history/trends", "History", "true"),
        ("/ui/account", "Account", "page"),
        ("/accounts/2fa/", "Account", "true"),
        ("/ui/calendar", "Today", "true"),
    ],
)
def test_inside_the_menu_and_on_pages_within_a_page_the_way_is_marked_too(
    client: Client, ada: Reader, page: str, entry: str, current: str
):
    client.force_login(ada)
    nav = client.get(page).content.decode().partition('aria-label="Main"')[2].partition("</nav>")[0]
    assert f'aria-current="{current}">{entry}</a>' in nav
    assert ('aria-current="true">ada</summary>' in nav) == (entry != "Today")


def test_the_promise_about_suggestions_stands_on_readers_pages_only(client: Client, ada: Reader):
    promise = "Every larger change waits for your yes."
    assert promise not in client.get("/accounts/login/").content.decode()
    client.force_login(ada)
    assert promise in client.get("/ui/sources").content.decode()


@pytest.mark.parametrize("page", ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"])
def test_no_placeholder_repeats_a_label(client: Client, db, page: str):
    assert "placeholder" not in client.get(page).content.decode()


def test_a_database_that_is_not_there_gets_a_sentence_and_no_traceback(tmp_path: Path):
    place = os.environ | {
        "TIDINGS_VAR_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3",
    }
    command = [sys.executable, "manage.py", "build_digest", "--all-users"]
    done = subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make migrate" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["database is locked", "database table is locked: digest_item"])
def test_a_database_that_another_program_has_locked_is_not_said_to_lack_tables(text: str):
    assert "for example a restore" in database_advice(text) and "migrate" not in database_advice(text)


def test_any_other_error_of_the_database_leads_to_its_tables_and_its_address():
    assert "make migrate" in database_advice("no such table: digest_item")
    for text, cure in (
        ("connection to server at 127.0.0.1, port 5432 failed: Connection refused", "Does its server run"),
        ("FATAL: the database system is starting up", "Does its server run"),
        ('FATAL: password authentication failed for user "tidings"', "the password"),
        ('FATAL: database "tidngs" does not exist', "or the database in DATABASE_URL"),
        ('relation "digest_item" does not exist', "migrate"),
        ("unable to open database file", "may write there"),
    ):
        assert cure in database_advice(text), text
        assert "missing" not in database_advice(text) or "relation" in text


@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_address_below_api_that_is_none_answers_scripts_in_their_language(db, method: str):
    answer = getattr(Client(enforce_csrf_checks=True), method)("/api/nope/1")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
