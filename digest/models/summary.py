"""What a model, or the offline counterpart, made of an item's text: cached by content."""

from django.db import models


class Summary(models.Model):
    """A summary of one text, or the reason why there is none. Items with the same words share it."""

    class Refusal(models.TextChoices):
        NONE = "", "none"
        NO_EVIDENCE = "NO_EVIDENCE", "the text holds nothing to summarise"
        GROUNDING_FAIL = "GROUNDING_FAIL", "the summary could not be grounded in the text"

    fingerprint = models.CharField(max_length=64, help_text="Of the item's title and text.")
    model = models.CharField(max_length=80, help_text="`offline`, or provider:model.")
    text = models.TextField(blank=True)
    citations = models.JSONField(default=list, blank=True, help_text="Exact substrings of the text.")
    repaired = models.BooleanField(default=False, help_text="The publisher's first sentence stands in.")
    refusal = models.CharField(max_length=20, choices=Refusal.choices, blank=True)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "summaries"
        constraints = [
            models.UniqueConstraint(fields=["fingerprint", "model"], name="one_summary_per_text_and_model")
        ]

    def __str__(self) -> str:
        return self.refusal or self.text[:80]


class SuggestedReasons(models.Model):
    """Three to five short reasons a reader might give for a thumb on one text, mapped to the taxonomy."""

    fingerprint = models.CharField(max_length=64, help_text="Of the item's title and text.")
    model = models.CharField(max_length=80, help_text="`offline`, or provider:model.")
    reasons = models.JSONField(default=list, help_text='[{"tag": slug, "text": "…"}]')
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "suggested reasons"
        constraints = [
            models.UniqueConstraint(fields=["fingerprint", "model"], name="one_reasons_per_text_and_model")
        ]

    def __str__(self) -> str:
        return ", ".join(str(reason.get("tag", "")) for reason in self.reasons)
