"""An index of the entries of a feed holds their items, so that those are found without reading the entries."""

from django.db import migrations, models

from ranking.common.migrations import IndexAdd


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("digest", "0012_ids_by_date")]

    operations = [
        IndexAdd("feedentry", models.Index(fields=["feed", "item"], name="entries_of_a_feed_by_item")),
    ]
