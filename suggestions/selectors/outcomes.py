"""What became of earlier suggestions, in three layers: search lines, their surroundings, the whole case.

Each layer costs more to read than the one before (about 50, 200 and 500 tokens a row), so an asker searches
first and then opens only what it needs. Lists and texts are cut to keep every row within its layer.

A line says `effect` where the check after two weeks was made, and `reverted` where the change was put back
later. An answer that was taken back is no decision.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from ranking.body import Body, body_effective
from suggestions.entities import FIELD_OF_TYPE, SOURCE_WEIGHTS
from suggestions.models import Evidence, Outcome, OutcomeArchive, Suggestion
from suggestions.search import ROWS_MAX, relevance
from suggestions.values import topic_in_config, weight_text

SEARCH_MAX, TIMELINE_MAX, DETAIL_MAX = 20, 5, 2
NEIGHBOURS_MAX = 2
TOPICS_SHOWN, WEIGHTS_SHOWN, EVIDENCE_SHOWN = 10, 8, 4
TITLE_CHARS, REASON_CHARS, TARGET_CHARS = 70, 200, 64
QUERY_CHARS_MAX = 200


def outcomes_search(
    *,
    reader_id: UUID,
    now: datetime,
    types: Sequence[str] = (),
    outcomes: Sequence[str] = (),
    query: str = "",
    limit: int = SEARCH_MAX,
) -> list[dict[str, Any]]:
    """One line per decision of the given types and outcomes, at most 20; one query, or two with a `query`.

    Newest first; with `query`, of the newest 500 the ones that share a word with it, best first, the newer
    of two as good first. Searched are type, target, label, the reader's reason and the evidence's titles.
    """
    rows = _decisions(reader_id)
    if types:
        rows = rows.filter(suggestion_type__in=types)
    if outcomes:
        rows = rows.filter(outcome__in=outcomes)
    most = max(0, min(limit, SEARCH_MAX))
    light = _light(rows)
    if not query.strip():
        return [_line(row, now) for row in light[:most]]
    pool = list(light.select_related("suggestion").only(*_LINE_FIELDS, *_TEXT_FIELDS)[:ROWS_MAX])
    scores = relevance(query[:QUERY_CHARS_MAX], _texts(pool))
    # Sorting is stable: rows that score the same stay newest first.
    best = sorted(zip(scores, pool, strict=True), key=lambda pair: -pair[0])
    return [_line(row, now) | {"score": round(score, 2)} for score, row in best[:most] if score > 0]


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
            **_states(row),
            "neighbours": [_line(near, now) for near in _around(lines, row)],
        }
        for row in picked
    ]


def outcomes_detail(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, Any]]:
    """The first two of `ids` in full: the reader's words, the evidence, the config before; one query.

    What compaction archived is read from there, so an old case is as whole as a fresh one.
    """
    return [
        {
            **_line(row, now),
            "target": row.target_key[:TARGET_CHARS],
            **_states(row),
            "edited_value": row.edited_value,
            "user_reason": _cut(row.user_reason, REASON_CHARS),
            "evidence": _evidence(outcome_heavy(outcome=row).evidence_summary),
            "config_before": _config(outcome_heavy(outcome=row).config_before),
            "created_at": row.created_at.isoformat(timespec="minutes"),
            "decided_at": row.decided_at.isoformat(timespec="minutes"),
        }
        for row in _picked(reader_id, ids, DETAIL_MAX)
    ]


def outcome_target_state(*, outcome: Outcome, body: Body | None) -> str | None:
    """The target in one config body: a weight, "present" or "absent"; `None` where there is no body."""
    if body is None:
        return None
    if FIELD_OF_TYPE[outcome.suggestion_type] == SOURCE_WEIGHTS:
        return weight_text(body_effective(body).weight(outcome.target_key))
    return "present" if topic_in_config(outcome.target_key, body["topics"]) else "absent"


def outcome_heavy(*, outcome: Outcome) -> Outcome | OutcomeArchive:
    """Whoever holds the outcome's configs and evidence: itself, or its archive once it was compacted."""
    try:
        return outcome.archive
    except OutcomeArchive.DoesNotExist:
        return outcome


