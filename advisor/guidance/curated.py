"""What operators write: rules with a condition, and insights; checked, tried on past calls, stored, retired.

Nothing is overwritten: what is written anew supersedes what was there, so that an audit still finds what a
run read then.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.text import slugify

from advisor.guidance.admission import REFUSALS, Admission, admit, everyday, marked_up
from advisor.guidance.conditions import predicate_check, predicate_holds
from advisor.guidance.entities import LOUDNESS, Draft, Kind, Level, Phase, Remembered, Situation
from advisor.guidance.gate import Seen, gate
from advisor.guidance.packets import RULE_CHANGED, packets_invalidate
from advisor.guidance.ranking import RANK_MIN, elsewhere, rank, relevance_of, scored_from, text_signature
from advisor.guidance.retrieval import CONDITION, remembered
from advisor.guidance.store import ADMIN, memory_build, memory_signature
from advisor.guidance.tunables import Tunables, tunables
from advisor.models import GuidanceEvent, Memory
from digest.models import Reader

AS_WRITTEN, KEY_CHARS, NAME_CHARS_MIN = "written", 100, 4
CHANGED = "changed_meanwhile"
CHANGED_WORDS = "Somebody else has changed or retired this meanwhile. Open it again and look."
PREVIEW_DAYS, PREVIEW_MAX, NEWEST = 30, 5_000, 20
_NAME = re.compile(r"\w(?:[\w.@+-]*\w)?")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why it is not stored: the field to mend (empty: all of it), a stable code, and words."""

    field: str
    code: str
    message: str


