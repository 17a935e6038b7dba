"""Tables of ranking: configs, their versions, learned weights, implicit preferences, aliases of sources."""

from django.conf import settings
from django.db import models

from ranking.entities import ALPHA_DEFAULT, HALF_LIFE_HOURS_DEFAULT
from ranking.taste.entities import TasteLevel


class RankConfig(models.Model):
    """A reader's current ranking settings. Only `ranking.services` writes them."""

    reader = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="rank_config")
    version = models.PositiveIntegerField(default=0)
    topics = models.JSONField(default=list, blank=True)
    source_weights = models.JSONField(default=dict, blank=True)
    keyword_boosts = models.JSONField(default=dict, blank=True)
    recency_half_life_hours = models.FloatField(default=HALF_LIFE_HOURS_DEFAULT)
    recency_by_day = models.BooleanField(
        default=True, db_default=True, help_text="Freshness falls by whole days, not by the hour."
    )
    ai_score_alpha = models.FloatField(default=ALPHA_DEFAULT)
    locked = models.JSONField(default=list, blank=True, help_text="Targets the advisor must not touch.")
    avoided = models.JSONField(default=list, blank=True, help_text="Targets never to be suggested again.")
    literal = models.JSONField(
        default=list, db_default=[], blank=True, help_text="Topics that match by their words alone."
    )
    by_meaning = models.JSONField(
        default=list, db_default=[], blank=True, help_text="Boosted words that match by meaning, too."
    )
    other_names = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Other names of topics, by the topic's key."
    )
    mutes = models.JSONField(
        default=list, db_default=[], blank=True, help_text="What is hidden: kind, value, until."
    )
    shelf_lives = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Hours that items of a source may be shown."
    )
    daily_limits = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Most items of a source in a day's digest."
    )
    never_missed = models.JSONField(
        default=list, db_default=[], blank=True, help_text="Sources whose items all get a place."
    )
    taste = models.CharField(
        max_length=6,
        choices=[(str(level), str(level)) for level in TasteLevel],
        default=str(TasteLevel.OFF),
        db_default=str(TasteLevel.OFF),
        help_text="How much the reader's own taste may change the order.",
    )

    def __str__(self) -> str:
        return f"at version {self.version}"


class ConfigVersion(models.Model):
    """One version of a config, kept for ever: its body, its changes, and their cause."""

    class Cause(models.TextChoices):
        EDIT = "edit"
        ACCEPT = "accept"
        REVERT = "revert"
        PIN = "pin"
        UPGRADE = "upgrade"

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="config_versions")
    version = models.PositiveIntegerField()
    cause = models.CharField(max_length=10, choices=Cause.choices)
    cause_ref = models.CharField(max_length=64, blank=True, help_text="The suggestion or version behind it.")
    body = models.JSONField(help_text="The whole config, and the learned deltas, right after this write.")
    changes = models.JSONField(default=list, help_text="The fields and targets that this write changed.")
    note = models.TextField(
        default="", db_default="", blank=True, help_text="The reader's own words, where they asked in words."
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["reader", "version"], name="one_row_per_version")]

    def __str__(self) -> str:
        return f"version {self.version}"


class LearnedWeight(models.Model):
    """The learning loop's change to one source's config weight, and the belief behind it."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="learned_weights")
    source_key = models.CharField(max_length=120)
    delta = models.FloatField(default=0.0)
    p_better = models.FloatField(default=0.5)
    n = models.FloatField(default=0.0)
    on_hold_until = models.DateTimeField(
        null=True, blank=True, help_text="The loop leaves the source alone till then."
    )
    on_hold_way = models.SmallIntegerField(
        default=0,
        db_default=0,
        help_text="1: the reader's decision raised the weight; -1: it lowered it; 2: they took it back.",
    )
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reader", "source_key"], name="one_delta_per_source")]

    def __str__(self) -> str:
        return f"{self.source_key} {self.delta:+.2f}"


class WeightSnapshot(models.Model):
    """One source in one learning cycle: its effective weight before and after, and the reason."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="weight_snapshots")
    source_key = models.CharField(max_length=120)
    cycle = models.DateField(help_text="The UTC day of the cycle.")
    before = models.FloatField()
    after = models.FloatField()
    p_better = models.FloatField()
    n = models.FloatField()
    reason = models.CharField(max_length=40)

    class Meta:
        ordering = ["-cycle", "source_key"]
        constraints = [
            models.UniqueConstraint(fields=["reader", "source_key", "cycle"], name="one_snapshot_per_cycle")
        ]

    def __str__(self) -> str:
        return f"{self.source_key} {self.before:.2f} → {self.after:.2f}"


class ImplicitPreference(models.Model):
    """One reader's implicit preferences from opens. Computed nightly, deleted if the reader opts out."""

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="implicit_preference"
    )
    weight = models.FloatField(help_text="How far opens foretell this reader's thumbs, 0 to 1.")
    sources = models.JSONField(default=dict, help_text="Key: log-odds, opened, shown.")
    categories = models.JSONField(default=dict, help_text="Key: log-odds, opened, shown.")
    source_thumbs = models.JSONField(default=dict, help_text="Key: which way thumbs lean, 1 or -1.")
    category_thumbs = models.JSONField(default=dict, help_text="Key: which way thumbs lean, 1 or -1.")
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"opens of {self.reader_id} at {self.weight:.2f}"


class SourceAlias(models.Model):
    """An old key of a source that an operator renamed or joined with another."""

    key = models.CharField(max_length=120, primary_key=True)
    target = models.CharField(max_length=120, db_index=True, help_text="The key the source goes by now.")
    renamed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "source aliases"

    def __str__(self) -> str:
        return f"{self.key} → {self.target}"
