"""Readers, their mails, used links and tokens, and the articles they read and saved."""

import uuid
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from digest.models.feeds import Item


@cache
def time_zone_names() -> frozenset[str]:
    """Return the IANA time zones of this machine. Cached: Python opens a thousand files to find them."""
    return frozenset(available_timezones())


def time_zone_validate(name: str) -> None:
    """Raise `ValidationError` unless `name` is an IANA time zone of this machine."""
    if name not in time_zone_names():
        raise ValidationError(
            _("“{name}” is not a time zone. Use a name such as Europe/Berlin.").format(name=name)
        )


def language_offered(code: str) -> str:
    """Return the language `code` if it is on offer, else the installation's default."""
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


class Reader(AbstractUser):
    """A reader, who is also the account. Days, digests and runs follow `time_zone`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[time_zone_validate])
    language = models.CharField(
        max_length=7,
        blank=True,
        default="",
        db_default="",
        help_text="Of pages and mails, such as de; empty: the browser's for pages, English for mails.",
    )
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
        OFF = "off", pgettext_lazy("mail", "never")
        DAILY = "daily", gettext_lazy("every day")
        WEEKLY = "weekly", gettext_lazy("once a week")

    class Pictures(models.TextChoices):
        SHOWN = "shown", gettext_lazy("show them")
        TAP = "tap", gettext_lazy("show one when I tap it")
        NEVER = "never", gettext_lazy("never show any")

    pictures = models.CharField(
        max_length=5,
        choices=Pictures.choices,
        default=Pictures.SHOWN,
        db_default=Pictures.SHOWN,
        help_text="Pictures in articles, which come through this site.",
    )
    offline_today = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Browsers this reader uses store today's digest, to be read without a network.",
    )
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
    newsletter_token = models.CharField(
        max_length=32,
        null=True,
        blank=True,
        unique=True,
        help_text="The secret in the reader's own address for newsletters.",
    )
    undo_steps = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="What was marked as read, moved and removed today, for Undo.",
    )
    early_answered_on = models.DateField(
        null=True,
        blank=True,
        help_text="The reader's day whose early change of settings was applied or put off.",
    )
    sources_left_at = models.DateTimeField(
        null=True, blank=True, help_text="When a feed was last unsubscribed from; older digests are due."
    )
    sources_filled_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the first fetch of new feeds last ended for this reader; older digests are due.",
    )
    taught_on = models.DateField(
        null=True,
        blank=True,
        help_text="The reader's day whose offer to say what they like was taken up or put off.",
    )
    welcomed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the first visit's questions were answered or put aside."
    )

    class ListSize(models.IntegerChoices):
        SMALL = 20
        MEDIUM = 50
        LARGE = 100

    class ListDensity(models.TextChoices):
        COMFORTABLE = "comfortable", gettext_lazy("comfortable: with the beginning of each text")
        COMPACT = "compact", gettext_lazy("compact: titles alone")

    list_size = models.PositiveSmallIntegerField(
        choices=ListSize.choices,
        default=ListSize.MEDIUM,
        db_default=ListSize.MEDIUM,
        help_text="Items on one page of all items.",
    )
    list_density = models.CharField(
        max_length=11,
        choices=ListDensity.choices,
        default=ListDensity.COMFORTABLE,
        db_default=ListDensity.COMFORTABLE,
    )
    hide_read = models.BooleanField(
        default=False, db_default=False, help_text="Items that were read leave today's page."
    )

    read_gone = models.BooleanField(
        default=True,
        db_default=True,
        null=True,
        help_text="What was read is on no later day's page; empty: not asked yet, which is no.",
    )

    class Theme(models.TextChoices):
        SYSTEM = "system", gettext_lazy("as my device")
        LIGHT = "light", gettext_lazy("light")
        DARK = "dark", gettext_lazy("dark")

    theme = models.CharField(
        max_length=6, choices=Theme.choices, default=Theme.SYSTEM, db_default=Theme.SYSTEM
    )
    read_on_scroll = models.BooleanField(
        default=False, db_default=False, help_text="Items scrolled past in all items are marked as read."
    )
    hide_counts = models.BooleanField(
        default=False,
        db_default=False,
        help_text="No page shows how much is unread or waits: there is nothing to clear.",
    )

    learn_from_reading = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Off: no open is recorded as such, and none counts in this reader's ranking.",
    )

    def __str__(self) -> str:
        return self.username

    @property
    def zone(self) -> ZoneInfo:
        """Return the reader's time zone as a `ZoneInfo`."""
        return ZoneInfo(self.time_zone)

    @property
    def language_of_mails(self) -> str:
        """Return the language for mails and notifications, which know no browser."""
        return language_offered(self.language)


