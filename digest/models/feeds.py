"""Sources (publishers), their feeds and subscribers, items with their stories, and taste profiles."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.deletion import Collector
from django.utils.translation import gettext_lazy


class Source(models.Model):
    """A publisher. Weights, scores and suggestions refer to its key."""

    key = models.CharField(max_length=120, primary_key=True)
    title = models.CharField(max_length=200, blank=True)
    icon = models.CharField(
        max_length=16,
        blank=True,
        default="",
        db_default="",
        help_text="How the hash of its favicon begins; empty: there is none.",
    )

    def __str__(self) -> str:
        return self.title or self.key


class Favicon(models.Model):
    """The favicon of a source's site, or the record that there was none.

    Its own table, so that lists of sources do not read the pictures.
    """

    source = models.OneToOneField(Source, models.CASCADE, primary_key=True, related_name="favicon")
    body = models.BinaryField(default=bytes, help_text="As its site serves it; empty: there is none.")
    checked_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"favicon of {self.source_id}"


class Feed(models.Model):
    """A URL that is polled for items. All its subscribers share it, or it is private to its `owner`.

    The `url` of a private feed is `private:` and a random id; the address to fetch is in `own_address`. So no
    search for an address finds a private feed, and nobody else can subscribe to it.
    """

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        GONE = "gone"
        REFUSED = "refused", "refused (its owner has to type its password again)"
        MOVED = "moved", "moved (its readers read the new address)"
        IMPORTED = "imported", "imported (never fetched)"
        WAITING = "waiting", "waiting (a newsletter without its reader's yes)"

    class Note(models.TextChoices):
        EMPTY = "empty", "its document has no entries"
        BROKEN = "broken", "its document is broken"

    url = models.CharField(max_length=2000, unique=True)
    source = models.ForeignKey(Source, models.PROTECT, related_name="feeds")
    title = models.CharField(max_length=200, blank=True)
    site_url = models.CharField(max_length=2000, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    etag = models.CharField(max_length=500, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    last_fetched_at = models.DateTimeField(null=True, blank=True)
    next_check_at = models.DateTimeField(null=True, blank=True, db_index=True)
    pause_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when its server asked not to be asked again."
    )
    failures = models.PositiveIntegerField(default=0, help_text="Failed fetches in a row.")
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.CharField(max_length=300, blank=True)
    missing = models.PositiveIntegerField(default=0, help_text="Answers 404 in a row.")
    note = models.CharField(
        max_length=10,
        choices=Note.choices,
        blank=True,
        default="",
        db_default="",
        help_text="What is odd about its last answer, which was read.",
    )
    check_minutes = models.PositiveIntegerField(
        default=60, help_text="The interval its own rhythm and its server's wishes lead to."
    )
    last_new_at = models.DateTimeField(null=True, blank=True, help_text="When it last brought a new item.")
    moved_url = models.CharField(
        max_length=2000, blank=True, help_text="Where permanent redirects lead, or led its readers."
    )
    answered_by = models.CharField(
        max_length=120,
        blank=True,
        help_text="The key of the host that answered, where redirects left the address's own domain.",
    )
    moved_sightings = models.PositiveIntegerField(default=0, help_text="Redirects there in a row.")
    moved_since = models.DateTimeField(null=True, blank=True, help_text="When the first of them was seen.")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="private_feeds",
        help_text="The one reader of a private feed; empty: it is everybody's.",
    )
    own_address = models.CharField(
        max_length=2000, blank=True, default="", db_default="", help_text="Where a private feed is fetched."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "own_address"],
                condition=~models.Q(own_address=""),
                name="one_private_feed_per_address",
            )
        ]

    def __str__(self) -> str:
        # The admin shows this in each list. Parameters may hold a secret.
        return self.title or self.url.partition("?")[0]

    @property
    def address(self) -> str:
        """Return the address to fetch: `own_address` for a private feed, else `url`."""
        return self.own_address or self.url

    @property
    def name(self) -> str:
        """Return the feed's own title, else its source's key.

        The source's title is not used, because it may come from a feed that the reader does not read.
        """
        return self.title or self.source_id


class FeedAccess(models.Model):
    """The credentials for a private feed, from its owner. `digest.feeds.access` encrypts the secret."""

    class Kind(models.TextChoices):
        BASIC = "basic", gettext_lazy("User name and password")
        HEADER = "header", gettext_lazy("A header")
        COOKIE = "cookie", gettext_lazy("A cookie")
        NONE = "none", gettext_lazy("No secret, only a user agent")

    feed = models.OneToOneField(Feed, models.CASCADE, primary_key=True, related_name="access")
    kind = models.CharField(max_length=6, choices=Kind.choices)
    secret = models.TextField(blank=True, help_text="Encrypted: a name and a value.")
    user_agent = models.CharField(max_length=200, blank=True, help_text="Empty: that of Tidings.")

    class Meta:
        verbose_name_plural = "feed accesses"

    def __str__(self) -> str:
        return f"access to {self.feed_id}"


class MailboxState(models.Model):
    """The result of the last reading of the newsletters' mailbox. One row."""

    read_at = models.DateTimeField(help_text="When it was last tried.")
    problem = models.CharField(max_length=300, blank=True, help_text="Why it failed; empty: it was read.")

    def __str__(self) -> str:
        return self.problem or "read"


