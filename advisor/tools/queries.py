"""The tools that read: feedback with hypotheses and a sample, config, profile, earlier suggestions.

The sample of ratings is stratified and chosen by plain rules. Its quotas are the original program's: of 50
items 60 % liked and 70 % recent, no source with more than ten. Free places of one stratum go to the others,
so that a short history is shown whole.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, get_args
from uuid import UUID

from pydantic import Field

from advisor.guidance.store import memories_recall
from advisor.result_size import (
    CONFIG_TOKENS,
    FEEDBACK_TOKENS,
    GUIDANCE_TOKENS,
    HISTORY_TOKENS,
    OUTCOMES_TOKENS,
    PROFILE_TOKENS,
    cut_title,
    fit_items,
    fit_lists,
    fit_rows,
    fit_text,
    item_ref,
    result_fill,
    tokens_left,
)
from advisor.run_values import ToolContext
from advisor.selectors import feedback_missing
from advisor.tools import OUTSIDE_TEXT_NOTE, Arguments, NoArguments, SuggestionType
from advisor.tools.reading import closer_look
from digest.entities import FeedbackCounts, RatedItem, TagCount
from digest.feedback.selectors import (
    feedback_counts,
    feedback_recent,
    feedback_source_counts,
    feedback_tag_counts,
    feedback_tallies,
    feedback_unmuted,
)
from digest.models import ReasonTag
from ranking.entities import EffectiveConfig, SourceTally
from ranking.learning import base_rate, posterior
from ranking.selectors import config_effective
from suggestions.changes.registry import kind_names
from suggestions.outcomes.selectors import outcomes_detail, outcomes_search, outcomes_timeline
from suggestions.planner.evidence import HypothesisReport, WeighedChange, hypotheses_for
from suggestions.planner.forecasts import forecast_row
from suggestions.planner.hypotheses import SILENCE_SENTENCES
from suggestions.proposals import EVIDENCE_MIN
from suggestions.selectors import acceptance_history, profile_for, questions_answered

HYPOTHESES_MAX = 10
WIDER_WINDOW_DAYS = 30
# Fewer ratings than this in a window say too little about "recent": look further back.
WINDOW_RATINGS_MIN = 20
POOL_PER_AGE = 300
CONFIDENCE_HIGH, CONFIDENCE_MEDIUM = 20, 10
# A source's trend: the like-rate of recent ratings against that of earlier ones, five of each at least.
TREND_RATINGS_MIN = 5
TREND_STEP = 0.15
# The size limit of each part. Unused room goes to the next part, and the sample takes the rest.
HYPOTHESES_TOKENS, PATTERNS_TOKENS, TAGS_TOKENS = 700, 250, 100
# The line of the reader's own that a hypothesis rests on.
WROTE_TOKENS = 40
# The least number of rated items in a result, if there are enough, and the lengths of their titles in
# characters: the first one that leaves room is used.
SAMPLE_MIN = 30
TITLE_CHARS = (100, 70, 45)
ITEM_COLUMNS = ("url", "title", "source", "useful", "reason_tag", "days_ago")
SUPPORT_MAX = 5
LEADS_SHOWN = 3

Counts = Mapping[str, tuple[int, int]]
PER_SOURCE_MAX = 10
# (liked, recent) -> how many of 50, in the order in which strata are served.
QUOTAS = {(True, True): 21, (False, True): 14, (True, False): 9, (False, False): 6}

Stratum = tuple[bool, bool]
# The size of the keys around a list.
ANSWERS_SHOWN = 3
MEMORIES_KEY_TOKENS, ENVELOPE_TOKENS, COLUMNS_TOKENS = 8, 20, 32
OutcomeResult = Literal["accepted", "rejected", "expired", "superseded", "withdrawn"]
OUTCOMES_LIMIT = 20
# The range of a database's integers.
OutcomeId = Annotated[int, Field(ge=1, lt=2**63)]


class FeedbackArguments(Arguments):
    """The window of "recent"."""

    window_days: Annotated[
        int, Field(ge=1, le=365, description="What counts as recent; widened when thin.")
    ] = 14


class HistoryArguments(Arguments):
    """The number of decisions of either kind."""

    limit: Annotated[int, Field(ge=1, le=OUTCOMES_LIMIT)] = OUTCOMES_LIMIT


class OutcomesArguments(Arguments):
    """The layer of the reader's decisions, and the choice among them."""

    layer: Literal["search", "timeline", "detail"] = "search"
    types: Annotated[
        list[SuggestionType], Field(max_length=len(kind_names()), description="search: only these types.")
    ] = []
    outcomes: Annotated[
        list[OutcomeResult], Field(max_length=len(get_args(OutcomeResult)), description="search: only these.")
    ] = []
    query: Annotated[str, Field(max_length=200, description="search: words in targets, reasons, titles.")] = (
        ""
    )
    limit: Annotated[int, Field(ge=1, le=OUTCOMES_LIMIT, description="search: how many.")] = OUTCOMES_LIMIT
    ids: Annotated[
        list[OutcomeId], Field(max_length=OUTCOMES_LIMIT, description="timeline, detail: from a search.")
    ] = []


