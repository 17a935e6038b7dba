"""Guidance alone in its own cache: what one test told, no other test has heard."""

from uuid import uuid4

import pytest

from advisor.guidance.state import forget_own


@pytest.fixture(autouse=True)
def nothing_told_yet(request, settings):
    """An empty cache, and nothing that this process remembers of another test."""
    forget_own()
    if request.node.get_closest_marker("services"):
        return
    backend = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(uuid4())}}
