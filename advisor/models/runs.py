"""Runs of the agent, their steps, and the decisions around them. Rows here are an audit: never edited."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q


class Run(models.Model):
    """One advisor run for one reader and day: claimed before any model call, fenced while it writes."""

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


class Spent(models.Model):
    """What every audited call took: time, tokens, money, and when it was done."""

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
    """Something the machinery or an operator decided, with the reason: a skip, a reclaim, a refusal."""

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
    """The last sign of life of each embedded worker; without a fresh one, requests run inline.

    A row named `job:<name>` holds the last start of a scheduled job, so that a restart repeats nothing.
    """

    worker = models.CharField(max_length=80, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.worker} at {self.at:%H:%M:%S}"
