"""The WSGI entry point."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_site = get_wsgi_application()
# Load pages and API now, not during the first request (0.7 s of processor time).
_ = get_resolver().url_patterns
_CHARSET = re.compile(r"charset\s*+=\s*+(?!\"?utf-?8\"?\s*+(?:;|$))[^;]*+", re.IGNORECASE)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request, whatever charset it names.

    Django reads the query of an address in the charset of the body, before any middleware is asked, and
    breaks on a codec that is none of texts (`hex`). A form in such a charset is refused by the middleware.
    """
    if "charset" in environ.get("CONTENT_TYPE", "").lower():
        environ["CONTENT_TYPE"] = _CHARSET.sub("charset=other", environ["CONTENT_TYPE"])
    return _site(environ, start_response)
