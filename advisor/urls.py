"""URLs of the advisor."""

from django.urls import path

from advisor import views

app_name = "advisor"
urlpatterns = [
    path("ui/suggestions/generate", views.generate, name="generate"),
    path("ui/tips/<int:tip_id>/dismiss", views.tip_dismiss_view, name="tip_dismiss"),
]
