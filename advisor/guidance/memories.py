"""What rows teach, as drafts of memories: patterns, replays, profile flags, peers, reasons.

Texts are made of our words alone ("When …: …. Because …."): no reader's note, title or topic and no source's
name is in them; what a memory is about is in its columns. A pattern needs three outcomes and two thirds or
more one way, speaks of the last 180 days and lapses 180 days after its newest outcome; its confidence is the
posterior probability that the share lies on that side of one half, from Beta(1, 1). What went wrong once is
remembered by its target for 90 days, and so is what mended a refused write. Over many readers, a pattern
rests on more than five, each counted once, rounded to 5 points and to fives of readers.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from scipy.special import betainc

from advisor.guidance.entities import WRITE, Phase
from advisor.guidance.wording import DOING
from advisor.models import Memory
from ranking.crowd import READERS_MIN
from suggestions.entities import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC
from suggestions.outcomes.effects import HARMED, HELPED
from suggestions.outcomes.profile import ACCEPTED, BACKFIRES, REJECTED

Kind, Ceiling = Memory.Kind, Memory.Ceiling
PATTERN_SPAN, REPLAY_SPAN, TAG_SPAN = timedelta(days=180), timedelta(days=90), timedelta(days=90)
PEER_LIFE, MANY_LIFE = timedelta(days=7), timedelta(days=30)
OUTCOMES_MIN, REASONS_MIN, TAGS_MIN, TARGETS_MAX, REASONS_MAX, TAGS_MAX, PEERS_MAX = 3, 2, 3, 20, 12, 8, 8
LEAN, LEAN_MANY, TINY = 2 / 3, 0.6, 1e-9
# Smaller deviations are within what five readers differ by; the largest there is is 0.2 (`ranking.crowd`).
DEVIATION_MIN, MANY_CONFIDENCE, RATE_STEP, READERS_STEP = 0.1, 0.6, 0.05, 5
KEY_CHARS_MAX, HASH_CHARS = 120, 16
SOURCE_REFS: dict[str, str] = {
    Kind.PROFILE: "profile",
    Kind.BANK: "reasons given",
    Kind.PEER: "readers who share",
}
OWN, MANY, RUNS = "own outcomes", "many readers", "own runs"
CONFIDENCE = {"low": 0.5, "medium": 0.65, "high": 0.8}
ALIKE = "the thumbs speak alike for several changes"
LESS_OR_OTHER = "take a smaller step, or choose another type of change"
# fmt: off
# flag: (types, 1 do it / -1 beware / 0 neither, what to do, why)
FLAGS: Mapping[str, tuple[tuple[str, ...], int, str, str]] = {
    "never_reduce_sources": (
        (REDUCE_SOURCE,), -1, "leave the source as it is and propose more of what is liked instead",
        "this reader turned down at least three such changes and keeps none"),
    "open_to_new_topics": (
        (ADD_TOPIC,), 1, "propose it where titles from two sources bear it out",
        "this reader accepts most new topics"),
    "protective_of_existing_config": (
        (REMOVE_TOPIC, REDUCE_SOURCE), -1,
        "ask for it only where the thumbs are plain, and add something rather than take something away",
        "this reader turns down three of four changes that take something away"),
    "prefers_additions_over_removals": (
        (REMOVE_TOPIC, REDUCE_SOURCE), -1, "see first whether a new topic or more from a source would do",
        "this reader accepts additions far more often than removals"),
    "prefers_smaller_steps": (
        (BOOST_SOURCE, REDUCE_SOURCE), 0, "ask for about two thirds of the step you would otherwise take",
        "this reader chose smaller steps than those proposed"),
    **{name: ((kind,), -1, LESS_OR_OTHER,
              "such changes harmed this reader's digest, or were taken back, too often")
       for kind, name in BACKFIRES.items()},
}
# code: (what the reader meant, what to do about it, -1 beware / 0 neither)
REASON_WORDS = {
    "too_much": ("too large a step", "offer a smaller step", 0),
    "too_little": ("too small a step", "offer a larger step within the limit", 0),
    "bad_timing": ("the wrong moment", "leave it for some weeks unless the thumbs are new", -1),
    "already_done": ("something done already", "check with query_user_config that it is not there yet", 0),
    "fine_as_is": ("settings that are right as they stand", "leave what is set; look for something new", -1),
    "not_interested": ("no interest", "keep to what this reader rates often", -1),
    "unconvinced": ("weak evidence", "bring more and newer evidence, and name counts", 0),
}
TAG_WORDS = {
    "clarity": "clear writing", "depth": "real depth", "original": "original reporting",
    "practical": "practical use", "surprising": "something new", "on-topic": "the right topic",
    "hype": "too much hype", "clickbait": "clickbait headlines", "shallow": "too little depth",
    "known": "nothing new", "paywall": "paywalls", "off-topic": "the wrong topic",
}
# What to see to before a write, by the code that refuses it; what only waiting mends has no place here.
BEFOREHAND = {
    "evidence_contradicts": "try it with test_suggestion first, and drop what the thumbs speak against",
    "evidence_not_grounded": "copy each evidence URL exactly as query_user_feedback lists it",
    "evidence_off_target": "take evidence from the source itself, or with the topic as words of its title",
    "evidence_wrong_polarity": "take liked items for more of something, disliked ones for less",
    "field_mismatch": "set field to topics for topics and to source_weights for sources",
    "insufficient_evidence": "bring three different rated items or more",
    "invalid_arguments": "give every argument its declared form and nothing besides",
    "invalid_topic": "name the topic in one short line",
    "invalid_weight": "give the weight as a plain number such as 1.3",
    "no_change": "read the current weight with query_user_config, and ask for another",
    "source_not_in_history": "take the source's key exactly as query_user_feedback gives it",
    "too_few_sources": "bring evidence for a topic from two sources or more",
    "topic_already_present": "read the topics with query_user_config, and propose one that is not there yet",
    "topic_not_present": "read the topics with query_user_config, and drop only one that is there",
    "weak_evidence": "choose a change with more thumbs behind it",
    "wrong_direction": "ask for more than the current weight to boost, for less to reduce",
}
MANY_TITLES = {ACCEPTED: "How often readers accept {}", HELPED: "How often {} helps"}
MANY_DEEDS = {
    1: "count it as one light sign for it, unless this reader's own answers say otherwise",
    0: "expect neither yes nor no, and go by this reader's own answers",
    -1: "ask for plainer evidence than usual, unless this reader's own answers say otherwise",
}
MANY_REASONS = {
    ACCEPTED: "a reader accepts about {:.0%} of such suggestions on average, over {} readers or more",
    HELPED: "of such changes with a clear effect {:.0%} helped on average, over {} readers or more",
}
# fmt: on


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
        """Return whether the reader said yes and stayed with it; `None` where no answer is in force."""
        if self.outcome == ACCEPTED:
            return self.reverted_at is None
        return False if self.outcome == REJECTED and self.reverted_at is None else None

    @property
    def worked(self) -> bool | None:
        """Return whether the change did good: harmed and taken back count as no; `None` if not known."""
        if self.outcome != ACCEPTED:
            return None
        if self.reverted_at is not None or self.effect == HARMED:
            return False
        return True if self.effect == HELPED else None

    @property
    def last_at(self) -> datetime:
        """Return when the newest of its outcomes came."""
        return max(at for at in (self.decided_at, self.reverted_at, self.effect_at) if at is not None)


class Write(NamedTuple):
    """One write of a run; `code` is empty for one that went through."""

    run: str
    n: int
    suggestion_type: str
    target_key: str
    code: str
    at: datetime


def decision_drafts(rows: Iterable[Decided], *, now: datetime) -> list[Memory]:
    """Return the patterns and warnings that a reader's own outcomes bear out, in a stable order."""
    known = list(rows)
    types: defaultdict[str, list[Decided]] = defaultdict(list)
    targets: defaultdict[tuple[str, str], list[Decided]] = defaultdict(list)
    for row in known:
        if row.last_at > now - PATTERN_SPAN:
            types[row.suggestion_type].append(row)
            targets[row.suggestion_type, row.target_key].append(row)
    by_type = [
        one for kind, own in sorted(types.items()) for one in (_accepted(own, kind), _worked(own, kind))
    ]
    by_target = [_accepted(own, kind, target) for (kind, target), own in targets.items()]
    return [*filter(None, by_type), *_newest(filter(None, by_target)), *_newest(_gone_wrong(known, now))]