def _states(row: Outcome) -> dict[str, str | None]:
    heavy = outcome_heavy(outcome=row)
    return {
        "before": outcome_target_state(outcome=row, body=heavy.config_before),
        "after": outcome_target_state(outcome=row, body=heavy.config_after),
    }


_LINE_FIELDS = ("id", "reader_id", "suggestion_type", "target_key", "outcome", "decided_at")
_TEXT_FIELDS = ("user_reason", "suggestion__label")


def _decisions(reader_id: UUID) -> QuerySet[Outcome]:
    """The reader's decisions, newest first, each with what followed it; none that was taken back."""
    others = Outcome.objects.filter(suggestion=OuterRef("suggestion"))
    return _standing(reader_id).annotate(
        effect=Subquery(others.filter(kind=Outcome.Kind.EFFECT).values("outcome")[:1]),
        reverted=Exists(others.filter(kind=Outcome.Kind.REVERT)),
    )


def _standing(reader_id: UUID) -> QuerySet[Outcome]:
    decisions = Outcome.objects.filter(reader_id=reader_id, kind=Outcome.Kind.DECISION)
    return decisions.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)


def _light(rows: QuerySet[Outcome]) -> QuerySet[Outcome]:
    """The same without the columns that no line shows."""
    return rows.only(*_LINE_FIELDS)


def _texts(pool: Sequence[Outcome]) -> list[str]:
    """What each decision can be found by; one query for the evidence's titles."""
    titles: dict[int, list[str]] = {}
    found = Evidence.objects.filter(suggestion_id__in=[row.suggestion_id for row in pool]).order_by("pk")
    for suggestion_id, title in found.values_list("suggestion_id", "title"):
        titles.setdefault(suggestion_id, []).append(title)
    return [
        " ".join(
            (
                row.suggestion_type,
                row.target_key,
                row.suggestion.label,
                row.user_reason,
                *titles.get(row.suggestion_id, ()),
            )
        )
        for row in pool
    ]


def _picked(reader_id: UUID, ids: Sequence[int], most: int) -> list[Outcome]:
    """The reader's own decisions among the first `most` distinct `ids`, in the order asked for."""
    wanted = list(dict.fromkeys(ids))[:most]
    found = _decisions(reader_id).select_related("archive").in_bulk(wanted)
    return [found[i] for i in wanted if i in found]


def _with_neighbours(reader_id: UUID, picked: Sequence[Outcome]) -> list[Outcome]:
    """`picked` and the two decisions on either side of each, newest first; at most 25 rows in one query."""
    if not picked:
        return []
    plain = _standing(reader_id)
    wanted = Q(pk__in=[row.pk for row in picked])
    for row in picked:
        newer = Q(decided_at__gt=row.decided_at) | Q(decided_at=row.decided_at, pk__gt=row.pk)
        later = plain.filter(newer).order_by("decided_at", "pk")
        earlier = plain.exclude(newer).exclude(pk=row.pk)
        wanted |= Q(pk__in=later.values("pk")[:NEIGHBOURS_MAX])
        wanted |= Q(pk__in=earlier.values("pk")[:NEIGHBOURS_MAX])
    return list(_light(_decisions(reader_id).filter(wanted)))


def _around(lines: Sequence[Outcome], row: Outcome) -> list[Outcome]:
    """The neighbours of `row`, which is one of `lines`."""
    place = lines.index(row)
    return [*lines[max(0, place - NEIGHBOURS_MAX) : place], *lines[place + 1 : place + 1 + NEIGHBOURS_MAX]]


def _line(row: Outcome, now: datetime) -> dict[str, Any]:
    target = row.target_key[:TARGET_CHARS]
    line: dict[str, Any] = {
        "id": row.pk,
        "snippet": f"{row.suggestion_type}: {target} → {row.outcome}",
        "days_ago": max(0, (now - row.decided_at).days),
    }
    effect, reverted = getattr(row, "effect", None), getattr(row, "reverted", False)
    return line | ({"effect": effect} if effect else {}) | ({"reverted": True} if reverted else {})


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
