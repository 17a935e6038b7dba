"""What account pages ask about this installation."""

from django import template

from digest.mail_way import mail_goes_out

register = template.Library()


@register.simple_tag
def mail_works() -> bool:
    """Whether mail leaves this machine."""
    return mail_goes_out()
