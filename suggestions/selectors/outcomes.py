"""What became of earlier suggestions, in three layers: search lines, their surroundings, the whole case.

Each layer costs more to read than the one before (about 50, 200 and 500 tokens a row), so an asker searches
first and then opens only what it needs. Lists and texts are cut to keep every row within its layer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from ranking.body import Body, body_effective
from suggestions.entities import FIELD_OF_TYPE, SOURCE_WEIGHTS
from suggestions.models import Outcome
from suggestions.values import topic_in_config, weight_text

SEARCH_MAX, TIMELINE_MAX, DETAIL_MAX = 20, 5, 2
NEIGHBOURS_MAX = 2
TOPICS_SHOWN, WEIGHTS_SHOWN, EVIDENCE_SHOWN = 10, 8, 4
TITLE_CHARS, REASON_CHARS, TARGET_CHARS = 70, 200, 64


def outcomes_search(
    *,
    reader_id: UUID,
    now: datetime,
    types: Sequence[str] = (),
    outcomes: Sequence[str] = (),
    limit: int = SEARCH_MAX,
) -> list[dict[str, Any]]:
    """One line per decision of the given types and outcomes, newest first, at most 20; one query."""
    rows = _decisions(reader_id)
    if types:
        rows = rows.filter(suggestion_type__in=types)
    if outcomes:
        rows = rows.filter(outcome__in=outcomes)
    return [_line(row, now) for row in rows[: max(0, min(limit, SEARCH_MAX))]]


def outcomes_timeline(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, Any]]:
    """The first five of `ids` with the target's state before and after and the decisions around them.

    Ids that are no decision of this reader are left out. Two queries, however long the history.
    """
    picked = _picked(reader_id, ids, TIMELINE_MAX)
    lines = _with_neighbours(reader_id, picked)
    return [
        {
            **_line(row, now),
            "target": row.target_key[:TARGET_CHARS],
            "before": target_state(row, row.config_before),
            "after": target_state(row, row.config_after),
            "neighbours": [_line(near, now) for near in _around(lines, row)],
        }
        for row in picked
    ]


def outcomes_detail(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, Any]]:
    """The first two of `ids` in full: the reader's words, the evidence, the config before; one query."""
    return [
        {
            **_line(row, now),
            "target": row.target_key[:TARGET_CHARS],
            "before": target_state(row, row.config_before),
            "after": target_state(row, row.config_after),
            "edited_value": row.edited_value,
            "user_reason": _cut(row.user_reason, REASON_CHARS),
            "evidence": _evidence(row.evidence_summary),
            "config_before": _config(row.config_before),
            "created_at": row.created_at.isoformat(timespec="minutes"),
            "decided_at": row.decided_at.isoformat(timespec="minutes"),
        }
        for row in _picked(reader_id, ids, DETAIL_MAX)
    ]


def target_state(outcome: Outcome, body: Body | None) -> str | None:
    """The target in one config body: a weight, "present" or "absent"; `None` where there is no body."""
    if body is None:
        return None
    if FIELD_OF_TYPE[outcome.suggestion_type] == SOURCE_WEIGHTS:
        return weight_text(body_effective(body).weight(outcome.target_key))
    return "present" if topic_in_config(outcome.target_key, body["topics"]) else "absent"


_LINE_FIELDS = ("id", "reader_id", "suggestion_type", "target_key", "outcome", "decided_at")


def _decisions(reader_id: UUID) -> QuerySet[Outcome]:
    return Outcome.objects.filter(reader_id=reader_id, kind=Outcome.Kind.DECISION)


def _picked(reader_id: UUID, ids: Sequence[int], most: int) -> list[Outcome]:
    """The reader's own decisions among the first `most` distinct `ids`, in the order asked for."""
    wanted = list(dict.fromkeys(ids))[:most]
    found = _decisions(reader_id).in_bulk(wanted)
    return [found[i] for i in wanted if i in found]


def _with_neighbours(reader_id: UUID, picked: Sequence[Outcome]) -> list[Outcome]:
    """`picked` and the two decisions on either side of each, newest first; at most 25 rows in one query."""
    if not picked:
        return []
    wanted = Q(pk__in=[row.pk for row in picked])
    for row in picked:
        newer = Q(decided_at__gt=row.decided_at) | Q(decided_at=row.decided_at, pk__gt=row.pk)
        later = _decisions(reader_id).filter(newer).order_by("decided_at", "pk")
        earlier = _decisions(reader_id).exclude(newer).exclude(pk=row.pk)
        wanted |= Q(pk__in=later.values("pk")[:NEIGHBOURS_MAX])
        wanted |= Q(pk__in=earlier.values("pk")[:NEIGHBOURS_MAX])
    return list(_decisions(reader_id).filter(wanted).only(*_LINE_FIELDS))


def _around(lines: Sequence[Outcome], row: Outcome) -> list[Outcome]:
    """The neighbours of `row`, which is one of `lines`."""
    place = lines.index(row)
    return [*lines[max(0, place - NEIGHBOURS_MAX) : place], *lines[place + 1 : place + 1 + NEIGHBOURS_MAX]]


def _line(row: Outcome, now: datetime) -> dict[str, Any]:
    target = row.target_key[:TARGET_CHARS]
    return {
        "id": row.pk,
        "snippet": f"{row.suggestion_type}: {target} → {row.outcome}",
        "days_ago": max(0, (now - row.decided_at).days),
    }


def _evidence(summary: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many items there were, how many liked, the reasons given most, and a few titles."""
    tags = [tag for item in summary for tag in item.get("reason_tags", [])]
    frequent = sorted(dict.fromkeys(tags), key=lambda tag: -tags.count(tag))
    return {
        "items": len(summary),
        "liked": sum(item.get("feedback") == "liked" for item in summary),
        "reason_tags": frequent[:EVIDENCE_SHOWN],
        "titles": [_cut(item["title"], TITLE_CHARS) for item in summary[:EVIDENCE_SHOWN]],
    }


def _config(body: Body) -> dict[str, Any]:
    """The config in short: the first topics, and the effective weights furthest from 1."""
    weights = sorted(body_effective(body).weights().items(), key=lambda pair: -abs(pair[1] - 1))
    return {
        "topics": [_cut(topic, 32) for topic in body["topics"][:TOPICS_SHOWN]],
        "topics_in_all": len(body["topics"]),
        "effective_weights": {_cut(key, 32): round(weight, 2) for key, weight in weights[:WEIGHTS_SHOWN]},
        "weights_in_all": len(weights),
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