class SavedSearch(models.Model):
    """A search that a reader keeps in the list of sources: its words, its order, its filters and its name."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_searches")
    query = models.CharField(max_length=200)
    order = models.CharField(max_length=6, help_text="best, newest or oldest.")
    filters = models.JSONField(default=dict, help_text="The fields of the search form that are filled in.")
    name = models.CharField(
        max_length=60, blank=True, default="", db_default="", help_text="The reader's name; empty: its words."
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["query", "pk"]

    def __str__(self) -> str:
        return self.query


class Delivery(models.Model):
    """One mail to one reader about one day. A row is claimed before the mail is sent."""

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
        return f"{self.date}: {self.status}"


class UsedLink(models.Model):
    """A single-use link that has been used."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's token.")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="used_links")
    used_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest[:12]


class ApiToken(models.Model):
    """A personal token for scripts. Only its hash is stored; the token itself is shown once."""

    class Scope(models.TextChoices):
        READ = "read", pgettext_lazy("token", "read")
        RATE = "rate", gettext_lazy("read and rate")
        FULL = "full", gettext_lazy("everything the reader may do")

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


class Invitation(models.Model):
    """An operator's invitation to sign up. Only its hash is stored; the link is shown once, and used once."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret in the link.")
    note = models.CharField(max_length=100, blank=True, help_text="Whom it is for. Only operators see it.")
    invited_by = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="Who invites, as the invited person knows them. The page behind the link says it.",
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="invitations",
        help_text="Who signed up with it.",
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.note or f"invitation {self.pk}"


class Reading(models.Model):
    """When a reader read, saved and named one article, through the item they saw. None of it is a rating.

    An article may be marked as read without being opened. Only opening it counts as implicit feedback. A
    *named* article is one the reader asked for more like.
    """

    class Door(models.TextChoices):
        PAGE = "page"
        MAIL = "mail"
        FEED = "feed"
        API = "api"

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="readings", db_index=False
    )
    item = models.ForeignKey(Item, models.CASCADE, related_name="readings")
    article = models.BigIntegerField(help_text="That of the item: read or saved once for all its items.")
    read_at = models.DateTimeField(null=True, blank=True)
    saved_at = models.DateTimeField(null=True, blank=True)
    named_at = models.DateTimeField(
        null=True, blank=True, help_text="When the reader asked for more like it; empty: never."
    )
    opened_at = models.DateTimeField(null=True, blank=True, help_text="When it was first opened.")
    opened_by = models.CharField(
        max_length=4, choices=Door.choices, blank=True, default="", db_default="", help_text="By which door."
    )
    finished_at = models.DateTimeField(null=True, blank=True, help_text="When it was first read to its end.")

    # Readings that keep their item: it was saved or named.
    SAVED_OR_NAMED = models.Q(saved_at__isnull=False) | models.Q(named_at__isnull=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "article"], name="one_reading_per_article")]
        indexes = [
            models.Index(fields=["reader", "-saved_at"], name="saved_by_a_reader_by_date"),
            models.Index(
                fields=["reader", "-named_at"],
                condition=models.Q(named_at__isnull=False),
                name="named_by_a_reader_by_date",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} by {self.reader_id}"
