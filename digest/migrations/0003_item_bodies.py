from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

initial = import_module("digest.migrations.0001_initial")


class Migration(migrations.Migration):
    dependencies = [("digest", "0002_items_by_feed")]

    operations = [
        migrations.CreateModel(
            name="ItemBody",
            fields=[
                (
                    "item",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="body",
                        serialize=False,
                        to="digest.item",
                    ),
                ),
                (
                    "html",
                    models.BinaryField(
                        default=bytes, help_text="Cleaned, compressed by zlib; empty: plain text says all."
                    ),
                ),
                (
                    "enclosures",
                    models.JSONField(default=list, help_text="As `digest.feeds.entities.Enclosure`."),
                ),
            ],
            options={"verbose_name_plural": "item bodies"},
        ),
        migrations.AddField(
            "item",
            "body_hash",
            models.BigIntegerField(
                db_default=0,
                default=0,
                help_text="Hash of its HTML, enclosures, categories and picture; 0: it has none of them.",
            ),
        ),
        migrations.AddField(
            "item",
            "categories",
            models.JSONField(blank=True, db_default=[], default=list, help_text="The publisher's own."),
        ),
        migrations.AddField(
            "item",
            "image",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The address of its picture.",
                max_length=2000,
            ),
        ),
        migrations.AddField(
            "reader",
            "pictures",
            models.CharField(
                choices=[
                    ("shown", "show them"),
                    ("tap", "show one when I tap it"),
                    ("never", "never show any"),
                ],
                db_default="shown",
                default="shown",
                help_text="Pictures in articles, which come through this site.",
                max_length=5,
            ),
        ),
        migrations.RunPython(initial.search_triggers_add, migrations.RunPython.noop),
    ]
