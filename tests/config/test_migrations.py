"""The previous release's code can read and write while migrations run."""

from collections.abc import Sequence
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from config.apps import check_migrations
from config.readiness import migrations_missing
from digest.items.search import items_search
from digest.models import Reader
from ranking.common.migrations import IndexAdd
from tests.support.browser import fresh_item

ROOT = Path(__file__).resolve().parents[2]
# Migrations after the first meet code at work. The author of one that takes something away, which no code at
# work reads any more, lists it here as `room.name` (docs/upgrading.md).
TAKEN_AWAY_LATER: set[str] = set()
TAKES = (
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def trouble(operations: Sequence[Operation]) -> list[str]:
    """Return the changes that would break the previous release."""
    found = []
    for one in operations:
        if isinstance(one, TAKES):
            found.append(f"{one.describe()}: what the old code reads must stay for one release more")
        if type(one) in (migrations.AddIndex, migrations.RemoveIndex):
            found.append(f"{one.describe()}: nobody could write meanwhile; take `ranking.common.migrations`")
        if isinstance(one, migrations.AddField):
            field = one.field
            filled = field.null or field.db_default is not models.NOT_PROVIDED or field.many_to_many
            if not filled:
                found.append(f"{one.describe()}: the old code writes rows without it; give it `db_default`")
    return found


@pytest.mark.parametrize("room", ["advisor", "config", "digest", "ranking", "suggestions"])
def test_new_migrations_leave_the_release_before_at_work(room):
    first, *later = sorted(path.stem for path in (ROOT / room / "migrations").glob("0*.py"))
    assert first in ("0001_initial", "0001_squashed")
    for name in later:
        operations = import_module(f"{room}.migrations.{name}").Migration.operations
        assert f"{room}.{name}" in TAKEN_AWAY_LATER or not trouble(operations), name


@pytest.mark.parametrize("room", ["advisor", "config", "digest", "ranking", "suggestions"])
def test_a_row_of_the_old_code_has_the_default_of_a_new_column(room):
    """Also if the column is nullable: there, empty means something else than its default."""
    for path in sorted((ROOT / room / "migrations").glob("0*.py"))[1:]:
        for one in import_module(f"{room}.migrations.{path.stem}").Migration.operations:
            if isinstance(one, migrations.AddField):
                field = apps.get_model(room, one.model_name)._meta.get_field(one.name)
                default = field.get_default() if field.has_default() else None
                assert default is None or field.db_default == default, f"{field}: give it `db_default`"


def test_what_the_release_before_could_not_live_with_is_found():
    def column(**options: object) -> migrations.AddField:
        return migrations.AddField("item", "edition", models.CharField(max_length=20, **options))

    assert not trouble([column(default="", db_default=""), column(null=True)])
    assert "db_default" in trouble([column(default="")])[0]
    index = models.Index(fields=["edition"], name="items_by_edition")
    assert "nobody could write" in trouble([migrations.AddIndex("item", index)])[0]
    assert not trouble([IndexAdd("item", index)])
    assert "one release more" in trouble([migrations.RemoveField("item", "author")])[0]


def search_triggers() -> set[str]:
    """Return the triggers that write items' words into SQLite's search index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE type='trigger' AND tbl_name='digest_item'")
        return {row[0] for row in cursor.fetchall()}


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's search is a generated column")
def test_the_search_has_its_triggers_after_all_migrations_and_can_be_given_them_again():
    search = import_module("digest.migrations.0001_squashed")
    wanted = {*search.SQLITE_TRIGGERS}
    assert search_triggers() == wanted, "a migration made digest_item anew: see docs/upgrading.md"
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER digest_item_search_added")
    assert len(search_triggers()) == 2
    search.search_triggers_add(None, connection.schema_editor())
    assert search_triggers() == wanted


@pytest.mark.django_db
def test_the_search_is_taken_away_and_finds_all_items_when_it_is_added_again(ada: Reader):
    search = import_module("digest.migrations.0001_squashed")
    editor = connection.schema_editor()
    fresh_item(ada, title="日本語 and C++", text="")
    fresh_item(ada, title="Plain harbour", text="")
    connection.check_constraints()  # PostgreSQL alters no table with pending checks
    search.search_remove(None, editor)
    search.search_add(None, editor)
    assert item_titles(ada, "日本") == item_titles(ada, "c++") == ["日本語 and C++"]
    assert item_titles(ada, "harbour") == ["Plain harbour"]
    fresh_item(ada, title="Vitamin C", text="")
    assert item_titles(ada, "vitamin") == ["Vitamin C"]


def item_titles(reader: Reader, query: str) -> list[str]:
    """Return the titles that a reader's search finds."""
    return [item.title for item in items_search(reader_id=reader.pk, query=query, now=timezone.now()).items]


@pytest.mark.django_db
def test_every_change_of_a_model_has_its_migration_in_the_repository():
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_migrate_says_in_one_line_that_there_is_nothing_to_do_and_more_only_if_asked():
    said = StringIO()
    call_command("migrate", stdout=said)
    assert said.getvalue() == "The database is up to date.\n"
    call_command("migrate", plan=True, stdout=said)
    assert "No planned migration operations" in said.getvalue()
    said = StringIO()
    call_command("migrate", verbosity=2, stdout=said)
    assert "Running migrations" in said.getvalue()


def recorded(room: str) -> Any:
    """Return the migrations of a room that the database has recorded."""
    return MigrationRecorder(connection).migration_qs.filter(app=room)


@pytest.mark.django_db
@pytest.mark.parametrize("room", ["digest", "ranking", "suggestions"])
def test_a_squashed_migration_counts_as_applied_where_all_it_replaces_are_and_else_is_refused(room):
    replaced = import_module(f"{room}.migrations.0001_squashed").Migration.replaces
    assert recorded(room).filter(name__in=[name for _, name in replaced]).count() == len(replaced)
    recorded(room).filter(name="0001_squashed").delete()
    assert migrations_missing() == []
    recorded(room).filter(name=replaced[-1][1]).delete()
    assert [str(migration) for migration in migrations_missing()][:1] == [f"{room}.0001_squashed"]
    assert not check_migrations()
    said = rf"tidings.E020\) Only some of what {room}.0001_squashed replaces was applied"
    with pytest.raises(SystemCheckError, match=said):
        call_command("migrate", verbosity=0, skip_checks=False)