class NetworkOutage(models.Model):
    """The outage of this machine's own network, while it lasts. One row, or none."""

    began_at = models.DateTimeField(help_text="When the first fetch batch reached nobody.")

    def __str__(self) -> str:
        return f"no network since {self.began_at:%Y-%m-%d %H:%M} UTC"


class Subscription(models.Model):
    """A reader's subscription to a feed."""

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="subscriptions", db_index=False
    )
    feed = models.ForeignKey(Feed, models.CASCADE, related_name="subscriptions")
    created_at = models.DateTimeField()
    folder = models.CharField(max_length=100, blank=True, help_text="As in the reader's OPML list.")
    own_name = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="What this reader calls the feed; empty: as it calls itself.",
    )
    ai_enabled = models.BooleanField(
        default=True, help_text="Off: no text of this feed goes to a model on this reader's behalf."
    )
    full_text = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The page of each new item is fetched, where FULL_TEXT is on.",
    )
    in_today = models.BooleanField(
        default=True, db_default=True, help_text="Off: its items are in All and its folder, in no digest."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "feed"], name="one_subscription_per_feed")]

    def __str__(self) -> str:
        return f"feed no. {self.feed_id}"

    def clean(self) -> None:
        """Refuse another reader's private feed, or staff would read it by a subscription of their own."""
        if self.feed_id and self.feed.owner_id not in (None, self.reader_id):
            raise ValidationError({"feed": "A private feed has one reader: its owner."})

    @property
    def name(self) -> str:
        """Return the reader's own name for the feed, else the feed's name."""
        return self.own_name or self.feed.name


class Story(models.Model):
    """One story, reported by several sources."""

    created_at = models.DateTimeField()
    last_item_at = models.DateTimeField(db_index=True, help_text="`dated_at` of its newest item.")

    def __str__(self) -> str:
        return f"story {self.pk}"


def private_deleted(
    collector: Collector, field: "models.ForeignKey[Any, Any]", rows: "models.QuerySet[Any]", using: str
) -> None:
    """When feeds are deleted, delete the items of private ones, and keep the others' items without a feed."""
    private = models.Q(**{f"{field.name}__owner__isnull": False})
    models.CASCADE(collector, field, rows.filter(private), using)
    models.SET_NULL(collector, field, rows.exclude(private), using)


# `db_index=False` in this room means that another index begins with this column. It saves a write.


