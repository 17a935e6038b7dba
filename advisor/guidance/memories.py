"""Derive drafts of memories from stored rows: patterns, replays, profile flags, peers, reasons.

Texts consist of our words only; a memory's target is in its columns. A pattern's confidence is the posterior
probability that the share lies on that side of one half, from Beta(1, 1). A pattern over many readers needs
more than five, each counted once, and is rounded to 5 points and fives of readers.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from advisor.guidance.situations import WRITE, Phase
from advisor.models import Memory
from digest.days import utc_day, utc_day_begin
from ranking.common.probability import beta_below
from suggestions.changes.change import Kind as Type
from suggestions.changes.registry import KINDS
from suggestions.outcomes.profile import ACCEPTED, BACKFIRES, REJECTED
from suggestions.proposals import HARMED, HELPED

Kind, Ceiling = Memory.Kind, Memory.Ceiling
PATTERN_SPAN, REPLAY_SPAN, TAG_SPAN = timedelta(days=180), timedelta(days=90), timedelta(days=90)
PEER_LIFE, MANY_LIFE = timedelta(days=7), timedelta(days=30)
OUTCOMES_MIN, REASONS_MIN, TAGS_MIN, TARGETS_MAX, REASONS_MAX, TAGS_MAX, PEERS_MAX = 3, 2, 3, 20, 12, 8, 8
READERS_MIN, LEAN, LEAN_MANY, TINY = 5, 2 / 3, 0.6, 1e-9
# Smaller deviations are within the noise of a figure; the largest there is is 0.2 (`ranking.community`).
DEVIATION_MIN, MANY_CONFIDENCE, RATE_STEP, READERS_STEP = 0.1, 0.6, 0.05, 5
KEY_CHARS_MAX, HASH_CHARS = 120, 16
CONFIDENCE = {"low": 0.5, "medium": 0.65, "high": 0.8}
LESS_OR_OTHER = "take a smaller step, or choose another type of change"
# fmt: off
# flag: (types, 1 do it / -1 beware / 0 neither, what to do, why)
FLAGS: Mapping[str, tuple[tuple[str, ...], int, str, str]] = {
    "never_reduce_sources": (
        (Type.REDUCE_SOURCE,), -1, "leave the source as it is and propose more of what is liked instead",
        "this reader turned down at least three such changes and keeps none"),
    "open_to_new_topics": (
        (Type.ADD_TOPIC,), 1, "propose it where titles from two sources bear it out",
        "this reader accepts most new topics"),
    "protective_of_existing_config": (
        (Type.REMOVE_TOPIC, Type.REDUCE_SOURCE), -1,
        "ask for it only where the thumbs are plain, and add something rather than take something away",
        "this reader turns down three of four changes that take something away"),
    "prefers_additions_over_removals": (
        (Type.REMOVE_TOPIC, Type.REDUCE_SOURCE), -1,
        "see first whether a new topic or more from a source would do",
        "this reader accepts additions far more often than removals"),
    "prefers_smaller_steps": (
        (Type.BOOST_SOURCE, Type.REDUCE_SOURCE), 0,
        "ask for about two thirds of the step you would otherwise take",
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
# Checks to make before a write, by the code that would refuse it. Codes that only waiting mends are missing
# here.
BEFOREHAND = {
    "evidence_contradicts": "try it with test_suggestion first, and drop what the thumbs speak against",
    "evidence_not_grounded": "copy each evidence URL exactly as query_user_feedback lists it",
    "evidence_off_target": "take evidence from the source itself, or with the topic as words of its title",
    "evidence_wrong_polarity": "take liked items for more of something, disliked ones for less",
    "field_mismatch": "leave suggested_value out where the target says all",
    "insufficient_evidence": "bring three different rated items or more",
    "invalid_arguments": "give every argument its declared form and nothing besides",
    "invalid_name": "give other names of a topic as short words, none of them a topic of the reader",
    "invalid_topic": "name the topic in one short line",
    "invalid_weight": "give the weight as a plain number such as 1.3",
    "name_disliked": "leave out other names whose articles this reader disliked",
    "names_late": "try other names before writing any other suggestion",
    "name_unsaid": "give only other names that this reader's articles say",
    "no_change": "read the current weight with query_user_config, and ask for another",
    "source_not_in_history": "take the source's key exactly as query_user_feedback gives it",
    "too_few_sources": "bring evidence for a topic from two sources or more",
    "topic_already_present": "read the topics with query_user_config, and propose one that is not there yet",
    "topic_not_present": "read the topics with query_user_config, and drop only one that is there",
    "weak_evidence": "choose a change with more thumbs behind it",
    "wrong_direction": "ask for more than the current weight to boost, for less to reduce",
}
PEER_DEEDS = ("ask for more evidence of this reader's own", "count it as one light sign for it")
MANY_DEEDS = {
    1: "count it as one light sign for it, unless this reader's own answers say otherwise",
    0: "expect neither yes nor no, and go by this reader's own answers",
    -1: "ask for plainer evidence than usual, unless this reader's own answers say otherwise",
}
YES_NO = "Because this reader accepted {hits} of {total} such suggestions."
# form: (kind, how long it holds, title, text)
FORMS: Mapping[str, tuple[Memory.Kind, timedelta, str, str]] = {
    "accepted+": (Kind.PATTERN, PATTERN_SPAN, "Accepts {change}",
        "When the thumbs speak alike for several changes: start with {change}. " + YES_NO),
    "accepted-": (Kind.PATTERN, PATTERN_SPAN, "Turns down {change}", "When thinking of {change}: "
        "look for another change first, and ask for clearer evidence than usual. " + YES_NO),
    "effects+": (Kind.PATTERN, PATTERN_SPAN, "Helps: {change}", "When the thumbs speak alike for several "
        "changes: prefer {change}. Because {hits} of {total} such changes made this reader's digest better."),
    "effects-": (Kind.PATTERN, PATTERN_SPAN, "Does harm: {change}", "When thinking of {change}: take a "
        "smaller step. Because {misses} of {total} such changes did harm or were taken back."),
    "reverted": (Kind.REPLAY, REPLAY_SPAN, "Taken back: {change}", "When thinking again of {change}: "
        "choose another target. Because this reader accepted it, and took it back on {since:%F}."),
    "harmed": (Kind.REPLAY, REPLAY_SPAN, "Did harm: {change}", "When thinking again of {change}: choose "
        "another target. Because this reader accepted it, and by {since:%F} it had made the digest worse."),
    "mended": (Kind.REPLAY, REPLAY_SPAN, "Mends {code}", "When a write comes back as {code}: {deed}, then "
        "write again. Because {times} such writes came through at the second attempt."),
    "refused": (Kind.REPLAY, REPLAY_SPAN, "Refused as {code}", "When about to write a suggestion: {deed}. "
        "Because {times} writes for this reader came back as {code} and none was mended."),
    "flag": (Kind.PROFILE, PATTERN_SPAN, "{flag}: {change}",
        "When thinking of {change}: {deed}. Because {because}."),
    "peer": (Kind.PEER, PEER_LIFE, "Others like this source {more}: {change}", "When weighing {change}: "
        "{deed}. Because five or more readers who share like it {more} than usual."),
    "reason": (Kind.BANK, PATTERN_SPAN, "Against {change}: {meant}", "When proposing {change}: {deed}. "
        "Because {times} of {total} refusals by this reader named {meant}."),
    "tag": (Kind.BANK, TAG_SPAN, "{change}: {liked}", "When proposing {change}: take items with {liked} as "
        "evidence and name that in the reason. Because this reader gave it with {times} thumbs {way}."),
    ACCEPTED + " by many": (Kind.PATTERN, MANY_LIFE, "How often readers accept {change}",
        "When weighing {change}: {deed}. Because a reader accepts about {rate:.0%} of such suggestions on "
        "average, over {readers} readers or more."),
    HELPED + " by many": (Kind.PATTERN, MANY_LIFE, "How often {change} helps",
        "When weighing {change}: {deed}. Because of such changes with a clear effect {rate:.0%} helped on "
        "average, over {readers} readers or more."),
}
# fmt: on


@dataclass(frozen=True, slots=True)
class Decided:
    """One ended suggestion. `effect` is the result of the outcome check, `reason` a code."""

    suggestion_type: str
    target_key: str
    outcome: str
    decided_at: datetime
    reverted_at: datetime | None = None
    effect: str | None = None
    effect_at: datetime | None = None
    reason: str = ""

    @property
    def answer(self) -> bool | None:
        """Return whether the reader accepted and did not go back; `None` if no answer is in force."""
        if self.reverted_at is not None:
            return False if self.outcome == ACCEPTED else None
        return {ACCEPTED: True, REJECTED: False}.get(self.outcome)

    @property
    def worked(self) -> bool | None:
        """Return whether the change did good: harmed and taken back count as no; `None` if not known."""
        harmed = self.reverted_at is not None or self.effect == HARMED
        known = self.outcome == ACCEPTED and (harmed or self.effect == HELPED)
        return not harmed if known else None

    @property
    def last_at(self) -> datetime:
        """Return the time of its newest outcome."""
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
    found: defaultdict[tuple[str, ...], list[tuple[bool, datetime]]] = defaultdict(list)
    wrong: defaultdict[tuple[str, ...], list[datetime]] = defaultdict(list)
    for row in rows:
        kind, about = row.suggestion_type, (row.suggestion_type, row.target_key)
        for key, yes in (
            (("accepted", kind), row.answer),
            (("accepted", *about), row.answer),
            (("effects", kind), row.worked),
        ):
            if yes is not None and row.last_at > now - PATTERN_SPAN:
                found[key].append((yes, row.last_at))
        if row.outcome == ACCEPTED and row.reverted_at is not None:
            wrong["reverted", *about].append(row.reverted_at)
        elif row.outcome == ACCEPTED and row.effect == HARMED and row.effect_at is not None:
            wrong["harmed", *about].append(row.effect_at)
    patterns = [draft for key, outcomes in sorted(found.items()) if (draft := _pattern(key, outcomes))]
    recent = [(key, dates) for key, dates in wrong.items() if max(dates) > now - REPLAY_SPAN]
    warnings = [_replay(key, dates, (key[1], key[2], -1), {}) for key, dates in recent]
    return [
        *(draft for draft in patterns if not draft.target_key),
        *sorted((draft for draft in patterns if draft.target_key), key=_newest)[:TARGETS_MAX],
        *sorted(warnings, key=_newest)[:TARGETS_MAX],
    ]


def lean_of(hits: int, total: int) -> int:
    """Return 1 if most say yes, -1 if most say no, and 0 if neither or too few do."""
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
            stats = acceptance.get(kind, {})
            answers = sum(stats.get(part, 0) for part in ("accepted", "rejected", "reverted"))
            worth = (answers, CONFIDENCE.get(str(stats.get("confidence")), CONFIDENCE["low"]))
            words = {"flag": name.replace("_", " ").capitalize(), "deed": deed, "because": because}
            yield _draft("flag", (name, kind), last_at, (kind, "", polarity), worth, words)


def write_drafts(writes: Iterable[Write], *, now: datetime) -> list[Memory]:
    """Return which refusals a second attempt at the change mended, and which, three times, nothing."""
    recent = [one for one in writes if one.at > now - REPLAY_SPAN]
    recent.sort(key=lambda one: (one.run, one.suggestion_type, one.target_key, one.n))
    found: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
    for refused, later in zip(recent, [*recent[1:], None], strict=False):
        if refused.code in BEFOREHAND:
            again = later is not None and refused[:1] + refused[2:4] == later[:1] + later[2:4]
            form = "mended" if again and later and not later.code else "refused"
            found[form, refused.code].append(refused.at)
    drafts = []
    for (form, code), dates in sorted(found.items()):
        polarity, phase = (1, Phase.REPAIR) if form == "mended" else (-1, Phase.WRITE)
        if polarity > 0 or (("mended", code) not in found and len(dates) >= OUTCOMES_MIN):
            words = {"code": code, "deed": BEFOREHAND[code], "times": len(dates)}
            draft = _replay((form, code), dates, ("", "", polarity), words)
            draft.tool, draft.phase = WRITE, phase.value
            drafts.append(draft)
    return drafts


def peer_drafts(
    deviations: Mapping[str, float], sources: Collection[str], *, now: datetime
) -> Iterator[Memory]:
    """Yield a hint for and one against each of the eight `sources` of the reader that others differ on most.

    `deviations` are published figures (`ranking.community`). A hint has no number and no evidence.
    """
    clear = [pair for pair in deviations.items() if pair[0] in sources and abs(pair[1]) >= DEVIATION_MIN]
    for source, lean in sorted(clear, key=lambda pair: (-abs(pair[1]), pair[0]))[:PEERS_MAX]:
        more, liked = ("more", Type.BOOST_SOURCE) if lean > 0 else ("less", Type.REDUCE_SOURCE)
        for kind in (Type.BOOST_SOURCE, Type.REDUCE_SOURCE):
            words, polarity = {"more": more, "deed": PEER_DEEDS[kind == liked]}, 1 if kind == liked else -1
            about, worth = (kind, source, polarity), (0, round(0.5 + abs(lean), 4))
            yield _draft("peer", (kind, source), utc_day_begin(utc_day(now)), about, worth, words)


def reason_drafts(rows: Iterable[Decided], *, now: datetime) -> list[Memory]:
    """Return drafts about a reader's reasons against a type of change, by code, the most common first."""
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
        (meant, deed, polarity), times, total = REASON_WORDS[code], len(dates), refused[kind]
        words = {"meant": meant, "deed": deed, "times": times, "total": total}
        worth, key = (times, round(times / (total + 2), 4)), ("reason", kind, code)
        drafts.append(_draft("reason", key, max(dates), (kind, "", polarity), worth, words))
    return drafts


