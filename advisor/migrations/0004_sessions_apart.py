"""Manual sessions stand apart from the reader's run of the day."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("advisor", "0003_reviews_and_memories"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="run", name="one_run_per_day"),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("status__in", ["queued", "running", "completed"]),
                    models.Q(("trigger", "mcp"), _negated=True),
                ),
                fields=("reader", "day"),
                name="one_run_per_day",
            ),
        ),
    ]
