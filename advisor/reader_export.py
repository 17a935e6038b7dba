"""What the advisor keeps of one reader."""

from collections.abc import Iterator
from uuid import UUID

from advisor.models import (
    Decision,
    GuidanceEvent,
    GuidancePacket,
    Judgment,
    Memory,
    PanelVote,
    Run,
    Step,
    Tip,
)
from ranking.export_rows import export_rows

# How workers keep off each other: nothing about the reader.
_MACHINERY = ("fence", "lease_until")


def reader_export_advisor(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """(name, rows) of the reader's runs with every step, vote and judgment, of what was decided about them,
    of memories that are theirs alone, and of what guidance said about them, kept ready and showed them."""
    yield "runs", export_rows(Run.objects.filter(reader_id=reader_id), without=_MACHINERY)
    yield "steps", export_rows(Step.objects.filter(run__reader_id=reader_id))
    yield "votes", export_rows(PanelVote.objects.filter(run__reader_id=reader_id))
    yield "judgments", export_rows(Judgment.objects.filter(run__reader_id=reader_id))
    yield "decisions", export_rows(Decision.objects.filter(reader_id=reader_id))
    yield "memories", export_rows(Memory.objects.filter(reader_id=reader_id))
    yield "guidance", export_rows(GuidanceEvent.objects.filter(reader_id=reader_id))
    yield "guidance_packets", export_rows(GuidancePacket.objects.filter(reader_id=reader_id))
    yield "tips", export_rows(Tip.objects.filter(reader_id=reader_id))