def lean_of(hits: int, total: int) -> int:
    """Return 1 where most say yes, -1 where most say no, 0 where neither or too few."""
    if total < OUTCOMES_MIN:
        return 0
    return (hits / total >= LEAN - TINY) - (hits / total <= 1 - LEAN + TINY)


def flag_drafts(
    patterns: Mapping[str, Any], acceptance: Mapping[str, Any], *, last_at: datetime | None, now: datetime
) -> Iterator[Memory]:
    """Yield one draft for each flag of the profile's `patterns` that holds and each type it is about."""
    if last_at is None or last_at <= now - PATTERN_SPAN:
        return
    for name, (types, polarity, deed, because) in FLAGS.items():
        for kind in types if patterns.get(name) is True else ():
            stats, change = acceptance.get(kind, {}), DOING[kind].format("a")
            counts = [stats.get(part, 0) for part in ("accepted", "rejected", "reverted")]
            worth = (sum(counts), CONFIDENCE.get(str(stats.get("confidence")), CONFIDENCE["low"]))
            title = f"{name.replace('_', ' ').capitalize()}: {change}"
            text, life = (f"thinking of {change}", deed, because), (last_at, PATTERN_SPAN)
            about = (kind, "", polarity)
            yield _draft(Kind.PROFILE, (name, kind), title, text, life, about, worth, data={"flag": name})


