"""What was sent to readers, what their links were used for, and the tokens of their scripts."""

from django.conf import settings
from django.db import models


class Delivery(models.Model):
    """One mail to one reader about one day: a row is claimed before anything is sent."""

    class Status(models.TextChoices):
        CLAIMED = "claimed"
        SENT = "sent"
        FAILED = "failed"
        EMPTY = "empty", "nothing to send"

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="deliveries")
    date = models.DateField(help_text="The day in the reader's zone whose digest it carries.")
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.CLAIMED)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)
    items = models.PositiveSmallIntegerField(default=0)
    claimed_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [models.UniqueConstraint(fields=["reader", "date"], name="one_mail_per_day")]
        indexes = [models.Index(fields=["status", "claimed_at"], name="deliveries_by_status")]

    def __str__(self) -> str:
        return f"{self.date} to {self.reader_id}: {self.status}"


class UsedLink(models.Model):
    """A single-use link that was used."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's token.")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="used_links")
    used_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest[:12]


class ApiToken(models.Model):
    """A personal token for scripts. Only its hash is kept; the token itself is shown once."""

    class Scope(models.TextChoices):
        READ = "read", "read"
        RATE = "rate", "read and rate"
        FULL = "full", "everything the reader may do"

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token.")
    hint = models.CharField(max_length=8, help_text="How it begins, to tell tokens apart.")
    scope = models.CharField(max_length=4, choices=Scope.choices, default=Scope.READ)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"