class Refused(Exception):
    """It was not stored; `problems` say why."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Preview:
    """Of `looked_at` calls since `since`, how many would have been touched at each level, and the newest.

    `newest` pairs events with levels. `more`: older calls of that time were not looked at. `at_most`: it
    would have spoken only where the words of a call fit, which are not stored.
    """

    since: datetime
    looked_at: int
    more: bool
    at_most: bool
    levels: Mapping[Level, int]
    newest: tuple[tuple[GuidanceEvent, Level], ...]

    @property
    def words(self) -> str:
        """Return what a preview comes to: "12 of the last 4,301 calls (10 note, 2 whisper)"."""
        levels = ", ".join(f"{times} {level.value}" for level, times in self.levels.items())
        calls = f"{sum(self.levels.values())} of the last {self.looked_at:,} calls"
        return f"{calls} ({levels})" if levels else calls


def curated_draft(typed: Mapping[str, Any], *, kind: Kind, now: datetime, target_key: str = "") -> Draft:
    """Return what was typed into a form (its cleaned data) as a draft; a condition lies in its data."""
    named = {name: typed[name] for name in ("tool", "suggestion_type", "phase")}
    data: dict[str, Any] = {}
    if kind is Kind.RULE:
        when = typed["when"]
        pairs = {**named, "target": target_key}
        parts: list[Any] = [
            {"fact": name, "op": "eq", "value": value} for name, value in pairs.items() if value
        ]
        data = {CONDITION: {"all": [*parts, when]} if parts else when, AS_WRITTEN: when}
    return Draft(
        kind=kind,
        title=typed["title"],
        text=" ".join(typed["text"].split()),
        target_key=target_key,
        polarity=typed["polarity"],
        ceiling=Level(typed["ceiling"]),
        confidence=typed["confidence"],
        expires_at=typed["expires_at"],
        shared=True,
        data=data,
        source_ref=ADMIN,
        valid_from=now,
        **named,
    )


def curated_problems(draft: Draft, *, replacing: int | None = None, now: datetime) -> list[Problem]:
    """Return what speaks against storing this in the place of the memory `replacing`; two queries."""
    problems = []
    if draft.kind is Kind.RULE and draft.data[AS_WRITTEN] in (None, {}):
        words = "A rule needs a condition. For advice without one, write an insight."
        problems.append(Problem("when", "no_condition", words))
    elif draft.kind is Kind.RULE:
        found = predicate_check(draft.data[AS_WRITTEN])
        problems += [Problem("when", "bad_condition", words) for words in found]
    admission = _admission(draft, replacing, now)
    if admission.why == "expired":
        problems.append(Problem("expires_at", "expired", "This moment has passed. Choose a later one."))
    elif not admission.admitted:
        words = f"Guidance would never say this ({admission.why}). {REFUSALS[admission.why]}"
        in_title = admission.why == "code" and marked_up(draft.title)
        problems.append(Problem("title" if in_title else "text", admission.why, words))
    return problems


@transaction.atomic
def curated_save(draft: Draft, *, replacing: int | None = None, now: datetime) -> Memory:
    """Store a rule or an insight, in the place of the memory `replacing` if that is given.

    The old one keeps its words and points to the new one; all fresh packets become invalid. Raises `Refused`,
    with the code `changed_meanwhile` where somebody else has replaced or retired it.
    """
    key = _key_of(replacing, now) if replacing else _key_free(draft)
    if problems := curated_problems(draft, replacing=replacing, now=now):
        raise Refused(problems)
    row = memory_build(draft, _admission(draft, replacing, now), reader_id=None, now=now)
    row.key = key
    row.save(force_insert=True)
    if replacing:
        Memory.objects.filter(pk=replacing).update(superseded_by=row)
    packets_invalidate(why=RULE_CHANGED, now=now)
    return row


@transaction.atomic
def curated_retire(*, ids: list[int], now: datetime) -> int:
    """Take rules and insights made by hand out of force; how many were in force until now."""
    retired = _in_force().filter(pk__in=ids).update(retired_at=now, updated_at=now)
    if retired:
        packets_invalidate(why=RULE_CHANGED, now=now)
    return retired


def curated_preview(draft: Draft, *, now: datetime) -> Preview:
    """Return what `draft` alone would have done to the newest 5,000 calls of the last 30 days; one query.

    Levels are what it reaches by itself on a call where nothing was said lately; of what has no condition,
    where its words fit wholly.
    """
    built = memory_build(draft, admit(draft, now=now), reader_id=None, now=now)
    memory = remembered({**vars(built), "id": 0})
    since = now - timedelta(days=PREVIEW_DAYS)
    rows = GuidanceEvent.objects.filter(at__gt=since, at__lte=now, n__gt=0).order_by("-at", "-id")
    columns = (
        "at",
        "run_id",
        "reader_id",
        "tool",
        "phase",
        "suggestion_type",
        "target_key",
        "level",
        "facts",
    )
    calls = list(rows.only(*columns)[: PREVIEW_MAX + 1])
    settings, cache = tunables(), dict[tuple[str, ...], Level]()
    found = [(call, _level(memory, call, settings, cache, now)) for call in calls[:PREVIEW_MAX]]
    touched = [pair for pair in found if pair[1] is not Level.SILENT]
    counts = Counter(level for _, level in touched)
    levels = {level: counts[level] for level in reversed(LOUDNESS) if counts[level]}
    more = len(calls) > PREVIEW_MAX
    return Preview(since, len(found), more, not memory.predicate, levels, tuple(touched[:NEWEST]))


def reader_named(text: str) -> bool:
    """Return whether `text` holds a reader's username as a whole word; one query, or none.

    Usernames of fewer than four characters, and those that are everyday words, are not looked for: a reader
    may be called "source". Names are found as typed, in small letters, capitalised or in capitals.
    """
    words = {word.removesuffix("'s") for word in _NAME.findall(text)} | set(re.findall(r"\w+", text))
    sought = {word for word in words if len(word) >= NAME_CHARS_MIN and not everyday(word.casefold())}
    forms = {form for word in sought for form in (word, word.lower(), word.capitalize(), word.upper())}
    return bool(forms) and Reader.objects.filter(username__in=forms).exists()


def _level(
    memory: Remembered,
    call: GuidanceEvent,
    wanted: Tunables,
    cache: dict[tuple[str, ...], Level],
    now: datetime,
) -> Level:
    """Return how loudly it would have spoken. Equal situations are weighed once."""
    values = call.facts if isinstance(call.facts, dict) else {}
    if memory.predicate and not predicate_holds(memory.predicate, values):
        return Level.SILENT
    if memory.predicate and memory.ceiling is Level.BLOCK:
        return Level.BLOCK
    key = (call.tool, call.phase, call.suggestion_type, call.target_key)
    if key not in cache:
        phase = Phase(call.phase) if call.phase in tuple(Phase) else Phase.EXPLORE
        situation = Situation(call.reader_id, call.tool, phase, call.suggestion_type, call.target_key)
        if memory.predicate:
            ranked = rank(situation, [memory], now=now, relevance_min=wanted.relevance_min, values=values)
        else:
            one = scored_from(memory, relevance_of(situation, memory, 1.0), now=now)
            fits = one.relevance >= wanted.relevance_min and one.score >= RANK_MIN
            ranked = [one] if fits and not elsewhere(situation, memory) else []
        now_s = now.timestamp()
        cache[key] = gate(ranked, situation=situation, tunables=wanted, seen=Seen(), now_s=now_s).level
    return cache[key]


def _admission(draft: Draft, replacing: int | None, now: datetime) -> Admission:
    """Return what admission says of it beside what is in force but for what it replaces; two queries."""
    others = Memory.objects.filter(reader=None, kind=draft.kind, retired_at=None).exclude(pk=replacing or 0)
    same = others.filter(text_sig=memory_signature(draft)).exists()
    named = reader_named(f"{draft.title}\n{draft.text}")
    known = {text_signature(draft.text)} if same else ()
    return admit(draft, now=now, known=known, names_a_reader=named)


def _in_force() -> QuerySet[Memory]:
    kinds = (Memory.Kind.RULE, Memory.Kind.INSIGHT)
    by_hand = Memory.objects.filter(reader=None, kind__in=kinds, source_ref=ADMIN)
    return by_hand.filter(retired_at=None, superseded_by=None)


def _key_of(replaced: int, now: datetime) -> str:
    """Return the key of the memory that is being replaced, freed for its successor. Raises `Refused`."""
    old = _in_force().filter(pk=replaced).first()
    key = f"{old.key[:KEY_CHARS]}#{replaced}" if old else ""
    if not old or not _in_force().filter(pk=replaced).update(key=key, retired_at=now, updated_at=now):
        raise Refused([Problem("", CHANGED, CHANGED_WORDS)])
    return old.key


def _key_free(draft: Draft) -> str:
    """Return a key from the title that no other of its kind has."""
    key = slugify(draft.title)[: KEY_CHARS - 8] or draft.kind.value
    rows = Memory.objects.filter(reader=None, kind=draft.kind, key__startswith=key)
    taken = set(rows.values_list("key", flat=True))
    return next(
        name for name in (key, *(f"{key}-{n}" for n in range(2, len(taken) + 2))) if name not in taken
    )
