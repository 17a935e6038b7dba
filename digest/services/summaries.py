"""Summaries and suggested reasons: an extract for every text, a model's words for the most valuable.

Nothing is held across a call: money is set aside in a short transaction, the calls of a wave run, what came
back is stored at once. A night that is cut off goes on where it was, and no text is paid for twice by one
model or by the next.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import uuid4

import structlog
from django.conf import settings

from digest.llm.chain import chain_configured
from digest.llm.entities import Deadline, Model
from digest.llm.ledger import SUMMARY, SpendAccount, ingest_account
from digest.llm.typed import INVALID, Question, TypedAnswer, fenced, typed_ask_all
from digest.models import SuggestedReasons, Summary
from digest.prompts import SUMMARY as PROMPT
from digest.prompts import prompt_read
from digest.reasons_offered import reasons_filtered, reasons_offline
from digest.selectors.summary_queue import texts_still_wanted, texts_wanted
from digest.services.extracts import extracts_make, reasons_stored
from digest.summarising import Answer, SummarySaid, made_of, material_of, said_of
from digest.summary_entities import BATCH, Made, Text
from digest.taxonomy import reason_tags_map, taxonomy_table

log = structlog.get_logger(__name__)

# Calls at once: enough to keep a night short, few enough for any provider's limit on new accounts.
WAVE = 4
# Half an hour serves 500 texts (32 waves) at the longest a call may take; the rest waits for the next night.
TIME_S = 1800.0


@dataclass
class SummaryReport:
    """What a round of summaries came to.

    `extracts`: texts that got their offline extract. `asked`: texts that went to a model; of those `made`
    were kept as the model wrote them, `repaired` by the publisher's first sentence, `refused` counted by
    code; `faults` says what was wrong with the last two.
    `stopped` is "" or the stable code of what ended the round early, `message` says it in words.
    """

    extracts: int = 0
    wanted: int = 0
    asked: int = 0
    made: int = 0
    repaired: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    cost_usd: Decimal = Decimal(0)
    stopped: str = ""
    message: str = ""


def summaries_make(
    *,
    now: datetime,
    limit: int | None = None,
    time_s: float = TIME_S,
    sleep: Callable[[float], None] = time.sleep,
) -> SummaryReport:
    """Extract every new text of the window, then ask the models of the chain about the most valuable.

    `limit` (default `LLM_SUMMARIES_PER_NIGHT`) is the most texts a model is asked about. The round pauses
    at `LLM_DAILY_CAP_USD`, after `time_s` seconds, or when no model answers; what is stored stays, the rest
    keeps its extract. Must not be called inside a transaction. Raises `PromptUnusable`.
    """
    report = SummaryReport(extracts=extracts_make(now=now))
    models = chain_configured(SUMMARY)
    most = settings.LLM_SUMMARIES_PER_NIGHT if limit is None else limit
    if models and most > 0:
        texts = texts_wanted(now=now, limit=most)
        report.wanted = len(texts)
        _Round(models, report, now, Deadline(time.monotonic() + time_s), sleep).run(texts)
    log.info(
        "summaries_made",
        extracts=report.extracts,
        asked=report.asked,
        made=report.made,
        repaired=report.repaired,
        stopped=report.stopped,
        cost_usd=str(report.cost_usd),
    )
    return report


class _Round:
    """One round's calls: wave after wave, until the texts, the money, the time or the models are used up."""

    def __init__(
        self,
        models: Sequence[Model],
        report: SummaryReport,
        now: datetime,
        deadline: Deadline,
        sleep: Callable[[float], None],
    ) -> None:
        self.models, self.report, self.now = list(models), report, now
        self.deadline, self.sleep = deadline, sleep
        self.account: SpendAccount = ingest_account(run_id=uuid4(), now=now)
        self.prompt, self.table = prompt_read(PROMPT), taxonomy_table()

    def run(self, texts: Sequence[Text]) -> None:
        """Ask about the texts in their order."""
        for wave in _chunks(texts, BATCH * WAVE):
            # Since the round began a switch may have been turned off, or another round have come first.
            allowed = texts_still_wanted(item_ids=[text.item_id for text in wave])
            batches = list(_chunks([text for text in wave if text.item_id in allowed], BATCH))
            if batches and not self._wave(batches):
                return

    def _wave(self, batches: Sequence[Sequence[Text]]) -> bool:
        """Ask about some batches at once; `False` when the round is over."""
        answers = typed_ask_all(
            models=self.models,
            questions=[Question(self.prompt, fenced(material_of(batch))) for batch in batches],
            shape=Answer,
            ledger=self.account,
            deadline=self.deadline,
            sleep=self.sleep,
        )
        for batch, answer in zip(batches, answers, strict=True):
            self._count(batch, answer)
            if answer.value is not None:
                self._keep(batch, answer, answer.value)
        return self._goes_on(answers)

    def _count(self, batch: Sequence[Text], answer: TypedAnswer[Answer]) -> None:
        self.report.cost_usd += answer.cost
        if answer.value is not None or answer.error_code == INVALID:
            self.report.calls += 1
            self.report.asked += len(batch)

    def _goes_on(self, answers: Sequence[TypedAnswer[Answer]]) -> bool:
        """Whether another wave may follow, with the models that still answer.

        Money and time end a round at once; any other failure only when it met the whole wave.
        """
        failed = [answer for answer in answers if answer.value is None]
        over = [answer for answer in failed if answer.interrupted]
        if over or len(failed) == len(answers):
            last = (over or failed)[0]
            self.report.stopped, self.report.message = last.error_code, last.message
            return False
        names = [model.name[:80] for model in self.models]
        standing = min((names.index(a.model) for a in answers if a.value is not None), default=0)
        self.models = self.models[standing:]
        return True

    def _keep(self, batch: Sequence[Text], answer: TypedAnswer[Answer], value: Answer) -> None:
        """Store what one answer says about its texts."""
        said = said_of(value, len(batch))
        share = answer.cost / len(batch)
        summaries, reasons = [], []
        for n, text in enumerate(batch, start=1):
            made = made_of(text, said.get(n))
            self._tally(made)
            summaries.append(_summary(text, made, answer.model, share, self.now))
            reasons.append(self._reasons(text, said.get(n), answer.model))
        Summary.objects.bulk_create(summaries, ignore_conflicts=True)
        SuggestedReasons.objects.bulk_create(reasons, ignore_conflicts=True)

    def _tally(self, made: Made) -> None:
        if made.refusal:
            self.report.refused[made.refusal] += 1
        elif made.repaired:
            self.report.repaired += 1
        else:
            self.report.made += 1
        if made.fault:
            self.report.faults[made.fault] += 1

    def _reasons(self, text: Text, said: SummarySaid | None, model: str) -> SuggestedReasons:
        """The reasons of one text; their price is in the summary's, since one call made both."""
        pairs = []
        for reason in said.reasons if said else []:
            tags, _ = reason_tags_map([reason.tag, reason.text], self.table)
            pairs.append((tags[0] if tags else None, reason.text))
        offered = reasons_filtered(pairs, reasons_offline(text.title, text.text))
        stored = reasons_stored(offered)
        return SuggestedReasons(
            fingerprint=text.fingerprint, model=model, reasons=stored, created_at=self.now
        )


def _summary(text: Text, made: Made, model: str, cost: Decimal, now: datetime) -> Summary:
    return Summary(
        fingerprint=text.fingerprint,
        model=model,
        text=made.text,
        citations=list(made.citations),
        repaired=made.repaired,
        refusal=made.refusal,
        cost_usd=cost,
        created_at=now,
    )


def _chunks(texts: Sequence[Text], size: int) -> Iterator[Sequence[Text]]:
    return (texts[n : n + size] for n in range(0, len(texts), size))
