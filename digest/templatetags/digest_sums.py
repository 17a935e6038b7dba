"""The sum behind a score, as rows of a table."""

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from digest.presenters import Why

register = template.Library()

# A row, and one of the parts that add up to the row above them.
WHOLE = mark_safe("")
PART = mark_safe(' class="part"')


@register.simple_tag
def sum_rows(why: Why) -> SafeString:
    """A row for each line of the sum: what counts, in words, as a figure.

    A digest has some two hundred: a loop in the template over them cost a seventh of the page's processor
    time (26.5 ms of 30 items, against 22.5 ms).
    """
    return format_html_join(
        "",
        '<tr{}><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
        ((PART if line.part else WHOLE, line.label, line.words, line.figure) for line in why.lines),
    )
