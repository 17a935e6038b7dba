"""Tables of suggestions, their evidence, their outcomes and the preference profiles."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from digest.models import Item
from suggestions.changes.change import Change
from suggestions.changes.registry import change_stored, field_choices, kind_choices


class Suggestion(models.Model):
    """One proposed change of one reader's ranking, waiting for that reader's decision."""

    class Status(models.TextChoices):
        PENDING = "pending"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        SNOOZED = "snoozed"
        SUPERSEDED = "superseded"
        EXPIRED = "expired"
        DRAFT = "draft"
        DISCARDED = "discarded"
        # The answer was taken back: a pending copy replaces the suggestion.
        TAKEN_BACK = "taken_back", "taken back"

    # Never visible to readers: drafts of undecided reviewers, and drafts that operators discarded.
    UNSEEN = (Status.DRAFT, Status.DISCARDED)

    class Confidence(models.TextChoices):
        HIGH = "high"
        MEDIUM = "medium"
        LOW = "low"

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="suggestions")
    run_id = models.UUIDField(db_index=True, default=uuid.uuid4)
    suggestion_type = models.CharField(max_length=20, choices=kind_choices)
    field = models.CharField(max_length=30, choices=field_choices)
    target_key = models.CharField(
        max_length=120, help_text="A source's key, or a topic's or word's identity."
    )
    label = models.CharField(
        max_length=200, help_text="The source's title, or the topic as it will be written."
    )
    current_value = models.CharField(max_length=64, blank=True)
    suggested_value = models.CharField(max_length=64)
    reason = models.TextField(help_text="The server's sentence, from counted ratings.")
    model_note = models.TextField(
        blank=True, help_text="What a model wrote beside it, as it came; readers see it as far as it is safe."
    )
    confidence = models.CharField(max_length=10, choices=Confidence.choices)
    p_helpful = models.FloatField()
    forecast = models.JSONField(default=dict)
    expected_impact = models.TextField(blank=True)
    config_version = models.PositiveIntegerField()
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.PENDING)
    validation_notes = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["reader", "status"], name="suggestions_by_status")]
        constraints = [
            models.UniqueConstraint(
                fields=["reader", "field", "target_key"],
                condition=Q(status="pending"),
                name="one_pending_per_target",
            )
        ]

    def __str__(self) -> str:
        return f"{self.suggestion_type} {self.label} ({self.status})"

    @property
    def change(self) -> Change:
        """Return the change that it proposes."""
        value, current = self.suggested_value, self.current_value
        return change_stored(kind=self.suggestion_type, target=self.target_key, value=value, current=current)


class Evidence(models.Model):
    """One rated item behind a suggestion, copied, so that later edits cannot change the evidence."""

    suggestion = models.ForeignKey(Suggestion, models.CASCADE, related_name="evidence")
    item = models.ForeignKey(Item, models.SET_NULL, null=True)
    url = models.CharField(max_length=2000)
    title = models.CharField(max_length=500)
    source_key = models.CharField(max_length=120)
    useful = models.BooleanField()
    reason_tags = models.JSONField(default=list)
    rated_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(fields=["suggestion", "url"], name="one_row_per_evidence_item")
        ]

    def __str__(self) -> str:
        return self.title


class Outcome(models.Model):
    """The outcome of a suggestion: append-only, one row per kind."""

    class Kind(models.TextChoices):
        DECISION = "decision"
        EFFECT = "effect"
        REVERT = "revert"

    class Result(models.TextChoices):
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        EXPIRED = "expired"
        SUPERSEDED = "superseded"
        HELPED = "helped"
        HARMED = "harmed"
        UNCLEAR = "unclear"
        REVERTED = "reverted"

    suggestion = models.ForeignKey(Suggestion, models.CASCADE, related_name="outcomes")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="outcomes")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    outcome = models.CharField(max_length=12, choices=Result.choices)
    suggestion_type = models.CharField(max_length=20, choices=kind_choices)
    target_key = models.CharField(max_length=120)
    user_reason = models.CharField(max_length=500, blank=True)
    edited_value = models.CharField(max_length=64, blank=True, help_text="The value a reader chose instead.")
    config_before = models.JSONField()
    config_after = models.JSONField(null=True)
    evidence_summary = models.JSONField(default=list)
    measured = models.JSONField(default=dict, help_text="What an effect check measured; empty for decisions.")
    created_at = models.DateTimeField(help_text="When the suggestion was made.")
    decided_at = models.DateTimeField()

    class Meta:
        ordering = ["-decided_at", "-id"]
        indexes = [models.Index(fields=["reader", "-decided_at"], name="outcomes_of_a_reader_by_date")]
        constraints = [models.UniqueConstraint(fields=["suggestion", "kind"], name="one_outcome_per_kind")]

    def __str__(self) -> str:
        return f"{self.suggestion_type} {self.target_key} → {self.outcome}"


class UntakenVerdict(models.Model):
    """What a refused or expired suggestion would have done, judged two weeks later; it teaches nothing."""

    suggestion = models.OneToOneField(Suggestion, models.CASCADE, related_name="untaken")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="untaken_verdicts")
    verdict = models.CharField(max_length=10, help_text="helped, harmed or unclear.")
    measured = models.JSONField(help_text="The figures behind the verdict, as of an effect.")
    judged_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"untaken suggestion {self.suggestion_id}: {self.verdict}"


class OutcomeArchive(models.Model):
    """The heavy fields of an outcome, moved here by compaction; the audit stays complete."""

    outcome = models.OneToOneField(Outcome, models.CASCADE, related_name="archive")
    config_before = models.JSONField()
    config_after = models.JSONField(null=True)
    evidence_summary = models.JSONField(default=list)
    archived_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"archive of outcome {self.outcome_id}"


class PreferenceProfile(models.Model):
    """The summary of a reader's decisions; `suggestions.outcomes.profile` defines every threshold."""

    reader = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="preference_profile")
    acceptance_stats = models.JSONField(default=dict)
    patterns = models.JSONField(default=dict)
    trends = models.JSONField(default=dict)
    total_outcomes = models.PositiveIntegerField(default=0)
    last_outcome_at = models.DateTimeField(null=True)
    computed_at = models.DateTimeField()
    compacted_through = models.DateTimeField(
        null=True, help_text="Decisions up to here are archived; their counts stay in this profile."
    )

    def __str__(self) -> str:
        return f"profile of {self.reader_id}: {self.total_outcomes} outcomes"


