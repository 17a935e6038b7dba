"""What past runs' refused writes teach: what let a second attempt through, and what never did. Pure.

An attempt is known by its code, its change and what it gave, never by its words: those are a model's. What
mended it is what the successful attempt about the same change in the same run gave otherwise. A mend seen
once is remembered, a refusal that nothing mended from three on; both for 90 days after the newest.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.guidance.distilling import Draft
from advisor.guidance.entities import Kind, Phase
from advisor.memory.decisions import OUTCOMES_MIN, REPLAY_SPAN
from advisor.memory.phrases import advice

WRITE = "write_suggestion"
OWN_RUNS = "own runs"
# What to see to before a write, by the code that refuses it (`suggestions.rules`); what only waiting mends
# has no place here.
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
MENDS = {
    "more_evidence": "bring more evidence items",
    "other_evidence": "exchange the evidence items",
    "smaller_step": "ask for a smaller value",
    "larger_step": "ask for a larger value",
    "other_value": "name the value otherwise",
    "other_words": "word the reason anew",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One write of a run as it was made. `change` is its type and target, `words` stands for its reason
    without being it, `code` is empty for one that went through."""

    run: str
    n: int
    change: tuple[str, str]
    code: str
    at: datetime
    value: str | float | None = None
    urls: frozenset[str] = frozenset()
    words: str = ""


def write_drafts(attempts: Iterable[Attempt], *, now: datetime) -> list[Draft]:
    """What the attempts of the last 90 days teach, by code."""
    lately = [attempt for attempt in attempts if attempt.at > now - REPLAY_SPAN]
    mended, lost = _sorted_out(lately)
    drafts = [_mend(code, found) for code, found in sorted(mended.items())]
    beyond = ((code, dates) for code, dates in sorted(lost.items()) if code not in mended)
    return drafts + [_caution(code, dates) for code, dates in beyond if len(dates) >= OUTCOMES_MIN]


def mends_of(refused: Attempt, passed: Attempt) -> tuple[str, ...]:
    """What the successful attempt gave otherwise, as keys of `MENDS`."""
    found = []
    if passed.urls != refused.urls:
        found.append("more_evidence" if len(passed.urls) > len(refused.urls) else "other_evidence")
    if passed.value != refused.value:
        found.append(_value_mend(refused.value, passed.value))
    if passed.words != refused.words and not found:
        found.append("other_words")
    return tuple(found)


def _value_mend(before: str | float | None, after: str | float | None) -> str:
    if isinstance(before, float) and isinstance(after, float):
        return "smaller_step" if after < before else "larger_step"
    return "other_value"


def _sorted_out(
    attempts: Sequence[Attempt],
) -> tuple[dict[str, list[tuple[tuple[str, ...], datetime]]], dict[str, list[datetime]]]:
    """By code: what mended a refusal and when, and when one was left unmended."""
    by_change: defaultdict[tuple[str, tuple[str, str]], list[Attempt]] = defaultdict(list)
    for attempt in sorted(attempts, key=lambda one: (one.run, one.n)):
        by_change[attempt.run, attempt.change].append(attempt)
    mended: defaultdict[str, list[tuple[tuple[str, ...], datetime]]] = defaultdict(list)
    lost: defaultdict[str, list[datetime]] = defaultdict(list)
    for tries in by_change.values():
        for place, refused in enumerate(tries):
            if refused.code not in BEFOREHAND:
                continue
            after = tries[place + 1 :]
            follower = after[0] if after else None
            mends = mends_of(refused, follower) if follower and not follower.code else ()
            if mends:
                mended[refused.code].append((mends, refused.at))
            else:
                lost[refused.code].append(refused.at)
    return dict(mended), dict(lost)


def _mend(code: str, found: Sequence[tuple[tuple[str, ...], datetime]]) -> Draft:
    """The commonest way in which a refusal was mended."""
    counted = Counter(mends for mends, _ in found)
    mends, count = min(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    deed = " and ".join(MENDS[mend] for mend in mends)
    saved = f"that saved {count} of {len(found)} such writes that came through at the second attempt"
    return _draft(
        code,
        "mended",
        f"Mends {code}",
        advice(f"a write comes back as {code}", f"{deed}, then write again", saved),
        [at for _, at in found],
        count,
        {"mends": list(mends)},
    )


def _caution(code: str, dates: Sequence[datetime]) -> Draft:
    because = f"{len(dates)} writes for this reader came back as {code} and none was mended"
    return _draft(
        code,
        "refused",
        f"Refused as {code}",
        advice("about to write a suggestion", BEFOREHAND[code], because),
        dates,
        len(dates),
        {},
    )


def _draft(
    code: str,
    what: str,
    title: str,
    text: str,
    dates: Sequence[datetime],
    count: int,
    data: dict[str, object],
) -> Draft:
    last, mended = max(dates), what == "mended"
    return Draft(
        kind=Kind.REPLAY,
        key=f"{what}:{code}",
        title=title,
        text=text,
        tool=WRITE,
        phase=Phase.REPAIR if mended else Phase.WRITE,
        polarity=1 if mended else -1,
        evidence=count,
        confidence=round((count + 1) / (len(dates) + 2), 4),
        data={"times": count, "of": len(dates), **data},
        source_ref=OWN_RUNS,
        valid_from=last,
        expires_at=last + REPLAY_SPAN,
    )
