"""Amounts in templates."""

from decimal import Decimal

from django import template

from digest.costs_page import usd_words

register = template.Library()


@register.filter
def usd(amount: Decimal) -> str:
    """An amount of USD with as many decimals as it takes to be seen."""
    return f"${usd_words(amount)}"
