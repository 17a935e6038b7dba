from django.db import migrations, models

WORDS = "What was read is on no later day's page; empty: not asked yet, which is no."


def wished(apps, editor):
    """Who wanted read articles to leave today's page wants none of them tomorrow. Others are asked once."""
    apps.get_model("digest", "Reader").objects.filter(hide_read=True).update(read_gone=True)


class Migration(migrations.Migration):

    dependencies = [
        ('digest', '0009_invitations'),
    ]

    operations = [
        migrations.AddField(
            model_name='reader',
            name='read_gone',
            field=models.BooleanField(null=True, help_text=WORDS),
        ),
        migrations.AlterField(
            model_name='reader',
            name='read_gone',
            field=models.BooleanField(default=True, null=True, help_text=WORDS),
        ),
        migrations.RunPython(wished, migrations.RunPython.noop),
    ]
