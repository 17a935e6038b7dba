"""What a door of this room answers when it refuses: a stable code, words, and the HTTP status that fits."""

from collections.abc import Mapping
from typing import Any

from suggestions.entities import Refusal

STATUS_OF_CODE = {"not_found": 404, "already_resolved": 409, "config_changed": 409}
STATUS_DEFAULT = 422


class SuggestionError(Exception):
    """A refused request. The API answers `{"error": code, "message": message, **data}` with `status`."""

    def __init__(self, code: str, message: str, status: int, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, dict(data or {})

    @classmethod
    def of(cls, refusal: Refusal) -> "SuggestionError":
        """The error that answers for `refusal`."""
        status = STATUS_OF_CODE.get(refusal.code, STATUS_DEFAULT)
        return cls(refusal.code, refusal.message, status, refusal.data)
