"""What the next runs will cost: from what earlier ones did, or from the worst case while there are none."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Avg, Count, Max, Sum

from digest.llm.entities import PriceUnknown, Usage
from digest.llm.prices import INPUT_SAFETY, cost_usd, tokens_estimated
from digest.llm.providers import ModelRef, chain_refs, provider_endpoint
from digest.models import Spend, Summary
from digest.selectors.costs import ADVISOR, BOOKED, MICRO_USD, USD
from digest.selectors.summary_queue import texts_waiting
from digest.summary_entities import BATCH, OFFLINE, SHOWN_CHARS

HISTORY_DAYS = 30
# What one call may put out (`digest.llm.client`), and about what the prompt takes.
OUTPUT_TOKENS, PROMPT_CHARS = 1_500, 2_600
RUNS_COUNTED = 50


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one run is expected to cost, in USD, at most what its caps allow; `basis` says from what."""

    name: str
    usd: Decimal
    basis: str


def estimates_at(*, now: datetime) -> tuple[Estimate, ...]:
    """The next advisor run, and tonight's summaries; four queries at most."""
    return _advisor_run(now), _summaries(now)


def _advisor_run(now: datetime) -> Estimate:
    """The mean of recent runs that cost anything; the cap of a run before the first."""
    name, cap = "the next advisor run", Decimal(str(settings.ADVISOR_RUN_CAP_USD))
    if not _configured("advisor"):
        return Estimate(name, Decimal(0), "no provider is configured: the statistical planner is free")
    rows = Spend.objects.filter(
        surface=ADVISOR, run_id__isnull=False, created_at__gt=now - timedelta(days=HISTORY_DAYS)
    )
    runs = rows.values("run_id").annotate(usd=Sum(BOOKED), last=Max("created_at")).order_by("-last")
    costs = [Decimal(str(run["usd"])) for run in runs[:RUNS_COUNTED]]
    if not costs:
        return Estimate(name, cap, "the cap of a run: none was paid for in the last 30 days")
    mean = sum(costs, Decimal(0)) / len(costs)
    return Estimate(name, mean.quantize(MICRO_USD), f"the mean of the last {len(costs)} paid runs")


def _summaries(now: datetime) -> Estimate:
    """As many texts as wait and may be asked about, at what one cost so far or costs at worst."""
    name, refs = "tonight's summaries", _configured("summary")
    if not refs:
        return Estimate(name, Decimal(0), "no provider is configured: extracts are free")
    texts = min(texts_waiting(now=now), settings.LLM_SUMMARIES_PER_NIGHT)
    recent = Summary.objects.exclude(model=OFFLINE).filter(created_at__gt=now - timedelta(days=HISTORY_DAYS))
    made = recent.aggregate(mean=Avg("cost_usd", output_field=USD), count=Count("pk"))
    each = Decimal(str(made["mean"])) if made["count"] else _worst_each(refs)
    basis = f"the mean of {made['count']} so far" if made["count"] else "the worst case: none was made yet"
    whole = min(texts * each, Decimal(str(settings.LLM_DAILY_CAP_USD)))
    return Estimate(name, whole.quantize(MICRO_USD), f"{texts} texts; each at {basis}")


def _configured(purpose: str) -> list[ModelRef]:
    try:
        return [ref for ref in chain_refs(purpose) if provider_endpoint(ref.provider)]
    except ValueError:
        return []  # `manage.py check` names the entry at fault


def _worst_each(refs: list[ModelRef]) -> Decimal:
    """A text's share of the dearest call that the first model with a known price could make."""
    tokens = tokens_estimated(PROMPT_CHARS + BATCH * SHOWN_CHARS) * INPUT_SAFETY
    usage = Usage(input_tokens=tokens, written_tokens=tokens, output_tokens=OUTPUT_TOKENS)
    for ref in refs:
        try:
            return cost_usd(ref, usage) / BATCH
        except PriceUnknown:
            continue
    return Decimal(0)
