from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("digest", "0005_item_search")]

    operations = []
