"""The rows that memories are derived from, and bringing the memories of one reader, or of all, up to date."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import structlog
import yaml
from django.conf import settings
from django.db.models import Count, Exists, Max, OuterRef, Q, Subquery
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.guidance import memories as learnt
from advisor.guidance.admission import ADMITTED, REFUSALS, admit
from advisor.guidance.entities import WRITE, Phase, target_of
from advisor.guidance.store import memories_store
from advisor.models import Memory, Run, Step
from digest.feedback.peers import community_deviation
from digest.models import Feedback, FeedbackTag, Reader
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.outcomes.profile import reason_code

log = structlog.get_logger(__name__)
FOLDER = Path(__file__).resolve().parent / "insights"
# What is derived from a reader's own rows; a row of another kind that is theirs is left alone.
DERIVED = (Memory.Kind.PATTERN, Memory.Kind.REPLAY, Memory.Kind.PROFILE, Memory.Kind.PEER, Memory.Kind.BANK)
# The newest that are read: more would only cost time.
OUTCOMES_MAX, WRITES_MAX, TAGGED_MAX, ACTIVE_DAYS = 2000, 300, 200, 30
MANY_SPAN = timedelta(days=365)
NEVER = "never"
Kind, Result = Outcome.Kind, Outcome.Result
_FENCE = re.compile(r"^---\n", re.MULTILINE)


class FrontMatter(BaseModel):
    """What stands before the text in an insight's file."""

    model_config = ConfigDict(extra="forbid")
    id: str
    title: str
    suggestion_type: Suggestion.Type | Literal[""]
    tool: str = Field(pattern=r"^(?:[a-z]+(?:_[a-z]+)*)?$")
    phase: Phase | Literal[""]
    confidence: float = Field(ge=0, le=1, strict=True)
    expires: Annotated[date, Field(strict=True)] | Literal[""]


class BadInsight(ValueError):
    """A file that is no insight: a stable `code`, and words on what to mend."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def memories_refresh(*, reader_id: UUID, now: datetime) -> dict[str, int]:
    """Make the reader's derived memories what their rows say now; return the counts of `memories_store`."""
    drafts = reader_drafts(reader_id=reader_id, now=now)
    return memories_store(reader_id=reader_id, kinds=DERIVED, drafts=drafts, now=now)


def memories_refresh_active(*, now: datetime) -> dict[str, int]:
    """Refresh every active reader of the last 30 days or with memories; one's trouble stops no other's."""
    since, own = now - timedelta(days=ACTIVE_DAYS), OuterRef("pk")
    lately = (
        Exists(Feedback.objects.filter(reader=own, at__gt=since))
        | Exists(Outcome.objects.filter(reader=own, decided_at__gt=since))
        | Exists(Run.objects.filter(reader=own, created_at__gt=since))
        | Exists(Memory.objects.filter(reader=own, kind__in=DERIVED, retired_at=None))
    )
    readers = Reader.objects.filter(lately, is_active=True).order_by("pk")
    totals = Counter[str](readers=0, failed=0)
    for reader_id in readers.values_list("pk", flat=True):
        try:
            totals.update({"readers": 1} | memories_refresh(reader_id=reader_id, now=now))
        except Exception:
            log.exception("memories_refresh_failed", user_id=str(reader_id))
            totals["failed"] += 1
    log.info("memories_refreshed", **totals)
    return totals


def memories_sync(*, now: datetime, folder: Path = FOLDER) -> dict[str, Any]:
    """Sync insights from `folder` and patterns over many readers: `{"insights", "patterns", "errors"}`.

    A refused file is listed and its memory stays; that of a file gone or out of date is retired.
    """
    drafts, errors = [], []
    for path in sorted(folder.glob("*.md")):
        try:
            draft = insight_draft(path.stem, path.read_bytes(), now=now)
        except BadInsight as bad:
            errors.append({"file": path.name, "code": bad.code, "message": bad.message})
        else:
            drafts += [draft] if draft.expires_at is None or draft.expires_at > now else []
    spared = {Path(error["file"]).stem for error in errors}
    counts = memories_store(reader_id=None, kinds=["insight"], drafts=drafts, spared=spared, now=now)
    log.info("memories_synced", errors=len(errors), **counts)
    return {"insights": counts, "patterns": patterns_sync(now=now), "errors": errors}


def insight_draft(name: str, raw: bytes, *, now: datetime) -> Memory:
    """Return the insight in the file called `name`, without ".md"; while it is there it does not age.

    Raises `BadInsight` for the first thing wrong.
    """
    front, text = _parsed(raw)
    if front.id != name:
        raise BadInsight("bad_front_matter", f"id: It must be the file's name, {name!r}.")
    columns = front.model_dump(exclude={"id", "expires"})
    row = Memory(kind="insight", key=name, text=text, source_ref=f"{name}.md", ceiling="note", **columns)
    row.valid_from = learnt.midnight(now)
    row.expires_at = learnt.midnight(front.expires) if front.expires else None
    if (why := admit(row, now=now)) not in (ADMITTED, "expired"):
        raise BadInsight(why, REFUSALS[why])
    return row


