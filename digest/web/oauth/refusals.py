"""Reasons for which an assistant's request is refused, in words for readers. Pure."""

from ranking.language import gettext_noop

NO_PKCE = gettext_noop("The assistant did not protect its request (PKCE with S256), so nothing was allowed.")
NOT_OURS = gettext_noop("The assistant asked for something that is not here, so nothing was allowed.")
MODELS_OFF = gettext_noop(
    "You have turned language models off, for everything or for a source. An assistant is one, so it would "
    "be shown nothing. To connect it, turn them on first, on your account and sources pages."
)
