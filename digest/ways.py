"""Where a request came from and where it asks to be sent: only ever to a page of this site."""

from urllib.parse import urlsplit, urlunsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def came_from(request: HttpRequest) -> str:
    """The path and query of the page of ours that led here, if the browser says so; else ""."""
    try:
        came = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return ""
    here = came.netloc == request.get_host() and came.path != request.path
    return urlunsplit(("", "", came.path, came.query, "")) if here else ""


def way_back(request: HttpRequest) -> str:
    """The page that a form asks to go back to (`next`), if it is a path of ours; else the paper."""
    back = request.POST.get("next", "")
    ours = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if ours else "/"
