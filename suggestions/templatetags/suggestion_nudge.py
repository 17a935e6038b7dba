"""Tags for pages below suggestions: pending ones, a question, and the offer after an interview."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import template
from django.utils import timezone

from digest.requests import reader_of
from suggestions.models import Question
from suggestions.selectors import asks_waiting, question_open
from suggestions.services.ordering import OrderOffer, order_offer

register = template.Library()


class AnswersWanted(NamedTuple):
    """The number of pending suggestions, 0 if they are hidden for a week, and the question of a run."""

    suggestions: int
    question: Question | None


@register.simple_tag(takes_context=True)
def answers_wanted(context: Mapping[str, Any]) -> AnswersWanted:
    """Return what waits for the reader's answer, nothing if suggestions are off.

    One query; another one for a question that is shown, which is if no suggestion is.
    """
    reader, now = reader_of(context["request"]), timezone.now()
    if not reader.suggestions_enabled:
        return AnswersWanted(0, None)
    asks = asks_waiting(reader_id=reader.pk, now=now)
    quiet = reader.nudge_quiet_until is not None and reader.nudge_quiet_until > now
    suggestions = 0 if quiet else asks.suggestions
    is_shown = asks.has_question and not suggestions
    return AnswersWanted(suggestions, question_open(reader_id=reader.pk, now=now) if is_shown else None)


@register.simple_tag(takes_context=True)
def order_offered(context: Mapping[str, Any]) -> OrderOffer | None:
    """Return the offer to order the page by the reader's thumbs, or `None`."""
    return order_offer(reader=reader_of(context["request"]), now=timezone.now())
