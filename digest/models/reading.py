"""What a reader did with items besides rating them: read, saved."""

from django.conf import settings
from django.db import models

from digest.models.item import Item


class Reading(models.Model):
    """One reader and one item: when it was read, when it was saved. Neither is a thumb."""

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="readings", db_index=False
    )
    item = models.ForeignKey(Item, models.CASCADE, related_name="readings")
    read_at = models.DateTimeField(null=True, blank=True)
    saved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "item"], name="one_reading_per_item")]
        indexes = [models.Index(fields=["reader", "-saved_at"], name="saved_by_a_reader_by_date")]

    def __str__(self) -> str:
        return f"{self.item_id} by {self.reader_id}"
