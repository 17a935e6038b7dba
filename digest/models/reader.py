"""The person a digest is for."""

import uuid
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models


def time_zone_validate(name: str) -> None:
    """Raise `ValidationError` unless `name` is an IANA time zone of this machine."""
    if name not in available_timezones():
        raise ValidationError(f"“{name}” is not a time zone. Use a name such as Europe/Berlin.")


class Reader(AbstractUser):
    """A reader, who is also the account: days, digests and runs follow `time_zone`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[time_zone_validate])
    ai_enabled = models.BooleanField(
        default=True, help_text="Off: no text of this reader's feeds or feedback ever goes to a model."
    )

    peers_enabled = models.BooleanField(
        default=True,
        help_text="Off: this reader's thumbs count in no aggregate over readers, and none is used for them.",
    )

    suggestions_enabled = models.BooleanField(
        default=True, help_text="Off: no suggestion is worked out for this reader, and none is brought up."
    )
    nudge_quiet_until = models.DateTimeField(
        null=True, blank=True, help_text="Until then, today's page says nothing of suggestions that wait."
    )

    class MailRhythm(models.TextChoices):
        OFF = "off", "never"
        DAILY = "daily", "every day"
        WEEKLY = "weekly", "once a week"

    mail_rhythm = models.CharField(max_length=6, choices=MailRhythm.choices, default=MailRhythm.OFF)
    mail_hour = models.PositiveSmallIntegerField(
        default=7, help_text="From this hour on, in the reader's zone."
    )
    mail_weekday = models.PositiveSmallIntegerField(
        default=0, help_text="For weekly mail: 0 is Monday, 6 is Sunday."
    )
    feed_token = models.CharField(
        max_length=64,
        null=True,
        blank=True,
        unique=True,
        help_text="The secret in the reader's own feed address.",
    )
    sources_left_at = models.DateTimeField(
        null=True, blank=True, help_text="When a feed was last unsubscribed from; older digests are due."
    )
    welcomed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the first visit's questions were answered or put aside."
    )

    def __str__(self) -> str:
        return self.username

    @property
    def zone(self) -> ZoneInfo:
        """The reader's time zone as an object."""
        return ZoneInfo(self.time_zone)
