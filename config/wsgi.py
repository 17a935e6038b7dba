"""The WSGI entry point. It loads the whole site before the first request."""

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.template.loader import get_template
from django.urls import get_resolver, reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_site = get_wsgi_application()
from digest.web.pages.item_parts import macros  # noqa: E402  # needs models, which the line above loads

# Load pages, API, addresses and templates now. The first request would need 0.8 s of processor time for it.
_ = get_resolver().url_patterns
reverse("digest:today")
get_template("digest/day.html")
macros()
# Loaded objects stay: the garbage collector need not look at them again, nor write to memory that a fork
# shares.
gc.collect()
gc.freeze()
# How long a thread may keep the interpreter while others wait for it, in seconds. A page or a picture lets
# go of it at each query and each read from a socket, so each costs as long again while another thread
# computes. With Python's 5 ms, one reader's previews made another's page 2.9 to 3.7 times as long. With 0.1
# ms, threads that compute at the same time take a sixth to a third more of the processor than with 5 ms;
# with this a tenth more.
sys.setswitchinterval(0.0002)
# RFC 6838, section 4.2, allows 127 characters for each name of a type, and a boundary has at most 70.
CONTENT_TYPE_CHARS = 500
_CHARSET = re.compile(r"charset\s*+=\s*+(?!\"?utf-?8\"?\s*+(?:;|$))[^;]*+", re.IGNORECASE)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request, and replace a charset that Django cannot handle.

    Before any middleware runs, Django decodes the query in the charset of the body. It fails if that names a
    codec that is not for texts (`hex`). So other charsets than UTF-8 become "other", and the middleware
    refuses the form. The same happens to parameters that are encoded or in pieces (`charset*0=`, RFC 2231),
    which no browser sends, and to types too long to parse in linear time.
    """
    sent = environ.get("CONTENT_TYPE", "")
    if "*" in sent or len(sent) > CONTENT_TYPE_CHARS:
        environ["CONTENT_TYPE"] = f"{sent[:CONTENT_TYPE_CHARS].partition(';')[0]};charset=other"
    elif "charset" in sent.lower():
        environ["CONTENT_TYPE"] = _CHARSET.sub("charset=other", sent)
    return _site(environ, start_response)


# CPython stores frames in chunks of 16 kB. It maps a chunk when a call needs one and unmaps it on return. A
# loop at the border of two chunks does so on every turn, which took a tenth of a page's time and more. A
# frame with such a large stack gets a chunk of 256 kB, with room for all calls of a request. Untouched parts
# cost no memory.
application.__code__ = application.__code__.replace(co_stacksize=17_000)
