"""Count tokens and price calls, offline: by LLM_PRICES first, then by the price list of genai-prices."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from digest.llm.entities import Message, PriceUnknown, ToolSchema, Usage
from digest.llm.providers import ModelRef, model_ref_parse, prices_configured

MILLION = Decimal(1_000_000)
# English has 4.2 characters a token. Addresses, digits and hashes need up to twice as many tokens, and a
# reservation must not be lower than the bill, hence the factor 2.
CHARS_PER_TOKEN = 4
INPUT_SAFETY = 2
# No call has as many tokens. A larger count in a reply is ignored.
TOKENS_MAX = 100_000_000


def tokens_estimated(chars: int) -> int:
    """Estimate the tokens in `chars` characters of JSON; at least 1."""
    return max(1, round(chars / CHARS_PER_TOKEN))


def input_tokens_worst(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> int:
    """Return a cautious (high) estimate of the tokens in a request.

    The estimate counts JSON with non-ASCII characters escaped, so a Chinese character counts as six. Scripts
    with more than one token a character are therefore not underestimated.
    """
    chars = len(json.dumps([list(messages), list(tools)]))
    return round(tokens_estimated(chars) * INPUT_SAFETY)


def cost_usd(ref: ModelRef, usage: Usage) -> Decimal:
    """Return the cost of `usage` on a model, in USD. Raises `PriceUnknown`.

    A provider without `price_id` is free. Prices in LLM_PRICES charge cached tokens like all others.
    """
    if not ref.provider.price_id:
        return Decimal(0)
    if ref.provider.reports_cost and usage.billed_usd is not None:
        return usage.billed_usd
    configured = prices_configured()
    price = configured.get(f"{ref.provider.name}:{ref.model}") or configured.get(ref.model)
    if price:
        return (price[0] * usage.input_tokens + price[1] * usage.output_tokens) / MILLION
    # The import takes 60 ms and 6 MB, so processes that call no model skip it.
    import genai_prices  # noqa: PLC0415

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.written_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return genai_prices.calc_price(tokens, ref.model, provider_id=ref.provider.price_id).total_price
    except LookupError:
        raise PriceUnknown(
            f"No price is known for {ref.provider.name}:{ref.model}, so its cost could not be capped. "
            f"Add {ref.model}=<in>/<out> (USD per million tokens) to LLM_PRICES."
        ) from None


def cache_saved_usd(model: str, usage: Usage) -> Decimal:
    """Return the USD that the provider's cache saved, by the price list; 0 if the model has no price.

    `model` is `provider:model`. The result is negative if writing to the cache cost more than it saved.
    """
    plain = replace(usage, cached_tokens=0, written_tokens=0, billed_usd=None)
    try:
        ref = model_ref_parse(model)
        return cost_usd(ref, plain) - cost_usd(ref, replace(usage, billed_usd=None))
    except (PriceUnknown, ValueError):
        return Decimal(0)


def usage_read(usage: Any, *, names: Sequence[str], request_chars: int, reply_chars: int) -> Usage:
    """Read the tokens of a call from a reply's usage. `names` are its fields for input and output tokens.

    Missing or impossible counts are estimated from the characters sent and received.
    """
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    name_in, name_out = names
    spent_in = _count(counts.get(name_in), tokens_estimated(request_chars))
    spent_out = _count(counts.get(name_out), tokens_estimated(reply_chars))
    cached = min(_detail(counts, name_in, "cached_tokens"), spent_in)
    return Usage(
        input_tokens=spent_in,
        cached_tokens=cached,
        output_tokens=spent_out,
        billed_usd=_reported_usd(counts.get("cost")),
        reasoning_tokens=min(_detail(counts, name_out, "reasoning_tokens"), spent_out),
        # GPT-5.6 and later charge a quarter more for tokens that they write to their cache.
        written_tokens=min(_detail(counts, name_in, "cache_write_tokens"), spent_in - cached),
    )


def _detail(usage: Mapping[str, Any], name: str, detail: str) -> int:
    details = usage.get(f"{name}_details")
    return _count(details.get(detail), 0) if isinstance(details, dict) else 0


def _count(value: Any, fallback: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= TOKENS_MAX else fallback


def _reported_usd(value: Any) -> Decimal | None:
    """Return the price in USD that OpenRouter reports, or `None` if it is not a number from 0 to 1,000."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(str(value)) if 0 <= value < 1000 else None
