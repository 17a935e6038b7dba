"""What operators write: rules with a condition, and insights; checked, and tried on past calls.

Nothing is overwritten: what is written anew supersedes what was there, so that an audit still finds what a
run read then.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from advisor.guidance.admission import ADMITTED, REFUSALS, admit, marked_up
from advisor.guidance.conditions import predicate_check, predicate_holds
from advisor.guidance.entities import LOUDNESS, Level, Phase, Situation
from advisor.guidance.gate import Seen, gate
from advisor.guidance.ranking import RANK_MIN, elsewhere, rank, relevance_of, scored_from, text_signature
from advisor.guidance.store import memory_prepare
from advisor.guidance.tunables import Tunables, tunables
from advisor.models import GuidanceEvent, Memory
from advisor.models.memory import CONDITION

AS_WRITTEN = "written"
PREVIEW_DAYS, PREVIEW_MAX, NEWEST = 30, 5_000, 20
CALL = ("at", "run_id", "reader_id", "tool", "phase", "suggestion_type", "target_key", "level", "facts")


class Problem(NamedTuple):
    """Why it cannot be stored: the field to mend, a stable code, and words."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Preview:
    """Of `looked_at` calls, how many would have been touched at each level, and the newest with theirs.

    `more`: older calls of that time were not looked at. `at_most`: it would have spoken only where the words
    of a call fit, which are not stored.
    """

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


def condition_of(row: Memory, when: Any) -> dict[str, Any]:
    """Return the data of a rule: its condition with tool, type, phase and target around it."""
    names = {"tool": "tool", "suggestion_type": "suggestion_type", "phase": "phase", "target": "target_key"}
    pairs = {fact: getattr(row, column) for fact, column in names.items()}
    parts = [{"fact": name, "op": "eq", "value": value} for name, value in pairs.items() if value]
    return {CONDITION: {"all": [*parts, when]} if parts else when, AS_WRITTEN: when}


def curated_problems(draft: Memory, *, replacing: int | None = None, now: datetime) -> list[Problem]:
    """Return what speaks against storing this in the place of the memory `replacing`; one query."""
    problems = []
    if draft.kind == Memory.Kind.RULE and draft.data[AS_WRITTEN] in (None, {}):
        words = "A rule needs a condition. For advice without one, write an insight."
        problems.append(Problem("when", "no_condition", words))
    elif draft.kind == Memory.Kind.RULE:
        found = predicate_check(draft.data[AS_WRITTEN])
        problems += [Problem("when", "bad_condition", words) for words in found]
    memory_prepare(draft, reader_id=None, now=now)
    others = Memory.objects.filter(reader=None, kind=draft.kind, retired_at=None).exclude(pk=replacing or 0)
    same = others.filter(text_sig=draft.text_sig).exists()
    why = admit(draft, now=now, known={text_signature(draft.text)} if same else ()).why
    if why == "expired":
        problems.append(Problem("expires_at", why, "This moment has passed. Choose a later one."))
    elif why != ADMITTED:
        words = f"Guidance would never show this ({why}). {REFUSALS[why]}"
        problems.append(Problem("title" if why == "code" and marked_up(draft.title) else "text", why, words))
    return problems


def curated_preview(draft: Memory, *, now: datetime) -> Preview:
    """Return what `draft` alone would have done to the newest 5,000 calls of the last 30 days; one query.

    Levels are what it reaches by itself on a call where nothing was shown lately; of what has no condition,
    where its words fit wholly. Equal situations are weighed once.
    """
    memory = memory_prepare(draft, reader_id=None, now=now)
    memory.pk, since = 0, now - timedelta(days=PREVIEW_DAYS)
    rows = GuidanceEvent.objects.filter(at__gt=since, at__lte=now, n__gt=0).order_by("-at", "-id")
    calls = list(rows.only(*CALL)[: PREVIEW_MAX + 1])
    wanted, cache, touched = tunables(), dict[tuple[str, ...], Level](), list[tuple[GuidanceEvent, Level]]()
    for call in calls[:PREVIEW_MAX]:
        if memory.predicate and not predicate_holds(memory.predicate, call.facts):
            continue
        key = (call.tool, call.phase, call.suggestion_type, call.target_key)
        if key not in cache:
            cache[key] = _level(memory, call, wanted, now)
        if cache[key] is not Level.SILENT:
            touched.append((call, cache[key]))
    counts = Counter(level for _, level in touched)
    levels = {level: counts[level] for level in reversed(LOUDNESS) if counts[level]}
    looked_at, more = min(len(calls), PREVIEW_MAX), len(calls) > PREVIEW_MAX
    return Preview(looked_at, more, not memory.predicate, levels, tuple(touched[:NEWEST]))


def _level(memory: Memory, call: GuidanceEvent, wanted: Tunables, now: datetime) -> Level:
    """Return how loud it would have been at a call for which its condition holds."""
    if memory.predicate and memory.ceiling == Level.BLOCK:
        return Level.BLOCK
    phase, floor = Phase(call.phase or Phase.EXPLORE), wanted.relevance_min
    situation = Situation(call.reader_id, call.tool, phase, call.suggestion_type, call.target_key)
    if memory.predicate:
        ranked = rank(situation, [memory], now=now, relevance_min=floor, values=call.facts)
    else:
        one = scored_from(memory, relevance_of(situation, memory, 1.0), now=now)
        fits = one.relevance >= floor and one.score >= RANK_MIN
        ranked = [one] if fits and not elsewhere(situation, memory) else []
    return gate(ranked, situation=situation, tunables=wanted, seen=Seen(), now_s=now.timestamp()).level
