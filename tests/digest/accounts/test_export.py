"""Taking everything along: whole, one's own alone, and without a secret."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor import selectors as advisor_part
from advisor.models import Run, Step
from config.export import SCHEMA_VERSION, reader_export_parts, reader_export_stream
from config.models import IdempotentResponse
from digest.accounts import services as digest_part
from digest.accounts.services import reader_delete
from digest.accounts.tokens import token_issue
from digest.models import (
    ApiToken,
    Destination,
    Digest,
    Feed,
    FeedAccess,
    Feedback,
    FeedbackTag,
    Impression,
    Reader,
    UsedLink,
)
from ranking import selectors as ranking_part
from ranking.common.rows import export_rows
from ranking.services import ConfigEdit, config_edit
from suggestions import selectors as suggestions_part
from tests.conftest import NOW
from tests.support.browser import fresh_item, suggested
from tests.support.factories import FeedbackFactory, ItemFactory, SourceFactory

ROOMS = {"ranking", "digest", "suggestions", "advisor", "tidings"}
# Exported with another table's rows: reasons with their thumb. Not exported: answers of API calls, kept for a
# day.
TOLD_ELSEWHERE = {FeedbackTag, IdempotentResponse}


def exported(reader: Reader) -> dict[str, Any]:
    """Return the export as read back."""
    return json.loads("".join(reader_export_stream(reader=reader, now=NOW)))


def readers_tables() -> set[type]:
    """Return every model of ours whose rows are about one reader, by a foreign key or by one to such a row.

    A private feed is in the row of its subscription. Its items are there if the reader rated, read or saw
    them, as for all feeds. A proxy model shows a table that is there already.
    """
    ours = [model for model in apps.get_models() if model._meta.app_label in ROOMS]
    models = [model for model in ours if not model._meta.proxy]
    about: set[type] = {Reader, FeedAccess}
    while True:
        more = {
            model
            for model in models
            for field in model._meta.concrete_fields
            if field.related_model in about and model not in about and model is not Feed
        }
        if not more:
            return about
        about |= more


def test_every_table_that_knows_a_reader_is_in_the_export(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    seen: set[type] = set()

    def noted(rows: Any, **more: Any) -> Iterator[dict[str, Any]]:
        seen.add(rows.model)
        return export_rows(rows, **more)

    for part in (digest_part, ranking_part, suggestions_part, advisor_part):
        monkeypatch.setattr(part, "export_rows", noted)
    exported(ada)
    assert readers_tables() - seen == TOLD_ELSEWHERE


def test_the_rooms_name_their_parts_apart(ada: Reader):
    names = [name for name, _ in reader_export_parts(reader=ada)]
    assert len(names) == len(set(names))
    assert names[0] == "account"


def test_the_export_says_what_was_read_said_set_suggested_and_run(ada: Reader):
    item = fresh_item(ada, title="Tides")
    thumb = FeedbackFactory(reader=ada, item=item, useful=False, other_reasons=["too damp"])
    FeedbackTag.objects.create(feedback=thumb, tag_id="clickbait")
    version = config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["tides"]), expected_version=0, now=NOW)
    run = Run.objects.create(reader=ada, day=NOW.date(), trigger="ui", status="completed", created_at=NOW)
    Step.objects.create(run=run, n=1, kind="tool", tool="query_user_config", at=NOW)
    suggestion = suggested(ada, run_id=run.pk)
    digest = Digest.objects.create(reader=ada, date=NOW.date(), config_version=version, built_at=NOW)
    Impression.objects.create(digest=digest, item=item, rank=1, score=1.5, parts={"weight": 1.0})

    got = exported(ada)
    assert got["version"] == SCHEMA_VERSION and got["exported_at"].startswith("2026-03-18")
    assert got["account"]["username"] == "ada" and got["account"]["time_zone"] == "Europe/Berlin"
    assert got["config"][0]["topics"] == ["tides"]
    assert [row["version"] for row in got["config_versions"]] == [version]
    document = next(row for row in got["feedback"] if row["item_id"] == item.pk)
    assert (document["useful"], document["reason_tags"], document["other_reasons"]) == (
        False,
        ["clickbait"],
        ["too damp"],
    )
    assert (document["url"], document["title"]) == (item.url, "Tides")
    assert got["suggestions"][0]["id"] == suggestion.pk and len(got["evidence"]) == 3
    assert got["steps"][0]["tool"] == "query_user_config"
    assert got["impressions"][0]["parts"] == {"weight": 1.0}
    assert {row["source"] for row in got["subscriptions"]} == {"gazette.example"}


def test_no_key_that_opens_anything_is_in_the_export(ada: Reader):
    ada.set_password("a-lamp-and-a-kettle")
    ada.feed_token = "feed-secret-feed-secret"
    ada.save()
    issued = token_issue(reader=ada, name="notes", scope="full", expires_at=None, now=NOW)
    UsedLink.objects.create(reader=ada, digest="link-hash-link-hash", used_at=NOW)
    Authenticator.objects.create(user=ada, type="totp", data={"secret": "TOTPSECRETTOTP"})
    fields = {"address": "https://a.example/WEBHOOK-PATH", "secret": "ENCRYPTED-TOKEN", "created_at": NOW}
    Destination.objects.create(reader=ada, kind="ntfy", **fields)
    text = "".join(reader_export_stream(reader=ada, now=NOW))
    for secret in (
        ada.password,
        ada.feed_token,
        "link-hash",
        "TOTPSECRET",
        "WEBHOOK-PATH",
        "ENCRYPTED-TOKEN",
        issued.secret,
        issued.token.digest,
    ):
        assert secret not in text
    got = json.loads(text)
    assert got["account"]["own_feed"] is True
    assert got["account"]["second_factors"][0]["type"] == "totp"
    assert [(row["name"], row["scope"]) for row in got["api_tokens"]] == [("notes", "full")]


def test_nothing_of_another_reader_is_in_the_export(ada: Reader, ben: Reader, client: Client):
    suggested(ben, label="Only Ben", reason="Only Ben reads this")
    FeedbackFactory(reader=ben, item=fresh_item(ben, title="Only Ben has this"))
    ApiToken.objects.create(reader=ben, name="Only Ben", digest="x", hint="x", created_at=NOW)
    client.force_login(ada)
    answer = client.get("/ui/account/export")
    body = b"".join(answer.streaming_content).decode()
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    assert "no-store" in answer["Cache-Control"]
    assert "Only Ben" not in body and str(ben.pk) not in body and ben.email not in body


@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 20])
def test_an_export_of_an_account_that_is_deleted_meanwhile_ends_with_nothing_of_others(
    ada: Reader, ben: Reader, pieces: int
):
    """It may lack rows, or the rest of the document, but it adds none that belong to somebody else."""
    for reader in (ada, ben):
        suggested(reader, label=f"Only {reader}", reason=f"Only {reader} reads this")
        FeedbackFactory(reader=reader, item=fresh_item(reader, title=f"Only {reader} has this"))
    stream = reader_export_stream(reader=Reader.objects.get(pk=ada.pk), now=NOW)
    body = [next(stream) for _ in range(pieces)]
    reader_delete(reader=ada)
    body += stream
    assert json.loads("".join(body))["schema"] == "tidings.reader-export"
    assert "Only ben" not in "".join(body) and str(ben.pk) not in "".join(body)


def test_a_long_history_takes_no_more_queries_than_a_short_one(ada: Reader):
    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(exported(ada)["feedback"]) == Feedback.objects.filter(reader=ada).count()
        return len(queries)

    source = SourceFactory(key="gazette.example")
    FeedbackFactory(reader=ada, item=ItemFactory(source=source))
    short = asked()
    for n in range(40):
        thumb = FeedbackFactory(
            reader=ada, item=ItemFactory(source=source), at=NOW - timedelta(hours=n), has_reason=True
        )
        FeedbackTag.objects.create(feedback=thumb, tag_id="depth")
    assert asked() == short


def test_a_stream_of_rows_is_the_same_document_read_in_pieces(ada: Reader):
    FeedbackFactory(reader=ada, item=ItemFactory(title='Quotes " and \\ and 雪 and </script>'))
    pieces = list(reader_export_stream(reader=ada, now=NOW))
    assert len(pieces) > 20
    assert json.loads("".join(pieces))["feedback"][0]["title"] == 'Quotes " and \\ and 雪 and </script>'


def test_the_command_writes_the_same_to_a_file_or_to_stdout(ada: Reader, tmp_path: Path):
    out = StringIO()
    call_command("export_reader", user_id=ada.pk, stdout=out)
    call_command("export_reader", f"--user-id={ada.pk}", f"--out={tmp_path / 'ada.json'}")
    on_stdout, in_file = json.loads(out.getvalue()), json.loads((tmp_path / "ada.json").read_text())
    del on_stdout["exported_at"], in_file["exported_at"]
    assert on_stdout == in_file and in_file["account"]["username"] == "ada"
    with pytest.raises(CommandError):
        call_command("export_reader", f"--user-id={ada.pk}", f"--out={tmp_path}")
    with pytest.raises(CommandError):
        call_command("export_reader", "--user-id=00000000-0000-0000-0000-000000000000")


def test_an_exported_file_is_its_owners_alone_and_told_of(ada: Reader, tmp_path: Path):
    for name in ("new.json", "old.json"):
        file, document = tmp_path / name, StringIO()
        if name == "old.json":
            file.touch(0o644)
            with pytest.raises(CommandError, match="--force") as kept:
                call_command("export_reader", "--user-id=ada", f"--out={file}")
            assert kept.value.returncode == 2 and file.read_text() == ""
        more = ["--force"] if name == "old.json" else []
        call_command("export_reader", "--user-id=ada", f"--out={file}", *more, stderr=document)
        assert file.stat().st_mode & 0o777 == 0o600
        assert str(file) in document.getvalue() and f"{file.stat().st_size:,} bytes" in document.getvalue()


def test_an_export_that_finds_no_space_leaves_nothing_and_says_why(ada: Reader, tmp_path: Path, monkeypatch):
    def full(*, reader: Reader, now: object) -> Iterator[str]:
        yield "{"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("config.management.commands.export_reader.reader_export_stream", full)
    with pytest.raises(CommandError, match="No space left") as ended:
        call_command("export_reader", "--user-id=ada", f"--out={tmp_path / 'ada.json'}")
    assert ended.value.returncode == 2 and not list(tmp_path.iterdir())


def test_the_export_is_for_those_who_signed_in(client: Client, db: None):
    assert client.get("/ui/account/export").url.startswith("/accounts/login/")


def test_the_wish_about_pictures_is_in_the_export(ada: Reader):
    Reader.objects.filter(pk=ada.pk).update(pictures=Reader.Pictures.TAP)
    assert exported(Reader.objects.get(pk=ada.pk))["account"]["pictures"] == "tap"
