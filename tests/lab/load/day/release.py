"""Two releases of the code beside each other: the one at hand, and one that a deploy brings."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
KEPT = (*ROOMS, "deploy", "static", "templates", "manage.py", "Procfile", "pyproject.toml")
NEXT = "999.0.0"
# Columns that the next release adds to the two busiest tables. Both releases can write them at the same time.
FIELDS = {
    "item": ("digest/models/feeds.py", "class Item(models.Model):", "published_at = models.DateTimeField("),
    "feedback": (
        "digest/models/digests.py",
        "class Feedback(models.Model):",
        "useful = models.BooleanField()",
    ),
}
FIELD = 'edition = models.CharField(max_length=20, default="", db_default="")'
MIGRATION = '''"""Columns in two tables that are read and written meanwhile, an index, and rows filled in."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


def fill(apps, schema_editor):
    items = apps.get_model("digest", "Item").objects
    for low in range(0, (items.order_by("-pk").values_list("pk", flat=True).first() or 0) + 1, 1000):
        items.filter(pk__gte=low, pk__lt=low + 1000).update(edition="first")


def column():
    return models.CharField(max_length=20, default="", db_default="")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("digest", "{after}")]
    operations = [
        migrations.AddField("item", "edition", column()),
        migrations.AddField("feedback", "edition", column()),
        AddIndexConcurrently("item", models.Index(fields=["edition"], name="items_by_edition")),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
'''


def release_copy(folder: Path) -> Path:
    """Copy the present code as a release into its own folder."""
    folder.mkdir(parents=True)
    for name in KEPT:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    return folder


def release_next(folder: Path) -> Path:
    """Return the release after it: another version, columns that its code reads, a migration that makes
    them."""
    release_copy(folder)
    config = folder / "config" / "__init__.py"
    text, count = re.subn(
        r'^__version__ = "[^"]+"', f'__version__ = "{NEXT}"', config.read_text(), flags=re.M
    )
    assert count == 1, "config names no version"
    config.write_text(text)
    for path, head, before in FIELDS.values():
        code = (folder / path).read_text()
        begin = code.index(head)
        at = code.index(before, begin)
        (folder / path).write_text(f"{code[:at]}{FIELD}\n    {code[at:]}")
    migrations = folder / "digest" / "migrations"
    last = sorted(path.stem for path in migrations.glob("0*.py"))[-1]
    (migrations / "9999_edition.py").write_text(MIGRATION.replace("{after}", last))
    return folder


def release_switch(current: Path, folder: Path) -> None:
    """Let the symbolic link `current` lead to another release, at no moment to none."""
    fresh = current.with_name("next")
    fresh.symlink_to(folder)
    fresh.replace(current)
