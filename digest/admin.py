"""The world for operators: feeds and readers to look after, what was shown and said to be read only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from digest import admin_costs, admin_delivery, admin_feeds, admin_readers, admin_sources
from digest.models import (
    Digest,
    Feedback,
    FeedbackTag,
    Impression,
    Item,
    ReasonTag,
    Spend,
    Subscription,
)
from digest.selectors.search import items_about
from ranking.readonly import OperatorAdmin, OperatorInline, ReadOnlyAdmin, lately, seen

# Areas with a module of their own, imported for what they register.
AREAS = [admin_costs, admin_delivery, admin_feeds, admin_readers, admin_sources]


@admin.register(Subscription)
class SubscriptionAdmin(OperatorAdmin):
    """Who reads what."""

    list_display = ["reader", "feed", "created_at"]
    list_select_related = ["reader", "feed"]
    raw_id_fields = ["reader", "feed"]
    search_fields = ["reader__username", "feed__url"]


@admin.register(Item)
class ItemAdmin(OperatorAdmin):
    """Items as they were ingested."""

    list_display = ["title", "source", "dated_at", "first_seen_at", "language"]
    list_select_related = ["source"]
    raw_id_fields = ["source"]
    # For the field to be shown; what it finds is below.
    search_fields = ["=url"]
    search_help_text = "Words in title or text, or a whole address."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Item], search_term: str
    ) -> tuple[QuerySet[Item], bool]:
        """By the index that readers search by: to look into every title takes seconds at a million items."""
        if not search_term or "://" in search_term:
            return super().get_search_results(request, queryset, search_term)
        return queryset & items_about(query=search_term), False


class ImpressionInline(ReadOnlyAdmin, OperatorInline):
    """What a digest showed, by rank."""

    model = Impression
    fields = ["rank", "item", "score", "parts", "propensity"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Impression]:
        """With the items at hand."""
        return super().get_queryset(request).select_related("item")


@admin.register(Digest)
class DigestAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What was shown to whom."""

    list_display = ["reader", "date", "config_version", "built_at"]
    list_select_related = ["reader"]
    inlines = [ImpressionInline]
    search_fields = ["reader__username"]


class FeedbackTagInline(ReadOnlyAdmin, OperatorInline):
    """The reasons given with a thumb."""

    model = FeedbackTag


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What readers said."""

    list_display = ["reader", "item", "useful", "has_reason", "at"]
    list_filter = ["useful", "has_reason"]
    list_select_related = ["reader", "item"]
    inlines = [FeedbackTagInline]
    search_fields = ["reader__username"]


@admin.register(ReasonTag)
class ReasonTagAdmin(OperatorAdmin):
    """The taxonomy of reasons; a tag's synonyms are the other spellings that mean it."""

    list_display = ["slug", "label", "kind", "position"]
    ordering = ["kind", "position"]
    list_filter = ["kind"]


@admin.register(Spend)
class SpendAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The ledger of model spend."""

    list_display = [
        "created_at",
        "surface",
        "purpose",
        "model",
        "reserved_usd",
        "settled_usd",
        "reader",
        "run_id",
    ]
    list_filter = [lately("created_at"), "surface", seen("purpose")]
    list_select_related = ["reader"]
