"""The WSGI entry point."""

import gc
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.template.loader import get_template
from django.urls import get_resolver, reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_site = get_wsgi_application()
from digest.web.pages.item_parts import macros  # noqa: E402  # models come with the site

# Load pages, API, their addresses and templates now, not during the first request (0.8 s of processor time).
_ = get_resolver().url_patterns
reverse("digest:today")
get_template("digest/day.html")
macros()
# What is loaded stays: no search for garbage need look at it again, nor write to memory that a fork shares.
gc.collect()
gc.freeze()
# RFC 6838, section 4.2: names have 127 characters at most; a boundary has 70.
CONTENT_TYPE_CHARS = 500
_CHARSET = re.compile(r"charset\s*+=\s*+(?!\"?utf-?8\"?\s*+(?:;|$))[^;]*+", re.IGNORECASE)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request, whatever charset it names.

    Django reads the query of an address in the charset of the body, before any middleware is asked, and
    breaks on a codec that is none of texts (`hex`). A form in such a charset is refused by the middleware, as
    is one whose parameters are encoded or in pieces (`charset*0=`, RFC 2231), which no browser sends, or too
    long to be read in linear time.
    """
    sent = environ.get("CONTENT_TYPE", "")
    if "*" in sent or len(sent) > CONTENT_TYPE_CHARS:
        environ["CONTENT_TYPE"] = f"{sent[:CONTENT_TYPE_CHARS].partition(';')[0]};charset=other"
    elif "charset" in sent.lower():
        environ["CONTENT_TYPE"] = _CHARSET.sub("charset=other", sent)
    return _site(environ, start_response)


# CPython takes frames from chunks of 16 kB, which it maps when a call needs one and unmaps on return: a
# loop at the border of two does so each time, for a tenth of the time of a page and more. A frame that claims
# so many places gets a chunk of 256 kB, with room for all that answers; what is not touched costs no memory.
application.__code__ = application.__code__.replace(co_stacksize=17_000)
