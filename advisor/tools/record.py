"""The tools that read the reader's record: config, profile, acceptance history, outcomes of suggestions."""

from collections.abc import Mapping
from typing import Any

from advisor.entities import ToolContext
from advisor.guidance.store import memories_detail, memories_recall
from advisor.token_budget import (
    CONFIG_TOKENS,
    HISTORY_TOKENS,
    OUTCOMES_TOKENS,
    PROFILE_TOKENS,
    fill,
    fit_items,
    fit_lists,
    fit_rows,
    tokens_left,
)
from advisor.tools.arguments import NOTE, HistoryArguments, NoArguments, OutcomesArguments
from ranking.entities import EffectiveConfig
from ranking.selectors import config_effective, config_exists, weights_last_learned
from suggestions.outcomes.selectors import outcomes_detail, outcomes_search, outcomes_timeline
from suggestions.selectors import acceptance_history, profile_for

# What the keys around a list take.
MEMORIES_KEY_TOKENS, ENVELOPE_TOKENS = 8, 20


def query_user_config(context: ToolContext, arguments: NoArguments) -> dict[str, Any]:
    """Return the config, the effective source weights, pins, and when weights last changed.

    Where a list is too long for the budget, `left_out` counts what is missing; the weights furthest from
    1.0 come first.
    """
    effective = config_effective(reader_id=context.reader_id)
    learned_at = weights_last_learned(reader_id=context.reader_id)
    config = effective.config
    result: dict[str, Any] = {
        "config": {
            "recency_half_life_hours": config.recency_half_life_hours,
            "ai_score_alpha": config.ai_score_alpha,
        },
        "has_user_overrides": config_exists(reader_id=context.reader_id),
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

    `insights` fill the rest of the budget: curated ones and patterns over many readers.
    """
    profile = profile_for(reader_id=context.reader_id)
    if profile is None:
        result: dict[str, Any] = {"first_run": True}
    else:
        first = ("patterns", "acceptance_stats", "trends")
        ordered = {key: profile[key] for key in first if key in profile} | profile
        result = fit_items(ordered, PROFILE_TOKENS)
    types = list(result.get("acceptance_stats", {}))
    recalled = memories_recall(reader_id=context.reader_id, now=context.now, types=types)
    rows = [{"title": memory.title, "text": memory.text} for memory in recalled]
    insights = fit_rows(rows, tokens_left(result, PROFILE_TOKENS) - MEMORIES_KEY_TOKENS)
    return result | ({"insights": insights} if insights else {})


def get_acceptance_history(context: ToolContext, arguments: HistoryArguments) -> dict[str, Any]:
    """Return counts by type and result over all time, and the newest accepted and rejected suggestions."""
    history = acceptance_history(reader_id=context.reader_id, limit=arguments.limit, now=context.now)
    result = {"by_type": history.by_type, "note": NOTE}
    # Rejections first: room that they leave goes to what was accepted.
    return fill(result, {"rejected": history.rejected, "accepted": history.accepted}, HISTORY_TOKENS)


def get_suggestion_outcomes(context: ToolContext, arguments: OutcomesArguments) -> dict[str, Any]:
    """Return the rows of one layer that fit the budget; `left_out` counts the others.

    With `memories` in the detail, those come first. Ids that are not this reader's are ignored.
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
    memories = _memories(context, arguments) if arguments.layer == "detail" and arguments.memories else {}
    shown = fit_rows(rows, tokens_left(memories, OUTCOMES_TOKENS - ENVELOPE_TOKENS))
    return {"layer": arguments.layer, "outcomes": shown, "left_out": len(rows) - len(shown)} | memories


def _memories(context: ToolContext, arguments: OutcomesArguments) -> dict[str, Any]:
    rows = memories_detail(reader_id=context.reader_id, ids=arguments.memories, now=context.now)
    return {"memories": fit_rows(rows, OUTCOMES_TOKENS / 2), "note": NOTE}
