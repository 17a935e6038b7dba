"""`python -m tests.lab cost`: the cost of a typical run of the advisor at a model's prices."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone

from digest.llm.entities import PriceUnknown
from digest.llm.providers import ModelRef, model_ref_parse
from digest.models import Reader
from tests.lab.command import fail, report_end
from tests.lab.cost.runs import TypicalRun, typical_run

DEFAULT = "openai:gpt-6-luna"
# The targets: a run for at most a cent, at most this much input with its reviews, at least this share of the
# run's own from a cache, and at most so many requests for each suggestion that is stored.
COST_MAX_USD, INPUT_MAX, CACHED_MIN, REQUESTS_MAX = 0.01, 40_000, 0.7, 8


def main(argv: Sequence[str] | None = None) -> int:
    """Replay, report, and leave with 1 when a target is missed."""
    options = vars(_parser().parse_args(argv))
    began, reader_id = time.monotonic(), options["user_id"]
    if reader_id and not Reader.objects.filter(pk=reader_id).exists():
        fail(f"There is no reader {reader_id}.", 2)
    try:
        ref = model_ref_parse(options["model"])
        run = typical_run(reader_id=reader_id, now=timezone.now())
        report = _report(run, ref, str(reader_id or "typical"))
    except (ValueError, PriceUnknown) as error:
        fail(str(error), 2)
    report["seconds"] = round(time.monotonic() - began, 3)
    return report_end(report, as_json=options["json"])


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.lab cost",
        description="Replay a typical run through the real tools and add up its tokens and their price.",
    )
    parser.add_argument("--user-id", type=UUID, help="a reader of yours instead of the typical one")
    parser.add_argument("--model", default=DEFAULT, help="provider:model whose prices count")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _report(run: TypicalRun, ref: ModelRef, data: str) -> dict[str, Any]:
    """Return the object scripts rely on: a row per call, one for the run, one per way of caching, the
    targets.

    The price is held to its target without any caching, which no provider promises.
    """
    totals, reviews, together = _totals(run), _reviews(run), _together(run)
    costs = {
        "no caching": run.cost(ref, caching=False),
        "caching within the run": run.cost(ref),
        "prompt and tools cached by an earlier run": run.cost(ref, warm=True),
    }
    priced = [{"name": name, "cost_usd": float(round(cost, 6))} for name, cost in costs.items()]
    return {
        "command": "python -m tests.lab cost",
        "data": f"{data} reader, prices of {ref.provider.name}:{ref.model}",
        "seed": 0,
        "rows": [*_calls(run), totals, reviews, together, *priced],
        "targets": [
            _target("cost_usd", COST_MAX_USD, priced[0]["cost_usd"]),
            _target("input_tokens", INPUT_MAX, totals["input_tokens"] + reviews["input_tokens"]),
            _target("requests_per_stored", REQUESTS_MAX, reviews["requests_per_stored"]),
            _least("cached_share", CACHED_MIN, totals["cached_share"]),
        ],
    }


def _calls(run: TypicalRun) -> list[dict[str, Any]]:
    return [
        {
            "name": f"call {n}",
            "input_tokens": size.sent,
            "cached_tokens": size.cached,
            "output_tokens": size.said,
        }
        for n, size in enumerate(run.sizes, start=1)
    ]


def _totals(run: TypicalRun) -> dict[str, Any]:
    """Return the sums of the run. `fresh_input_tokens` are those that no cache within the run saves.

    All runs share `prefix_tokens`. `cached_share` is the share of the input that a cache saves after another
    run has sent the prefix.
    """
    sent = sum(size.sent for size in run.sizes)
    cached = sum(size.cached for size in run.sizes) + run.prefix
    return {
        "name": "run",
        "ended": run.end.reason,
        "turns": run.end.totals.turns,
        "tool_calls": run.end.totals.tool_calls,
        "tool_errors": sum(bool(step.error_code) for step in run.steps),
        "input_tokens": sent,
        "cached_share": round(cached / sent, 3),
        "fresh_input_tokens": sum(size.sent - size.cached for size in run.sizes),
        "output_tokens": sum(size.said for size in run.sizes),
        "prefix_tokens": run.prefix,
    }


def _reviews(run: TypicalRun) -> dict[str, Any]:
    """Return the sums of the reviews. `requests_per_stored` counts the run's own requests, too."""
    requests = len(run.sizes) + len(run.reviews)
    return {
        "name": "reviews",
        "requests": len(run.reviews),
        "input_tokens": sum(size.sent for size in run.reviews),
        "cached_tokens": sum(size.cached for size in run.reviews),
        "output_tokens": sum(size.said for size in run.reviews),
        "stored": run.stored,
        "requests_per_stored": round(requests / run.stored, 2) if run.stored else float(requests),
    }


def _together(run: TypicalRun) -> dict[str, Any]:
    """Return the input of the run and its reviews, and the share of it that a cache saves.

    As in the run's own row, an earlier run has sent the prompts that are long enough for a cache.
    """
    sizes = (*run.sizes, *run.reviews)
    sent = sum(size.sent for size in sizes)
    cached = sum(size.cached for size in sizes) + run.prefix + run.reviews_prefix
    return {"name": "run and reviews", "input_tokens": sent, "cached_share": round(cached / sent, 3)}


def _target(metric: str, most: float, value: Any) -> dict[str, Any]:
    return {"metric": metric, "target": most, "value": value, "met": value <= most}


def _least(metric: str, least: float, value: Any) -> dict[str, Any]:
    return {"metric": metric, "target": least, "value": value, "met": value >= least}
