"""Tables of the config room: reports of nightly runs, and stored responses to API calls."""

from django.conf import settings
from django.db import models


class NightlyReport(models.Model):
    """One nightly run with its seven steps. A later attempt continues the same row."""

    class Status(models.TextChoices):
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed", "completed with failed steps"

    day = models.DateField(unique=True, help_text="The UTC day the night belongs to.")
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.RUNNING)
    steps = models.JSONField(
        default=dict, help_text='By name: {"status", "started_at", "seconds", "counts", "error"}.'
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    token = models.PositiveIntegerField(default=0, help_text="Fencing token: a stale worker writes nothing.")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-day"]

    def __str__(self) -> str:
        return f"night of {self.day}: {self.status}"


class IdempotentResponse(models.Model):
    """The response to an unsafe API call, kept for a day to answer repeats with the same key."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="idempotent_responses")
    key = models.CharField(max_length=255, help_text="The Idempotency-Key as it was sent.")
    fingerprint = models.CharField(max_length=64, help_text="A digest of method, address and body.")
    turn = models.PositiveIntegerField(default=0, help_text="Raised by each claim; only the latest answers.")
    status = models.PositiveSmallIntegerField(null=True, help_text="Empty while the call is under way.")
    body = models.BinaryField(default=bytes)
    content_type = models.CharField(max_length=100, blank=True)
    location = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_index=True)
    claimed_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.key}: {self.status or 'under way'}"
