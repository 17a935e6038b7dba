from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('digest', '0023_passed_slot'),
    ]

    operations = [
        migrations.AddField(
            model_name='savedsearch',
            name='name',
            field=models.CharField(
                blank=True, db_default='', default='', help_text="The reader's name; empty: its words.", max_length=60
            ),
        ),
    ]
