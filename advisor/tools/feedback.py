"""`query_user_feedback`: a sample of what the reader rated, the patterns in it, and what they speak for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from advisor.curation import curate, cut_title
from advisor.entities import ToolContext
from advisor.selectors import sufficiency
from advisor.sufficiency import missing_words
from advisor.tools.arguments import FeedbackArguments
from advisor.tools.budget import FEEDBACK_TOKENS, GUIDANCE_TOKENS, fitting, fitting_items, left_after
from advisor.tools.changes import NOTE
from digest.entities import FeedbackCounts, RatedItem, TagCount
from digest.models import ReasonTag
from digest.selectors import (
    feedback_counts,
    feedback_recent,
    feedback_source_counts,
    feedback_tag_counts,
    feedback_tallies,
)
from ranking.entities import SourceTally
from ranking.posterior import base_rate, posterior
from suggestions.entities import EVIDENCE_MIN, Hypothesis, HypothesisReport
from suggestions.selectors import hypotheses_for
from suggestions.silence import WORDS

HYPOTHESES_MAX = 10
WIDER_WINDOW_DAYS = 30
# Fewer thumbs than this in a window say too little about "recent": look further back.
THIN = 20
POOL_PER_AGE = 300
CONFIDENCE_HIGH, CONFIDENCE_MEDIUM = 20, 10
# A source's trend: the like-rate of recent thumbs against that of earlier ones, five of each at least.
TREND_MIN_THUMBS = 5
TREND_STEP = 0.15
# What each part may take; what one leaves over goes to the next, and the sample takes the rest.
HYPOTHESES_TOKENS, PATTERNS_TOKENS, TAGS_TOKENS = 840, 320, 120
SUPPORT_MAX = 5
LEADS_SHOWN = 3

Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Window:
    """What counts as recent: the last `days` (`None`: all of it), with the counts per source in it."""

    days: int | None
    since: datetime
    counts: Counts


def query_user_feedback(context: ToolContext, arguments: FeedbackArguments) -> dict[str, Any]:
    """Hypotheses, source and tag patterns and a curated sample, within the budget at any history's length."""
    if reason := missing_words(sufficiency(context.reader_id)):
        return {"insufficient_data": True, "reason": reason}
    reader_id, now = context.reader_id, context.now
    report = hypotheses_for(reader_id=reader_id, now=now, limit=HYPOTHESES_MAX)
    window = _window(context, arguments.window_days)
    tallies = feedback_tallies(reader_id=reader_id, now=now)
    base = base_rate(sum(t.likes for t in tallies), sum(t.n for t in tallies))
    meta = _meta(feedback_counts(reader_id=reader_id), window, base)
    meta |= {"patterns_found": report.patterns_found, "hypotheses_considered": report.considered}
    result: dict[str, Any] = {"meta": meta} | _silence(report)
    result["hypotheses"] = _hypotheses(report.hypotheses, HYPOTHESES_TOKENS)
    patterns = _source_patterns(feedback_source_counts(reader_id=reader_id), window.counts, tallies, base)
    result["source_patterns"] = fitting_items(patterns, PATTERNS_TOKENS)
    result["tag_patterns"] = _tag_patterns(feedback_tag_counts(reader_id=reader_id))
    room = left_after(result, FEEDBACK_TOKENS - GUIDANCE_TOKENS) - 10
    sample = [_item(row, now) for row in curate(_pool(context, window), window.since)]
    result["curated_items"] = fitting(sample, room)
    meta["items_returned"] = len(result["curated_items"])
    return result


def _window(context: ToolContext, asked: int) -> Window:
    """The asked window, else thirty days, else everything: the first that holds enough thumbs."""
    for days in (asked, max(asked, WIDER_WINDOW_DAYS)):
        since = context.now - timedelta(days=days)
        counts = feedback_source_counts(reader_id=context.reader_id, since=since)
        if sum(total for _, total in counts.values()) >= THIN:
            return Window(days, since, counts)
    return Window(None, context.now - timedelta(days=WIDER_WINDOW_DAYS), counts)


def _pool(context: ToolContext, window: Window) -> list[RatedItem]:
    """The newest thumbs of either age, as many as a sample could need."""
    recent = feedback_recent(reader_id=context.reader_id, limit=POOL_PER_AGE, since=window.since)
    return recent + feedback_recent(reader_id=context.reader_id, limit=POOL_PER_AGE, until=window.since)


