"""The audit of guidance: one row for each call it looked at, whatever came of it."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

from advisor.guidance.entities import Advice, Level, Scored, Why
from advisor.guidance.weighing import Look
from advisor.models import GuidanceEvent
from advisor.tools.budget import BYTES_PER_TOKEN, size_of
from digest.llm.model_text import preview
from suggestions.entities import FenceLost

log = structlog.get_logger(__name__)

TEXT_CHARS, RULE_CHARS, CODE_CHARS = 600, 120, 60


class Ledger:
    """Stores the events of one run. A row that cannot be stored now is stored with the next one."""

    def __init__(self, *, run_id: UUID, reader_id: UUID, fence: Callable[[], None]) -> None:
        self.run_id, self.reader_id, self.fence = run_id, reader_id, fence
        self._waiting: list[GuidanceEvent] = []

    def add(self, look: Look, advice: Advice) -> int:
        """Store what became of one call, and what waited; the row's id. Raises `FenceLost`."""
        event = self._row(look, advice)
        with transaction.atomic():
            self.fence()
            event.save(force_insert=True)
            if self._waiting:
                GuidanceEvent.objects.bulk_create(self._waiting)
        self._waiting = []
        return event.pk

    def failed(self, look: Look, error: Exception) -> None:
        """Store that guidance broke, on its own; waits where nothing can be stored. Raises `FenceLost`."""
        log.warning("guidance_failed", run_id=str(self.run_id), tool=look.tool, exc_info=error)
        look.error_code = type(error).__name__[:CODE_CHARS]
        event = self._row(look, Advice(Level.SILENT, Why.FAILED))
        try:
            with transaction.atomic():
                self.fence()
                event.save(force_insert=True)
        except FenceLost:
            raise
        except Exception as broken:
            log.warning("guidance_event_waits", run_id=str(self.run_id), error=type(broken).__name__)
            event.pk = None
            self._waiting.append(event)

    def _row(self, look: Look, advice: Advice) -> GuidanceEvent:
        situation, known = look.situation, look.known
        return GuidanceEvent(
            run_id=self.run_id,
            reader_id=self.reader_id,
            n=look.n,
            tool=preview(look.tool)[:64],
            phase=situation.phase.value if situation else "",
            suggestion_type=situation.suggestion_type if situation else "",
            target_key=preview(situation.target_key) if situation else "",
            level=advice.level.value,
            why=advice.why.value,
            rule=advice.rule[:RULE_CHARS],
            text=preview(advice.text)[:TEXT_CHARS],
            tokens=round(size_of(advice.text) / BYTES_PER_TOKEN) if advice.text else 0,
            told=[scored.memory.id for scored in advice.told],
            candidates=candidates_of(advice.ranked),
            facts=dict(known.facts.values) if known else {},
            held_out=advice.held_out,
            stages=look.stages,
            ms=round(look.ms),
            packet=look.packet,
            error_code=look.error_code[:CODE_CHARS],
            at=look.now,
        )


def candidates_of(ranked: Sequence[Scored]) -> list[dict[str, Any]]:
    """All that was weighed, best first: each memory with its factors, its level, and why it was kept back."""
    return [
        {
            "id": scored.memory.id,
            "kind": scored.memory.kind.value,
            "title": scored.memory.title,
            "relevance": round(scored.relevance, 3),
            "quality": round(scored.quality, 3),
            "trust": round(scored.trust, 3),
            "score": round(scored.score, 3),
            "level": scored.level.value,
            "why": scored.why,
        }
        for scored in ranked
    ]


def event_followed(*, event_id: int, followed: bool) -> bool:
    """Note whether a run did as it was told; `False` where that was noted before."""
    open_event = GuidanceEvent.objects.filter(pk=event_id, followed=None)
    return bool(open_event.update(followed=followed))


def event_acknowledged(*, run_id: UUID, n: int) -> None:
    """Note that the write held at call `n` was repeated knowingly."""
    GuidanceEvent.objects.filter(run_id=run_id, n=n, why=Why.HELD).update(acknowledged=True)


def calls_looked_at(*, run_id: UUID) -> int:
    """The number of the last call of a run that guidance looked at; one query."""
    last = GuidanceEvent.objects.filter(run_id=run_id).order_by("-n").values_list("n", flat=True).first()
    return last or 0
