"""The ledger of model spend, and the summaries and reasons made from texts."""

from django.conf import settings
from django.db import models


class Spend(models.Model):
    """The cost of one model call. The worst case is reserved before the call, and settled after it.

    An open row counts as `reserved_usd`, a settled one as `settled_usd`.
    """

    class Surface(models.TextChoices):
        INGEST = "ingest"
        ADVISOR = "advisor"

    surface = models.CharField(max_length=10, choices=Surface.choices)
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="spend")
    run_id = models.UUIDField(null=True, db_index=True)
    purpose = models.CharField(
        max_length=20, default="advisor", help_text="advisor, review, summary or reasons."
    )
    model = models.CharField(max_length=80)
    reserved_usd = models.DecimalField(max_digits=12, decimal_places=6)
    settled_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    saved_usd = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text="What the provider's cache saved on the input."
    )
    day = models.DateField(help_text="The UTC day whose cap it counts against.")
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "spend"
        indexes = [models.Index(fields=["day", "surface"], name="spend_by_day_and_surface")]

    def __str__(self) -> str:
        return f"{self.model} {self.settled_usd if self.settled_usd is not None else self.reserved_usd} USD"


class SpendRefusal(models.Model):
    """A call that was not made because it would have exceeded a cap."""

    surface = models.CharField(max_length=10, choices=Spend.Surface.choices)
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="refusals")
    run_id = models.UUIDField(null=True)
    purpose = models.CharField(max_length=20, default="advisor")
    model = models.CharField(max_length=80)
    code = models.CharField(max_length=40, help_text="Which cap: budget_day, budget_run, budget_reader.")
    asked_usd = models.DecimalField(max_digits=12, decimal_places=6)
    day = models.DateField(db_index=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.code}: {self.model}"


class Summary(models.Model):
    """A summary of one text, or the reason why there is none. Items with the same text share it."""

    class Refusal(models.TextChoices):
        NONE = "", "none"
        NO_EVIDENCE = "NO_EVIDENCE", "the text holds nothing to summarise"
        GROUNDING_FAIL = "GROUNDING_FAIL", "the summary could not be grounded in the text"
        TIME_LIMIT = "TIME_LIMIT", "the text took longer than one may"
        FAILED = "FAILED", "the text could not be read"

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
    """Three to five short reasons that a reader might give for rating one text, with taxonomy tags."""

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