def write_drafts(writes: Iterable[Write], *, now: datetime) -> list[Memory]:
    """Return what the writes of the last 90 days teach, by code: refusals that a second attempt about the
    same change mended, and those that came three times and nothing mended."""
    by_change: defaultdict[tuple[str, str, str], list[Write]] = defaultdict(list)
    for one in sorted(writes, key=lambda one: (one.run, one.n)):
        if one.at > now - REPLAY_SPAN:
            by_change[one.run, one.suggestion_type, one.target_key].append(one)
    mended: defaultdict[str, list[datetime]] = defaultdict(list)
    lost: defaultdict[str, list[datetime]] = defaultdict(list)
    for tries in by_change.values():
        for refused, later in zip(tries, [*tries[1:], None], strict=True):
            if refused.code in BEFOREHAND:
                (mended if later and not later.code else lost)[refused.code].append(refused.at)
    drafts = []
    for code, dates in sorted(mended.items()):
        because = f"{len(dates)} such writes came through at the second attempt"
        text = (f"a write comes back as {code}", f"{BEFOREHAND[code]}, then write again", because)
        drafts.append(_tried(("mended", code), f"Mends {code}", text, dates, Phase.REPAIR, 1))
    for code, dates in sorted(lost.items()):
        because = f"{len(dates)} writes for this reader came back as {code} and none was mended"
        text = ("about to write a suggestion", BEFOREHAND[code], because)
        if code not in mended and len(dates) >= OUTCOMES_MIN:
            drafts.append(_tried(("refused", code), f"Refused as {code}", text, dates, Phase.WRITE, -1))
    return drafts


def peer_drafts(
    deviations: Mapping[str, float], sources: Collection[str], *, now: datetime
) -> Iterator[Memory]:
    """Yield a hint for and one against each of the eight `sources` of the reader that others differ on most.

    `deviations` rest on at least five readers each. A hint carries no number of anybody, and no evidence.
    """
    clear = [pair for pair in deviations.items() if pair[0] in sources and abs(pair[1]) >= DEVIATION_MIN]
    for source, lean in sorted(clear, key=lambda pair: (-abs(pair[1]), pair[0]))[:PEERS_MAX]:
        more = "more" if lean > 0 else "less"
        for kind in (BOOST_SOURCE, REDUCE_SOURCE):
            agrees, change = (lean > 0) is (kind == BOOST_SOURCE), DOING[kind].format("this")
            own = "ask for more evidence of this reader's own"
            deed = "count it as one light sign for it" if agrees else own
            text = (f"weighing {change}", deed, f"five or more readers who share like it {more} than usual")
            title, about = f"Others like this source {more}: {change}", (kind, source, 1 if agrees else -1)
            life, worth = (midnight(now), PEER_LIFE), (0, round(0.5 + abs(lean), 4))
            data = {"deviation": round(lean, 2)}
            yield _draft(Kind.PEER, (kind, source), title, text, life, about, worth, data=data)


