import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NightlyReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text='The UTC day the night belongs to.', unique=True)),
                ('status', models.CharField(choices=[('running', 'Running'), ('completed', 'Completed'), ('failed', 'completed with failed steps')], default='running', max_length=9)),
                ('steps', models.JSONField(default=dict, help_text='By name: {"status", "started_at", "seconds", "counts", "error"}.')),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('token', models.PositiveIntegerField(default=0, help_text='Fencing token: a stale worker writes nothing.')),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-day'],
            },
        ),
        migrations.CreateModel(
            name='IdempotentResponse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text='The Idempotency-Key as it was sent.', max_length=255)),
                ('fingerprint', models.CharField(help_text='A digest of method, address and body.', max_length=64)),
                ('turn', models.PositiveIntegerField(default=0, help_text='Raised by each claim; only the latest answers.')),
                ('status', models.PositiveSmallIntegerField(help_text='Empty while the call is under way.', null=True)),
                ('body', models.BinaryField(default=bytes)),
                ('content_type', models.CharField(blank=True, max_length=100)),
                ('location', models.CharField(blank=True, max_length=500)),
                ('created_at', models.DateTimeField(db_index=True)),
                ('claimed_until', models.DateTimeField()),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='idempotent_responses', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('reader', 'key'), name='one_answer_per_key')],
            },
        ),
    ]
