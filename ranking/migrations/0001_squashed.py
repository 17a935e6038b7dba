import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from ranking.common.migrations import ModelsCreate


class Migration(migrations.Migration):

    replaces = [
        ('ranking', '0001_initial'),
        ('ranking', '0002_mutes'),
        ('ranking', '0003_config_version_note'),
        ('ranking', '0004_implicit_preference'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        ModelsCreate([
            migrations.CreateModel(
                name='SourceAlias',
                fields=[
                    ('key', models.CharField(max_length=120, primary_key=True, serialize=False)),
                    ('target', models.CharField(db_index=True, help_text='The key the source goes by now.', max_length=120)),
                    ('renamed_at', models.DateTimeField()),
                ],
                options={
                    'verbose_name_plural': 'source aliases',
                },
            ),
            migrations.CreateModel(
                name='RankConfig',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('version', models.PositiveIntegerField(default=0)),
                    ('topics', models.JSONField(blank=True, default=list)),
                    ('source_weights', models.JSONField(blank=True, default=dict)),
                    ('keyword_boosts', models.JSONField(blank=True, default=dict)),
                    ('recency_half_life_hours', models.FloatField(default=24.0)),
                    ('ai_score_alpha', models.FloatField(default=0.1)),
                    ('locked', models.JSONField(blank=True, default=list, help_text='Targets the advisor must not touch.')),
                    ('avoided', models.JSONField(blank=True, default=list, help_text='Targets never to be suggested again.')),
                    ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='rank_config', to=settings.AUTH_USER_MODEL)),
                    ('mutes', models.JSONField(blank=True, db_default=[], default=list, help_text='What is hidden: kind, value, until.')),
                ],
            ),
            migrations.CreateModel(
                name='ConfigVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('version', models.PositiveIntegerField()),
                    ('cause', models.CharField(choices=[('edit', 'Edit'), ('accept', 'Accept'), ('revert', 'Revert'), ('pin', 'Pin')], max_length=10)),
                    ('cause_ref', models.CharField(blank=True, help_text='The suggestion or version behind it.', max_length=64)),
                    ('body', models.JSONField(help_text='The whole config, and the learned deltas, right after this write.')),
                    ('changes', models.JSONField(default=list, help_text='The fields and targets that this write changed.')),
                    ('created_at', models.DateTimeField()),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='config_versions', to=settings.AUTH_USER_MODEL)),
                    ('note', models.TextField(blank=True, db_default='', default='', help_text="The reader's own words, where they asked in words.")),
                ],
                options={
                    'ordering': ['-version'],
                    'constraints': [models.UniqueConstraint(fields=('reader', 'version'), name='one_row_per_version')],
                },
            ),
            migrations.CreateModel(
                name='LearnedWeight',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('source_key', models.CharField(max_length=120)),
                    ('delta', models.FloatField(default=0.0)),
                    ('p_better', models.FloatField(default=0.5)),
                    ('n', models.FloatField(default=0.0)),
                    ('on_hold_until', models.DateTimeField(blank=True, help_text='The loop leaves the source alone till then.', null=True)),
                    ('updated_at', models.DateTimeField()),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='learned_weights', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('reader', 'source_key'), name='one_delta_per_source')],
                },
            ),
            migrations.CreateModel(
                name='WeightSnapshot',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('source_key', models.CharField(max_length=120)),
                    ('cycle', models.DateField(help_text='The UTC day of the cycle.')),
                    ('before', models.FloatField()),
                    ('after', models.FloatField()),
                    ('p_better', models.FloatField()),
                    ('n', models.FloatField()),
                    ('reason', models.CharField(max_length=40)),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='weight_snapshots', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-cycle', 'source_key'],
                    'constraints': [models.UniqueConstraint(fields=('reader', 'source_key', 'cycle'), name='one_snapshot_per_cycle')],
                },
            ),
            migrations.CreateModel(
                name='ImplicitPreference',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('weight', models.FloatField(help_text="How far opens foretell this reader's thumbs, 0 to 1.")),
                    ('sources', models.JSONField(default=dict, help_text='Key: log-odds, opened, shown.')),
                    ('categories', models.JSONField(default=dict, help_text='Key: log-odds, opened, shown.')),
                    ('source_thumbs', models.JSONField(default=dict, help_text='Key: which way thumbs lean, 1 or -1.')),
                    ('category_thumbs', models.JSONField(default=dict, help_text='Key: which way thumbs lean, 1 or -1.')),
                    ('updated_at', models.DateTimeField()),
                    ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='implicit_preference', to=settings.AUTH_USER_MODEL)),
                ],
            ),
        ]),
    ]
