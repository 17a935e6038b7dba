"""Make summaries and suggested reasons: an extract for every text, a model's summary for the best ones.

No transaction is open during a model call. Money is reserved in a short transaction, the calls of a wave run,
and their results are stored at once. An interrupted night continues at the same place. No text is paid for
twice, by the same model or by the next.
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
from ranking.common.isolation import isolate

log = structlog.get_logger(__name__)

PROMPT = Path(__file__).with_name("summary.md")
# A long text takes about 4 ms, so a full round takes about a minute.
ROUND_MAX = 20_000
# Stored together: fifty texts, or the texts of one second, so a killed worker loses no more.
CHUNK, CHUNK_S = 50, 1.0
# The processor time of this thread that one text may take. The slowest known text takes a fiftieth. The first
# text of a process also waits for an import.
DOCUMENT_S = 4.0
# Calls at once: enough to finish a night soon, and few enough for any provider's limit on new accounts.
WAVE = 4
# Half an hour is enough for 500 texts (32 waves) even if each call takes its longest. The rest waits for the
# next night.
TIME_S = 1800.0


@dataclass
class SummaryReport:
    """Counts of a round of summaries.

    - `extracts`: texts that got their offline extract.
    - `asked`: texts that went to a model. Of these, `made` were stored as written, `repaired` were replaced
      by the publisher's first sentence, and `refused` counts the others by code.
    - `faults`: the failed checks of repaired and refused summaries.
    - `stopped`: "" or the stable code of the cause that ended the round early; `message` explains it.
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

    The newest come first, at most `limit`. Results are stored after 50 texts or a second, so an interrupted
    round continues at the same place. Running it twice, or twice at once, stores nothing twice. A text that
    fails, or takes more than `DOCUMENT_S` of `clock`, is stored with an error code and not tried again. One
    query finds all texts, and one more reads each 50.
    """
    made = 0
    waiting = _without_extract(now, limit)
    for at in range(0, len(waiting), CHUNK):
        items = _items_to_extract(waiting[at : at + CHUNK])
        while items:
            done = _extracts_store(items, now, clock)
            made, items = made + done, items[done:]
    return made


def _without_extract(now: datetime, limit: int) -> list[int]:
    """Return one item of each text of the window without an extract, newest first, at most `limit`."""
    window = Item.objects.filter(dated_at__gt=now - timedelta(days=ITEM_WINDOW_DAYS), dated_at__lte=now)
    rows = window.filter(~_has_extract()).order_by("-dated_at", "pk").values_list("fingerprint", "pk")
    newest: dict[str, int] = {}
    for fingerprint, pk in rows[:limit]:
        newest.setdefault(fingerprint, pk)
    return list(newest.values())


def _items_to_extract(ids: Sequence[int]) -> list[Item]:
    """Return those of the items that still have no extract, in this order, with `in_story`."""
    # Items of private feeds do not count: they must not show on anybody else's items.
    others = Item.objects.filter(story=OuterRef("story"), feed__owner=None).exclude(pk=OuterRef("pk"))
    rows = Item.objects.filter(~_has_extract(), pk__in=ids).only("fingerprint", "title", "text", "story_id")
    found = {item.pk: item for item in rows.annotate(in_story=Exists(others))}
    return [found[pk] for pk in ids if pk in found]


def _has_extract() -> Exists:
    return Exists(Summary.objects.filter(fingerprint=OuterRef("fingerprint"), model=OFFLINE))


def _extracts_store(items: Sequence[Item], now: datetime, clock: Callable[[], float]) -> int:
    """Store the extracts of the first items, for at most one second. Return how many."""
    until = Deadline(clock() + CHUNK_S, clock)
    summaries, reasons = [], []
    for item in items:
        clustered = bool(getattr(item, "in_story", False))
        result, suggested = _extract(item, clustered, Deadline(clock() + DOCUMENT_S, clock))
        summaries.append(_summary_row(item.fingerprint, OFFLINE, result, now))
        reasons.append(_reasons_row(item.fingerprint, OFFLINE, suggested, now))
        if until.left_s < 0:
            break
    # Reasons first, because an item with an extract counts as done.
    SuggestedReasons.objects.bulk_create(reasons, ignore_conflicts=True)
    Summary.objects.bulk_create(summaries, ignore_conflicts=True)
    return len(summaries)


def _extract(
    item: Item, clustered: bool, deadline: Deadline
) -> tuple[SummaryResult, Sequence[SuggestedReason]]:
    """Return the extract and the reasons of one text. A failing text does not stop the next one."""
    reasons, code = reasons_filter([], ()), FAILED
    with isolate("text", item.pk, "extract_failed"):
        try:
            reasons = reasons_offline(item.title, item.text, clustered=clustered)
            return summary_offline(item.title, item.text, deadline), reasons
        except TooSlow:
            code = TIME_LIMIT
    return SummaryResult(refusal=code, fault=code.lower()), reasons


def summaries_make(
    *,
    now: datetime,
    limit: int | None = None,
    time_s: float = TIME_S,
    sleep: Callable[[float], None] = time.sleep,
) -> SummaryReport:
    """Extract every new text of the window, then ask the chain's models about the most valuable ones.

    `limit` (default `LLM_SUMMARIES_PER_NIGHT`) is the largest number of texts to ask a model about. The round
    stops at `LLM_DAILY_CAP_USD`, after `time_s` seconds, or when no model answers. Stored results stay, and
    all other texts have their extracts. Do not call it inside a transaction. Raises `PromptUnusable`.
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
    """The model calls of one round: waves, until texts, money, time or models are used up."""

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
            # Meanwhile a reader may have switched AI off, or another run may have summarised the text.
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
            with isolate("text", batch[0].item_id, "summaries_failed"):
                if answer.value is not None:
                    self._store(batch, answer, answer.value)
        return self._continues(answers)

    def _continues(self, answers: Sequence[TypedAnswer[BatchReply]]) -> bool:
        """Return whether another wave may follow, and drop models that no longer answer.

        A lack of money or time ends a round at once. Any other failure ends it only if the whole wave failed.
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
        """Store the summaries and reasons of one answer, each with an equal share of its cost."""
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
    """Return the row of suggested reasons.

    It has no cost, because the summary's row has that of the same call.
    """
    stored = [{"tag": reason.tag, "text": reason.text} for reason in reasons]
    return SuggestedReasons(fingerprint=fingerprint, model=model, reasons=stored, created_at=now)


def _chunks(texts: Sequence[Text], size: int) -> Iterator[Sequence[Text]]:
    return (texts[n : n + size] for n in range(0, len(texts), size))
