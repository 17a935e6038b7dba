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
    """The surest insights and patterns over many readers, those about `types` first; two queries.

    What a reader's own rows bear out is the profile itself, and rules are for the calls that they name:
    neither is in here. A reader who does not share gets no patterns, as their own answers are in none.
    """
    shares = settings.PEERS_ENABLED and Reader.objects.filter(pk=reader_id, peers_enabled=True).exists()
    over_many = Q(kind=Memory.Kind.PATTERN, reader=None) if shares else Q(pk=None)
    rows = Memory.objects.filter(
        Q(kind=Memory.Kind.INSIGHT) & (Q(reader=None) | Q(reader_id=reader_id)) | over_many,
        Q(expires_at=None) | Q(expires_at__gt=now),
        superseded_by=None,
        retired_at=None,
        valid_from__lte=now,
    )
    ordered = sorted(rows, key=lambda row: (-_worth(row, types), row.kind, row.key))
    return [Recalled(row.key, row.kind, row.title, row.text) for row in ordered[:limit]]


def _worth(row: Memory, types: Collection[str]) -> float:
    return row.confidence + (ABOUT if row.suggestion_type in types else 0.0)
