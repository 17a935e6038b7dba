"""Published sums over many readers' thumbs: rounds, and noisy figures of items and sources."""

from django.db import models

from digest.models.feeds import Item, Source


class CommunityRound(models.Model):
    """One publication. It covers the items first seen on the UTC days `after` + 1 to `until`.

    No other round looks at these items.
    """

    day = models.IntegerField(primary_key=True, help_text="The UTC day it was made, counted from 1970.")
    after = models.IntegerField(unique=True, help_text="The `until` of the round before.")
    until = models.IntegerField()

    def __str__(self) -> str:
        return f"round of day {self.day}"


class ItemFigure(models.Model):
    """How many readers rated an item, and how many found it useful, both with noise. Published once."""

    item = models.OneToOneField(Item, models.CASCADE, primary_key=True, related_name="figure")
    day = models.IntegerField(db_index=True, help_text="The UTC day it was published.")
    likes = models.IntegerField()
    thumbs = models.IntegerField()

    def __str__(self) -> str:
        return f"figure of {self.item_id}"


class SourceFigure(models.Model):
    """The same two figures for all items of a source in one period of 28 days. Published once."""

    source = models.ForeignKey(
        Source,
        models.CASCADE,
        null=True,
        related_name="figures",
        db_index=False,
        help_text="Empty: all sources together.",
    )
    period = models.IntegerField(help_text="Periods of 28 UTC days, counted from 1970.")
    day = models.IntegerField(help_text="The UTC day it was published.")
    likes = models.IntegerField()
    thumbs = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["period", "source"], name="one_figure_per_source_and_period")
        ]

    def __str__(self) -> str:
        return f"figure of {self.source_id or 'all sources'} in period {self.period}"