def reason_drafts(rows: Iterable[Decided], *, now: datetime) -> list[Memory]:
    """Return what a reader's reasons against a type of change come to, by code, the commonest first."""
    grouped: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
    refused = Counter[str]()
    for row in rows:
        if row.answer is False and row.decided_at > now - PATTERN_SPAN:
            refused[row.suggestion_type] += 1
            if row.reason in REASON_WORDS:
                grouped[row.suggestion_type, row.reason].append(row.decided_at)
    drafts = []
    common = [pair for pair in grouped.items() if len(pair[1]) >= REASONS_MIN]
    for (kind, code), dates in sorted(common, key=lambda pair: (-len(pair[1]), pair[0]))[:REASONS_MAX]:
        (meant, deed, polarity), count, change = REASON_WORDS[code], len(dates), DOING[kind].format("a")
        because = f"{count} of {refused[kind]} refusals by this reader named {meant}"
        text, life = (f"proposing {change}", deed, because), (max(dates), PATTERN_SPAN)
        about, worth = (kind, "", polarity), (count, round(count / (refused[kind] + 2), 4))
        key, data = ("reason", kind, code), {"code": code, "times": count, "total": refused[kind]}
        drafts.append(
            _draft(Kind.BANK, key, f"Against {change}: {meant}", text, life, about, worth, data=data)
        )
    return drafts


def tag_drafts(rows: Iterable[tuple[str, str, bool, int, datetime]]) -> Iterator[Memory]:
    """Yield what a reader names most about single sources, from (source, tag, liked, times, last) rows."""
    known = [row for row in rows if row[1] in TAG_WORDS and row[3] >= TAGS_MIN]
    known.sort(key=lambda row: (-row[3], row[0], row[1], row[2]))
    for source, tag, useful, count, last in known[:TAGS_MAX]:
        kind, way = (BOOST_SOURCE, "up") if useful else (REDUCE_SOURCE, "down")
        change, words = DOING[kind].format("this"), TAG_WORDS[tag]
        deed = f"take items with {words} as evidence and name that in the reason"
        text = (f"proposing {change}", deed, f"this reader gave it with {count} thumbs {way}")
        title, life = f"{words.capitalize()}: {change}", (last, TAG_SPAN)
        about, worth = (kind, source, 1), (count, round(count / (count + 4), 4))
        data = {"tag": tag, "times": count}
        yield _draft(Kind.BANK, ("tag", tag, way, source), title, text, life, about, worth, data=data)


def many_drafts(shares: Iterable[tuple[str, str, int, int]], *, now: datetime) -> Iterator[Memory]:
    """Yield patterns over more than five readers, from (statistic, type, hits, total), one row a reader."""
    rates: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for statistic, kind, hits, total in shares:
        rates[statistic, kind].append(hits / total)
    for (statistic, kind), own in sorted(rates.items()):
        rate = round(round(sum(own) / len(own) / RATE_STEP) * RATE_STEP, 2)
        readers = len(own) // READERS_STEP * READERS_STEP
        lean = (rate >= LEAN_MANY) - (rate <= round(1 - LEAN_MANY, 2))
        change, because = DOING[kind].format("a"), MANY_REASONS[statistic].format(rate, readers)
        text, about = (f"weighing {change}", MANY_DEEDS[lean], because), (kind, "", lean)
        title, data = MANY_TITLES[statistic].format(change), {"rate": rate, "readers": readers}
        # To the day, so that a second run on the same day changes nothing.
        life, worth, key = (midnight(now), MANY_LIFE), (readers, MANY_CONFIDENCE), (statistic, kind)
        if len(own) > READERS_MIN:
            more = {"source_ref": MANY, "phase": Phase.HYPOTHESIZE.value, "ceiling": Ceiling.NOTE}
            yield _draft(Kind.PATTERN, key, title, text, life, about, worth, data=data, **more)


def midnight(day: datetime | date) -> datetime:
    """Return the beginning of a UTC day."""
    day = day.astimezone(UTC).date() if isinstance(day, datetime) else day
    return datetime.combine(day, time.min, UTC)


