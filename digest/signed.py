"""Sign the data that a page shows or offers to undo, so that the reader sends back exactly that."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core import signing

# As long as a page is likely to stay open, and as long as it offers Undo.
DRAFT_LIFETIME_S, UNDO_LIFETIME_S = 24 * 3600, 3600


def values_sign(*, salt: str, reader_id: UUID, values: Mapping[str, Any]) -> str:
    """Return plain JSON `values` as text that only `values_read` of the same salt and reader takes back."""
    return signing.dumps({"reader": str(reader_id), **values}, salt=salt, compress=True)


def values_read(*, salt: str, reader_id: UUID, signed: str, lifetime_s: int) -> dict[str, Any] | None:
    """Return the values signed for this reader; `None` for any other text, or after `lifetime_s`."""
    try:
        values: dict[str, Any] = signing.loads(signed, salt=salt, max_age=lifetime_s)
    except signing.BadSignature:
        return None
    return values if values["reader"] == str(reader_id) else None
