"""What models made and what caps refused, for operators. Read-only."""

from django.contrib import admin

from digest.models import SpendRefusal, SuggestedReasons, Summary
from ranking.readonly import OperatorAdmin, ReadOnlyAdmin, seen


@admin.register(Summary)
class SummaryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Summaries with their citations, repairs and refusals."""

    list_display = ["created_at", "model", "repaired", "refusal", "cost_usd", "text"]
    list_filter = [seen("model"), "repaired", "refusal"]
    search_fields = ["=fingerprint"]


@admin.register(SuggestedReasons)
class SuggestedReasonsAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Suggested reasons as they were stored."""

    list_display = ["created_at", "model", "__str__"]
    list_filter = [seen("model")]
    search_fields = ["=fingerprint"]


@admin.register(SpendRefusal)
class SpendRefusalAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Calls that a cap did not let through."""

    list_display = ["created_at", "surface", "purpose", "code", "model", "asked_usd", "reader", "run_id"]
    list_filter = ["surface", seen("purpose"), seen("code")]
    list_select_related = ["reader"]
