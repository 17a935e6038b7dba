"""Make summaries and suggested reasons: an extract for every text, a model's summary for the most valuable.

No transaction is open during a call: money is reserved in a short one, the calls of a wave run, their results
are stored at once. An interrupted night continues where it stopped, and no text is paid for twice, by one
model or by the next.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import structlog
from billiard.exceptions import SoftTimeLimitExceeded  # which Celery raises, and does not need for it
from django.conf import settings
from django.db.models import Exists, OuterRef

from digest.entities import ITEM_WINDOW_DAYS
from digest.feedback.reasons import SuggestedReason, reason_tags_map, reasons_filter, reasons_offline
from digest.feedback.selectors import reason_tag_spellings
from digest.llm.caller import INVALID, Question, TypedAnswer, data_fence, prompt_read, typed_ask_all
from digest.llm.client import chain_configured
from digest.llm.entities import Deadline, Model
from digest.llm.ledger import SUMMARY, SpendAccount, ingest_account
from digest.models import Item, SuggestedReasons, Summary
from digest.summaries.selectors import texts_still_wanted, texts_wanted
from digest.summaries.summarise import (
    BATCH,
    FAILED,
    OFFLINE,
    TIME_LIMIT,
    BatchReply,
    SummaryReply,
    SummaryResult,
    Text,
    TooSlow,
    batch_prompt,
    replies_of,
    summary_check,
    summary_offline,
)

log = structlog.get_logger(__name__)

PROMPT = Path(__file__).with_name("summary.md")
# A long text takes about 4 ms, so a full round takes a minute or so.
ROUND_MAX = 20_000
# Stored together: fifty texts, or as many as take a second, so that a killed worker loses no more.
CHUNK, CHUNK_S = 50, 1.0
# Processor time of this thread that one text may take before it is given up. The slowest that was found takes
# a fiftieth; the first of a process waits for an import as well.
DOCUMENT_S = 4.0
# Calls at once: enough to finish a night soon, few enough for any provider's limit on new accounts.
WAVE = 4
# Half an hour serves 500 texts (32 waves) at the longest a call may take; the rest waits for the next night.
TIME_S = 1800.0


@dataclass
class SummaryReport:
    """Counts of a round of summaries.

    `extracts`: texts that got their offline extract. `asked`: texts that went to a model; of those `made`
    were stored as the model wrote them, `repaired` replaced by the publisher's first sentence, `refused`
    counted by code; `faults` counts the failed checks of the last two. `stopped` is "" or the stable code of
    what ended the round early, `message` its explanation.
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


def extracts_make(
    *, now: datetime, limit: int = ROUND_MAX, clock: Callable[[], float] = time.thread_time
) -> int:
    """Store extracts and offline reasons for the items of a digest's window; return how many texts were new.

    The newest come first, `limit` at most. What is made is stored after 50 texts or a second, so that an
    interrupted round continues where it stopped; doing it twice, or at once, stores nothing twice. A text
    that takes more than `DOCUMENT_S` of `clock`, or fails, is stored with the code of that and not tried
    again.
    """
    made = 0
    while made < limit:
        done = Summary.objects.filter(fingerprint=OuterRef("fingerprint"), model=OFFLINE)
        window = Item.objects.filter(dated_at__gt=now - timedelta(days=ITEM_WINDOW_DAYS), dated_at__lte=now)
        rows = window.filter(~Exists(done)).only("fingerprint", "title", "text", "story_id")
        # What a private feed brings shows on nobody's items.
        others = Item.objects.filter(story=OuterRef("story"), feed__owner=None).exclude(pk=OuterRef("pk"))
        rows = rows.annotate(in_story=Exists(others))
        newest = rows.order_by("-dated_at", "pk")[: min(CHUNK, limit - made)]
        items = list({item.fingerprint: item for item in newest}.values())
        if not items:
            break
        made += _extracts_store(items, now, clock)
    return made


def _extracts_store(items: Sequence[Item], now: datetime, clock: Callable[[], float]) -> int:
    """Store the extracts of the first items, as many as a second allows; return their number."""
    until = Deadline(clock() + CHUNK_S, clock)
    summaries, reasons = [], []
    for item in items:
        clustered = bool(getattr(item, "in_story", False))
        result, suggested = _extract(item, clustered, Deadline(clock() + DOCUMENT_S, clock))
        summaries.append(_summary_row(item.fingerprint, OFFLINE, result, now))
        reasons.append(_reasons_row(item.fingerprint, OFFLINE, suggested, now))
        if until.left_s < 0:
            break
    # Reasons first: an item with an extract counts as done.
    SuggestedReasons.objects.bulk_create(reasons, ignore_conflicts=True)
    Summary.objects.bulk_create(summaries, ignore_conflicts=True)
    return len(summaries)


def _extract(
    item: Item, clustered: bool, deadline: Deadline
) -> tuple[SummaryResult, Sequence[SuggestedReason]]:
    """Return the extract and the reasons of one text; whatever is in it, the next one has its turn."""
    reasons = reasons_filter([], ())
    try:
        reasons = reasons_offline(item.title, item.text, clustered=clustered)
        return summary_offline(item.title, item.text, deadline), reasons
    except TooSlow:
        code = TIME_LIMIT
    except SoftTimeLimitExceeded:
        raise
    except Exception:
        log.exception("extract_failed", item_id=item.pk)
        code = FAILED
    return SummaryResult(refusal=code, fault=code.lower()), reasons


