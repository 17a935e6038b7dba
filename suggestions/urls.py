"""Addresses of the suggestions page and of the answers to what stands on it."""

from django.urls import path

from suggestions import preview, views

app_name = "suggestions"
urlpatterns = [
    path("ui/suggestions", views.suggestion_list, name="list"),
    path("ui/history", views.history, name="history"),
    path("ui/suggestions/<int:suggestion_id>/preview", preview.preview, name="preview"),
    path("ui/suggestions/accept-all", views.accept_all, name="accept_all"),
    path("ui/suggestions/<int:suggestion_id>/<slug:verb>", views.decide, name="decide"),
]
