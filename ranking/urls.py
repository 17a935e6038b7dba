"""Addresses of the settings pages."""

from django.urls import path

from ranking import views

app_name = "ranking"
urlpatterns = [
    path("ui/config", views.config, name="config"),
    path("ui/config/revert/<int:version>", views.revert, name="revert"),
    path("ui/history/settings", views.version_list, name="versions"),
    path("ui/history/settings/<int:version>", views.version_page, name="version"),
]
