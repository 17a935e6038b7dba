"""What tests of the digest room share."""

from uuid import uuid4

import pytest

from tests.support.mailbox import mailbox

__all__ = ["mailbox"]


@pytest.fixture
def own_cache(settings: object) -> None:
    """An empty cache in this process alone: what is counted there begins at nought, and nothing that others
    keep in a shared one is lost."""
    backend = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(uuid4())}}  # type: ignore[attr-defined]
