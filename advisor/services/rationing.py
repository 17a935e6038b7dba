"""The decision maker: who of those due runs on what is left of today's money, each choice on record."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import structlog
from django.conf import settings

from advisor.choosing import Choice, choose, places_of
from advisor.demand import cost_expected, money_left, standings
from advisor.models import Decision
from digest.llm.chain import chain_configured
from digest.models import Reader
from digest.selectors.subscriptions import readers_without_models

log = structlog.get_logger(__name__)

ACTOR = "decision_maker"
RUN, DEFERRED, RUN_ALL = "run", "deferred", "run_all"
BATCH = 2000


def readers_ration(*, readers: Sequence[Reader], now: datetime) -> list[Reader]:
    """Those of `readers` who run now, best first where the money does not cover all of them.

    Readers who cost nothing (AI off, no model configured, a local model) always run and come last, so that
    their runs keep nobody waiting who was chosen. When everyone fits, one row says so; otherwise every
    reader who costs money gets a row with score and reason. A constant number of queries.
    """
    chain = chain_configured()
    apart = readers_without_models() if chain else set()
    paying = [reader for reader in readers if chain and reader.pk not in apart]
    cost = cost_expected(models=chain, now=now) if paying else Decimal(0)
    if not cost:
        return list(readers)
    money = money_left(cost_per_run=cost, now=now)
    cap = Decimal(str(settings.ADVISOR_DAILY_CAP_USD))
    places = places_of(money_left=money, cost_per_run=cost, cap=cap)
    choices = choose(standings(readers=paying, now=now), places)
    _note(choices, money, cost, now)
    by_id, served = {reader.pk: reader for reader in paying}, [choice for choice in choices if choice.runs]
    log.info("advisor_rationed", due=len(paying), served=len(served), cost_usd=str(cost), left=str(money))
    free = [reader for reader in readers if reader.pk not in by_id]
    return [by_id[choice.reader_id] for choice in served] + free


def _note(choices: Sequence[Choice], money: Decimal, cost: Decimal, now: datetime) -> None:
    facts = {"money_left_usd": f"{money:.6f}", "cost_per_run_usd": f"{cost:.6f}"}
    if all(choice.runs for choice in choices):
        reason = f"Today's money covers all {len(choices)} readers due."
        data = facts | {"readers": len(choices)}
        Decision.objects.create(actor=ACTOR, action=RUN_ALL, reason=reason, data=data, at=now)
        return
    Decision.objects.bulk_create(
        (
            Decision(
                reader_id=choice.reader_id,
                actor=ACTOR,
                action=RUN if choice.runs else DEFERRED,
                reason=choice.reason,
                data=facts | {"score": choice.score},
                at=now,
            )
            for choice in choices
        ),
        batch_size=BATCH,
    )
