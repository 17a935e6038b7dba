import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("digest", "0005_item_search")]

    operations = [
        migrations.CreateModel(
            name="ItemVector",
            fields=[
                (
                    "item",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="vector",
                        serialize=False,
                        to="digest.item",
                    ),
                ),
                ("fingerprint", models.CharField(help_text="Of the words it was made from.", max_length=64)),
                ("terms", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="TasteProfile",
            fields=[
                (
                    "reader",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="taste",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "day",
                    models.IntegerField(help_text="The UTC day (since 1970) whose decay the sums stand at."),
                ),
                ("likes", models.FloatField(default=0.0, help_text="Decayed.")),
                ("dislikes", models.FloatField(default=0.0, help_text="Decayed.")),
                ("terms", models.BinaryField(default=bytes, help_text="Places, liked and disliked sums.")),
                (
                    "thumbs",
                    models.BinaryField(
                        default=bytes, help_text="Item, day and sign of each thumb in the sums."
                    ),
                ),
                ("updated_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="TermCounts",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("documents", models.PositiveBigIntegerField(default=0)),
                (
                    "counts",
                    models.BinaryField(
                        default=bytes, help_text="One number for each place, compressed."
                    ),
                ),
            ],
            options={"verbose_name_plural": "term counts"},
        ),
    ]
