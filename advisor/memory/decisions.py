"""What a reader's own decisions teach the next run: patterns by type and target, and what went wrong. Pure.

A pattern needs three outcomes and a clear lean: two thirds or more one way. It speaks of the last 180 days
and lapses 180 days after its newest outcome. Its confidence is the posterior probability that the share lies
on that side of one half, from Beta(1, 1), as `suggestions.profile` judges acceptance.

A change that the reader took back, or that the check found harmful, is remembered by its target for 90 days;
one such outcome is enough to be told, softly: what is told loudly needs three (`Tunables`).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scipy.special import betainc

from advisor.guidance.distilling import Draft
from advisor.guidance.entities import Kind
from advisor.memory.phrases import advice, any_change, memory_key, this_change
from suggestions.profile import ACCEPTED, HARMED, HELPED, REJECTED

PATTERN_SPAN, REPLAY_SPAN = timedelta(days=180), timedelta(days=90)
OUTCOMES_MIN = 3
LEAN = 2 / 3
TARGETS_MAX = 20
TINY = 1e-9
OWN = "own outcomes"
ALIKE = "the thumbs speak alike for several changes"


@dataclass(frozen=True, slots=True)
class Decided:
    """One suggestion that ended. `reverted_at`: when the answer was taken back; `effect`: what the check
    found; `reason`: the code of the reader's reason."""

    suggestion_type: str
    target_key: str
    outcome: str
    decided_at: datetime
    reverted_at: datetime | None = None
    effect: str = ""
    effect_at: datetime | None = None
    reason: str = ""

    @property
    def answer(self) -> bool | None:
        """Whether the reader said yes and stood by it; `None` where there is no answer that stands."""
        if self.outcome == ACCEPTED:
            return self.reverted_at is None
        return False if self.outcome == REJECTED and self.reverted_at is None else None

    @property
    def worked(self) -> bool | None:
        """Whether the change did good: harmed and taken back count as no; `None` where it is not known."""
        if self.outcome != ACCEPTED:
            return None
        if self.reverted_at is not None or self.effect == HARMED:
            return False
        return True if self.effect == HELPED else None

    @property
    def last_at(self) -> datetime:
        """When the newest of its outcomes came."""
        return max(at for at in (self.decided_at, self.reverted_at, self.effect_at) if at is not None)


def decision_drafts(rows: Iterable[Decided], *, now: datetime) -> list[Draft]:
    """The patterns and warnings that a reader's own outcomes bear out, in a stable order."""
    known = list(rows)
    lately = [row for row in known if row.last_at > now - PATTERN_SPAN]
    return [*_by_type(lately), *_by_target(lately), *_gone_wrong(known, now)]


def lean_of(hits: int, total: int) -> int:
    """1 where most say yes, -1 where most say no, 0 where neither or too few."""
    if total < OUTCOMES_MIN:
        return 0
    share = hits / total
    return 1 if share >= LEAN - TINY else -1 if share <= 1 - LEAN + TINY else 0


def sureness(hits: int, total: int) -> float:
    """P(the share of yes lies on its side of one half) after `hits` of `total`, from Beta(1, 1)."""
    below_half = float(betainc(hits + 1, total - hits + 1, 0.5))
    return round(max(below_half, 1 - below_half), 4)


def _by_type(rows: Sequence[Decided]) -> list[Draft]:
    grouped: defaultdict[str, list[Decided]] = defaultdict(list)
    for row in rows:
        grouped[row.suggestion_type].append(row)
    found = (
        draft
        for kind, of_type in sorted(grouped.items())
        for draft in (_accepted(of_type, kind), _worked(of_type, kind))
    )
    return [draft for draft in found if draft]


def _by_target(rows: Sequence[Decided]) -> list[Draft]:
    """The answers about one target, the newest targets first."""
    grouped: defaultdict[tuple[str, str], list[Decided]] = defaultdict(list)
    for row in rows:
        grouped[row.suggestion_type, row.target_key].append(row)
    found = [draft for (kind, target), own in grouped.items() if (draft := _accepted(own, kind, target))]
    return sorted(found, key=_newest_first)[:TARGETS_MAX]