def patterns_sync(*, now: datetime) -> dict[str, int]:
    """Sum up the readers who share; a pattern with too few of them is retired."""
    found = learnt.many_drafts(_shares(now), now=now) if settings.PEERS_ENABLED else ()
    return memories_store(reader_id=None, kinds=["pattern"], drafts=found, now=now)


def reader_drafts(*, reader_id: UUID, now: datetime) -> list[Memory]:
    """Return every memory that a reader's own rows bear out, most trusted source first."""
    decided = decisions_of(reader_id=reader_id, now=now)
    drafts = learnt.decision_drafts(decided, now=now)
    drafts += learnt.write_drafts(_writes(reader_id, now), now=now)
    profile = PreferenceProfile.objects.filter(reader_id=reader_id).first()
    if profile is not None:
        last_at = profile.last_outcome_at
        drafts += learnt.flag_drafts(profile.patterns, profile.acceptance_stats, last_at=last_at, now=now)
    if deviations := community_deviation(reader_id=reader_id, now=now):
        rated = Feedback.objects.filter(reader_id=reader_id, item__source_id__in=deviations).order_by()
        sources = frozenset(rated.values_list("item__source_id", flat=True).distinct())
        drafts += learnt.peer_drafts(deviations, sources, now=now)
    tagged = (
        FeedbackTag.objects.filter(feedback__reader_id=reader_id, feedback__at__gt=now - learnt.TAG_SPAN)
        .values_list("feedback__item__source_id", "tag_id", "feedback__useful")
        .annotate(count=Count("pk"), last=Max("feedback__at"))
        .order_by("-count", "feedback__item__source_id", "tag_id", "feedback__useful")
    )
    drafts += learnt.reason_drafts(decided, now=now)
    return [*drafts, *learnt.tag_drafts(tagged[:TAGGED_MAX])]


def decisions_of(*, reader_id: UUID, now: datetime) -> list[learnt.Decided]:
    """Return the reader's suggestions that ended and had an outcome of any kind lately, newest first."""
    others, since = Outcome.objects.filter(suggestion=OuterRef("suggestion")), now - learnt.PATTERN_SPAN
    effects, reverts = others.filter(kind=Kind.EFFECT), others.filter(kind=Kind.REVERT)
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
    found = []
    for row in rows.values(*columns, "user_reason")[:OUTCOMES_MAX]:
        reason = row.pop("user_reason")
        refused = row["outcome"] == Result.REJECTED and reason != NEVER
        found.append(learnt.Decided(**row, reason=reason_code(reason) if refused else ""))
    return found


def _writes(reader_id: UUID, now: datetime) -> Iterator[learnt.Write]:
    """Yield the newest writes of the reader's runs in the last 90 days, whoever drove them."""
    rows = Step.objects.filter(
        run__reader_id=reader_id, kind=Step.Kind.TOOL, tool=WRITE, at__gt=now - learnt.REPLAY_SPAN
    )
    columns = ("run_id", "n", "arguments", "error_code", "at")
    for run_id, n, given, code, at in rows.order_by("-at", "-n").values_list(*columns)[:WRITES_MAX]:
        kind = str(given.get("suggestion_type") or "")
        yield learnt.Write(str(run_id), n, kind, target_of(kind, given), code, at)


def _parsed(raw: bytes) -> tuple[FrontMatter, str]:
    """Return the front matter and the body of a file. Raises `BadInsight`."""
    try:
        match _FENCE.split(raw.decode("utf-8").replace("\r\n", "\n"), maxsplit=2):
            case ["", front, body]:
                return FrontMatter.model_validate(yaml.safe_load(front)), " ".join(body.split())
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = first["loc"][0] if first["loc"] else "The front matter"
        raise BadInsight("bad_front_matter", f"{field}: {first['msg']}.") from None
    except (ValueError, yaml.YAMLError):
        pass
    raise BadInsight("unreadable", "A file is UTF-8: YAML between two lines of ---, then one paragraph.")


def _shares(now: datetime) -> Iterator[tuple[str, str, int, int]]:
    """Yield each sharing reader's own figures of the last year, one row per reader, statistic and type."""
    rows = Outcome.objects.filter(
        reader__peers_enabled=True, reader__is_active=True, decided_at__gt=now - MANY_SPAN
    ).order_by()
    decided = rows.filter(kind=Kind.DECISION, outcome__in=[Result.ACCEPTED, Result.REJECTED])
    decided = decided.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK)
    judged = rows.filter(kind=Kind.EFFECT, outcome__in=[Result.HELPED, Result.HARMED])
    for answers, hit in ((decided, Result.ACCEPTED), (judged, Result.HELPED)):
        counts = {"hits": Count("pk", filter=Q(outcome=hit)), "total": Count("pk")}
        for _, kind, hits, total in answers.values_list("reader_id", "suggestion_type").annotate(**counts):
            yield str(hit), kind, hits, total
