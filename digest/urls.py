"""URLs of the digest room's pages."""

from datetime import date

from django.urls import path, register_converter

from digest.web import account, costs, reading, sources, syndication


class DateConverter:
    """A calendar day in a URL, `2026-03-18`; anything else does not match."""

    regex = r"\d{4}-\d{2}-\d{2}"

    def to_python(self, value: str) -> date:
        """Return the day; raise `ValueError` (no match) for the 30th of February."""
        return date.fromisoformat(value)

    def to_url(self, value: date) -> str:
        """Return the day as in a URL."""
        return value.isoformat()


register_converter(DateConverter, "date")

app_name = "digest"
urlpatterns = [
    path("", reading.today, name="today"),
    path("ui/date/<date:date>", reading.day, name="day"),
    path("ui/date/<date:date>/read", reading.read, name="read"),
    path("ui/date/<date:date>/left-out", reading.left_out, name="left_out"),
    path("ui/calendar", reading.calendar, name="calendar"),
    path("ui/nudge/dismiss", reading.nudge_dismiss, name="nudge_dismiss"),
    path("ui/search", reading.search, name="search"),
    path("ui/saved", reading.saved, name="saved"),
    path("ui/item/<int:item_id>", reading.item, name="item"),
    path("ui/item/<int:item_id>/save", reading.save, name="save"),
    path("ui/item/<int:item_id>/unread", reading.unread, name="unread"),
    path("ui/item/<int:item_id>/feedback", reading.feedback, name="feedback"),
    path("ui/account", account.account, name="account"),
    path("ui/account/mail", account.mail, name="account_mail"),
    path("ui/account/feed", account.feed, name="account_feed"),
    path("ui/account/delete", account.delete, name="account_delete"),
    path("ui/account/tokens", account.tokens, name="tokens"),
    path("ui/account/tokens/<int:token_id>/revoke", account.token_revoke, name="token_revoke"),
    path("ui/welcome", account.welcome, name="welcome"),
    path("ui/mail/thumb/<str:link>", account.thumb_link, name="thumb_link"),
    path("ui/mail/end/<str:link>", account.unsubscribe, name="unsubscribe"),
    path("feeds/<str:token>/atom.xml", syndication.feed_atom, name="feed_atom"),
    path("feeds/<str:token>/feed.json", syndication.feed_json, name="feed_json"),
    path("debug/costs", costs.costs, name="costs"),
    path("ui/sources", sources.sources, name="sources"),
    path("ui/sources/import", sources.opml_upload, name="opml_import"),
    path("ui/sources/export.opml", sources.opml_download, name="opml_export"),
    path("ui/sources/undo", sources.source_undo, name="source_undo"),
    path("ui/sources/<int:feed_id>", sources.source, name="source"),
    path("ui/sources/<int:feed_id>/remove", sources.source_remove, name="source_remove"),
    path("ui/history/trends", reading.trends, name="trends"),
]