@dataclass(frozen=True, slots=True)
class RecentWindow:
    """The recent ratings: those of the last `days` (`None`: all), with their counts per source."""

    days: int | None
    since: datetime
    counts: Counts


def query_user_feedback(context: ToolContext, arguments: FeedbackArguments) -> dict[str, Any]:
    """Return hypotheses, source and tag patterns and a curated sample, within the budget for any history."""
    if reason := feedback_missing(reader_id=context.reader_id):
        return {"insufficient_data": True, "reason": reason}
    reader_id, now = context.reader_id, context.now
    report = hypotheses_for(reader_id=reader_id, now=now, limit=HYPOTHESES_MAX)
    if context.on_left_out:
        context.on_left_out(report.left_out)
    refs = _refs_unmuted(reader_id, report, now)
    window = _window(context, arguments.window_days)
    tallies = feedback_tallies(reader_id=reader_id, now=now)
    base = base_rate(sum(t.likes for t in tallies), sum(t.n for t in tallies))
    meta = _meta(feedback_counts(reader_id=reader_id), window, base)
    meta |= {"patterns_found": report.patterns_found, "hypotheses_considered": report.considered}
    result: dict[str, Any] = {"meta": meta} | _silence(report)
    result["hypotheses"] = _hypotheses(report.hypotheses, refs, HYPOTHESES_TOKENS)
    patterns = _source_patterns(feedback_source_counts(reader_id=reader_id), window.counts, tallies, base)
    result["source_patterns"] = fit_items(patterns, PATTERNS_TOKENS)
    result["tag_patterns"] = _tag_patterns(feedback_tag_counts(reader_id=reader_id))
    pool = feedback_recent(reader_id=reader_id, limit=POOL_PER_AGE, since=window.since)
    pool += feedback_recent(reader_id=reader_id, limit=POOL_PER_AGE, until=window.since)
    pool = feedback_unmuted(reader_id=reader_id, rated=pool, now=now)
    if context.reads_closely:
        result |= closer_look(context, pool, base)
    room = tokens_left(result, FEEDBACK_TOKENS - GUIDANCE_TOKENS) - COLUMNS_TOKENS
    result["item_columns"] = ITEM_COLUMNS
    result["curated_items"] = _sample_rows(ratings_sample(pool, window.since), now, room)
    meta["items_returned"] = len(result["curated_items"])
    return result


