import hashlib
from importlib import import_module
from urllib.parse import urlsplit

import django.db.models.deletion
from django.db import migrations, models

initial = import_module("digest.migrations.0001_initial")

BATCH = 2_000


def article_hash(url):
    digest = hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def words_to_feeds(apps, schema_editor):
    """Give each item to the feed whose words it has, and each rating and reading its article.

    Where several feeds carried an item, whose words it has is known of one: of the publisher's own, else of
    the first. The others' entries go, and their next fetch brings them as items of their own.
    """
    item, entry = apps.get_model("digest", "Item"), apps.get_model("digest", "FeedEntry")
    pruned = apps.get_model("digest", "PrunedEntry")
    last = 0
    while rows := list(item.objects.filter(pk__gt=last).order_by("pk").only("url", "source_id")[:BATCH]):
        last = rows[-1].pk
        carried = {}
        entries = entry.objects.filter(item__gte=rows[0].pk, item__lte=last).order_by("-pk")
        for item_id, feed, guid, source in entries.values_list("item_id", "feed_id", "guid", "feed__source_id"):
            carried.setdefault(item_id, []).append((source, feed, guid))
        for row in rows:
            row.article = article_hash(row.url)
            found = carried.get(row.pk, [])
            own = [one for one in found if one[0] == row.source_id]
            if found:
                source, row.feed_id, row.guid = (own or found)[-1]
                row.own = f".{urlsplit(row.url).hostname}".endswith(f".{source}")
        item.objects.bulk_update(rows, ["feed", "guid", "article", "own"], batch_size=200)
    last = 0
    while rows := list(entry.objects.filter(item=None, pk__gt=last).order_by("pk")[:BATCH]):
        last = rows[-1].pk
        pruned.objects.bulk_create(
            [pruned(feed_id=row.feed_id, guid=row.guid) for row in rows], ignore_conflicts=True
        )
    of_item = item.objects.filter(pk=models.OuterRef("item_id")).values("article")[:1]
    for name in ("Feedback", "Reading"):
        apps.get_model("digest", name).objects.update(article=models.Subquery(of_item))
    if schema_editor.connection.vendor == "postgresql":
        # Checks of foreign keys that wait for the commit would keep the tables from being altered.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("digest", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="PrunedEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("guid", models.CharField(max_length=500)),
                (
                    "feed",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pruned_entries",
                        to="digest.feed",
                    ),
                ),
            ],
            options={"verbose_name_plural": "pruned entries"},
        ),
        migrations.AddConstraint(
            model_name="prunedentry",
            constraint=models.UniqueConstraint(fields=("feed", "guid"), name="one_pruned_entry_per_guid"),
        ),
        migrations.AddField(
            "item",
            "feed",
            models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="Empty: the feed was deleted.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="items",
                to="digest.feed",
            ),
        ),
        migrations.AddField(
            "item",
            "guid",
            models.CharField(
                blank=True,
                default="",
                help_text="Its identity in the feed: guid, else link, else hash.",
                max_length=500,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            "item",
            "article",
            models.BigIntegerField(default=0, help_text="Hash of the URL, which all items of the article share."),
            preserve_default=False,
        ),
        migrations.AddField(
            "item",
            "own",
            models.BooleanField(default=False, help_text="The feed is that of the address's own publisher."),
        ),
        migrations.AddField(
            "feedback",
            "article",
            models.BigIntegerField(
                default=0, help_text="That of the item: one thumb counts for all its items."
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            "reading",
            "article",
            models.BigIntegerField(
                default=0, help_text="That of the item: read or saved once for all its items."
            ),
            preserve_default=False,
        ),
        migrations.RunPython(words_to_feeds, migrations.RunPython.noop),
        migrations.DeleteModel("FeedEntry"),
        migrations.AlterField("item", "url", models.CharField(max_length=2000)),
        migrations.AlterField(
            "feed",
            "moved_url",
            models.CharField(
                blank=True, help_text="Where permanent redirects lead, or led its readers.", max_length=2000
            ),
        ),
        migrations.AddField(
            "feed",
            "answered_by",
            models.CharField(
                blank=True,
                default="",
                help_text="The key of the host that answered, where redirects left the address's own domain.",
                max_length=120,
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            "feed",
            "state",
            models.CharField(
                choices=[
                    ("active", "Active"),
                    ("paused", "Paused"),
                    ("gone", "Gone"),
                    ("moved", "moved (its readers read the new address)"),
                    ("imported", "imported (never fetched)"),
                ],
                default="active",
                max_length=10,
            ),
        ),
        migrations.RemoveConstraint("feedback", "one_thumb_per_item"),
        migrations.RemoveConstraint("reading", "one_reading_per_item"),
        migrations.AddConstraint(
            "feedback", models.UniqueConstraint(fields=("reader", "article"), name="one_thumb_per_article")
        ),
        migrations.AddConstraint(
            "reading", models.UniqueConstraint(fields=("reader", "article"), name="one_reading_per_article")
        ),
        migrations.AddConstraint(
            "item", models.UniqueConstraint(fields=("feed", "guid"), name="one_item_per_guid")
        ),
        migrations.AddIndex("item", models.Index(fields=["feed", "-dated_at"], name="items_of_a_feed_by_date")),
        migrations.AddIndex("item", models.Index(fields=["article"], name="items_by_article")),
        migrations.RunPython(initial.search_triggers_add, migrations.RunPython.noop),
    ]
