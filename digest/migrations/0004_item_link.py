"""Items say where they lead, apart from what they are: see `Item.address`."""

from importlib import import_module

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add `Item.link`, and the triggers of search, which SQLite drops with the table it builds anew."""

    dependencies = [("digest", "0003_meanings")]

    operations = [
        migrations.AddField(
            model_name="item",
            name="link",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text=(
                    "Where it leads, as the publisher wrote it; empty: to its URL, if that is an address."
                ),
                max_length=2000,
            ),
        ),
        migrations.RunPython(
            import_module("digest.migrations.0001_squashed").search_triggers_add, migrations.RunPython.noop
        ),
    ]
