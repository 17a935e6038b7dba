"""`compare_configs`: two configs side by side, or the current one with and without a few changes."""

from typing import Any

from advisor.entities import ToolContext
from advisor.tools.arguments import CompareArguments
from advisor.tools.budget import COMPARISON_TOKENS, error_result, filled, fitting_text
from advisor.tools.changes import NOTE, draft_for
from advisor.tools.trial import moves_of
from suggestions.entities import Refusal
from suggestions.selectors.comparison import Comparison, configs_compare

VALUE_TOKENS = 16


def compare_configs(context: ToolContext, arguments: CompareArguments) -> dict[str, Any]:
    """The differences, their estimated impact, and today's digest before and after. Writes nothing."""
    found = configs_compare(
        reader_id=context.reader_id,
        before=arguments.before,
        after=arguments.after,
        drafts=[draft_for(change) for change in arguments.changes],
        now=context.now,
    )
    if isinstance(found, Refusal):
        return error_result(found.code, found.message) | {"target": found.target}
    before, after = found.names
    result = {"before": before, "after": after, "impact_estimate": _impact(found), "note": NOTE}
    lists = {"diffs": [_short(change) for change in found.changes], **moves_of(found.preview)}
    return filled(result, lists, COMPARISON_TOKENS)


def _impact(found: Comparison) -> dict[str, Any]:
    """The change of nDCG@10 over the thumbs kept apart, and how many items of today's digest are touched."""
    forecast, preview = found.forecast, found.preview
    measured = {"ndcg_gain": forecast.gain, "ndcg_low": forecast.low, "ndcg_high": forecast.high}
    return {
        **{name: None if value is None else round(value, 3) for name, value in measured.items()},
        "later_thumbs": forecast.n,
        "enter": len(preview.enters),
        "leave": len(preview.leaves),
        "move": len(preview.moves),
    }


def _short(change: dict[str, Any]) -> dict[str, Any]:
    """One difference with its long texts cut."""
    return {
        key: fitting_text(value, VALUE_TOKENS) if isinstance(value, str) else value
        for key, value in change.items()
    }
