"""Memories in the database: those that a run may use, and keeping them up to date with their source rows.

Newer figures renew a memory, which keeps its credit. A new meaning supersedes it. Nothing is deleted.
People's own texts become memories, too.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.utils.text import slugify
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.guidance import admission
from advisor.guidance import memories as learnt
from advisor.guidance.admission import ADMITTED, REFUSALS, admit, predicate_check, predicate_holds
from advisor.guidance.situations import WRITE, Phase, target_of
from advisor.models import GuidanceEvent, Memory, Run, Step
from advisor.models.memory import CONDITION
from digest.days import day_begin, utc_day, utc_day_begin
from digest.feedback.peers import community_deviation
from digest.models import Feedback, FeedbackTag, Reader
from ranking.common.isolation import READER, isolate
from suggestions.changes.change import Kind as Type
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from suggestions.reasons import reason_code

# The most rows that ranking compares in Python. More would only cost time (500 take about 10 ms).
CANDIDATES_MAX, RECALLED_MAX = 500, 3
# Figures over many readers are for those who share their own.
OVER_MANY = (Memory.Kind.PATTERN, Memory.Kind.PEER)
# Kinds that people word: a figure in them is no running count.
CURATED = frozenset({Memory.Kind.INSIGHT, Memory.Kind.RULE})
# Memories written in the admin. No other source changes them.
ADMIN = "admin"
# The bonus of a recalled memory about one of the given types.
ABOUT = 0.3
WRITTEN = (
    *("title", "text", "suggestion_type", "target_key", "tool", "phase", "polarity", "data", "confidence"),
    *("evidence", "ceiling", "source_ref", "valid_from", "expires_at", "dimensions", "unified", "tokens"),
    *("text_sig", "retired_at", "updated_at"),
)
# Of these, the ones without which nothing a run reads differs.
SILENT = frozenset({"expires_at", "valid_from", "updated_at"})
OLD_KEY_CHARS, KEY_CHARS = 96, 80
COUNTS = ("added", "updated", "superseded", "retired", "unchanged", "refused")
AS_WRITTEN = "written"
PREVIEW_SPAN, PREVIEW_MAX = timedelta(days=30), 5_000
NAMED = ("tool", "suggestion_type", "phase", "target_key")


class ChangedMeanwhile(Exception):
    """Somebody else has replaced or retired the memory; nothing was stored."""


def memories_in_force(*, reader_id: UUID, now: datetime) -> QuerySet[Memory]:
    """Return the memories that this reader's runs may use. Those over many readers only if the reader
    shares."""
    over_many = Q(reader=None, kind__in=OVER_MANY) | Q(kind=Memory.Kind.PEER)
    rows = Memory.objects.filter(
        Q(reader=None) | Q(reader_id=reader_id),
        Q(expires_at=None) | Q(expires_at__gt=now),
        retired_at=None,
        superseded_by=None,
        valid_from__lte=now,
    )
    if not settings.PEERS_ENABLED:
        return rows.exclude(over_many)
    sharing = Exists(Reader.objects.filter(pk=reader_id, peers_enabled=True))
    return rows.filter(~over_many | Q(sharing))


def memories_for(*, reader_id: UUID, now: datetime) -> list[Memory]:
    """Return at most 500 memories of a reader's runs: operators' rules first, then the surest; one query."""
    rows = memories_in_force(reader_id=reader_id, now=now).annotate(is_rule=Q(kind=Memory.Kind.RULE))
    ordered = rows.order_by("-is_rule", "-confidence", "-unified", "pk")
    return list(ordered.defer("dimensions")[:CANDIDATES_MAX])


def memories_recall(*, reader_id: UUID, now: datetime, types: Collection[str] = ()) -> list[Memory]:
    """Return the three surest insights and patterns over many readers, those about `types` first."""
    rows = memories_in_force(reader_id=reader_id, now=now).filter(
        Q(kind=Memory.Kind.INSIGHT) | Q(kind=Memory.Kind.PATTERN, reader=None)
    )
    worth = {row: row.confidence + ABOUT * (row.suggestion_type in types) for row in rows}
    return sorted(worth, key=lambda row: (-worth[row], row.kind, row.key))[:RECALLED_MAX]


def memory_prepare(row: Memory, *, reader_id: UUID | None, now: datetime) -> Memory:
    """Return an unsaved memory with the quality, words and signature of its text."""
    row.reader_id, row.updated_at = reader_id, now
    row.dimensions, row.unified = admission.quality_of_text(row)
    row.tokens = list(admission.tokens_of(f"{row.target_key} {row.text}"))
    row.text_sig = admission.text_signature(row.text)
    if row.target_key:
        about = f"{row.text_sig} {row.suggestion_type} {row.target_key}".encode("utf-8", "replace")
        row.text_sig = hashlib.sha1(about, usedforsecurity=False).hexdigest()
    return row


@transaction.atomic
def memories_store(
    *,
    reader_id: UUID | None,
    kinds: Collection[str],
    drafts: Iterable[Memory],
    now: datetime,
    spared: Collection[str] = (),
) -> dict[str, int]:
    """Bring the memories of `kinds` of a reader, or the shared ones, in line with the drafts. Return
    counts."""
    counts = dict.fromkeys(COUNTS, 0)
    if reader_id is not None and not list(
        Reader.objects.select_for_update(no_key=True).filter(pk=reader_id).values_list("pk")
    ):
        return counts
    found = Memory.objects.select_for_update().filter(Q(reader_id=reader_id), kind__in=kinds)
    rows = {(row.kind, row.key): row for row in found.filter(superseded_by=None)}
    seen = set[tuple[str, str]]()
    new, changed, replaced = list[Memory](), list[Memory](), list[tuple[Memory, Memory]]()
    for fresh in drafts:
        memory_prepare(fresh, reader_id=reader_id, now=now)
        place = (fresh.kind, fresh.key)
        row, marks = rows.get(place), {place, ("same words", fresh.kind + fresh.text_sig)}
        if marks & seen or (row is not None and row.source_ref == ADMIN):
            counts["refused"] += 1
            continue
        seen |= marks
        if row is None:
            new.append(fresh)
        elif _meaning(row) != _meaning(fresh):
            replaced.append((row, fresh))
        else:
            differing = {name for name in WRITTEN if getattr(row, name) != getattr(fresh, name)}
            counts["updated" if differing - SILENT else "unchanged"] += 1
            if differing - {"updated_at"}:
                row.__dict__ |= {name: getattr(fresh, name) for name in WRITTEN}
                changed.append(row)
    unseen = [row for place, row in rows.items() if place not in seen and row.key not in spared]
    gone = [row for row in unseen if row.retired_at is None and row.source_ref != ADMIN]
    _write(new, changed, replaced, gone, now)
    return counts | {"added": len(new), "superseded": len(replaced), "retired": len(gone)}


@transaction.atomic
def curated_save(fresh: Memory, *, replacing: int | None = None, now: datetime) -> Memory:
    """Store a checked rule or insight, superseding the memory `replacing`. Raises `ChangedMeanwhile`."""
    memory_prepare(fresh, reader_id=None, now=now)
    fresh.key = f"{slugify(fresh.title)[:KEY_CHARS]}-{now:%Y%m%d-%H%M%S-%f}"
    old = _by_hand().select_for_update().filter(pk=replacing).first() if replacing else None
    if replacing and old is None:
        raise ChangedMeanwhile
    if old:
        fresh.key = old.key
    _write([] if old else [fresh], [], [(old, fresh)] if old else [], [], now)
    return fresh


def curated_retire(*, ids: Collection[int], now: datetime) -> int:
    """Take rules and insights made by hand out of force; how many were in force until now."""
    return _by_hand().filter(pk__in=ids).update(retired_at=now, updated_at=now)


def condition_of(row: Memory, when: Any) -> dict[str, Any]:
    """Return the data of a rule: its condition with tool, type, phase and target around it."""
    pairs = [(column.removesuffix("_key"), getattr(row, column)) for column in NAMED]
    parts = [{"fact": name, "op": "eq", "value": value} for name, value in pairs if value]
    return {CONDITION: {"all": [*parts, when]} if parts else when, AS_WRITTEN: when}


def curated_problems(
    draft: Memory, *, replacing: int | None = None, now: datetime
) -> list[tuple[str, str, str]]:
    """Return the problems that forbid storing it: the field, a stable code, and words."""
    found = predicate_check(draft.data[AS_WRITTEN]) if draft.kind == Memory.Kind.RULE else []
    problems = [("when", "bad_condition", words) for words in found]
    memory_prepare(draft, reader_id=None, now=now)
    others = Memory.objects.filter(reader=None, kind=draft.kind, retired_at=None).exclude(pk=replacing or 0)
    why = admission.admit(draft, now=now, duplicate=others.filter(text_sig=draft.text_sig).exists())
    if why != admission.ADMITTED:
        in_title = why == "code" and admission.MARKED_UP.search(draft.title)
        field = "expires_at" if why == "expired" else "title" if in_title else "text"
        problems.append((field, why, f"Guidance would never show this ({why}). {admission.REFUSALS[why]}"))
    return problems


def curated_preview(draft: Memory, *, now: datetime) -> str:
    """Return at how many of the newest 5,000 calls of the last 30 days it would have been weighed."""
    rows = GuidanceEvent.objects.filter(at__gt=now - PREVIEW_SPAN, at__lte=now, n__gt=0)
    calls = rows.order_by("-at", "-id").only(*NAMED, "facts")[:PREVIEW_MAX]
    when = draft.predicate
    hits = [
        predicate_holds(when, call.facts)
        if when
        else all(getattr(draft, name) in ("", getattr(call, name)) for name in NAMED)
        for call in calls
    ]
    return f"{sum(hits)} of the last {len(hits):,} calls"


def _by_hand() -> QuerySet[Memory]:
    rows = Memory.objects.filter(reader=None, kind__in=CURATED, source_ref=ADMIN)
    return rows.filter(retired_at=None, superseded_by=None)


def _meaning(row: Memory) -> tuple[object, ...]:
    """Return the values whose change makes a new row. Of figures, only those that people wrote."""
    words = row.text if row.kind in CURATED else admission.text_signature(row.text)
    about = (row.suggestion_type, row.target_key, row.tool, row.phase, row.polarity)
    return (words, *about, repr(row.predicate))


def _write(
    new: list[Memory],
    changed: list[Memory],
    replaced: list[tuple[Memory, Memory]],
    gone: list[Memory],
    now: datetime,
) -> None:
    """Write the planned rows. A superseded row gives its key to its successor."""
    olds = [row for row, _ in replaced]
    for row in olds:
        row.key = f"{row.key[:OLD_KEY_CHARS]}#{row.pk}"
    for row in (*olds, *gone):
        row.retired_at, row.updated_at = row.retired_at or now, now
    Memory.objects.bulk_update([*changed, *olds, *gone], [*WRITTEN, "key"])
    Memory.objects.bulk_create([*new, *(fresh for _, fresh in replaced)])
    for row, fresh in replaced:
        row.superseded_by = fresh
    Memory.objects.bulk_update(olds, ["superseded_by"])


# --- Bringing them up to date ------------------------------------------------------------
log = structlog.get_logger(__name__)
FOLDER = Path(__file__).resolve().parent / "insights"
# Kinds derived from a reader's own rows. Other kinds of the reader's are left alone.
DERIVED = (Memory.Kind.PATTERN, Memory.Kind.REPLAY, Memory.Kind.PROFILE, Memory.Kind.PEER, Memory.Kind.BANK)
# The newest that are read: more would only cost time.
OUTCOMES_MAX, WRITES_MAX, TAGGED_MAX, ACTIVE_DAYS = 2000, 300, 200, 30
MANY_SPAN = timedelta(days=365)
NEVER = "never"
Kind, Result = Outcome.Kind, Outcome.Result
_FENCE = re.compile(r"^---\n", re.MULTILINE)


class FrontMatter(BaseModel):
    """The header of an insight's file."""

    model_config = ConfigDict(extra="forbid")
    id: str
    title: str
    suggestion_type: Type | Literal[""]
    tool: str = Field(pattern=r"^(?:[a-z]+(?:_[a-z]+)*)?$")
    phase: Phase | Literal[""]
    confidence: float = Field(ge=0, le=1, strict=True)
    expires: Annotated[date, Field(strict=True)] | Literal[""]


