"""Readers are asked what they like at most once a day: see `Reader.taught_on`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add `Reader.taught_on`."""

    dependencies = [
        ('digest', '0006_newsletters_waiting'),
    ]

    operations = [
        migrations.AddField(
            model_name='reader',
            name='taught_on',
            field=models.DateField(blank=True, help_text="The reader's day whose offer to say what they like was taken up or put off.", null=True),
        ),
    ]
