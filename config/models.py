"""The report of each night's work."""

from django.db import models


class NightlyReport(models.Model):
    """One night: a row for all seven steps, taken up where it stopped."""

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
