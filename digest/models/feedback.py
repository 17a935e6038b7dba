"""What readers said: a thumb, and the reasons for it."""

from django.conf import settings
from django.db import models

from digest.models.item import Item


class ReasonTag(models.Model):
    """One reason of the canonical taxonomy; other spellings of it are synonyms, never tags of their own."""

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
    """One reader's thumb on one item. A second thumb replaces the first."""

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="feedback", db_index=False
    )
    item = models.ForeignKey(Item, models.CASCADE, related_name="feedback")
    useful = models.BooleanField()
    at = models.DateTimeField()
    day = models.IntegerField(help_text="`at` as whole UTC days since 1970, so that SQL can weigh by age.")
    has_reason = models.BooleanField(default=False)
    other_reasons = models.JSONField(
        default=list, blank=True, help_text="Reasons outside the taxonomy, kept as quoted, untrusted text."
    )
    tags = models.ManyToManyField(ReasonTag, through="FeedbackTag", related_name="feedback")

    class Meta:
        verbose_name_plural = "feedback"
        constraints = [models.UniqueConstraint(fields=["reader", "item"], name="one_thumb_per_item")]
        indexes = [models.Index(fields=["reader", "-at"], name="feedback_of_a_reader_by_date")]

    def __str__(self) -> str:
        return f"{'useful' if self.useful else 'not useful'}: {self.item_id}"


class FeedbackTag(models.Model):
    """A reason given with a thumb."""

    feedback = models.ForeignKey(Feedback, models.CASCADE, db_index=False)
    tag = models.ForeignKey(ReasonTag, models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["feedback", "tag"], name="one_tag_per_thumb")]

    def __str__(self) -> str:
        return self.tag_id
