from django.db import migrations
from django.db.models import F


def spreads_add(apps, schema_editor):
    """Add up what was published of sources and of topics: both estimate the same."""
    apps.get_model("suggestions", "TasteSpread").objects.update(
        source_estimates=F("source_estimates") + F("topic_estimates"),
        source_weights=F("source_weights") + F("topic_weights"),
    )


class Migration(migrations.Migration):
    dependencies = [("suggestions", "0001_squashed")]

    operations = [
        migrations.RunPython(spreads_add, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField("tastespread", "topic_estimates"),
        migrations.RemoveField("tastespread", "topic_weights"),
        migrations.RenameField("tastespread", "source_estimates", "estimates"),
        migrations.RenameField("tastespread", "source_weights", "weights"),
    ]
