"""URLs of the suggestions page, its history and the answers to suggestions and questions."""

from django.urls import path

from suggestions import (
    check_pages,
    config_preview,
    early_pages,
    history_pages,
    question_pages,
    views,
    wish_pages,
)

app_name = "suggestions"
urlpatterns = [
    path("ui/suggestions", views.suggestion_list, name="list"),
    path("ui/config/preview", config_preview.config_preview, name="config_preview"),
    path("ui/sources/preview", config_preview.weights_preview, name="weights_preview"),
    path("ui/wishes", wish_pages.wishes, name="wishes"),
    path("ui/wishes/accept", wish_pages.wish_accepted, name="wish_accept"),
    path("ui/early", early_pages.early_answer, name="early_answer"),
    path("ui/questions/<int:question_id>", question_pages.answer, name="question"),
    path("ui/order", early_pages.order, name="order"),
    path("ui/order/accept", early_pages.order_by_answers, name="order_by_answers"),
    path("ui/history", history_pages.history, name="history"),
    path("ui/history/undo", history_pages.history_undo, name="history_undo"),
    path("ui/changes/undo", views.undo_change, name="undo_change"),
    path("ui/suggestions/<int:suggestion_id>/preview", views.preview, name="preview"),
    path("ui/suggestions/<int:suggestion_id>/check", check_pages.check, name="check"),
    path("ui/suggestions/accept-all", views.accept_all, name="accept_all"),
    path("ui/suggestions/<int:suggestion_id>/<slug:verb>", views.decide, name="decide"),
]
