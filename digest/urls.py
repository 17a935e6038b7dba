"""Addresses of the digest room's pages."""

from datetime import date

from django.urls import path, register_converter

from digest.views import account, days, items, sources


class DateConverter:
    """A calendar day in an address, `2026-03-18`; anything else does not match."""

    regex = r"\d{4}-\d{2}-\d{2}"

    def to_python(self, value: str) -> date:
        """The day; raises `ValueError` (no match) for the 30th of February."""
        return date.fromisoformat(value)

    def to_url(self, value: date) -> str:
        """The day as it stands in an address."""
        return value.isoformat()


register_converter(DateConverter, "date")

app_name = "digest"
urlpatterns = [
    path("", days.today, name="today"),
    path("ui/date/<date:date>", days.day, name="day"),
    path("ui/item/<int:item_id>", items.item, name="item"),
    path("ui/item/<int:item_id>/feedback", items.feedback, name="feedback"),
    path("ui/account", account.account, name="account"),
    path("ui/sources", sources.sources, name="sources"),
    path("ui/sources/<int:feed_id>/remove", sources.source_remove, name="source_remove"),
]
