"""What a reader's memories are derived from, read in a fixed number of queries whatever the history."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, OuterRef, Q, Subquery

from advisor.guidance.distilling import Draft
from advisor.guidance.situations import target_of
from advisor.memory.decisions import PATTERN_SPAN, REPLAY_SPAN, Decided, decision_drafts
from advisor.memory.flags import flag_drafts
from advisor.memory.others import peer_drafts
from advisor.memory.reasons import TAG_SPAN, Tagged, reason_drafts, tag_drafts
from advisor.memory.writes import WRITE, Attempt, write_drafts
from advisor.models import Step
from digest.models import Feedback, FeedbackTag
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.reasons import reason_code
from suggestions.selectors.evidence import deviations_for
from suggestions.values import weight_parse

# The newest that are read: more would only cost time.
OUTCOMES_MAX, ATTEMPTS_MAX, TAGGED_MAX = 2000, 300, 200
NEVER = "never"
Kind = Outcome.Kind


def reader_drafts(*, reader_id: UUID, now: datetime) -> list[Draft]:
    """Every memory that a reader's own rows bear out, most trusted source first.

    Four queries for what is the reader's, one more for their sources where others are heard of, and those of
    `deviations_for` (six while the crowd is kept).
    """
    decided = decisions_of(reader_id=reader_id, now=now)
    return [
        *decision_drafts(decided, now=now),
        *write_drafts(attempts_of(reader_id=reader_id, now=now), now=now),
        *_profile_drafts(reader_id, now),
        *_peer_drafts(reader_id, now),
        *reason_drafts(decided, now=now),
        *tag_drafts(tagged_of(reader_id=reader_id, now=now)),
    ]


def decisions_of(*, reader_id: UUID, now: datetime) -> list[Decided]:
    """The reader's suggestions that ended and had an outcome of any kind lately, newest first; one query.

    An answer taken back at once is none. A reason is read only as the code of its words.
    """
    others = Outcome.objects.filter(suggestion=OuterRef("suggestion"))
    effects, reverts = others.filter(kind=Kind.EFFECT), others.filter(kind=Kind.REVERT)
    since = now - PATTERN_SPAN
    rows = (
        Outcome.objects.filter(reader_id=reader_id, kind=Kind.DECISION)
        .exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
        .annotate(
            reverted_at=Subquery(reverts.values("decided_at")[:1]),
            effect=Subquery(effects.values("outcome")[:1]),
            effect_at=Subquery(effects.values("decided_at")[:1]),
        )
        .filter(Q(decided_at__gt=since) | Q(reverted_at__gt=since) | Q(effect_at__gt=since))
        .order_by("-decided_at", "-pk")
    )
    columns = ("suggestion_type", "target_key", "outcome", "decided_at", "reverted_at", "effect", "effect_at")
    found = rows.values_list(*columns, "user_reason")[:OUTCOMES_MAX]
    return [
        Decided(kind, target, outcome, at, reverted_at, effect or "", effect_at, _code(outcome, reason))
        for kind, target, outcome, at, reverted_at, effect, effect_at, reason in found
    ]


def attempts_of(*, reader_id: UUID, now: datetime) -> list[Attempt]:
    """The newest writes of the reader's runs in the last 90 days, whoever drove them; one query."""
    rows = Step.objects.filter(
        run__reader_id=reader_id, kind=Step.Kind.TOOL, tool=WRITE, at__gt=now - REPLAY_SPAN
    )
    columns = ("run_id", "n", "arguments", "error_code", "at")
    newest = rows.order_by("-at", "-n").values_list(*columns)[:ATTEMPTS_MAX]
    return [_attempt(*row) for row in newest]


def tagged_of(*, reader_id: UUID, now: datetime) -> list[Tagged]:
    """How often the reader named each reason about each source in the last 90 days; one query."""
    rows = (
        FeedbackTag.objects.filter(feedback__reader_id=reader_id, feedback__at__gt=now - TAG_SPAN)
        .values_list("feedback__item__source_id", "tag_id", "feedback__useful")
        .annotate(count=Count("pk"), last=Max("feedback__at"))
        .order_by("-count", "feedback__item__source_id", "tag_id", "feedback__useful")
    )
    return [Tagged(*row) for row in rows[:TAGGED_MAX]]


def _code(outcome: str, reason: str) -> str:
    refused = outcome == Outcome.Result.REJECTED and reason != NEVER
    return reason_code(reason) if refused else ""


def _attempt(run_id: UUID, n: int, arguments: object, code: str, at: datetime) -> Attempt:
    """A write as it was made; of its words only a digest is looked at."""
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    kind = given.get("suggestion_type")
    kind = kind if isinstance(kind, str) else ""
    value = given.get("suggested_value")
    number = weight_parse(value)
    words = json.dumps([given.get("reason"), given.get("expected_impact")], default=str)
    return Attempt(
        run=str(run_id),
        n=n,
        change=(kind, target_of(kind, given)),
        code=code,
        at=at,
        value=number if number is not None else str(value or ""),
        urls=_urls(given.get("evidence_items")),
        words=hashlib.sha1(words.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(),
    )


def _urls(items: object) -> frozenset[str]:
    rows = items if isinstance(items, list) else []
    urls = (row.get("url") for row in rows if isinstance(row, dict))
    return frozenset(url for url in urls if isinstance(url, str))


def _profile_drafts(reader_id: UUID, now: datetime) -> list[Draft]:
    row = PreferenceProfile.objects.filter(reader_id=reader_id).first()
    if row is None:
        return []
    return flag_drafts(row.patterns, row.acceptance_stats, last_at=row.last_outcome_at, now=now)


def _peer_drafts(reader_id: UUID, now: datetime) -> list[Draft]:
    """Hints about sources the reader rated, where the reader shares and others may be asked at all."""
    deviations = deviations_for(reader_id=reader_id, now=now)
    if not deviations:
        return []
    rated = Feedback.objects.filter(reader_id=reader_id, item__source_id__in=deviations).order_by()
    sources = frozenset(rated.values_list("item__source_id", flat=True).distinct())
    return peer_drafts(deviations, sources, now=now)