def _draft(
    kind: str,
    key: Sequence[str],
    title: str,
    text: tuple[str, str, str],
    life: tuple[datetime, timedelta],
    about: tuple[str, str, int],
    worth: tuple[int, float],
    **columns: Any,
) -> Memory:
    """Return an unsaved memory of a text (situation, deed, reason) that holds from a moment for a span, about
    a type, a target and with a polarity, worth (outcomes, confidence)."""
    joined = ":".join(key)
    if len(joined) > KEY_CHARS_MAX:
        digest = hashlib.sha1(joined.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
        joined = f"{joined[: KEY_CHARS_MAX - HASH_CHARS - 1]}~{digest[:HASH_CHARS]}"
    ceiling = Ceiling.NOTE if kind in (Kind.PEER, Kind.BANK) else Ceiling.WARNING
    columns = {"source_ref": SOURCE_REFS.get(kind, OWN), "ceiling": ceiling, **columns}
    columns |= dict(zip(("suggestion_type", "target_key", "polarity"), about, strict=True))
    columns |= {"evidence": worth[0], "confidence": worth[1]}
    columns |= {"valid_from": life[0], "expires_at": life[0] + life[1]}
    return Memory(
        kind=kind, key=joined, title=title, text="When {}: {}. Because {}.".format(*text), **columns
    )


def _accepted(rows: Sequence[Decided], kind: str, target: str = "") -> Memory | None:
    answered = [row for row in rows if row.answer is not None]
    hits, total = sum(bool(row.answer) for row in answered), len(answered)
    change = f"{DOING[kind].format('a')}{' asked about before' if target else ''}"
    because = f"this reader accepted {hits} of {total} such suggestions"
    deed = "look for another change first, and ask for clearer evidence than usual"
    title, text = f"Turns down {change}", (f"thinking of {change}", deed, because)
    if lean_of(hits, total) > 0:
        title, text = f"Accepts {change}", (ALIKE, f"start with {change}", because)
    return _pattern(("accepted", kind, *([target] if target else [])), target, hits, answered, title, text)


def _worked(rows: Sequence[Decided], kind: str) -> Memory | None:
    known = [row for row in rows if row.worked is not None]
    hits, total, change = sum(bool(row.worked) for row in known), len(known), DOING[kind].format("a")
    because = f"{total - hits} of {total} such changes did harm or were taken back"
    deed = "take a smaller step or another change"
    title, text = f"Does harm: {change}", (f"thinking of {change}", deed, because)
    if lean_of(hits, total) > 0:
        because = f"{hits} of {total} such changes made this reader's digest better"
        title, text = f"Helps: {change}", (ALIKE, f"prefer {change}", because)
    return _pattern(("effects", kind), "", hits, known, title, text)


def _pattern(
    key: tuple[str, ...],
    target: str,
    hits: int,
    rows: Sequence[Decided],
    title: str,
    text: tuple[str, str, str],
) -> Memory | None:
    total = len(rows)
    if not (lean := lean_of(hits, total)):
        return None
    life, about = (max(row.last_at for row in rows), PATTERN_SPAN), (key[1], target, lean)
    below_half = float(betainc(hits + 1, total - hits + 1, 0.5))
    data, worth = {"hits": hits, "of": total}, (total, round(max(below_half, 1 - below_half), 4))
    return _draft(Kind.PATTERN, key, title, text, life, about, worth, data=data)


def _gone_wrong(rows: Sequence[Decided], now: datetime) -> Iterator[Memory]:
    """Yield what was taken back or did harm in the last 90 days, by target."""
    grouped: defaultdict[tuple[str, str, str], list[datetime]] = defaultdict(list)
    for row in rows:
        if row.outcome == ACCEPTED and row.reverted_at is not None:
            grouped["reverted", row.suggestion_type, row.target_key].append(row.reverted_at)
        elif row.outcome == ACCEPTED and row.effect == HARMED and row.effect_at is not None:
            grouped["harmed", row.suggestion_type, row.target_key].append(row.effect_at)
    for key, dates in grouped.items():
        change, last, undone = DOING[key[1]].format("this"), max(dates), key[0] == "reverted"
        after = f"took it back on {last:%F}" if undone else f"by {last:%F} it had made the digest worse"
        because = f"this reader accepted it, and {after}"
        text = (f"thinking again of {change}", "choose another target", because)
        title, about = f"{'Taken back' if undone else 'Did harm'}: {change}", (key[1], key[2], -1)
        times = len(dates)
        worth, data = (times, round((times + 1) / (times + 2), 4)), {"times": times}
        if last > now - REPLAY_SPAN:
            yield _draft(Kind.REPLAY, key, title, text, (last, REPLAY_SPAN), about, worth, data=data)


def _tried(
    key: tuple[str, str],
    title: str,
    text: tuple[str, str, str],
    dates: Sequence[datetime],
    phase: Phase,
    lean: int,
) -> Memory:
    times, life, about = len(dates), (max(dates), REPLAY_SPAN), ("", "", lean)
    worth, data = (times, round((times + 1) / (times + 2), 4)), {"times": times}
    more = {"source_ref": RUNS, "tool": WRITE, "phase": phase.value}
    return _draft(Kind.REPLAY, key, title, text, life, about, worth, data=data, **more)


def _newest(drafts: Iterable[Memory]) -> list[Memory]:
    return sorted(drafts, key=lambda draft: (-draft.valid_from.timestamp(), draft.key))[:TARGETS_MAX]
