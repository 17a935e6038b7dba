"""Freshness falls by whole days for everybody who has the default half-life, in a version of its own, with Undo."""

from collections import defaultdict
from datetime import timedelta

from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

TOGETHER = 500
DEFAULT_HOURS = 24.0
CHANGE = {"field": "recency_by_day", "target": "", "before": False, "after": True}
COPIED = ("topics", "source_weights", "keyword_boosts", "recency_half_life_hours", "ai_score_alpha", "locked", "avoided", "mutes", "literal")


def by_day(apps, editor):
    """Write the version of each reader, 500 at a time. Other half-lives go on by the hour."""
    RankConfig = apps.get_model("ranking", "RankConfig")
    RankConfig.objects.exclude(recency_half_life_hours=DEFAULT_HOURS).update(recency_by_day=False)
    Reader = apps.get_model(settings.AUTH_USER_MODEL)
    readers = list(Reader.objects.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(readers), TOGETHER):
        _write(apps, readers[start : start + TOGETHER], timezone.now())


def _write(apps, readers, now):
    RankConfig, ConfigVersion, LearnedWeight = (
        apps.get_model("ranking", name) for name in ("RankConfig", "ConfigVersion", "LearnedWeight")
    )
    rows = {row.reader_id: row for row in RankConfig.objects.filter(reader_id__in=readers)}
    RankConfig.objects.bulk_create([RankConfig(reader_id=pk) for pk in readers if pk not in rows])
    rows = RankConfig.objects.filter(reader_id__in=readers, recency_half_life_hours=DEFAULT_HOURS)
    learned = defaultdict(dict)
    for reader, source, delta in LearnedWeight.objects.filter(reader_id__in=readers).exclude(delta=0).values_list("reader_id", "source_key", "delta"):
        learned[reader][source] = delta
    versions, changed = [], []
    for row in rows:
        body = {name: getattr(row, name) for name in COPIED} | {"recency_by_day": False, "learned": learned[row.reader_id]}
        if not row.version:
            # Undo goes back to the version before, and that of the defaults goes by whole days, too.
            row.version = 1
            versions.append(ConfigVersion(reader_id=row.reader_id, version=1, cause="upgrade", body=body, changes=[], created_at=now - timedelta(seconds=1)))
        row.version, row.recency_by_day = row.version + 1, True
        versions.append(ConfigVersion(reader_id=row.reader_id, version=row.version, cause="upgrade", body=body | {"recency_by_day": True}, changes=[CHANGE], created_at=now))
        changed.append(row)
    ConfigVersion.objects.bulk_create(versions)
    RankConfig.objects.bulk_update(changed, ["version", "recency_by_day"])


class Migration(migrations.Migration):

    dependencies = [
        ('ranking', '0002_literal_topics'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='rankconfig',
            name='recency_by_day',
            field=models.BooleanField(db_default=True, default=True, help_text='Freshness falls by whole days, not by the hour.'),
        ),
        migrations.AlterField(
            model_name='configversion',
            name='cause',
            field=models.CharField(choices=[('edit', 'Edit'), ('accept', 'Accept'), ('revert', 'Revert'), ('pin', 'Pin'), ('upgrade', 'Upgrade')], max_length=10),
        ),
        migrations.RunPython(by_day, migrations.RunPython.noop),
    ]
