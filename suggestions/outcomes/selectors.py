"""Earlier decisions in three layers of detail: search lines, timelines, full details.

Each layer costs more to read than the one before (about 50, 200 and 500 tokens a row), so a caller searches
first and then opens only the rows it needs. Lists and texts are cut to fit each row to its layer.

A line has `effect` after the check of two weeks later, and `reverted` if the change was reverted. An undone
answer is no decision.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery

from ranking.common.text import search_terms
from ranking.config_body import Body, body_effective
from ranking.entities import EffectiveConfig
from ranking.language import gettext
from suggestions.changes.registry import KINDS
from suggestions.models import Evidence, Outcome, OutcomeArchive, Suggestion
from suggestions.selectors import suggestion_not_in_force
from suggestions.sentences import effect_figures, headline, measured_words, teaching_of
from suggestions.wording import EFFECTS

SEARCH_MAX, TIMELINE_MAX, DETAIL_MAX = 20, 5, 2
NEIGHBOURS_MAX = 2
TOPICS_SHOWN, WEIGHTS_SHOWN, EVIDENCE_SHOWN = 10, 8, 4
TITLE_CHARS, REASON_CHARS, TARGET_CHARS = 70, 200, 64
QUERY_CHARS_MAX, QUERY_TERMS_MAX = 200, 32
# The database filters by reader, type and outcome, and at most this many rows are ranked here (some tens of
# milliseconds). Full text search would differ between databases.
ROWS_MAX = 500
Kind = Outcome.Kind
_LINE_FIELDS = ("id", "reader_id", "suggestion_type", "target_key", "outcome", "decided_at")
_TEXT_FIELDS = ("user_reason", "suggestion__label")


@dataclass(frozen=True, slots=True)
class EffectLine:
    """The effect of one accepted suggestion in words.

    `headline` names the change, `words` the verdict, `details` the comparison, `figures` the numbers
    behind it ("": none), `teaches` its effect on later suggestions.
    """

    suggestion_id: int
    outcome: str
    headline: str
    words: str
    details: str
    figures: str
    teaches: str
    checked_at: datetime


def outcomes_search(
    *,
    reader_id: UUID,
    now: datetime,
    types: Sequence[str] = (),
    outcomes: Sequence[str] = (),
    query: str = "",
    limit: int = SEARCH_MAX,
) -> list[dict[str, Any]]:
    """Return one line per decision of the given types and outcomes, at most 20; one query, two with `query`.

    Newest first; with `query`, of the newest 500 the ones that share a word with it, best first, then newest.
    Type, target, label, the reader's reason and the evidence's titles are searched.
    """
    rows = _decisions(reader_id)
    if types:
        rows = rows.filter(suggestion_type__in=types)
    if outcomes:
        rows = rows.filter(outcome__in=outcomes)
    most = max(0, min(limit, SEARCH_MAX))
    light = rows.only(*_LINE_FIELDS)
    if not query.strip():
        return [_line(row, now) for row in light[:most]]
    pool = list(light.select_related("suggestion").only(*_LINE_FIELDS, *_TEXT_FIELDS)[:ROWS_MAX])
    scores = _bm25_scores(query[:QUERY_CHARS_MAX], _texts(pool))
    # Sorting is stable: rows that score the same stay newest first.
    best = sorted(zip(scores, pool, strict=True), key=lambda pair: -pair[0])
    return [_line(row, now) | {"score": round(score, 2)} for score, row in best[:most] if score > 0]


def outcomes_timeline(*, reader_id: UUID, ids: Sequence[int], now: datetime) -> list[dict[str, Any]]:
    """Return the first five of `ids` with the target's state before and after and neighbouring decisions.

    Ids that are no decision of this reader are left out. Two queries.
    """
    picked = _pick(reader_id, ids, TIMELINE_MAX)
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
    """Return the first two of `ids` in full: reason, evidence, config before; one query.

    Archived fields are read from the archive, so an old decision has the same details as a new one.
    """
    return [
        {
            **_line(row, now),
            "target": row.target_key[:TARGET_CHARS],
            **_states(row),
            "edited_value": row.edited_value,
            "user_reason": _cut(row.user_reason, REASON_CHARS),
            "evidence": _evidence(outcome_full(outcome=row).evidence_summary),
            "config_before": _config(outcome_full(outcome=row).config_before),
            "created_at": row.created_at.isoformat(timespec="minutes"),
            "decided_at": row.decided_at.isoformat(timespec="minutes"),
        }
        for row in _pick(reader_id, ids, DETAIL_MAX)
    ]


def outcome_target_state(*, outcome: Outcome, body: Body | None) -> str | None:
    """Return the target in one config body: a weight, "present" or "absent"; `None` without a body."""
    if body is None:
        return None
    kind = KINDS[outcome.suggestion_type]
    return kind.state_word(kind.state(body_effective(body), outcome.target_key))


def outcome_full(*, outcome: Outcome) -> Outcome | OutcomeArchive:
    """Return the row with the outcome's configs and evidence: itself, or its archive after compaction."""
    try:
        return outcome.archive
    except OutcomeArchive.DoesNotExist:
        return outcome


def _states(row: Outcome) -> dict[str, str | None]:
    full = outcome_full(outcome=row)
    return {
        "before": outcome_target_state(outcome=row, body=full.config_before),
        "after": outcome_target_state(outcome=row, body=full.config_after),
    }


