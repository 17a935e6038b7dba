"""Addresses of the settings pages."""

from django.urls import path

from ranking import views

app_name = "ranking"
urlpatterns = [
    path("ui/config", views.config, name="config"),
    path("ui/config/revert/<int:version>", views.revert, name="revert"),
    path("ui/config/unpin", views.unpin, name="unpin"),
]