class BadInsight(ValueError):
    """A file that is no insight, with a stable `code` and words on how to mend it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def memories_refresh(*, reader_id: UUID, now: datetime) -> dict[str, int]:
    """Derive the reader's memories again from their rows; return the counts of `memories_store`."""
    drafts = reader_drafts(reader_id=reader_id, now=now)
    return memories_store(reader_id=reader_id, kinds=DERIVED, drafts=drafts, now=now)


def memories_refresh_active(*, now: datetime) -> dict[str, int]:
    """Refresh every active reader of the last 30 days or with memories. One reader's failure stops no
    other's."""
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
        done: dict[str, int] = {"failed": 1}
        with isolate(READER, reader_id, "memories_refresh_failed"):
            done = {"readers": 1} | memories_refresh(reader_id=reader_id, now=now)
        totals.update(done)
    log.info("memories_refreshed", **totals)
    return totals


def memories_sync(*, now: datetime, folder: Path = FOLDER) -> dict[str, Any]:
    """Sync insights from `folder` and patterns over many readers: `{"insights", "patterns", "errors"}`.

    A refused file is listed and its memory stays. The memory of a deleted or outdated file is retired.
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
    front, text = _parse(raw)
    if front.id != name:
        raise BadInsight("bad_front_matter", f"id: It must be the file's name, {name!r}.")
    columns = front.model_dump(exclude={"id", "expires"})
    row = Memory(kind="insight", key=name, text=text, source_ref=f"{name}.md", ceiling="note", **columns)
    row.valid_from = utc_day_begin(utc_day(now))
    row.expires_at = day_begin(front.expires, UTC) if front.expires else None
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


def _writes(reader_id: UUID, now: datetime) -> list[learnt.Write]:
    """Return the newest writes of all the reader's runs in the last 90 days."""
    rows = Step.objects.filter(
        run__reader_id=reader_id, kind=Step.Kind.TOOL, tool=WRITE, at__gt=now - learnt.REPLAY_SPAN
    )
    columns = ("run_id", "n", "arguments", "error_code", "at")
    found = []
    for run_id, n, given, code, at in rows.order_by("-at", "-n").values_list(*columns)[:WRITES_MAX]:
        kind = str(given.get("suggestion_type") or "")
        found.append(learnt.Write(str(run_id), n, kind, target_of(kind, given), code, at))
    return found


def _parse(raw: bytes) -> tuple[FrontMatter, str]:
    """Return the front matter and the body of a file. Raises `BadInsight`."""
    import yaml  # noqa: PLC0415 - for what people wrote alone

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
