"""What reviewers said of each proposal of a run: votes and judgments. An audit: never edited."""

from django.db import models

from advisor.models.runs import Run, Spent


class PanelVote(Spent):
    """One reviewer's vote on one proposal in one round: typed, with its reasons and its cost.

    Where no model could be reached, a reviewer has two in a round: the missing one and that of the rules.
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
    """One round of the reflector on one proposal: will it help, and will the reader accept it."""

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
