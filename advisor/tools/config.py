"""`query_user_config`: the reader's settings and what effectively ranks."""

from collections.abc import Mapping
from typing import Any

from advisor.entities import ToolContext
from advisor.tools.arguments import NoArguments
from advisor.tools.budget import CONFIG_TOKENS, fitting, fitting_items, left_after
from ranking.entities import Config
from ranking.selectors import config_effective, config_exists, weights_last_learned


def query_user_config(context: ToolContext, arguments: NoArguments) -> dict[str, Any]:
    """The config, the effective weight of each source that has one, pins, and when weights last changed.

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
    lists = _lists(config, effective.weights(), left_after(result, CONFIG_TOKENS) - 60)
    result["active_weights"] = lists.pop("active_weights")
    result["pins"] = {"locked": lists.pop("locked"), "avoided": lists.pop("avoided")}
    result["left_out"] = lists.pop("left_out")
    result["config"] |= lists
    return result


def _lists(config: Config, weights: Mapping[str, float], tokens: float) -> dict[str, Any]:
    """The lists of a config within `tokens`; each may use what those before it left over."""
    wanted: dict[str, Any] = {
        "topics": list(config.topics),
        "active_weights": _strongest(weights),
        "source_weights": _strongest(config.source_weights),
        "locked": list(config.locked),
        "avoided": list(config.avoided),
        "keyword_boosts": _strongest(config.keyword_boosts),
    }
    given: dict[str, Any] = {}
    for n, (name, rows) in enumerate(wanted.items()):
        share = left_after(given, int(tokens)) / (len(wanted) - n)
        given[name] = fitting_items(rows, share) if isinstance(rows, dict) else fitting(rows, share)
    missing = {name: len(rows) - len(given[name]) for name, rows in wanted.items()}
    return given | {"left_out": {name: count for name, count in missing.items() if count}}


def _strongest(weights: Mapping[str, float]) -> dict[str, float]:
    """Rounded, those that change the order most first."""
    ordered = sorted(weights.items(), key=lambda pair: (-abs(pair[1] - 1.0), pair[0]))
    return {key: round(weight, 3) for key, weight in ordered}
