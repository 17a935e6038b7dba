"""What account pages ask about this installation."""

from django import template
from django.forms import BoundField

from digest.mail_way import mail_goes_out

register = template.Library()


@register.filter
def plainly(field: BoundField) -> BoundField:
    """`field` without a placeholder: here it would repeat the label above it, and vanish when typed over."""
    field.field.widget.attrs.pop("placeholder", None)
    return field


@register.simple_tag
def mail_works() -> bool:
    """Whether mail leaves this machine."""
    return mail_goes_out()
