"""`test_suggestion`: what a change touches and what it would have done, before anyone proposes it."""

from typing import Any

from advisor.curation import cut_title
from advisor.entities import ToolContext
from advisor.tools.arguments import ChangeArguments
from advisor.tools.budget import TRIAL_TOKENS, error_result, filled
from advisor.tools.changes import NOTE, draft_for
from digest.entities import RatedItem
from suggestions.entities import Preview, Refusal
from suggestions.selectors.trials import Trial, change_try

EXAMPLES_MAX = 5


def test_suggestion(context: ToolContext, arguments: ChangeArguments) -> dict[str, Any]:
    """How many past items match, examples, the forecast, and what would enter and leave. Writes nothing.

    The thumbs that choose (`p_helpful`) and those that measure (`ndcg_gain` with its 90 % interval) are never
    the same. `would_be_refused` is the rule that would stop it even with the best evidence; "": none.
    """
    trial = change_try(reader_id=context.reader_id, draft=draft_for(arguments), now=context.now)
    if isinstance(trial, Refusal):
        return error_result(trial.code, trial.message) | {"target": trial.target}
    change, refusal = trial.change, trial.refusal
    result = {
        "change": f"{change.suggestion_type} {change.target_key}"[:120],
        "current_value": change.current_value,
        "suggested_value": change.suggested_value,
        "would_match": trial.matched,
        "liked": trial.liked,
        "looked_at": trial.looked_at,
        "offered_this_week": trial.offered,
        "forecast": forecast_row(trial),
        "would_be_refused": refusal.code if refusal else "",
        "note": NOTE,
    }
    return filled(result, _lists(trial), TRIAL_TOKENS)


def forecast_row(trial: Trial) -> dict[str, Any]:
    """The measured effect, rounded; `None` where fewer than eight thumbs kept apart can measure."""
    weighed, forecast = trial.weighed, trial.weighed.forecast
    measured = {"ndcg_gain": forecast.gain, "ndcg_low": forecast.low, "ndcg_high": forecast.high}
    return {
        "p_helpful": round(weighed.p_helpful, 3),
        "confidence": weighed.confidence,
        **{name: None if value is None else round(value, 3) for name, value in measured.items()},
        "later_thumbs": forecast.n,
    }


def moves_of(preview: Preview) -> dict[str, list[Any]]:
    """What enters and leaves today's digest, by title, and what moves furthest: [title, before, after]."""
    moves = sorted(preview.moves, key=lambda item: -abs((item.before or 0) - (item.after or 0)))
    return {
        "enters": [cut_title(item.title) for item in preview.enters],
        "leaves": [cut_title(item.title) for item in preview.leaves],
        "moves": [[cut_title(item.title), item.before, item.after] for item in moves],
    }


def _example(item: RatedItem, target: str) -> dict[str, Any]:
    """A matching item; its source where that is not what the change is about."""
    row: dict[str, Any] = {"title": cut_title(item.title), "useful": int(item.useful)}
    return row if item.source == target else row | {"source": item.source}


def _lists(trial: Trial) -> dict[str, list[Any]]:
    """The rows in which strangers' words stand."""
    examples = [_example(item, trial.change.target_key) for item in trial.matching[:EXAMPLES_MAX]]
    digest = moves_of(trial.preview)
    return {"examples": examples, "enters": digest["enters"], "leaves": digest["leaves"]}
