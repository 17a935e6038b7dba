"""The ledger of model spend: the worst case is reserved before a call and settled after it."""

from django.conf import settings
from django.db import models


class Spend(models.Model):
    """One model call's money. An open row counts as `reserved_usd`, a settled one as `settled_usd`."""

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
    """A call that was not made because it would have passed a cap."""

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
