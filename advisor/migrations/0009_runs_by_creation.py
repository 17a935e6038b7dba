"""Runs by when they were asked for, for the lists of operators."""

from django.db import migrations, models

from ranking.common.migrations import IndexAdd


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("advisor", "0008_guidance_days")]

    operations = [
        IndexAdd("run", models.Index(fields=["-created_at"], name="runs_by_creation")),
    ]
