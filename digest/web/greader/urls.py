"""Addresses of the Google Reader API, as in Miniflux, and again below the prefix of FreshRSS."""

from django.urls import include, path, re_path

from digest.web.greader import changes, views

app_name = "greader"
_READER = [
    # Some clients end each address in a slash.
    *(
        re_path(rf"^{address}/?$", view, name=view.__name__)
        for address, view in (
            ("token", views.write_token),
            ("user-info", views.user_info),
            ("subscription/list", views.subscription_list),
            ("subscription/edit", changes.subscription_edit),
            ("subscription/quickadd", changes.quick_add),
            ("tag/list", views.tag_list),
            ("rename-tag", changes.rename_tag),
            ("disable-tag", changes.disable_tag),
            ("unread-count", views.unread_count),
            ("stream/items/ids", views.stream_ids),
            ("stream/items/contents", views.items_contents),
            ("edit-tag", changes.edit_tag),
            ("mark-all-as-read", changes.mark_all_as_read),
        )
    ),
    re_path("^stream/contents/?$", views.stream_contents, name="all_contents"),
    path("stream/contents/<path:stream>", views.stream_contents, name="stream_contents"),
    re_path("", views.missing, name="missing"),
]
urlpatterns = [
    re_path(r"^(?:api/greader\.php/)?accounts/ClientLogin$", views.client_login, name="client_login"),
    re_path(r"^(?:api/greader\.php/)?reader/api/0/", include(_READER)),
    re_path(r"^(?:api/greader\.php/)?reader/atom/(?P<stream>.+)$", views.stream_atom, name="stream_atom"),
    re_path(r"^api/greader\.php/?$", views.ready, name="ready"),
]