def tag_drafts(rows: Iterable[tuple[str, str, bool, int, datetime]]) -> Iterator[Memory]:
    """Yield a reader's most frequent tags of single sources, from (source, tag, liked, times, last) rows."""
    known = [row for row in rows if row[1] in TAG_WORDS and row[3] >= TAGS_MIN]
    known.sort(key=lambda row: (-row[3], row[0], row[1], row[2]))
    for source, tag, useful, times, last in known[:TAGS_MAX]:
        kind, way = (Type.BOOST_SOURCE, "up") if useful else (Type.REDUCE_SOURCE, "down")
        words = {"liked": TAG_WORDS[tag], "times": times, "way": way}
        worth, key = (times, round(times / (times + 4), 4)), ("tag", tag, way, source)
        yield _draft("tag", key, last, (kind, source, 1), worth, words)


def many_drafts(shares: Iterable[tuple[str, str, int, int]], *, now: datetime) -> Iterator[Memory]:
    """Yield patterns over more than five readers, from (statistic, type, hits, total), one row a reader."""
    rates: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for statistic, kind, hits, total in shares:
        rates[statistic, kind].append(hits / total)
    for key, own in sorted(rates.items()):
        if len(own) <= READERS_MIN:
            continue
        rate = round(round(sum(own) / len(own) / RATE_STEP) * RATE_STEP, 2)
        readers = len(own) // READERS_STEP * READERS_STEP
        lean = (rate >= LEAN_MANY) - (rate <= round(1 - LEAN_MANY, 2))
        data = {"rate": rate, "readers": readers}
        about, worth = (key[1], "", lean), (readers, MANY_CONFIDENCE)
        # From midnight, so that a second run on the same day changes nothing.
        words = data | {"deed": MANY_DEEDS[lean]}
        draft = _draft(f"{key[0]} by many", key, utc_day_begin(utc_day(now)), about, worth, words)
        draft.data, draft.phase, draft.ceiling = data, Phase.HYPOTHESIZE.value, Ceiling.NOTE
        yield draft