def _meta(counts: FeedbackCounts, window: Window, base: float) -> dict[str, Any]:
    dates = [f"{at:%Y-%m-%d}" for at in (counts.first_at, counts.last_at) if at is not None]
    return {
        "total_feedback_available": counts.total,
        "items_returned": 0,
        "date_range": " to ".join(dates),
        "window_days": window.days or "all",
        "base_like_rate": round(base, 3),
        "note": NOTE,
    }


def _hypotheses(hypotheses: Sequence[Hypothesis], tokens: float) -> list[dict[str, Any]]:
    """The strongest first, each with five of its items, or three where addresses are long."""
    taken: list[dict[str, Any]] = []
    for support in (SUPPORT_MAX, EVIDENCE_MIN):
        taken = fitting((_hypothesis(h, support) for h in hypotheses), tokens)
        if len(taken) == len(hypotheses):
            break
    return taken


def _silence(report: HypothesisReport) -> dict[str, Any]:
    """Why there is no hypothesis, and what is closest to being one."""
    if not report.silence:
        return {}
    leads = [
        {"type": lead.suggestion_type, "target": lead.target_key, "p_helpful": round(lead.p_helpful, 2)}
        for lead in report.leads[:LEADS_SHOWN]
    ]
    return {"silence": {"code": report.silence, "reason": WORDS[report.silence], "undecided": leads}}


def _hypothesis(hypothesis: Hypothesis, support: int) -> dict[str, Any]:
    row = hypothesis.as_dict()
    row["supporting_items"] = row["supporting_items"][:support]
    return row if hypothesis.label == row["target"] else row | {"label": hypothesis.label}


def _source_patterns(
    counts: Counts, recent: Counts, tallies: list[SourceTally], base: float
) -> dict[str, dict[str, Any]]:
    """One line per source, the most telling first. `p_better` counts old thumbs for less, `like_rate` not."""
    sure = {t.source: posterior(t.likes, t.n, base).p_better for t in tallies}
    ordered = sorted(counts, key=lambda s: (-abs(sure.get(s, 0.5) - 0.5), -counts[s][1], s))
    return {
        source: {
            "like_rate": round(counts[source][0] / counts[source][1], 2),
            "sample_size": counts[source][1],
            "confidence": confidence_of(counts[source][1]),
            "p_better": round(sure.get(source, 0.5), 3),
            "trend": trend_of(counts[source], recent.get(source, (0, 0))),
        }
        for source in ordered
    }


def confidence_of(thumbs: int) -> str:
    """How much a like-rate on so many thumbs is worth: the original's steps at 10 and 20."""
    return "high" if thumbs >= CONFIDENCE_HIGH else "medium" if thumbs >= CONFIDENCE_MEDIUM else "low"


def trend_of(everything: tuple[int, int], recent: tuple[int, int]) -> str:
    """`improving` or `declining` when recent thumbs differ from earlier ones by 15 points, else `steady`."""
    likes, total = everything[0] - recent[0], everything[1] - recent[1]
    if min(total, recent[1]) < TREND_MIN_THUMBS:
        return "steady"
    step = recent[0] / recent[1] - likes / total
    return "improving" if step >= TREND_STEP else "declining" if step <= -TREND_STEP else "steady"


def _tag_patterns(counts: list[TagCount]) -> dict[str, dict[str, int]]:
    tokens = TAGS_TOKENS / 2
    valued = {t.tag: t.count for t in counts if t.kind == ReasonTag.Kind.VALUED}
    disliked = {t.tag: t.count for t in counts if t.kind == ReasonTag.Kind.DISLIKED}
    return {"values": fitting_items(valued, tokens), "dislikes": fitting_items(disliked, tokens)}


def _item(item: RatedItem, now: datetime) -> dict[str, Any]:
    return {
        "url": item.url,
        "title": cut_title(item.title),
        "source": item.source,
        "useful": int(item.useful),
        "reason_tag": next(iter((*item.tags, *item.other_reasons)), None),
        "feedback_date": f"{item.at:%Y-%m-%d}",
        "days_ago": max(0, (now - item.at).days),
    }
