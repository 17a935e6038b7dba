from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("digest", "0004_keeping_readers")]

    operations = []
