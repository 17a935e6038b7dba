"""Notifications: each reader's settings and destinations, and every notification sent."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy


class NotificationSettings(models.Model):
    """The events a reader is notified about, the hours for it, and the last notifications."""

    class Event(models.TextChoices):
        DIGEST = "digest", gettext_lazy("my digest is ready")
        WORD = "word", gettext_lazy("a word I watch for appears in my feeds")
        SUGGESTION = "suggestion", gettext_lazy("a suggestion waits for me")
        EFFECT = "effect", gettext_lazy("it is known what a change I accepted did")

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="notification_settings"
    )
    events = models.JSONField(default=list)
    words = models.JSONField(default=list, blank=True, help_text="Words and phrases watched for.")
    per_day = models.PositiveSmallIntegerField(default=1, help_text="At most, of a day in the reader's zone.")
    quiet_from = models.PositiveSmallIntegerField(default=22, help_text="An hour in the reader's zone.")
    quiet_until = models.PositiveSmallIntegerField(default=7, help_text="The same hour: never quiet.")
    since = models.DateTimeField(help_text="Nothing earlier is told.")
    notified_at = models.DateTimeField(null=True, blank=True, help_text="Changes with every notification.")
    notified_on = models.DateField(null=True, blank=True, help_text="Its day, in the reader's zone.")
    notified_count = models.PositiveSmallIntegerField(default=0, help_text="On that day.")
    notified_keys = models.JSONField(default=list, blank=True, help_text="Keys of what was told lately.")

    class Meta:
        verbose_name_plural = "notification settings"

    def __str__(self) -> str:
        return f"notifications of {self.reader_id}"


class Destination(models.Model):
    """A place where a reader is notified, or saves articles to. Switched off after failing for days."""

    class Kind(models.TextChoices):
        WEBHOOK = "webhook", "Webhook"
        NTFY = "ntfy", "ntfy"
        PUSH = "push", gettext_lazy("This browser")
        READECK = "readeck", "Readeck"
        KARAKEEP = "karakeep", "Karakeep"
        WALLABAG = "wallabag", "Wallabag"

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="destinations")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    address = models.CharField(max_length=2000)
    secret = models.TextField(blank=True, help_text="Encrypted: what signs, or lets in.")
    session = models.TextField(
        blank=True, default="", db_default="", help_text="Encrypted: of a browser, its session's key."
    )
    created_at = models.DateTimeField()
    failing_since = models.DateTimeField(null=True, blank=True)
    off_at = models.DateTimeField(null=True, blank=True, help_text="When it was switched off.")
    code = models.CharField(max_length=40, blank=True, help_text="Of its last failure.")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} of {self.reader_id}"


class Notification(models.Model):
    """One notification to one destination. A row is claimed before it is sent, and then never sent again."""

    class Status(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waiting")
        SENDING = "sending", gettext_lazy("Sending")
        SENT = "sent", gettext_lazy("Sent")
        FAILED = "failed", gettext_lazy("Failed")

    uid = models.UUIDField(default=uuid.uuid4, unique=True, help_text="The same at every attempt.")
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="notifications", db_index=False
    )
    destination = models.ForeignKey(
        Destination, models.SET_NULL, null=True, blank=True, related_name="notifications"
    )
    news = models.JSONField(help_text="Event, words and path of each thing that it tells.")
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    code = models.CharField(max_length=40, blank=True, help_text="Of the last failure.")
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(help_text="Not before; once claimed, when that was.")
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["status", "next_at"], name="notifications_by_status"),
            models.Index(fields=["reader", "-created_at"], name="notifications_of_a_reader"),
        ]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M}: {self.status}"
