import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("digest", "0009_suggestions_switch")]

    operations = [
        migrations.AlterField(
            model_name="feedentry",
            name="item",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="entries",
                to="digest.item",
            ),
        ),
    ]
