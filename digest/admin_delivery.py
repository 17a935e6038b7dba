"""Mail for operators: what went to whom, and what did not. Read-only."""

from django.contrib import admin

from digest.models import Delivery
from ranking.readonly import OperatorAdmin, ReadOnlyAdmin


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Each mail with what became of it; a failed one with the mail server's words."""

    list_display = ["date", "reader", "status", "attempts", "items", "error", "sent_at"]
    list_filter = ["status"]
    list_select_related = ["reader"]
    search_fields = ["reader__username"]