def _decisions(reader_id: UUID) -> QuerySet[Outcome]:
    """Return the reader's decisions, newest first, each with its effect and revert."""
    others = Outcome.objects.filter(suggestion=OuterRef("suggestion"))
    return _plain_decisions(reader_id).annotate(
        effect=Subquery(others.filter(kind=Kind.EFFECT).values("outcome")[:1]),
        reverted=Exists(others.filter(kind=Kind.REVERT)),
    )


def _plain_decisions(reader_id: UUID) -> QuerySet[Outcome]:
    decisions = Outcome.objects.filter(reader_id=reader_id, kind=Kind.DECISION)
    return decisions.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)


def _texts(pool: Sequence[Outcome]) -> list[str]:
    """Return the searchable text of each decision; one query for the evidence's titles."""
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


def _bm25_scores(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each of `texts`, in the given order; 0 for one without a word of `query`.

    Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond", with bm25s'
    defaults k1 = 1.5 and b = 0.75.
    """
    wanted = list(dict.fromkeys(search_terms(query)))[:QUERY_TERMS_MAX]
    corpus = [search_terms(text) for text in texts]
    if not wanted or not any(corpus):
        return [0.0] * len(texts)
    index = _bm25s().BM25()
    index.index(corpus, show_progress=False)
    known = [term for term in wanted if term in index.vocab_dict]
    if not known:
        return [0.0] * len(texts)
    return [round(float(score), 6) for score in index.get_scores(known)]


@cache
def _bm25s() -> ModuleType:
    """Return the library, which takes a tenth of a second to import and then turns on its debug messages."""
    library = import_module("bm25s")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return library


def _pick(reader_id: UUID, ids: Sequence[int], most: int) -> list[Outcome]:
    """Return the reader's own decisions among the first `most` distinct `ids`, in that order."""
    wanted = list(dict.fromkeys(ids))[:most]
    found = _decisions(reader_id).select_related("archive").in_bulk(wanted)
    return [found[i] for i in wanted if i in found]


def _with_neighbours(reader_id: UUID, picked: Sequence[Outcome]) -> list[Outcome]:
    """Return `picked` and the two decisions on either side of each, newest first; 25 rows, one query."""
    if not picked:
        return []
    plain = _plain_decisions(reader_id)
    wanted = Q(pk__in=[row.pk for row in picked])
    for row in picked:
        newer = Q(decided_at__gt=row.decided_at) | Q(decided_at=row.decided_at, pk__gt=row.pk)
        later = plain.filter(newer).order_by("decided_at", "pk")
        earlier = plain.exclude(newer).exclude(pk=row.pk)
        wanted |= Q(pk__in=later.values("pk")[:NEIGHBOURS_MAX])
        wanted |= Q(pk__in=earlier.values("pk")[:NEIGHBOURS_MAX])
    return list(_decisions(reader_id).filter(wanted).only(*_LINE_FIELDS))


def _around(lines: Sequence[Outcome], row: Outcome) -> list[Outcome]:
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
    """Return the counts of items and likes, the most frequent reasons and a few titles."""
    tags = [tag for item in summary for tag in item.get("reason_tags", [])]
    frequent = sorted(dict.fromkeys(tags), key=lambda tag: -tags.count(tag))
    return {
        "items": len(summary),
        "liked": sum(item.get("feedback") == "liked" for item in summary),
        "reason_tags": frequent[:EVIDENCE_SHOWN],
        "titles": [_cut(item["title"], TITLE_CHARS) for item in summary[:EVIDENCE_SHOWN]],
    }


def _config(body: Body) -> dict[str, Any]:
    """Return the first topics and the effective weights furthest from 1."""
    weights = sorted(body_effective(body).weights().items(), key=lambda pair: -abs(pair[1] - 1))
    return {
        "topics": [_cut(topic, 32) for topic in body["topics"][:TOPICS_SHOWN]],
        "topics_in_all": len(body["topics"]),
        "effective_weights": {_cut(key, 32): round(weight, 2) for key, weight in weights[:WEIGHTS_SHOWN]},
        "weights_in_all": len(weights),
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def effects_harmful(*, reader_id: UUID, effective: EffectiveConfig) -> list[EffectLine]:
    """Return the harmful changes that are still in force, newest first; two queries.

    `effective` is the reader's current config: a change reverted by hand is left out too.
    """
    reverted = Outcome.objects.filter(suggestion=OuterRef("suggestion"), kind=Kind.REVERT)
    harmed = Outcome.objects.filter(reader_id=reader_id, kind=Kind.EFFECT, outcome=Outcome.Result.HARMED)
    in_force = harmed.filter(~Exists(reverted)).select_related("suggestion").order_by("-decided_at", "-pk")
    decided = Outcome.objects.filter(reader_id=reader_id, kind=Kind.DECISION)
    return [
        EffectLine(
            suggestion_id=row.suggestion_id,
            outcome=row.outcome,
            headline=headline(row.suggestion_type, row.suggestion.label),
            words=gettext(EFFECTS.get(row.outcome, "")),
            details=measured_words(row.measured),
            figures=effect_figures(row.measured),
            teaches=teaching_of(row.outcome),
            checked_at=row.decided_at,
        )
        for row in in_force.prefetch_related(Prefetch("suggestion__outcomes", decided))
        if not suggestion_not_in_force(
            suggestion=row.suggestion,
            decision=next(iter(row.suggestion.outcomes.all()), None),
            effective=effective,
        )
    ]
