"""Clean the stored names of feeds and sources as `digest.feeds.titles` cleans new ones.

What a reader calls a feed stays, unless it is the feed's own name from before, which a list brought.
"""

from django.db import migrations, models

from digest.feeds.titles import title_clean

BATCH = 1_000


def own_names_forget(apps, schema_editor):
    rows = apps.get_model("digest", "Subscription").objects.exclude(own_name="")
    rows.filter(own_name=models.F("feed__title")).update(own_name="")


def titles_clean(apps, schema_editor):
    for name in ("Feed", "Source"):
        model = apps.get_model("digest", name)
        changed = []
        for row in model.objects.exclude(title="").only("pk", "title").iterator(chunk_size=BATCH):
            if row.title != (cleaned := title_clean(row.title)):
                row.title = cleaned
                changed.append(row)
        model.objects.bulk_update(changed, ["title"], batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [("digest", "0019_read_gone_default")]
    operations = [
        migrations.RunPython(own_names_forget, migrations.RunPython.noop),
        migrations.RunPython(titles_clean, migrations.RunPython.noop),
    ]