def _pattern(key: tuple[str, ...], outcomes: Sequence[tuple[bool, datetime]]) -> Memory | None:
    hits, total = sum(yes for yes, _ in outcomes), len(outcomes)
    if not (lean := lean_of(hits, total)):
        return None
    target = "".join(key[2:])
    below_half = beta_below(hits + 1, total - hits + 1, 0.5)
    worth, about = (total, round(max(below_half, 1 - below_half), 4)), (key[1], target, lean)
    words: dict[str, Any] = {"hits": hits, "misses": total - hits, "total": total}
    words["change"] = KINDS[key[1]].texts.doing.format("a") + (" asked about before" if target else "")
    form, since = f"{key[0]}{'+' if lean > 0 else '-'}", max(at for _, at in outcomes)
    draft = _draft(form, key, since, about, worth, words)
    draft.data = {"hits": hits, "of": total}
    return draft


def _replay(
    key: tuple[str, ...], dates: Sequence[datetime], about: tuple[str, str, int], words: dict[str, Any]
) -> Memory:
    worth = (len(dates), round((len(dates) + 1) / (len(dates) + 2), 4))
    return _draft(key[0], key, max(dates), about, worth, words)


def _draft(
    form: str,
    key: Sequence[str],
    since: datetime,
    about: tuple[str, str, int],
    worth: tuple[int, float],
    words: Mapping[str, Any],
) -> Memory:
    """Return an unsaved memory about (type, target, polarity), worth (outcomes, confidence)."""
    joined = ":".join(key)
    if len(joined) > KEY_CHARS_MAX:
        digest = hashlib.sha1(joined.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
        joined = f"{joined[: KEY_CHARS_MAX - HASH_CHARS - 1]}~{digest[:HASH_CHARS]}"
    kind, span, title, text = FORMS[form]
    change = KINDS[about[0]].texts.doing.format("this" if about[1] else "a") if about[0] else ""
    words = {"change": change, "since": since, **words}
    row = Memory(kind=kind, key=joined, title=title.format(**words), text=text.format(**words))
    row.suggestion_type, row.target_key, row.polarity = about
    row.evidence, row.confidence = worth
    row.ceiling = Ceiling.NOTE if kind in (Kind.PEER, Kind.BANK) else Ceiling.WARNING
    row.valid_from, row.expires_at = since, since + span
    return row


def _newest(draft: Memory) -> tuple[float, str]:
    return -draft.valid_from.timestamp(), draft.key
