"""What was shown to whom, in which order and why."""

from django.conf import settings
from django.db import models

from digest.entities import RatedItem
from digest.models.item import Item


class Digest(models.Model):
    """One reader's items of one day in the reader's time zone."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="digests")
    date = models.DateField()
    config_version = models.PositiveIntegerField()
    built_at = models.DateTimeField()

    class Meta:
        ordering = ["-date"]
        constraints = [models.UniqueConstraint(fields=["reader", "date"], name="one_digest_per_day")]

    def __str__(self) -> str:
        return f"{self.date} for {self.reader_id}"


class Impression(models.Model):
    """An item shown at a rank, with the score's parts as they were then."""

    digest = models.ForeignKey(Digest, models.CASCADE, related_name="impressions")
    item = models.ForeignKey(Item, models.CASCADE, related_name="impressions")
    rank = models.PositiveIntegerField()
    score = models.FloatField()
    parts = models.JSONField()
    propensity = models.FloatField(default=1.0, help_text="The probability with which it was shown here.")

    # Not a column: the reader's thumb, attached by `digest_impressions`.
    thumb: RatedItem | None

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.UniqueConstraint(fields=["digest", "item"], name="one_impression_per_item"),
            models.UniqueConstraint(fields=["digest", "rank"], name="one_impression_per_rank"),
        ]

    def __str__(self) -> str:
        return f"{self.rank}. {self.item_id}"
