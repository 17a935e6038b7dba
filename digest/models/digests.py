"""Digests, the items that readers saw in them, and their ratings."""

from django.conf import settings
from django.db import models

from digest.entities import RatedItem
from digest.models.feeds import Item


class Digest(models.Model):
    """The items for one reader on one day in the reader's time zone."""

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="digests", db_index=False
    )
    date = models.DateField()
    config_version = models.PositiveIntegerField()
    built_at = models.DateTimeField()
    left_out = models.JSONField(
        default=dict, blank=True, help_text="How many candidates were left out or moved down, by reason."
    )
    exposed_at = models.DateTimeField(
        null=True, blank=True, help_text="When this build was first shown and logged; empty: not yet."
    )

    seen = models.JSONField(
        null=True,
        blank=True,
        help_text="The items by rank as last seen, if before this build.",
    )
    change = models.JSONField(
        null=True,
        blank=True,
        help_text="Latest change of settings that day: items before, after.",
    )

    class Meta:
        ordering = ["-date"]
        constraints = [models.UniqueConstraint(fields=["reader", "date"], name="one_digest_per_day")]

    def __str__(self) -> str:
        return str(self.date)


class Impression(models.Model):
    """An item of a digest at its rank, with the score breakdown of that build."""

    class Slot(models.TextChoices):
        RANKED = "ranked", "ranked by score"
        NOVELTY = "novelty", "drawn from sources little is known about"
        RATED = "kept", "kept in place because it was rated"
        RESERVED = "reserved", "of a source that is never missed"
        AGAIN = "again", "ranked by score, below what is new to the reader"

    digest = models.ForeignKey(Digest, models.CASCADE, related_name="impressions", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="impressions")
    rank = models.PositiveIntegerField()
    score = models.FloatField()
    parts = models.JSONField()
    propensity = models.FloatField(default=1.0, help_text="The probability with which it was shown here.")
    slot = models.CharField(max_length=8, choices=Slot.choices, default=Slot.RANKED)

    # Not a column: `digest_impressions` attaches the reader's rating.
    thumb: RatedItem | None
    # Not columns either: `digest.daily.store` reads them from the item.
    source: str
    article: int

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.UniqueConstraint(fields=["digest", "item"], name="one_impression_per_item"),
            models.UniqueConstraint(fields=["digest", "rank"], name="one_impression_per_rank"),
        ]

    def __str__(self) -> str:
        return f"{self.rank}. {self.item_id}"


class Exposure(models.Model):
    """An item that a reader really saw. Append-only: rows stay unchanged when the digest is rebuilt."""

    class Door(models.TextChoices):
        PAGE = "page"
        MAIL = "mail"
        FEED = "feed"
        API = "api"

    # Doors with meaningful ranks. A feed's client or a script fetches by itself, and may show any order.
    PLACED = (Door.PAGE, Door.MAIL)

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="exposures", db_index=False
    )
    item = models.ForeignKey(Item, models.CASCADE, related_name="exposures")
    date = models.DateField(help_text="The digest's day in the reader's zone.")
    door = models.CharField(max_length=5, choices=Door.choices)
    rank = models.PositiveIntegerField()
    slot = models.CharField(max_length=8, choices=Impression.Slot.choices)
    propensity = models.FloatField(help_text="The probability with which it was shown at all.")
    score = models.FloatField()
    config_version = models.PositiveIntegerField()
    shown_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["reader", "date", "item", "door", "rank"], name="one_exposure_per_rank_and_door"
            )
        ]
        indexes = [models.Index(fields=["reader", "-shown_at"], name="exposures_of_a_reader_by_date")]

    def __str__(self) -> str:
        return f"{self.item_id} at {self.rank} by {self.door}"


class ReasonTag(models.Model):
    """One reason of the taxonomy. Its other spellings are synonyms, never tags of their own."""

    class Kind(models.TextChoices):
        VALUED = "valued"
        DISLIKED = "disliked"

    slug = models.SlugField(primary_key=True, max_length=40)
    label = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    synonyms = models.JSONField(default=list, blank=True)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["kind", "position"]

    def __str__(self) -> str:
        return self.label


class Feedback(models.Model):
    """A reader's rating of one article, through the item they saw. A second rating replaces the first."""

    class Origin(models.TextChoices):
        READING = "reading", "given while reading, or imported"
        INTERVIEW = "interview", "an answer to a question of ours"
        CHECK = "check", "an answer that checks a suggestion"

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="feedback", db_index=False
    )
    item = models.ForeignKey(Item, models.CASCADE, related_name="feedback")
    article = models.BigIntegerField(help_text="That of the item: one thumb counts for all its items.")
    useful = models.BooleanField()
    at = models.DateTimeField()
    day = models.IntegerField(help_text="`at` as whole UTC days since 1970, so that SQL can weigh by age.")
    has_reason = models.BooleanField(default=False)
    other_reasons = models.JSONField(
        default=list, blank=True, help_text="Reasons outside the taxonomy, kept as quoted, untrusted text."
    )
    origin = models.CharField(
        max_length=9, choices=Origin.choices, default=Origin.READING, db_default=Origin.READING
    )
    propensity = models.FloatField(
        null=True, blank=True, help_text="Of an answer: the probability with which that question was asked."
    )
    rated_title = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="The title that was rated, whatever the publisher makes of it; empty: not known.",
    )
    tags = models.ManyToManyField(ReasonTag, through="FeedbackTag", related_name="feedback")

    class Meta:
        verbose_name_plural = "feedback"
        constraints = [models.UniqueConstraint(fields=["reader", "article"], name="one_thumb_per_article")]
        indexes = [models.Index(fields=["reader", "-at"], name="feedback_of_a_reader_by_date")]

    def __str__(self) -> str:
        return f"{'useful' if self.useful else 'not useful'}: {self.item_id}"


class FeedbackTag(models.Model):
    """A reason tag on a rating."""

    feedback = models.ForeignKey(Feedback, models.CASCADE, db_index=False)
    tag = models.ForeignKey(ReasonTag, models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["feedback", "tag"], name="one_tag_per_thumb")]

    def __str__(self) -> str:
        return self.tag_id