def _refs_unmuted(reader_id: UUID, report: HypothesisReport, now: datetime) -> dict[str, str]:
    """Return references to the items behind the report's hypotheses, by address, without muted ones."""
    cited = {item.url: item for hypothesis in report.hypotheses for item in hypothesis.change.evidence}
    unmuted = feedback_unmuted(reader_id=reader_id, rated=cited.values(), now=now)
    return {item.url: item_ref(item.item_id) for item in unmuted}


def _window(context: ToolContext, days_wanted: int) -> RecentWindow:
    """Return the window wanted, else thirty days, else everything: the first with enough ratings."""
    for days in (days_wanted, max(days_wanted, WIDER_WINDOW_DAYS)):
        since = context.now - timedelta(days=days)
        counts = feedback_source_counts(reader_id=context.reader_id, since=since)
        if sum(total for _, total in counts.values()) >= WINDOW_RATINGS_MIN:
            return RecentWindow(days, since, counts)
    return RecentWindow(None, context.now - timedelta(days=WIDER_WINDOW_DAYS), counts)


def _meta(counts: FeedbackCounts, window: RecentWindow, base: float) -> dict[str, Any]:
    dates = [f"{at:%Y-%m-%d}" for at in (counts.first_at, counts.last_at) if at is not None]
    return {
        "total_feedback_available": counts.total,
        "items_returned": 0,
        "date_range": " to ".join(dates),
        "window_days": window.days or "all",
        "base_like_rate": round(base, 3),
        "note": OUTSIDE_TEXT_NOTE,
    }


def _hypotheses(
    hypotheses: Sequence[WeighedChange], refs: Mapping[str, str], tokens: float
) -> list[dict[str, Any]]:
    """Return the strongest first, each with five of its items, or three if there are many."""
    taken: list[dict[str, Any]] = []
    for support in (SUPPORT_MAX, EVIDENCE_MIN):
        taken = fit_rows([hypothesis_row(h, refs, support) for h in hypotheses], tokens)
        if len(taken) == len(hypotheses):
            break
    return taken


def _silence(report: HypothesisReport) -> dict[str, Any]:
    """Return why there is no hypothesis, with those that are nearly one."""
    if not report.silence:
        return {}
    leads = [
        {
            "type": lead.change.suggestion_type,
            "target": lead.change.target,
            "p_helpful": round(lead.p_helpful, 2),
        }
        for lead in report.leads[:LEADS_SHOWN]
    ]
    return {
        "silence": {"code": report.silence, "reason": SILENCE_SENTENCES[report.silence], "undecided": leads}
    }


def hypothesis_row(hypothesis: WeighedChange, refs: Mapping[str, str], support: int) -> dict[str, Any]:
    """Return a hypothesis in rounded numbers, with references to `support` of the items behind it or more."""
    change = hypothesis.change
    row = {
        "type": change.suggestion_type,
        "target": change.target,
        "suggested_value": change.suggested_value,
        "liked": hypothesis.likes,
        "rated": hypothesis.ratings,
        "confidence": hypothesis.confidence,
        "p_helpful": round(hypothesis.p_helpful, 3),
        "expected_gain": round(hypothesis.expected_gain, 3),
        **forecast_row(hypothesis.forecast),
    }
    shown = [refs[url] for url in change.evidence_urls if url in refs]
    row["supporting_items"] = shown[: max(support, change.evidence_min)]
    row |= {"reader_wrote": fit_text(change.words, WROTE_TOKENS)} if change.words else {}
    return row if hypothesis.label == change.target else row | {"label": hypothesis.label}


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
    """Return the confidence of a like-rate on this many ratings: the original program's steps at 10 and
    20."""
    return "high" if ratings >= CONFIDENCE_HIGH else "medium" if ratings >= CONFIDENCE_MEDIUM else "low"


def trend_of(everything: tuple[int, int], recent: tuple[int, int]) -> str:
    """Return `improving` or `declining` if recent ratings differ by 15 points, else `steady`."""
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


