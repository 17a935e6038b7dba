"""Readers can ask for more like an article: see `Reading.named_at`."""

from django.db import migrations, models

from ranking.common.migrations import IndexAdd


class Migration(migrations.Migration):
    """Add `Reading.named_at`, and its index."""

    atomic = False  # an index beside writers
    dependencies = [
        ('digest', '0004_item_link'),
    ]

    operations = [
        migrations.AddField(
            model_name='reading',
            name='named_at',
            field=models.DateTimeField(blank=True, help_text='When the reader asked for more like it; empty: never.', null=True),
        ),
        IndexAdd(
            model_name='reading',
            index=models.Index(condition=models.Q(('named_at__isnull', False)), fields=['reader', '-named_at'], name='named_by_a_reader_by_date'),
        ),
    ]
