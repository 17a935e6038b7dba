"""The index of items by date holds their ids, so that a week's are found without reading the items."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("digest", "0011_fewer_indexes")]

    operations = [
        migrations.AddIndex("item", models.Index(fields=["dated_at", "id"], name="items_by_date_and_id")),
        migrations.RemoveIndex("item", "items_by_date"),
    ]
