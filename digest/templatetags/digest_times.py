"""Moments in words, in the time zone of whoever looks."""

from datetime import datetime

from django import template
from django.utils.dateformat import format as formatted
from django.utils.timezone import localtime

register = template.Library()


@register.filter
def moment(at: datetime) -> str:
    """`at` in the reader's zone, which is named: "Sunday, 25 October 2026, 02:30 CET".

    Django's own `T` keeps silent in the hour that a clock change repeats, where it is needed most.
    """
    local = localtime(at)
    return f"{formatted(local, 'l, j F Y, H:i')} {local.tzname()}"
