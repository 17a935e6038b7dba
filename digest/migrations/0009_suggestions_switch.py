from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("digest", "0008_moved_since")]

    operations = [
        migrations.AddField(
            model_name="reader",
            name="suggestions_enabled",
            field=models.BooleanField(
                default=True,
                help_text="Off: no suggestion is worked out for this reader, and none is brought up.",
            ),
        ),
        migrations.AddField(
            model_name="reader",
            name="nudge_quiet_until",
            field=models.DateTimeField(
                blank=True,
                help_text="Until then, today's page says nothing of suggestions that wait.",
                null=True,
            ),
        ),
    ]
