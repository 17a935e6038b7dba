"""Addresses of the advisor's pages."""

from django.urls import path

from advisor import views

app_name = "advisor"
urlpatterns = [
    path("ui/suggestions/generate", views.generate, name="generate"),
    path("ui/tips/<int:tip_id>/dismiss", views.tip_put_away, name="tip_dismiss"),
]
