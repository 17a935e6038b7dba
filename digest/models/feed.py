"""Where items come from: sources (publishers), their feeds, and who reads them."""

from django.conf import settings
from django.db import models


class Source(models.Model):
    """A publisher. Its key is what weights, scores and suggestions speak of."""

    key = models.CharField(max_length=120, primary_key=True)
    title = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.title or self.key


class Feed(models.Model):
    """One URL that is polled for items, shared by all its subscribers."""

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        GONE = "gone"
        IMPORTED = "imported", "imported (never fetched)"

    url = models.CharField(max_length=2000, unique=True)
    source = models.ForeignKey(Source, models.PROTECT, related_name="feeds")
    title = models.CharField(max_length=200, blank=True)
    site_url = models.CharField(max_length=2000, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    etag = models.CharField(max_length=500, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    last_fetched_at = models.DateTimeField(null=True, blank=True)
    next_check_at = models.DateTimeField(null=True, blank=True, db_index=True)
    failures = models.PositiveIntegerField(default=0, help_text="Failed fetches in a row.")
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.CharField(max_length=300, blank=True)
    missing = models.PositiveIntegerField(default=0, help_text="Answers 404 in a row.")
    check_minutes = models.PositiveIntegerField(
        default=60, help_text="The interval its own rhythm and its server's wishes lead to."
    )
    last_new_at = models.DateTimeField(null=True, blank=True, help_text="When it last brought a new item.")
    moved_url = models.CharField(
        max_length=2000, blank=True, help_text="Where permanent redirects lead, until they are believed."
    )
    moved_sightings = models.PositiveIntegerField(default=0, help_text="Redirects there in a row.")
    moved_since = models.DateTimeField(null=True, blank=True, help_text="When the first of them was seen.")

    def __str__(self) -> str:
        return self.title or self.url


class Subscription(models.Model):
    """A reader reads a feed."""

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="subscriptions", db_index=False
    )
    feed = models.ForeignKey(Feed, models.CASCADE, related_name="subscriptions")
    created_at = models.DateTimeField()
    folder = models.CharField(max_length=100, blank=True, help_text="As in the reader's OPML list.")
    ai_enabled = models.BooleanField(
        default=True, help_text="Off: no text of this feed goes to a model on this reader's behalf."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "feed"], name="one_subscription_per_feed")]

    def __str__(self) -> str:
        return f"{self.reader_id} reads {self.feed_id}"
