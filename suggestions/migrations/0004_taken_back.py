from django.db import migrations, models


def mark(apps, schema_editor):
    """Rejections that were taken back have a revert beside them; from here on their status says so."""
    suggestions = apps.get_model("suggestions", "Suggestion").objects
    suggestions.filter(status="rejected", outcomes__kind="revert").update(status="taken_back")


def unmark(apps, schema_editor):
    """Each gets the status of its answer again."""
    suggestions = apps.get_model("suggestions", "Suggestion").objects
    suggestions.filter(status="taken_back", outcomes__outcome="rejected").update(status="rejected")
    suggestions.filter(status="taken_back").update(status="accepted")


class Migration(migrations.Migration):

    dependencies = [
        ("suggestions", "0003_discarded_drafts"),
    ]

    operations = [
        migrations.AlterField(
            model_name="suggestion",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("accepted", "Accepted"),
                    ("rejected", "Rejected"),
                    ("snoozed", "Snoozed"),
                    ("superseded", "Superseded"),
                    ("expired", "Expired"),
                    ("draft", "Draft"),
                    ("discarded", "Discarded"),
                    ("taken_back", "taken back"),
                ],
                default="pending",
                max_length=12,
            ),
        ),
        migrations.RunPython(mark, unmark),
    ]
