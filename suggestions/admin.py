"""Suggestions, what became of them and what that says of each reader: for operators to read."""

from django.contrib import admin

from ranking.readonly import OperatorAdmin, OperatorInline, ReadOnlyAdmin
from suggestions.models import Evidence, Outcome, PreferenceProfile, Suggestion


class EvidenceInline(ReadOnlyAdmin, OperatorInline):
    """The rated items behind a suggestion, as they stood."""

    model = Evidence
    fields = ["title", "url", "source_key", "useful", "reason_tags", "rated_at"]


class OutcomeInline(ReadOnlyAdmin, OperatorInline):
    """What became of it."""

    model = Outcome
    fields = ["kind", "outcome", "user_reason", "edited_value", "decided_at"]


@admin.register(Suggestion)
class SuggestionAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Every proposal ever written, drafts included."""

    list_display = [
        "id",
        "reader",
        "suggestion_type",
        "label",
        "current_value",
        "suggested_value",
        "confidence",
        "status",
        "created_at",
    ]
    list_filter = ["status", "suggestion_type", "confidence"]
    list_select_related = ["reader"]
    search_fields = ["target_key", "label", "reader__username"]
    inlines = [EvidenceInline, OutcomeInline]


@admin.register(Outcome)
class OutcomeAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The append-only record of decisions, effects and reverts."""

    list_display = ["id", "reader", "suggestion_type", "target_key", "kind", "outcome", "decided_at"]
    list_filter = ["kind", "outcome", "suggestion_type"]
    list_select_related = ["reader"]
    search_fields = ["target_key", "reader__username"]


@admin.register(PreferenceProfile)
class PreferenceProfileAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What each reader's decisions add up to."""

    list_display = ["reader", "total_outcomes", "last_outcome_at", "computed_at"]
    list_select_related = ["reader"]
    search_fields = ["reader__username"]
