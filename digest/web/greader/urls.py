"""Addresses of the Google Reader API: those of Miniflux, and again below the one that FreshRSS has."""

from django.urls import include, path, re_path

from digest.web.greader import changes, views

app_name = "greader"
_READER = [
    path("token", views.write_token, name="token"),
    path("user-info", views.user_info, name="user_info"),
    path("subscription/list", views.subscription_list, name="subscription_list"),
    path("subscription/edit", changes.subscription_edit, name="subscription_edit"),
    path("subscription/quickadd", changes.quick_add, name="quick_add"),
    path("tag/list", views.tag_list, name="tag_list"),
    path("rename-tag", changes.rename_tag, name="rename_tag"),
    path("disable-tag", changes.disable_tag, name="disable_tag"),
    path("unread-count", views.unread_count, name="unread_count"),
    path("stream/contents", views.stream_contents, name="all_contents"),
    path("stream/contents/<path:stream>", views.stream_contents, name="stream_contents"),
    path("stream/items/ids", views.stream_ids, name="stream_ids"),
    path("stream/items/contents", views.items_contents, name="items_contents"),
    path("edit-tag", changes.edit_tag, name="edit_tag"),
    path("mark-all-as-read", changes.mark_all_as_read, name="mark_all_as_read"),
    re_path("", views.missing, name="missing"),
]
urlpatterns = [
    re_path(r"^(?:api/greader\.php/)?accounts/ClientLogin$", views.client_login, name="client_login"),
    re_path(r"^(?:api/greader\.php/)?reader/api/0/", include(_READER)),
    re_path(r"^(?:api/greader\.php/)?reader/atom/(?P<stream>.+)$", views.stream_atom, name="stream_atom"),
    re_path(r"^api/greader\.php/?$", views.ready, name="ready"),
]
