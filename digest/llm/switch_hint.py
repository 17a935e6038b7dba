"""The hint beside a reader's switch for language models."""

from django.conf import settings
from django.utils.translation import gettext as _

from digest.llm.providers import models_exist


def model_hint(otherwise: str) -> str:
    """Return `otherwise`, or the reason why the switch has no effect on this site.

    Assistants are held to the switch, too, so with them it has an effect without any model.
    """
    if models_exist() or settings.MCP_HTTP:
        return otherwise
    return _("No language model is set up on this site. Your choice counts if that changes.")
