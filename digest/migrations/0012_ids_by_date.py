"""The index of items by date holds their ids, so that a week's are found without reading the items."""

from django.db import migrations, models

from ranking.common.migrations import IndexAdd, IndexRemove


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("digest", "0011_fewer_indexes")]

    operations = [
        IndexAdd("item", models.Index(fields=["dated_at", "id"], name="items_by_date_and_id")),
        IndexRemove("item", "items_by_date"),
    ]
