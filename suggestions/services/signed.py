"""Sign changes that a page shows, so that the reader accepts exactly the change they saw."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core import signing

# As long as a page is likely to stay open.
DRAFT_LIFETIME_S = 24 * 3600


def draft_sign(*, salt: str, reader_id: UUID, values: Mapping[str, Any]) -> str:
    """Return plain JSON `values` as text that only `draft_read` of the same salt and reader takes back."""
    return signing.dumps({"reader": str(reader_id), **values}, salt=salt, compress=True)


def draft_read(*, salt: str, reader_id: UUID, signed: str) -> dict[str, Any] | None:
    """Return the values of a draft of this reader's; `None` for any other text, or after a day."""
    try:
        values: dict[str, Any] = signing.loads(signed, salt=salt, max_age=DRAFT_LIFETIME_S)
    except signing.BadSignature:
        return None
    return values if values["reader"] == str(reader_id) else None