class Item(models.Model):
    """One post in one feed, with that feed's words, date and author.

    Identity and link target are two things. `url` is its identity: the canonical URL of its first link, or a
    `urn:tidings:` hash if the feed gives no link or several posts share it. Items of several feeds with one
    URL are one article: a reader sees one of them, reads it once and rates it once. `address` is the page
    that a reader opens.
    """

    feed = models.ForeignKey(
        Feed,
        private_deleted,
        null=True,
        blank=True,
        related_name="items",
        db_index=False,
        help_text="Empty: the feed was deleted.",
    )
    guid = models.CharField(
        max_length=500, blank=True, help_text="Its identity in the feed: guid, else link, else hash."
    )
    url = models.CharField(max_length=2000)
    link = models.CharField(
        max_length=2000,
        blank=True,
        default="",
        db_default="",
        help_text="Where it leads, as the publisher wrote it; empty: to its URL, if that is an address.",
    )
    article = models.BigIntegerField(help_text="Hash of the URL, which all items of the article share.")
    own = models.BooleanField(default=False, help_text="The feed is that of the address's own publisher.")
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
    story = models.ForeignKey(Story, models.SET_NULL, null=True, blank=True, related_name="items")
    clustered_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last compared with its neighbours; empty: not yet."
    )
    categories = models.JSONField(default=list, db_default=[], blank=True, help_text="The publisher's own.")
    image = models.CharField(
        max_length=2000, blank=True, default="", db_default="", help_text="The address of its picture."
    )
    body_hash = models.BigIntegerField(
        default=0,
        db_default=0,
        help_text="Hash of its HTML, enclosures, categories and picture; 0: it has none of them.",
    )

    # What the reader of a page calls its source; `items_name_sources` sets it.
    own_source_name = ""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["feed", "guid"], name="one_item_per_guid")]
        indexes = [
            # It holds all columns that lists need, so they are merged and counted without reading items.
            models.Index(fields=["feed", "-dated_at", "-id", "article"], name="items_of_a_feed_listed"),
            models.Index(fields=["article"], name="items_by_article"),
            models.Index(fields=["source", "-dated_at"], name="items_of_a_source_by_date"),
            models.Index(fields=["fingerprint"], name="items_by_fingerprint"),
            # With the id, PostgreSQL finds the items of a week without reading them.
            models.Index(fields=["dated_at", "id"], name="items_by_date_and_id"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def address(self) -> str:
        """Return the item's link as its publisher wrote it, or "" if there is nothing to open."""
        return self.link or (self.url if self.url.startswith(("http://", "https://")) else "")

    @property
    def source_name(self) -> str:
        """Return the name of its source as its reader knows it, or the source's title."""
        return self.own_source_name or str(self.source)


class ItemBody(models.Model):
    """The publisher's HTML of an item, and its audio and video. Few items have no body.

    Its own table, because items are read by the thousand.
    """

    item = models.OneToOneField(Item, models.CASCADE, primary_key=True, related_name="body")
    html = models.BinaryField(
        default=bytes, help_text="Cleaned, compressed by zlib; empty: plain text says all."
    )
    enclosures = models.JSONField(default=list, help_text="As `digest.feeds.entities.Enclosure`.")

    class Meta:
        verbose_name_plural = "item bodies"

    def __str__(self) -> str:
        return f"body of {self.item_id}"


class FullText(models.Model):
    """The article from an item's page, or the reason why there is none.

    Only readers of the item's feed see it.
    """

    item = models.OneToOneField(Item, models.CASCADE, primary_key=True, related_name="full_text")
    html = models.BinaryField(default=bytes, help_text="Cleaned, compressed by zlib; empty: there is none.")
    url = models.CharField(max_length=2000, help_text="Where it came from, after redirects.")
    problem = models.CharField(max_length=40, blank=True, help_text="The code of why there is none.")
    fetched_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"full text of {self.item_id}"


class PrunedEntry(models.Model):
    """The identity of an item that `items_prune` deleted.

    A feed that still carries it must not add it again.
    """

    feed = models.ForeignKey(Feed, models.CASCADE, related_name="pruned_entries", db_index=False)
    guid = models.CharField(max_length=500)

    class Meta:
        verbose_name_plural = "pruned entries"
        constraints = [models.UniqueConstraint(fields=["feed", "guid"], name="one_pruned_entry_per_guid")]

    def __str__(self) -> str:
        return self.guid


class ItemVector(models.Model):
    """The hashed and weighted terms of one item, in the packing of `ranking.similarity`."""

    item = models.OneToOneField(Item, models.CASCADE, primary_key=True, related_name="vector")
    fingerprint = models.CharField(max_length=64, help_text="Of the words it was made from.")
    terms = models.BinaryField()
    meaning = models.BinaryField(
        null=True, help_text="128 signed bytes; empty if the item is not English, null before it was made."
    )

    def __str__(self) -> str:
        return f"vector of {self.item_id}"


class TopicMeaning(models.Model):
    """The common meaning of the items that say a topic, as packed by `ranking.meaning.topics`."""

    key = models.CharField(max_length=64, unique=True, help_text="The topic, folded and singular.")
    seeds = models.PositiveIntegerField(help_text="Items that say the topic.")
    cut = models.FloatField(null=True, help_text="The least likeness; null if the topic stays literal.")
    steepness = models.FloatField(null=True, help_text="How fast the odds rise with likeness above the cut.")
    packed = models.BinaryField(default=bytes)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"meaning of {self.key}"


class TermCounts(models.Model):
    """In how many of the installation's items each term occurs. One row."""

    documents = models.PositiveBigIntegerField(default=0)
    counts = models.BinaryField(default=bytes, help_text="One number for each place, compressed.")
    meanings = models.PositiveBigIntegerField(default=0, db_default=0)
    meaning_sum = models.BinaryField(
        null=True, help_text="The sum of the unit vectors of as many items, in single precision."
    )

    class Meta:
        verbose_name_plural = "term counts"

    def __str__(self) -> str:
        return f"terms of {self.documents} items"


class TasteProfile(models.Model):
    """Decayed sums of a reader's likes and dislikes, and the list of ratings in them."""

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="taste"
    )
    day = models.IntegerField(help_text="The UTC day (since 1970) whose decay the sums stand at.")
    likes = models.FloatField(default=0.0, help_text="Decayed.")
    dislikes = models.FloatField(default=0.0, help_text="Decayed.")
    terms = models.BinaryField(default=bytes, help_text="Places, liked and disliked sums.")
    thumbs = models.BinaryField(default=bytes, help_text="Item, day and sign of each thumb in the sums.")
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"taste of {self.reader_id}"
