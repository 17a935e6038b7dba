"""URLs of the digest room's pages."""

from datetime import date

from django.urls import path, register_converter

from digest.mutes import views as mutes
from digest.searches import views as searches
from digest.sources import change_views, newsletter_views, private_views
from digest.sources import views as sources
from digest.web.api import syndication
from digest.web.oauth import consent
from digest.web.pages import (
    account,
    all_items,
    articles,
    catch_up,
    costs,
    first_fetch,
    further,
    invitations,
    marked,
    notifications,
    offline,
    onboarding,
    reading,
    search,
    taste,
)


class DateConverter:
    """A calendar day in a URL, such as `2026-03-18`. Other texts do not match."""

    regex = r"\d{4}-\d{2}-\d{2}"

    def to_python(self, value: str) -> date:
        """Return the day. Raises `ValueError` (no match) for a day like 30 February."""
        return date.fromisoformat(value)

    def to_url(self, value: date) -> str:
        """Return the day as it appears in a URL."""
        return value.isoformat()


register_converter(DateConverter, "date")

app_name = "digest"
urlpatterns = [
    path("", reading.today, name="today"),
    path("ui/filling", first_fetch.filling, name="filling"),
    path("ui/filling/hide", first_fetch.filling_hide, name="filling_hide"),
    path("ui/newer", first_fetch.newer, name="newer"),
    path("ui/date/<date:date>", reading.day, name="day"),
    path("ui/date/<date:date>/read", reading.read, name="read"),
    path("ui/date/<date:date>/left-out", reading.left_out, name="left_out"),
    path("ui/today/moved", reading.moved, name="moved"),
    path("ui/today/further", further.further, name="further"),
    path("ui/today/further/read", further.further_read, name="further_read"),
    path("ui/today/read-gone", further.read_gone, name="read_gone"),
    path("ui/today/offline", offline.today_offline, name="today_offline"),
    path("ui/calendar", reading.calendar, name="calendar"),
    path("ui/catch-up", catch_up.catching_up, name="catch_up"),
    path("ui/catch-up/read", catch_up.missed_read, name="catch_up_read"),
    path("ui/teach", onboarding.teach, name="teach"),
    path("ui/teach/answer", onboarding.answer, name="teach_answer"),
    path("ui/teach/stop", onboarding.stop, name="teach_stop"),
    path("ui/teach/done", onboarding.done, name="teach_done"),
    path("ui/subjects", onboarding.subjects, name="subjects"),
    path("ui/subjects/choose", onboarding.subjects_chosen, name="subjects_choose"),
    path("ui/offer/end", onboarding.offer_put_off, name="offer_end"),
    path("ui/nudge/dismiss", reading.nudge_dismiss, name="nudge_dismiss"),
    path("ui/all", all_items.all_items, name="all"),
    path("ui/all/read", all_items.all_read, name="all_read"),
    path("ui/read/undo", marked.marking_undo, name="marking_undo"),
    path("ui/search", search.search, name="search"),
    path("ui/searches/save", searches.save, name="search_save"),
    path("ui/searches/<int:search_id>/name", searches.rename, name="search_rename"),
    path("ui/searches/<int:search_id>/remove", searches.remove, name="search_remove"),
    path("ui/searches/<int:search_id>/topic", searches.topic, name="search_topic"),
    path("ui/searches/undo", searches.undo, name="search_undo"),
    path("ui/mutes", mutes.mutes, name="mutes"),
    path("ui/mutes/add", mutes.mute_add, name="mute_add"),
    path("ui/mutes/end", mutes.mute_end, name="mute_end"),
    path("ui/mutes/undo", mutes.mute_undo, name="mute_undo"),
    path("ui/saved", reading.saved, name="saved"),
    path("ui/taste", taste.taste, name="taste"),
    path("ui/taste/name", taste.named_add, name="taste_name"),
    path("ui/item/<int:item_id>", reading.item, name="item"),
    path("ui/item/<int:item_id>/save", reading.save, name="save"),
    path("ui/item/<int:item_id>/name", reading.name, name="name"),
    path("ui/item/<int:item_id>/send", notifications.item_send, name="item_send"),
    path("ui/item/<int:item_id>/unread", reading.unread, name="unread"),
    path("ui/item/<int:item_id>/feedback", reading.feedback, name="feedback"),
    path("ui/item/<int:item_id>/full-text", articles.full_text, name="full_text"),
    path("ui/picture/<str:signed>", articles.picture, name="picture"),
    path("ui/favicon/<str:signed>", articles.favicon, name="favicon"),
    path("ui/account", account.account, name="account"),
    path("ui/display", account.display, name="display"),
    path("ui/account/mail", account.mail, name="account_mail"),
    path("ui/account/feed", account.feed, name="account_feed"),
    path("ui/account/delete", account.delete, name="account_delete"),
    path("ui/account/tokens", account.tokens, name="tokens"),
    path("ui/account/tokens/<int:token_id>/revoke", account.token_revoke, name="token_revoke"),
    path("ui/account/assistants", consent.connections, name="assistants"),
    path("ui/account/assistants/<str:client_id>/disconnect", consent.disconnect, name="disconnect"),
    path("oauth/authorize", consent.consent, name="consent"),
    path("ui/account/notifications", notifications.notifications, name="notifications"),
    path("ui/account/destinations", notifications.destination_new, name="destination_new"),
    path("ui/account/destinations/<int:destination_id>/test", notifications.test, name="destination_test"),
    path(
        "ui/account/destinations/<int:destination_id>/remove", notifications.remove, name="destination_remove"
    ),
    path("ui/welcome", account.welcome, name="welcome"),
    path("ui/mail/thumb/<str:link>", account.thumb_link, name="thumb_link"),
    path("ui/mail/end/<str:link>", account.unsubscribe, name="unsubscribe"),
    path("feeds/<str:token>/atom.xml", syndication.feed_atom, name="feed_atom"),
    path("feeds/<str:token>/feed.json", syndication.feed_json, name="feed_json"),
    path("debug/costs", costs.costs, name="costs"),
    path("ui/sources", sources.sources, name="sources"),
    path("ui/sources/import", sources.files_upload, name="files_import"),
    path("ui/sources/import/done", sources.files_imported, name="imported"),
    path("ui/sources/export.opml", sources.opml_download, name="opml_export"),
    path("ui/sources/undo", change_views.source_undo, name="source_undo"),
    path("ui/sources/<int:feed_id>/address", sources.source_address, name="source_address"),
    path("ui/sources/undo-move", change_views.move_undo, name="move_undo"),
    path("ui/sources/change", change_views.sources_change, name="sources_change"),
    path("ui/sources/folder", change_views.folder_change, name="folder_change"),
    path("ui/sources/private", private_views.private_source, name="private_source"),
    path("invitation/<str:token>", invitations.invitation, name="invitation"),
    path("ui/newsletters", newsletter_views.newsletters, name="newsletters"),
    path("ui/newsletters/<int:feed_id>/resume", newsletter_views.resume, name="newsletter_resume"),
    path("ui/newsletters/<int:feed_id>/refuse", newsletter_views.refuse, name="newsletter_refuse"),
    path("ui/sources/<int:feed_id>", sources.source, name="source"),
    path("ui/sources/<int:feed_id>/access", private_views.source_access, name="source_access"),
    path("ui/sources/<int:feed_id>/out", change_views.source_out, name="source_out"),
    path("ui/sources/<int:feed_id>/remove", change_views.source_remove, name="source_remove"),
    path("ui/history/trends", reading.trends, name="trends"),
]
