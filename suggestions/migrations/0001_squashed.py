import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from ranking.common.migrations import ModelsCreate


class Migration(migrations.Migration):

    replaces = [
        ('suggestions', '0001_initial'),
        ('suggestions', '0002_taste_spread'),
    ]

    initial = True

    dependencies = [
        ('digest', '0001_squashed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        ModelsCreate([
            migrations.CreateModel(
                name='Suggestion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run_id', models.UUIDField(db_index=True, default=uuid.uuid4)),
                    ('suggestion_type', models.CharField(choices=[('add_topic', 'Add Topic'), ('remove_topic', 'Remove Topic'), ('boost_source', 'Boost Source'), ('reduce_source', 'Reduce Source')], max_length=20)),
                    ('field', models.CharField(choices=[('topics', 'Topics'), ('source_weights', 'Source Weights')], max_length=20)),
                    ('target_key', models.CharField(help_text="The source's key, or the topic's identity.", max_length=120)),
                    ('label', models.CharField(help_text="The source's title, or the topic as it will be written.", max_length=200)),
                    ('current_value', models.CharField(blank=True, max_length=64)),
                    ('suggested_value', models.CharField(max_length=64)),
                    ('reason', models.TextField(help_text="The server's sentence, from counted ratings.")),
                    ('model_note', models.TextField(blank=True, help_text='What a model wrote beside it, as it came; readers see it as far as it is safe.')),
                    ('confidence', models.CharField(choices=[('high', 'High'), ('medium', 'Medium'), ('low', 'Low')], max_length=10)),
                    ('p_helpful', models.FloatField()),
                    ('forecast', models.JSONField(default=dict)),
                    ('expected_impact', models.TextField(blank=True)),
                    ('config_version', models.PositiveIntegerField()),
                    ('status', models.CharField(choices=[('pending', 'Pending'), ('accepted', 'Accepted'), ('rejected', 'Rejected'), ('snoozed', 'Snoozed'), ('superseded', 'Superseded'), ('expired', 'Expired'), ('draft', 'Draft'), ('discarded', 'Discarded'), ('taken_back', 'taken back')], default='pending', max_length=12)),
                    ('validation_notes', models.JSONField(blank=True, default=list)),
                    ('created_at', models.DateTimeField()),
                    ('resolved_at', models.DateTimeField(blank=True, null=True)),
                    ('snoozed_until', models.DateTimeField(blank=True, null=True)),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='suggestions', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created_at', '-id'],
                    'indexes': [models.Index(fields=['reader', 'status'], name='suggestions_by_status')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('status', 'pending')), fields=('reader', 'field', 'target_key'), name='one_pending_per_target')],
                },
            ),
            migrations.CreateModel(
                name='Outcome',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(choices=[('decision', 'Decision'), ('effect', 'Effect'), ('revert', 'Revert')], max_length=10)),
                    ('outcome', models.CharField(choices=[('accepted', 'Accepted'), ('rejected', 'Rejected'), ('expired', 'Expired'), ('superseded', 'Superseded'), ('helped', 'Helped'), ('harmed', 'Harmed'), ('unclear', 'Unclear'), ('reverted', 'Reverted')], max_length=12)),
                    ('suggestion_type', models.CharField(choices=[('add_topic', 'Add Topic'), ('remove_topic', 'Remove Topic'), ('boost_source', 'Boost Source'), ('reduce_source', 'Reduce Source')], max_length=20)),
                    ('target_key', models.CharField(max_length=120)),
                    ('user_reason', models.CharField(blank=True, max_length=500)),
                    ('edited_value', models.CharField(blank=True, help_text='The value a reader chose instead.', max_length=64)),
                    ('config_before', models.JSONField()),
                    ('config_after', models.JSONField(null=True)),
                    ('evidence_summary', models.JSONField(default=list)),
                    ('measured', models.JSONField(default=dict, help_text='What an effect check measured; empty for decisions.')),
                    ('created_at', models.DateTimeField(help_text='When the suggestion was made.')),
                    ('decided_at', models.DateTimeField()),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outcomes', to=settings.AUTH_USER_MODEL)),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outcomes', to='suggestions.suggestion')),
                ],
                options={
                    'ordering': ['-decided_at', '-id'],
                    'indexes': [models.Index(fields=['reader', '-decided_at'], name='outcomes_of_a_reader_by_date')],
                    'constraints': [models.UniqueConstraint(fields=('suggestion', 'kind'), name='one_outcome_per_kind')],
                },
            ),
            migrations.CreateModel(
                name='OutcomeArchive',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('config_before', models.JSONField()),
                    ('config_after', models.JSONField(null=True)),
                    ('evidence_summary', models.JSONField(default=list)),
                    ('archived_at', models.DateTimeField()),
                    ('outcome', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='archive', to='suggestions.outcome')),
                ],
            ),
            migrations.CreateModel(
                name='PreferenceProfile',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('acceptance_stats', models.JSONField(default=dict)),
                    ('patterns', models.JSONField(default=dict)),
                    ('trends', models.JSONField(default=dict)),
                    ('total_outcomes', models.PositiveIntegerField(default=0)),
                    ('last_outcome_at', models.DateTimeField(null=True)),
                    ('computed_at', models.DateTimeField()),
                    ('compacted_through', models.DateTimeField(help_text='Decisions up to here are archived; their counts stay in this profile.', null=True)),
                    ('reader', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='preference_profile', to=settings.AUTH_USER_MODEL)),
                ],
            ),
            migrations.CreateModel(
                name='Evidence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('url', models.CharField(max_length=2000)),
                    ('title', models.CharField(max_length=500)),
                    ('source_key', models.CharField(max_length=120)),
                    ('useful', models.BooleanField()),
                    ('reason_tags', models.JSONField(default=list)),
                    ('rated_at', models.DateTimeField()),
                    ('item', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='digest.item')),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='suggestions.suggestion')),
                ],
                options={
                    'verbose_name_plural': 'evidence',
                    'constraints': [models.UniqueConstraint(fields=('suggestion', 'url'), name='one_row_per_evidence_item')],
                },
            ),
            migrations.CreateModel(
                name='TasteSpread',
                fields=[
                    ('day', models.IntegerField(help_text='The UTC day it was published, counted from 1970.', primary_key=True, serialize=False)),
                    ('source_estimates', models.IntegerField()),
                    ('source_weights', models.IntegerField()),
                    ('topic_estimates', models.IntegerField()),
                    ('topic_weights', models.IntegerField()),
                ],
            ),
            migrations.CreateModel(
                name='TasteContribution',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveSmallIntegerField(help_text='1 or 2.')),
                    ('day', models.IntegerField(help_text='The UTC day, counted from 1970.')),
                    ('reader', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='taste_contributions', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('reader', 'number'), name='one_contribution_per_number')],
                },
            ),
        ]),
    ]
