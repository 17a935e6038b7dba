"""`query_user_feedback`: hypotheses, patterns by source and reason, and a sample of the reader's ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from advisor.entities import ToolContext
from advisor.selectors import sufficiency
from advisor.sufficiency import missing_message
from advisor.token_budget import FEEDBACK_TOKENS, GUIDANCE_TOKENS, fit_items, fit_rows, tokens_left
from advisor.tools.arguments import NOTE, FeedbackArguments
from advisor.tools.curation import curate, cut_title
from digest.entities import FeedbackCounts, RatedItem, TagCount
from digest.feedback.selectors import (
    feedback_counts,
    feedback_recent,
    feedback_source_counts,
    feedback_tag_counts,
    feedback_tallies,
)
from digest.models import ReasonTag
from ranking.entities import SourceTally
from ranking.learning import base_rate, posterior
from suggestions.entities import EVIDENCE_MIN
from suggestions.planner.evidence import hypotheses_for
from suggestions.planner.hypotheses import SILENCE_SENTENCES, Hypothesis, HypothesisReport

HYPOTHESES_MAX = 10
WIDER_WINDOW_DAYS = 30
# Fewer ratings than this in a window say too little about "recent": look further back.
THIN = 20
POOL_PER_AGE = 300
CONFIDENCE_HIGH, CONFIDENCE_MEDIUM = 20, 10
# A source's trend: the like-rate of recent ratings against that of earlier ones, five of each at least.
TREND_RATINGS_MIN = 5
TREND_STEP = 0.15
# What each part may take; what one leaves over goes to the next, and the sample takes the rest.
HYPOTHESES_TOKENS, PATTERNS_TOKENS, TAGS_TOKENS = 840, 320, 120
SUPPORT_MAX = 5
LEADS_SHOWN = 3

Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Window:
    """What counts as recent: the last `days` (`None`: everything), with its counts per source."""

    days: int | None
    since: datetime
    counts: Counts


def query_user_feedback(context: ToolContext, arguments: FeedbackArguments) -> dict[str, Any]:
    """Return hypotheses, source and tag patterns and a curated sample, within the budget for any history."""
    if reason := missing_message(sufficiency(context.reader_id)):
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
    result["source_patterns"] = fit_items(patterns, PATTERNS_TOKENS)
    result["tag_patterns"] = _tag_patterns(feedback_tag_counts(reader_id=reader_id))
    room = tokens_left(result, FEEDBACK_TOKENS - GUIDANCE_TOKENS) - 10
    sample = [_item(row, now) for row in curate(_pool(context, window), window.since)]
    result["curated_items"] = fit_rows(sample, room)
    meta["items_returned"] = len(result["curated_items"])
    return result


def _window(context: ToolContext, days_wanted: int) -> Window:
    """Return the window wanted, else thirty days, else everything: the first with enough ratings."""
    for days in (days_wanted, max(days_wanted, WIDER_WINDOW_DAYS)):
        since = context.now - timedelta(days=days)
        counts = feedback_source_counts(reader_id=context.reader_id, since=since)
        if sum(total for _, total in counts.values()) >= THIN:
            return Window(days, since, counts)
    return Window(None, context.now - timedelta(days=WIDER_WINDOW_DAYS), counts)


def _pool(context: ToolContext, window: Window) -> list[RatedItem]:
    """Return the newest ratings of either age, as many as a sample could need."""
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
    """Return the strongest first, each with five of its items, or three where addresses are long."""
    taken: list[dict[str, Any]] = []
    for support in (SUPPORT_MAX, EVIDENCE_MIN):
        taken = fit_rows((_hypothesis(h, support) for h in hypotheses), tokens)
        if len(taken) == len(hypotheses):
            break
    return taken


def _silence(report: HypothesisReport) -> dict[str, Any]:
    """Return why there is no hypothesis, with those that are nearly one."""
    if not report.silence:
        return {}
    leads = [
        {"type": lead.suggestion_type, "target": lead.target_key, "p_helpful": round(lead.p_helpful, 2)}
        for lead in report.leads[:LEADS_SHOWN]
    ]
    return {
        "silence": {"code": report.silence, "reason": SILENCE_SENTENCES[report.silence], "undecided": leads}
    }


def _hypothesis(hypothesis: Hypothesis, support: int) -> dict[str, Any]:
    row = hypothesis.as_dict()
    row["supporting_items"] = row["supporting_items"][:support]
    return row if hypothesis.label == row["target"] else row | {"label": hypothesis.label}


def _source_patterns(
    counts: Counts, recent: Counts, tallies: list[SourceTally], base: float
) -> dict[str, dict[str, Any]]:
    """Return the sources, the clearest first. `p_better` gives old ratings less weight than `like_rate`."""
    p_better = {t.source: posterior(t.likes, t.n, base).p_better for t in tallies}
    ordered = sorted(counts, key=lambda s: (-abs(p_better.get(s, 0.5) - 0.5), -counts[s][1], s))
    return {
        source: {
            "like_rate": round(counts[source][0] / counts[source][1], 2),
            "sample_size": counts[source][1],
            "confidence": confidence_of(counts[source][1]),
            "p_better": round(p_better.get(source, 0.5), 3),
            "trend": trend_of(counts[source], recent.get(source, (0, 0))),
        }
        for source in ordered
    }


def confidence_of(ratings: int) -> str:
    """Return the confidence of a like-rate on so many ratings: the original program's steps at 10 and 20."""
    return "high" if ratings >= CONFIDENCE_HIGH else "medium" if ratings >= CONFIDENCE_MEDIUM else "low"


def trend_of(everything: tuple[int, int], recent: tuple[int, int]) -> str:
    """Return `improving` or `declining` where recent ratings differ by 15 points, else `steady`."""
    likes, total = everything[0] - recent[0], everything[1] - recent[1]
    if min(total, recent[1]) < TREND_RATINGS_MIN:
        return "steady"
    step = recent[0] / recent[1] - likes / total
    return "improving" if step >= TREND_STEP else "declining" if step <= -TREND_STEP else "steady"


def _tag_patterns(counts: list[TagCount]) -> dict[str, dict[str, int]]:
    tokens = TAGS_TOKENS / 2
    valued = {t.tag: t.count for t in counts if t.kind == ReasonTag.Kind.VALUED}
    disliked = {t.tag: t.count for t in counts if t.kind == ReasonTag.Kind.DISLIKED}
    return {"values": fit_items(valued, tokens), "dislikes": fit_items(disliked, tokens)}


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
