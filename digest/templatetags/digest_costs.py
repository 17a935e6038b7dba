"""Amounts, counts and ids in templates."""

import re
from decimal import Decimal

from django import template

from digest.costs_page import usd_words

register = template.Library()
ID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-([0-9a-f]{12})\b")


@register.filter
def usd(amount: Decimal) -> str:
    """An amount of USD with as many decimals as it takes to be seen."""
    return f"${usd_words(amount)}"


@register.filter
def thousands(count: int) -> str:
    """A count with its thousands apart."""
    return f"{count:,}"


@register.filter
def short_ids(text: str) -> str:
    """`text` with the ids in it cut to their two ends."""
    return ID.sub(r"\1…\2", text)
