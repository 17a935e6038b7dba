"""Which memories may help a reader's run: a few, short, none expired."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from advisor.models import Memory
from digest.models import Reader

RECALLED_MAX = 3
# What a memory gains for being about a type that is in question.
ABOUT = 0.3


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory as an asker gets it."""

    key: str
    kind: str
    title: str
    text: str


def memories_recall(
    *, reader_id: UUID, now: datetime, types: Collection[str] = (), limit: int = RECALLED_MAX
) -> list[Recalled]:
    """The most useful shared memories and the reader's own, those about `types` first; two queries.

    A reader who does not share gets no patterns over others, as their own answers are in none.
    """
    rows = Memory.objects.filter(
        Q(reader=None) | Q(reader_id=reader_id),
        Q(expires_at=None) | Q(expires_at__gt=now),
        retired_at=None,
        valid_from__lte=now,
    )
    shares = settings.PEERS_ENABLED and Reader.objects.filter(pk=reader_id, peers_enabled=True).exists()
    if not shares:
        rows = rows.exclude(kind=Memory.Kind.PATTERN)
    ordered = sorted(rows, key=lambda row: (-_worth(row, types), row.kind, row.key))
    return [Recalled(row.key, row.kind, row.title, row.text) for row in ordered[:limit]]


def _worth(row: Memory, types: Collection[str]) -> float:
    return row.confidence + (ABOUT if row.suggestion_type in types else 0.0)
