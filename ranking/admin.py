"""Ranking's admin, read only: settings, their history, and the learning loop's changes."""

from django.contrib import admin

from ranking.common.admin import OperatorAdmin, ReadOnlyAdmin, recent_values
from ranking.models import ConfigVersion, LearnedWeight, RankConfig, SourceAlias, WeightSnapshot


@admin.register(RankConfig)
class RankConfigAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The current settings. Only readers change them, so every change has a version."""

    list_display = ["reader", "version", "recency_half_life_hours", "ai_score_alpha"]
    list_select_related = ["reader"]
    search_fields = ["reader"]


@admin.register(ConfigVersion)
class ConfigVersionAdmin(ReadOnlyAdmin, OperatorAdmin):
    """All versions of all readers' settings."""

    list_display = ["reader", "version", "cause", "cause_ref", "created_at"]
    list_filter = ["cause"]
    list_select_related = ["reader"]
    search_fields = ["reader"]


@admin.register(LearnedWeight)
class LearnedWeightAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The learning loop's changes to weights, with their probability."""

    list_display = ["reader", "source_key", "delta", "p_better", "n", "on_hold_until", "updated_at"]
    list_select_related = ["reader"]
    search_fields = ["reader", "source_key"]


@admin.register(WeightSnapshot)
class WeightSnapshotAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Each source in each learning cycle, with the reason why its weight moved or stayed."""

    list_display = ["reader", "source_key", "cycle", "before", "after", "p_better", "n", "reason"]
    list_filter = [recent_values("reason")]
    list_select_related = ["reader"]
    search_fields = ["reader", "source_key"]


@admin.register(SourceAlias)
class SourceAliasAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The old keys of renamed sources, and their current keys."""

    list_display = ["key", "target", "renamed_at"]
    ordering = ["key"]
    search_fields = ["key", "target"]
