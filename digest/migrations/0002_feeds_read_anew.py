"""Ask for every document once more in full: it is read otherwise now, and what is stored is corrected by it."""

from django.db import migrations


def validators_forget(apps, schema_editor):
    feeds = apps.get_model("digest", "Feed").objects
    feeds.exclude(etag="", last_modified="").update(etag="", last_modified="")


class Migration(migrations.Migration):
    dependencies = [("digest", "0001_squashed")]
    operations = [migrations.RunPython(validators_forget, migrations.RunPython.noop)]