def _accepted(rows: Sequence[Decided], kind: str, target: str = "") -> Draft | None:
    answered = [row for row in rows if row.answer is not None]
    hits, total = sum(bool(row.answer) for row in answered), len(answered)
    lean = lean_of(hits, total)
    if not lean:
        return None
    change = f"{any_change(kind)} asked about before" if target else any_change(kind)
    because = f"this reader accepted {hits} of {total} such suggestions"
    if lean > 0:
        title, text = f"Accepts {change}", advice(ALIKE, f"start with {change}", because)
    else:
        deed = "look for another change first, and ask for clearer evidence than usual"
        title, text = f"Turns down {change}", advice(f"thinking of {change}", deed, because)
    return _pattern("accepted", kind, target, lean, hits, answered, title, text)


def _worked(rows: Sequence[Decided], kind: str) -> Draft | None:
    known = [row for row in rows if row.worked is not None]
    hits, total = sum(bool(row.worked) for row in known), len(known)
    lean, change = lean_of(hits, total), any_change(kind)
    if not lean:
        return None
    if lean > 0:
        title, deed = f"Helps: {change}", f"prefer {change}"
        text = advice(ALIKE, deed, f"{hits} of {total} such changes made this reader's digest better")
    else:
        title, deed = f"Does harm: {change}", "take a smaller step or another change"
        because = f"{total - hits} of {total} such changes did harm or were taken back"
        text = advice(f"thinking of {change}", deed, because)
    return _pattern("effects", kind, "", lean, hits, known, title, text)


def _pattern(
    what: str,
    kind: str,
    target: str,
    lean: int,
    hits: int,
    rows: Sequence[Decided],
    title: str,
    text: str,
) -> Draft:
    last = max(row.last_at for row in rows)
    return Draft(
        kind=Kind.PATTERN,
        key=memory_key(what, kind, *([target] if target else [])),
        title=title,
        text=text,
        suggestion_type=kind,
        target_key=target,
        polarity=lean,
        evidence=len(rows),
        confidence=sureness(hits, len(rows)),
        data={"hits": hits, "of": len(rows), **({"advises": {"suggestion_type": kind}} if lean > 0 else {})},
        source_ref=OWN,
        valid_from=last,
        expires_at=last + PATTERN_SPAN,
    )


def _gone_wrong(rows: Sequence[Decided], now: datetime) -> list[Draft]:
    """What was taken back or did harm in the last 90 days, by target, the newest first."""
    grouped: defaultdict[tuple[str, str, str], list[datetime]] = defaultdict(list)
    for row in rows:
        if row.outcome == ACCEPTED and row.reverted_at is not None:
            grouped["reverted", row.suggestion_type, row.target_key].append(row.reverted_at)
        elif row.outcome == ACCEPTED and row.effect == HARMED and row.effect_at is not None:
            grouped["harmed", row.suggestion_type, row.target_key].append(row.effect_at)
    found = [_warning(*about, dates) for about, dates in grouped.items() if max(dates) > now - REPLAY_SPAN]
    return sorted(found, key=_newest_first)[:TARGETS_MAX]


def _warning(what: str, kind: str, target: str, dates: Sequence[datetime]) -> Draft:
    change, last = this_change(kind), max(dates)
    reasons = {
        "reverted": f"this reader accepted it and took it back on {last:%F}",
        "harmed": f"this reader accepted it, and by {last:%F} it had made the digest worse",
    }
    return Draft(
        kind=Kind.REPLAY,
        key=memory_key(what, kind, target),
        title=f"{'Taken back' if what == 'reverted' else 'Did harm'}: {change}",
        text=advice(f"thinking again of {change}", "choose another target", reasons[what]),
        suggestion_type=kind,
        target_key=target,
        polarity=-1,
        evidence=len(dates),
        confidence=round((len(dates) + 1) / (len(dates) + 2), 4),
        data={"times": len(dates)},
        source_ref=OWN,
        valid_from=last,
        expires_at=last + REPLAY_SPAN,
    )


def _newest_first(draft: Draft) -> tuple[float, str]:
    return -draft.valid_from.timestamp(), draft.key
