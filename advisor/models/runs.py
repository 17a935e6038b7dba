"""Tables of the audit: runs, steps, votes, judgments, decisions, heartbeats. Rows are never edited."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q


class Run(models.Model):
    """One advisor run for a reader and day: claimed before any model call, writes checked by its fence."""

    class Trigger(models.TextChoices):
        UI = "ui"
        SCHEDULED = "scheduled"
        COMMAND = "command"
        MCP = "mcp"

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETED = "completed"
        BUDGET_EXCEEDED = "budget_exceeded"
        AGENT_TIMEOUT = "agent_timeout"
        AGENT_ERROR = "agent_error"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="runs")
    day = models.DateField(help_text="The reader's day.")
    trigger = models.CharField(max_length=10, choices=Trigger.choices)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    stop_reason = models.CharField(max_length=60, blank=True)
    message = models.TextField(blank=True, help_text="The outcome in words.")
    model = models.CharField(max_length=80, blank=True, help_text="The last model that answered.")
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    meta = models.JSONField(default=dict, help_text="Items analysed, patterns found, proposed, kept.")
    summary = models.JSONField(null=True, help_text="The agent's closing JSON summary.")
    attempt = models.PositiveSmallIntegerField(default=0)
    fence = models.PositiveIntegerField(
        default=0, help_text="Raised by each claim; a writer must hold the latest."
    )
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["status", "lease_until"], name="runs_to_claim"),
            models.Index(fields=["-created_at"], name="runs_by_creation"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["reader", "day"],
                condition=Q(status__in=["queued", "running", "completed"]) & ~Q(trigger="mcp"),
                name="one_run_per_day",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.status}"

    @property
    def is_resumed(self) -> bool:
        """Return whether steps, votes or guidance of an earlier attempt may be stored."""
        return self.attempt != 1


class Spent(models.Model):
    """Abstract: the time, tokens and cost of an audited call."""

    ms = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    at = models.DateTimeField()

    class Meta:
        abstract = True


class Step(Spent):
    """One model call or tool call of a run."""

    class Kind(models.TextChoices):
        MODEL = "model"
        TOOL = "tool"

    run = models.ForeignKey(Run, models.CASCADE, related_name="steps")
    n = models.PositiveIntegerField()
    kind = models.CharField(max_length=6, choices=Kind.choices)
    tool = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=80, blank=True)
    arguments = models.JSONField(null=True)
    result = models.TextField(blank=True, help_text="A preview.")
    error_code = models.CharField(max_length=60, blank=True)
    reasoning = models.TextField(blank=True)

    class Meta:
        ordering = ["run", "n"]
        constraints = [models.UniqueConstraint(fields=["run", "n"], name="one_step_per_number")]

    def __str__(self) -> str:
        return f"{self.n}. {self.tool or self.model}"


class Decision(models.Model):
    """A decision of the code or an operator with its reason: a skip, a reclaim, a refusal."""

    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="decisions")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="decisions")
    actor = models.CharField(max_length=40)
    action = models.CharField(max_length=60)
    reason = models.TextField()
    data = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}"


class Heartbeat(models.Model):
    """The last heartbeat of each embedded worker; without a recent one, requests run inline.

    A row named `job:<name>` holds the last start of a scheduled job, so that a restart repeats none.
    """

    worker = models.CharField(max_length=80, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.worker} at {self.at:%H:%M:%S}"


class PanelVote(Spent):
    """One reviewer's vote on one proposal in one round, with its reasons and its cost.

    If no model answered, a reviewer has two votes in a round: the missing one and that of the rules.
    """

    class Reviewer(models.TextChoices):
        TRUST = "trust"
        VALUE = "value"
        VOICE = "voice"

    class Verdict(models.TextChoices):
        APPROVE = "approve"
        IMPROVE = "improve"
        REJECT = "reject"

    run = models.ForeignKey(Run, models.CASCADE, related_name="votes")
    suggestion_type = models.CharField(max_length=20)
    target_key = models.CharField(max_length=120)
    round = models.PositiveSmallIntegerField()
    reviewer = models.CharField(max_length=8, choices=Reviewer.choices)
    verdict = models.CharField(max_length=8, choices=Verdict.choices)
    confidence = models.FloatField()
    issues = models.JSONField(default=list)
    suggestions = models.JSONField(default=list)
    reasoning = models.TextField(blank=True)
    error_code = models.CharField(max_length=60, blank=True, help_text="Why a vote is missing, if it is.")
    model = models.CharField(max_length=80)

    class Meta:
        ordering = ["run", "at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "suggestion_type", "target_key", "round", "reviewer", "model"],
                name="one_vote_per_reviewer_and_model",
            )
        ]

    def __str__(self) -> str:
        return f"{self.reviewer}: {self.verdict}"


class Judgment(Spent):
    """One round of the reflector on one proposal: whether it helps, and whether the reader accepts it."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="judgments")
    suggestion_type = models.CharField(max_length=20)
    target_key = models.CharField(max_length=120)
    attempt = models.PositiveSmallIntegerField(default=1, help_text="Which writing of this proposal it was.")
    round = models.PositiveSmallIntegerField(help_text="1: the reader's own data; 2: with new evidence.")
    helps = models.BooleanField()
    accepts = models.BooleanField()
    confidence = models.FloatField()
    p_helpful = models.FloatField(help_text="The probability after this round.")
    reasoning = models.TextField(blank=True)
    evidence = models.JSONField(default=dict, help_text="The aggregates this round was given.")
    flipped = models.BooleanField(default=False, help_text="Round 2 says otherwise than round 1.")
    error_code = models.CharField(max_length=60, blank=True)
    model = models.CharField(max_length=80)

    class Meta:
        ordering = ["run", "at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "suggestion_type", "target_key", "attempt", "round"],
                name="one_judgment_per_round",
            )
        ]

    def __str__(self) -> str:
        return f"{self.suggestion_type} {self.target_key}, round {self.round}: {self.helps}"
