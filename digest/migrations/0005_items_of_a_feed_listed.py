from django.db import migrations, models

from ranking.common.migrations import IndexAdd, IndexRemove


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("digest", "0004_reader_lists")]

    operations = [
        IndexAdd(
            model_name="item",
            index=models.Index(fields=["feed", "-dated_at", "-id", "article"], name="items_of_a_feed_listed"),
        ),
        IndexRemove(model_name="item", name="items_of_a_feed_by_date"),
    ]
