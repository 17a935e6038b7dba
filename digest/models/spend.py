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
    model = models.CharField(max_length=80)
    reserved_usd = models.DecimalField(max_digits=12, decimal_places=6)
    settled_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    day = models.DateField(help_text="The UTC day whose cap it counts against.")
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "spend"
        indexes = [models.Index(fields=["day", "surface"], name="spend_by_day_and_surface")]

    def __str__(self) -> str:
        return f"{self.model} {self.settled_usd if self.settled_usd is not None else self.reserved_usd} USD"
