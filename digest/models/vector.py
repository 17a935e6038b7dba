"""Items and tastes as vectors of terms: what similarity is computed from."""

from django.conf import settings
from django.db import models

from digest.models.item import Item


class ItemVector(models.Model):
    """The terms of one item, hashed and weighed, as `ranking.similarity` packs them."""

    item = models.OneToOneField(Item, models.CASCADE, primary_key=True, related_name="vector")
    fingerprint = models.CharField(max_length=64, help_text="Of the words it was made from.")
    terms = models.BinaryField()

    def __str__(self) -> str:
        return f"vector of {self.item_id}"


class TermCounts(models.Model):
    """One row: in how many of the installation's items each term stood."""

    documents = models.PositiveBigIntegerField(default=0)
    counts = models.BinaryField(default=bytes, help_text="One number for each place, compressed.")

    class Meta:
        verbose_name_plural = "term counts"

    def __str__(self) -> str:
        return f"terms of {self.documents} items"


class TasteProfile(models.Model):
    """Decayed sums of what a reader liked and did not like, and exactly which thumbs are in them."""

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