def _sample_rows(sample: Sequence[RatedItem], now: datetime, tokens: float) -> list[list[Any]]:
    """Return the part of the sample that fits in rows of `ITEM_COLUMNS`, with titles as long as possible."""
    rows: list[list[Any]] = []
    for chars in TITLE_CHARS:
        rows = fit_rows([_item(item, now, chars) for item in sample], tokens)
        if len(rows) >= min(SAMPLE_MIN, len(sample)):
            break
    return rows


def _item(item: RatedItem, now: datetime, title_chars: int) -> list[Any]:
    return [
        item_ref(item.item_id),
        cut_title(item.title, title_chars),
        item.source,
        int(item.useful),
        next(iter((*item.tags, *item.other_reasons)), None),
        max(0, (now - item.at).days),
    ]


def ratings_sample(rated: Iterable[RatedItem], recent_since: datetime) -> list[RatedItem]:
    """Return at most 50 of `rated`: no item twice, at most ten of a source, strata by `QUOTAS`.

    Within a stratum ratings with a reason come before others, then the newest. Free places go first to the
    same rating at the other age, then to any other. The result alternates between the strata in proportion to
    their shares, so that any prefix of it is balanced too.
    """
    strata: dict[Stratum, list[RatedItem]] = {key: [] for key in QUOTAS}
    for item in {item.item_id: item for item in rated}.values():
        strata[item.useful, item.at >= recent_since].append(item)
    picked: dict[Stratum, list[RatedItem]] = {key: [] for key in QUOTAS}
    used: Counter[str] = Counter()
    for stratum, rows in strata.items():
        rows.sort(key=_priority)
        _take(rows, picked[stratum], QUOTAS[stratum], used)
    for keys in (((True, True), (True, False)), ((False, True), (False, False)), tuple(QUOTAS)):
        for stratum in keys:
            free = sum(QUOTAS[key] - len(picked[key]) for key in keys)
            _take(strata[stratum], picked[stratum], free, used)
    return _alternate(list(picked.values()))


def _priority(item: RatedItem) -> tuple[bool, float, int]:
    return not (item.tags or item.other_reasons), -item.at.timestamp(), -item.item_id


def _take(rows: list[RatedItem], into: list[RatedItem], places: int, used: Counter[str]) -> None:
    """Move up to `places` of `rows` over, in order, leaving those that would exceed a source's share."""
    left: list[RatedItem] = []
    for item in rows:
        if places > 0 and used[item.source] < PER_SOURCE_MAX:
            into.append(item)
            used[item.source] += 1
            places -= 1
        else:
            left.append(item)
    rows[:] = left


def _alternate(strata: Sequence[Sequence[RatedItem]]) -> list[RatedItem]:
    """Return the rows of all strata merged so that each is spread evenly over the whole."""
    placed = [
        ((n + 0.5) / len(rows), order, item)
        for order, rows in enumerate(strata)
        for n, item in enumerate(rows)
    ]
    return [item for _, _, item in sorted(placed, key=lambda row: row[:2])]


def query_user_config(context: ToolContext, arguments: NoArguments) -> dict[str, Any]:
    """Return the config, the effective source weights, pins, and the last change of the weights.

    If a list is too long for the budget, `left_out` counts the missing rows. The weights furthest from 1.0
    come first.
    """
    effective = config_effective(reader_id=context.reader_id)
    config, learned_at = effective.config, effective.learned_at
    result: dict[str, Any] = {
        "config": {
            "recency_half_life_hours": config.recency_half_life_hours,
            "ai_score_alpha": config.ai_score_alpha,
            "taste": str(config.taste),
        },
        "has_user_overrides": config.version > 0,
        "last_weight_update": learned_at.date().isoformat() if learned_at else None,
        "version": config.version,
    }
    shown, left_out = fit_lists(_lists(effective), tokens_left(result, CONFIG_TOKENS) - 60)
    result["active_weights"] = shown.pop("active_weights")
    result["pins"] = {"locked": shown.pop("locked"), "avoided": shown.pop("avoided")}
    result["left_out"] = left_out
    result["config"] |= shown
    return result