class TasteSpread(models.Model):
    """The sums of one batch of readers, with noise, in hundredths: how much tastes vary; never changed.

    Those of topics are 0 where the first pair is of sources and topics together; the two pairs add up.
    """

    day = models.IntegerField(primary_key=True, help_text="The UTC day it was published, counted from 1970.")
    source_estimates = models.IntegerField()
    source_weights = models.IntegerField()
    topic_estimates = models.IntegerField()
    topic_weights = models.IntegerField()

    def __str__(self) -> str:
        return f"taste spread of day {self.day}"


class TasteContribution(models.Model):
    """That a reader was counted in the batch of a day, for the first or second time; there is no third."""

    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="taste_contributions", db_index=False
    )
    number = models.PositiveSmallIntegerField(help_text="1 or 2.")
    day = models.IntegerField(help_text="The UTC day, counted from 1970.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reader", "number"], name="one_contribution_per_number")
        ]

    def __str__(self) -> str:
        return f"contribution {self.number} of {self.reader_id}"


class EarlyForecast(models.Model):
    """The early change that a reader's answers support, found once for what it follows from."""

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="early_forecast", primary_key=True
    )
    basis = models.CharField(max_length=64, help_text="Hash of the day, thumbs, settings and digest.")
    changes = models.JSONField(help_text="The changes that move today's page; empty: there is none.")
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{len(self.changes)} for {self.reader_id}"
