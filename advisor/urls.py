"""Addresses of the advisor's pages."""

from django.urls import path

from advisor import views

app_name = "advisor"
urlpatterns = [path("ui/suggestions/generate", views.generate, name="generate")]