def _lists(effective: EffectiveConfig) -> dict[str, Any]:
    config = effective.config
    return {
        "topics": list(config.topics),
        **({"other_names": dict(config.other_names)} if config.other_names else {}),
        "active_weights": _strongest(effective.weights()),
        "source_weights": _strongest(config.source_weights),
        "locked": list(config.locked),
        "avoided": list(config.avoided),
        "keyword_boosts": _strongest(config.keyword_boosts),
    }


def _strongest(weights: Mapping[str, float]) -> dict[str, float]:
    """Return rounded weights, those that change the order most first."""
    ordered = sorted(weights.items(), key=lambda pair: (-abs(pair[1] - 1.0), pair[0]))
    return {key: round(weight, 3) for key, weight in ordered}


def get_user_profile(context: ToolContext, arguments: NoArguments) -> dict[str, Any]:
    """Return acceptance by type, patterns and trends; `{"first_run": true}` before any decision.

    `answers` are the reader's to questions of earlier runs. `insights` fill the rest of the budget: curated
    ones and patterns over many readers.
    """
    profile, answers = profile_for(reader_id=context.reader_id), _answers(context)
    if profile is None:
        result: dict[str, Any] = {"first_run": True}
    else:
        first = ("patterns", "acceptance_stats", "trends")
        ordered = {key: profile[key] for key in first if key in profile} | profile
        result = fit_items(ordered, tokens_left(answers, PROFILE_TOKENS))
    types = list(result.get("acceptance_stats", {}))
    recalled = memories_recall(reader_id=context.reader_id, now=context.now, types=types)
    rows = [{"title": memory.title, "text": memory.text} for memory in recalled]
    result |= answers
    insights = fit_rows(rows, tokens_left(result, PROFILE_TOKENS) - MEMORIES_KEY_TOKENS)
    return result | ({"insights": insights} if insights else {})


def _answers(context: ToolContext) -> dict[str, Any]:
    """Return the newest answers to questions of earlier runs, if there are any."""
    rows = questions_answered(reader_id=context.reader_id, now=context.now, limit=ANSWERS_SHOWN)
    answers = [{"id": row.pk, "question": row.text, "answer": row.answer} for row in rows]
    return {"answers": answers} if answers else {}


def get_acceptance_history(context: ToolContext, arguments: HistoryArguments) -> dict[str, Any]:
    """Return counts by type and result over all time, and the newest accepted and rejected suggestions."""
    history = acceptance_history(reader_id=context.reader_id, limit=arguments.limit, now=context.now)
    result = {"by_type": history.by_type, "note": OUTSIDE_TEXT_NOTE}
    # Rejections first. Accepted ones get the room that is left.
    return result_fill(result, {"rejected": history.rejected, "accepted": history.accepted}, HISTORY_TOKENS)


def get_suggestion_outcomes(context: ToolContext, arguments: OutcomesArguments) -> dict[str, Any]:
    """Return the rows of one layer that fit the budget; `left_out` counts the others.

    Ids that are not this reader's are ignored.
    """
    reader_id, now = context.reader_id, context.now
    if arguments.layer == "search":
        rows = outcomes_search(
            reader_id=reader_id,
            now=now,
            types=arguments.types,
            outcomes=arguments.outcomes,
            query=arguments.query,
            limit=arguments.limit,
        )
    elif arguments.layer == "timeline":
        rows = outcomes_timeline(reader_id=reader_id, ids=arguments.ids, now=now)
    else:
        rows = outcomes_detail(reader_id=reader_id, ids=arguments.ids, now=now)
    shown = fit_rows(rows, OUTCOMES_TOKENS - ENVELOPE_TOKENS)
    return {"layer": arguments.layer, "outcomes": shown, "left_out": len(rows) - len(shown)}
