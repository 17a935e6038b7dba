"""Memories that people write: operators' rules, and insights made in the admin. Views on `Memory`."""

from advisor.models.memory import Memory


class GuidanceRule(Memory):
    """A rule of operators: what to keep to, when it applies, and how loud it may be."""

    class Meta:
        proxy = True
        ordering = ["kind", "key"]
        verbose_name = "guidance rule"


class GuidanceInsight(Memory):
    """An insight: how to advise well, for whom it does not matter. Those from files are changed in files."""

    class Meta:
        proxy = True
        ordering = ["kind", "key"]
        verbose_name = "guidance insight"
