"""Tables of suggestions, their evidence, their outcomes and the preference profiles."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from digest.models import Item
from suggestions.changes.change import Change
from suggestions.changes.registry import change_stored, field_choices, kind_choices


class Question(models.Model):
    """One thing that a run asked its reader. Its answer is evidence for the runs after it."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="questions")
    run_id = models.UUIDField()
    text = models.CharField(max_length=200, help_text="In a model's words, checked.")
    answers = models.JSONField(help_text="Two to four short answers to choose from.")
    titles = models.JSONField(default=list, help_text="The titles of the rated articles that it is about.")
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, blank=True)
    answer = models.CharField(max_length=60, blank=True, help_text="Empty if the reader would not say.")

    class Meta:
        ordering = ["-asked_at", "-id"]
        indexes = [models.Index(fields=["reader", "-asked_at"], name="questions_of_a_reader_by_date")]

    def __str__(self) -> str:
        return self.text


class Suggestion(models.Model):
    """One proposed change of one reader's ranking, waiting for that reader's decision."""

    class Status(models.TextChoices):
        PENDING = "pending"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        SNOOZED = "snoozed"
        SUPERSEDED = "superseded"
        EXPIRED = "expired"
        WITHDRAWN = "withdrawn", "withdrawn after a check"
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
    other_names = models.JSONField(
        default=list, db_default=[], blank=True, help_text="The other names that a new topic gets."
    )
    question = models.ForeignKey(
        Question,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="suggestions",
        help_text="The question whose answer led to it.",
    )
    config_version = models.PositiveIntegerField()
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.PENDING)
    validation_notes = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    checked = models.JSONField(
        null=True, blank=True, help_text="What the reader's check by headlines found; none: not checked."
    )

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
        return f"{self.get_suggestion_type_display()}: {self.label} ({self.get_status_display().lower()})"

    @property
    def change(self) -> Change:
        """Return the change that it proposes."""
        return change_stored(
            kind=self.suggestion_type,
            target=self.target_key,
            value=self.suggested_value,
            current=self.current_value,
            names=self.other_names,
        )


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
        WITHDRAWN = "withdrawn"
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
        return f"{self.get_suggestion_type_display()}: {self.target_key} → {self.outcome}"


class UntakenVerdict(models.Model):
    """The would-be effect of a refused or expired suggestion, judged two weeks later. Nothing is learned from
    it."""

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
        return f"outcomes: {self.total_outcomes}"


class TasteSpread(models.Model):
    """The spread of tastes: the sums of one batch of readers, with noise, in hundredths; never changed.

    A batch has sums of sources and sums of topics, or one pair of both together in the columns of sources
    and zeros in those of topics. So the spread of a batch always follows from the totals of the two pairs.
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
    """The early change that a reader's answers support, computed once for the same answers."""

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="early_forecast", primary_key=True
    )
    basis = models.CharField(max_length=64, help_text="Hash of the day, thumbs, settings and digest.")
    changes = models.JSONField(help_text="The changes that move today's page; empty: there is none.")
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{len(self.changes)} for {self.reader_id}"
