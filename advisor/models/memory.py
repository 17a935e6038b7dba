"""Tables of memories, of the guidance that runs got from them, and of tips."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from advisor.models.runs import Run

# Within `Memory.data`: the condition of a rule.
CONDITION = "when"


class Memory(models.Model):
    """A lesson that may help a later run, with the fields by which guidance finds and weighs it.

    Without a reader it is shared: then it has no reader's text and no id, and rests on more than five
    readers. A memory never changes its meaning: a new meaning supersedes it, and an outdated one is retired.
    """

    class Kind(models.TextChoices):
        PATTERN = "pattern"
        REPLAY = "replay"
        PROFILE = "profile"
        RULE = "rule"
        INSIGHT = "insight"
        PEER = "peer"
        BANK = "bank"

    class Ceiling(models.TextChoices):
        BLOCK = "block"
        WARNING = "warning"
        NOTE = "note"

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="memories")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    key = models.CharField(max_length=120, help_text="Its name within the kind: a file's id, a statistic's.")
    title = models.CharField(max_length=80)
    text = models.CharField(max_length=500)
    suggestion_type = models.CharField(max_length=20, blank=True)
    target_key = models.CharField(max_length=120, blank=True, help_text="Empty: about none in particular.")
    tool = models.CharField(max_length=64, blank=True)
    phase = models.CharField(max_length=12, blank=True)
    polarity = models.SmallIntegerField(default=0, help_text="1: do it; -1: a caution; 0: neither.")
    dimensions = models.JSONField(default=dict, help_text="The five dimensions of its text, each 0 to 1.")
    unified = models.FloatField(default=0.5, help_text="Their weighted sum.")
    data = models.JSONField(default=dict, help_text="The figures behind it; of a rule, its condition.")
    confidence = models.FloatField(default=0.5)
    evidence = models.PositiveIntegerField(default=0, help_text="Outcomes behind it.")
    helpful = models.PositiveIntegerField(default=0, help_text="Readers' decisions that bore it out.")
    unhelpful = models.PositiveIntegerField(default=0, help_text="Readers' decisions against it.")
    tokens = models.JSONField(default=list, help_text="Its words as BM25 compares them.")
    text_sig = models.CharField(max_length=40, blank=True, help_text="Equal for texts that say the same.")
    ceiling = models.CharField(max_length=8, choices=Ceiling.choices, default=Ceiling.WARNING)
    source_ref = models.CharField(max_length=120, blank=True, help_text="What it was made from.")
    valid_from = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, related_name="supersedes")
    retired_at = models.DateTimeField(null=True, help_text="No longer in its source; kept for the audit.")
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["kind", "key"]
        verbose_name_plural = "memories"
        indexes = [models.Index(fields=["reader", "retired_at"], name="memories_in_force")]
        constraints = [
            models.UniqueConstraint(fields=["reader", "kind", "key"], name="one_memory_per_key"),
            models.UniqueConstraint(
                fields=["kind", "key"], condition=Q(reader=None), name="one_shared_memory_per_key"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def shared(self) -> bool:
        """Return whether it is of no reader in particular."""
        return self.reader_id is None

    @property
    def predicate(self) -> Any:
        """Return the condition of a rule; empty for none."""
        return self.data.get(CONDITION) or {}

    @property
    def share(self) -> float | None:
        """Return the share of outcomes that went its way: for a caution the no's, else the larger side."""
        hits, total = self.data.get("hits"), self.data.get("of")
        if hits is None or not total:
            return None
        yes = float(hits / total)
        return yes if self.polarity > 0 else 1 - yes if self.polarity else max(yes, 1 - yes)


class GuidanceEvent(models.Model):
    """The guidance of one tool call, or why it got none, with all candidates and the outcome."""

    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="guidance")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="guidance")
    n = models.PositiveIntegerField(help_text="Which call of the run; 0: what the run was told at its start.")
    tool = models.CharField(max_length=64, blank=True)
    phase = models.CharField(max_length=12, blank=True)
    suggestion_type = models.CharField(max_length=20, blank=True)
    target_key = models.CharField(max_length=120, blank=True)
    level = models.CharField(max_length=8)
    why = models.CharField(max_length=20)
    rule = models.CharField(max_length=120, blank=True)
    text = models.CharField(max_length=600, blank=True)
    tokens = models.PositiveIntegerField(default=0)
    emitted_ids = models.JSONField(default=list, help_text="Ids of the memories in the text.")
    candidates = models.JSONField(default=list, help_text="What was weighed, and what became of it.")
    facts = models.JSONField(default=dict, help_text="What rules were asked with, for previews of new rules.")
    holdout = models.BooleanField(default=False, help_text="Left out at random, to measure by.")
    ms = models.PositiveIntegerField(default=0)
    packet = models.CharField(max_length=8, blank=True, help_text="Empty since nothing is cached.")
    followed = models.BooleanField(
        null=True, help_text="The run wrote what was advised, or left what was not."
    )
    helpful = models.BooleanField(null=True, help_text="By the reader's decision.")
    outcome = models.CharField(max_length=12, blank=True)
    error_code = models.CharField(max_length=60, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["-at"], name="guidance_by_time"),
            models.Index(fields=["reader", "helpful"], name="guidance_to_credit"),
        ]

    def __str__(self) -> str:
        return f"{self.level} for {self.tool or 'the start'}: {self.why}"


class Tip(models.Model):
    """A memory of a reader's own that their pages show them, until they put it away or it is no longer so."""

    reader = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tips")
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="tips")
    shown_at = models.DateTimeField(help_text="When it was first shown.")
    dismissed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-shown_at"]
        constraints = [models.UniqueConstraint(fields=["reader", "memory"], name="one_tip_per_memory")]

    def __str__(self) -> str:
        return f"{self.memory_id} at {self.shown_at:%Y-%m-%d}"


class GuidanceRule(Memory):
    """An operator's rule: its text, its condition, and its highest level."""

    class Meta:
        proxy = True
        ordering = ["kind", "key"]
        verbose_name = "guidance rule"


class GuidanceInsight(Memory):
    """An insight: how to advise well, for any reader. Insights from files are changed in files."""

    class Meta:
        proxy = True
        ordering = ["kind", "key"]
        verbose_name = "guidance insight"
