"""How rows stand in an archive: JSON Lines that lose nothing, counted and hashed on their way."""

import hashlib
import io
from datetime import datetime
from typing import IO, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.core.serializers.jsonl import Serializer
from django.db.models import Model

LEFT_OUT = {"contenttypes.contenttype", "auth.permission", "sessions.session"}


class ExactEncoder(DjangoJSONEncoder):
    """Times to the microsecond, where Django's cuts them to the millisecond."""

    def default(self, o: Any) -> Any:
        """As Django's, but for datetimes."""
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


class ExactSerializer(Serializer):
    """JSON Lines with keys as they are; only what `migrate` numbers anew is named by natural key."""

    def handle_fk_field(self, obj: Model, field: Any) -> None:
        """A foreign key."""
        self.use_natural_foreign_keys = field.remote_field.model._meta.label_lower in LEFT_OUT
        super().handle_fk_field(obj, field)

    def handle_m2m_field(self, obj: Model, field: Any) -> None:
        """A list of foreign keys, in order."""
        self.use_natural_foreign_keys = field.remote_field.model._meta.label_lower in LEFT_OUT
        super().handle_m2m_field(obj, field)
        current: dict[str, list[Any]] = self._current  # type: ignore[attr-defined]
        if field.name in current:  # a table of its own in between is kept as that table
            current[field.name].sort()


class Hashing(io.TextIOBase):
    """Text on its way into a file, counted by line and hashed."""

    def __init__(self, out: IO[bytes] | None = None) -> None:
        self.out, self.rows, self.digest = out, 0, hashlib.sha256()

    def write(self, text: str) -> int:
        raw = text.encode()
        self.rows += text.count("\n")
        self.digest.update(raw)
        if self.out is not None:
            self.out.write(raw)
        return len(text)

    @property
    def sums(self) -> dict[str, Any]:
        return {"rows": self.rows, "sha256": self.digest.hexdigest()}
