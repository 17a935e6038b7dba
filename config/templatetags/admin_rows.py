"""Rows of the admin's lists, whose cells say on a phone which column they are of."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

register = template.Library()
CELL = "<td"


@register.filter
def labelled(cells: Iterable[SafeString], headers: Iterable[Mapping[str, Any]]) -> Iterator[SafeString]:
    """Yield the cells of a row, each with the title of its column. The box to choose a row gets none."""
    # A form in a list adds a hidden cell without a column.
    for header, cell in zip(headers, cells, strict=False):
        if cell.startswith('<td class="field-'):
            start = format_html('<td data-label="{}"', capfirst(str(header["text"])))
            yield start + SafeString(cell.removeprefix(CELL))
        else:
            yield cell