def summaries_make(
    *,
    now: datetime,
    limit: int | None = None,
    time_s: float = TIME_S,
    sleep: Callable[[float], None] = time.sleep,
) -> SummaryReport:
    """Extract every new text of the window, then ask the models of the chain about the most valuable.

    `limit` (default `LLM_SUMMARIES_PER_NIGHT`) is the most texts a model is asked about. The round stops at
    `LLM_DAILY_CAP_USD`, after `time_s` seconds, or when no model answers; what is stored stays, the other
    texts have their extracts. Must not be called inside a transaction. Raises `PromptUnusable`.
    """
    report = SummaryReport(extracts=extracts_make(now=now))
    models = chain_configured(SUMMARY)
    limit = settings.LLM_SUMMARIES_PER_NIGHT if limit is None else limit
    if models and limit > 0:
        texts = texts_wanted(now=now, limit=limit)
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
        self.prompt, self.spellings = prompt_read(PROMPT), reason_tag_spellings()

    def run(self, texts: Sequence[Text]) -> None:
        """Ask about the texts in their order."""
        for wave in _chunks(texts, BATCH * WAVE):
            # Since the round began a switch may have been turned off, or another round have come first.
            allowed = texts_still_wanted(item_ids=[text.item_id for text in wave])
            batches = list(_chunks([text for text in wave if text.item_id in allowed], BATCH))
            if batches and not self._wave(batches):
                return

    def _wave(self, batches: Sequence[Sequence[Text]]) -> bool:
        """Ask about some batches at once; return `False` when the round is over."""
        answers = typed_ask_all(
            models=self.models,
            questions=[Question(self.prompt, data_fence(batch_prompt(batch))) for batch in batches],
            shape=BatchReply,
            ledger=self.account,
            deadline=self.deadline,
            sleep=self.sleep,
        )
        for batch, answer in zip(batches, answers, strict=True):
            self.report.cost_usd += answer.cost
            if answer.value is not None or answer.error_code == INVALID:
                self.report.calls += 1
                self.report.asked += len(batch)
            if answer.value is not None:
                self._store(batch, answer, answer.value)
        return self._continues(answers)

    def _continues(self, answers: Sequence[TypedAnswer[BatchReply]]) -> bool:
        """Return whether another wave may follow, with the models that still answer.

        Money and time end a round at once; any other failure only when the whole wave had it.
        """
        failed = [answer for answer in answers if answer.value is None]
        over = [answer for answer in failed if answer.interrupted]
        if over or len(failed) == len(answers):
            last = (over or failed)[0]
            self.report.stopped, self.report.message = last.error_code, last.message
            return False
        names = [model.name[:80] for model in self.models]
        first = min((names.index(a.model) for a in answers if a.value is not None), default=0)
        self.models = self.models[first:]
        return True

    def _store(self, batch: Sequence[Text], answer: TypedAnswer[BatchReply], value: BatchReply) -> None:
        """Store the summaries and reasons of one answer, with an equal share of its cost each."""
        replies = replies_of(value, len(batch))
        share = answer.cost / len(batch)
        summaries, reasons = [], []
        for n, text in enumerate(batch, start=1):
            result = summary_check(text, replies.get(n))
            self._count(result)
            summaries.append(_summary_row(text.fingerprint, answer.model, result, self.now, share))
            suggested = self._reasons(text, replies.get(n))
            reasons.append(_reasons_row(text.fingerprint, answer.model, suggested, self.now))
        Summary.objects.bulk_create(summaries, ignore_conflicts=True)
        SuggestedReasons.objects.bulk_create(reasons, ignore_conflicts=True)

    def _count(self, result: SummaryResult) -> None:
        if result.refusal:
            self.report.refused[result.refusal] += 1
        elif result.repaired:
            self.report.repaired += 1
        else:
            self.report.made += 1
        if result.fault:
            self.report.faults[result.fault] += 1

    def _reasons(self, text: Text, reply: SummaryReply | None) -> tuple[SuggestedReason, ...]:
        pairs = []
        for reason in reply.reasons if reply else []:
            tags, _ = reason_tags_map([reason.tag, reason.text], self.spellings)
            pairs.append((tags[0] if tags else None, reason.text))
        return reasons_filter(pairs, reasons_offline(text.title, text.text))


def _summary_row(
    fingerprint: str, model: str, result: SummaryResult, now: datetime, cost: Decimal = Decimal(0)
) -> Summary:
    return Summary(
        fingerprint=fingerprint,
        model=model,
        text=result.text,
        citations=list(result.citations),
        repaired=result.repaired,
        refusal=result.refusal,
        cost_usd=cost,
        created_at=now,
    )


def _reasons_row(
    fingerprint: str, model: str, reasons: Sequence[SuggestedReason], now: datetime
) -> SuggestedReasons:
    """Return the row of suggested reasons; their cost is in the summary's, since one call made both."""
    stored = [{"tag": reason.tag, "text": reason.text} for reason in reasons]
    return SuggestedReasons(fingerprint=fingerprint, model=model, reasons=stored, created_at=now)


def _chunks(texts: Sequence[Text], size: int) -> Iterator[Sequence[Text]]:
    return (texts[n : n + size] for n in range(0, len(texts), size))
