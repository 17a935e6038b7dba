from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('digest', '0021_topic_steepness'),
    ]

    operations = [
        migrations.AddField(
            model_name='invitation',
            name='invited_by',
            field=models.CharField(blank=True, db_default='', default='', help_text='Who invites, as the invited person knows them. The page behind the link says it.', max_length=100),
        ),
    ]
