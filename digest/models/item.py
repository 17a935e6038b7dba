"""Items, and the feed entries that carried them."""

from django.db import models

from digest.models.feed import Feed, Source


class Cluster(models.Model):
    """The same story from several sources."""

    created_at = models.DateTimeField()
    last_item_at = models.DateTimeField(db_index=True, help_text="`dated_at` of its newest item.")

    def __str__(self) -> str:
        return f"story {self.pk}"


# Where `db_index=False` stands, in this room, another index begins with that column: one less to write.


class Item(models.Model):
    """One thing to read. `url` is its canonical URL, or a `urn:tidings:` hash where a feed gives none."""

    url = models.CharField(max_length=2000, unique=True)
    source = models.ForeignKey(Source, models.PROTECT, related_name="items", db_index=False)
    title = models.CharField(max_length=500)
    text = models.TextField(blank=True, help_text="Sanitised plain text.")
    author = models.CharField(max_length=200, blank=True)
    language = models.CharField(max_length=20, blank=True)
    published_at = models.DateTimeField(
        help_text="As the publisher says, clamped; ages count from `dated_at`."
    )
    first_seen_at = models.DateTimeField()
    dated_at = models.DateTimeField(help_text="Published, or first seen where the published date lies.")
    fingerprint = models.CharField(max_length=64, help_text="Hash of the folded title and text.")
    cluster = models.ForeignKey(Cluster, models.SET_NULL, null=True, blank=True, related_name="items")
    clustered_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last compared with its neighbours; empty: not yet."
    )

    class Meta:
        indexes = [
            models.Index(fields=["source", "-dated_at"], name="items_of_a_source_by_date"),
            models.Index(fields=["fingerprint"], name="items_by_fingerprint"),
            # With the id, so that PostgreSQL finds the items of a week without reading them.
            models.Index(fields=["dated_at", "id"], name="items_by_date_and_id"),
        ]

    def __str__(self) -> str:
        return self.title


class FeedEntry(models.Model):
    """The identity under which one feed carries one item: guid, else link, else hash.

    Without an item: it has had its time (`items_prune`), and the feed may carry it still.
    """

    feed = models.ForeignKey(Feed, models.CASCADE, related_name="entries", db_index=False)
    guid = models.CharField(max_length=500)
    item = models.ForeignKey(Item, models.SET_NULL, null=True, related_name="entries")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["feed", "guid"], name="one_entry_per_guid")]
        # Which items the feeds of a reader carry, without reading the entries.
        indexes = [models.Index(fields=["feed", "item"], name="entries_of_a_feed_by_item")]

    def __str__(self) -> str:
        return self.guid
