"""Indexes go that others begin with: less to write and to keep."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# By their names, which are alike on both databases: to alter the columns, SQLite would make the tables anew and
# lose the triggers of the search.
INDEXES = {
    "digest_item_source_id_04444235": ("digest_item", "source_id"),
    "digest_feedentry_feed_id_21bbcfbb": ("digest_feedentry", "feed_id"),
    "digest_impression_digest_id_3cae1b06": ("digest_impression", "digest_id"),
    "digest_digest_reader_id_0726fcbf": ("digest_digest", "reader_id"),
    "digest_exposure_reader_id_b702d2bb": ("digest_exposure", "reader_id"),
    "digest_feedback_reader_id_3d043f2c": ("digest_feedback", "reader_id"),
    "digest_feedbacktag_feedback_id_9dc22a21": ("digest_feedbacktag", "feedback_id"),
    "digest_reading_reader_id_72a2c5ab": ("digest_reading", "reader_id"),
    "digest_subscription_reader_id_e24b03a5": ("digest_subscription", "reader_id"),
}
# For comparisons by beginning, which nothing asks for.
LIKE = "digest_item_source_id_04444235_like"


def column(model, name, target, related):
    field = models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name=related, to=target
    )
    return migrations.AlterField(model, name, field)


READER = settings.AUTH_USER_MODEL
STATE = [
    migrations.AlterField(
        "item",
        "source",
        models.ForeignKey(
            db_index=False,
            on_delete=django.db.models.deletion.PROTECT,
            related_name="items",
            to="digest.source",
        ),
    ),
    column("feedentry", "feed", "digest.feed", "entries"),
    column("impression", "digest", "digest.digest", "impressions"),
    column("digest", "reader", READER, "digests"),
    column("exposure", "reader", READER, "exposures"),
    column("feedback", "reader", READER, "feedback"),
    migrations.AlterField(
        "feedbacktag",
        "feedback",
        models.ForeignKey(
            db_index=False, on_delete=django.db.models.deletion.CASCADE, to="digest.feedback"
        ),
    ),
    column("reading", "reader", READER, "readings"),
    column("subscription", "reader", READER, "subscriptions"),
]
DROP = [f'DROP INDEX IF EXISTS "{name}"' for name in (*INDEXES, LIKE)]
MAKE = [f'CREATE INDEX "{name}" ON "{table}" ("{of}")' for name, (table, of) in INDEXES.items()]


class Migration(migrations.Migration):
    dependencies = [("digest", "0010_entries_outlive_items")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP, MAKE)], state_operations=STATE
        )
    ]
