"""Questions to one model: does it answer at all, in a form, after a long context, in what time?"""

import random
import time
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID, uuid4

from django.conf import settings

from advisor.run.model_verdict import ContextProbe, Probe
from digest.days import day_of
from digest.items.selectors import subscribed_titles
from digest.llm.caller import NO_MODEL, ModelCaller
from digest.llm.entities import (
    ONLY_REASONING,
    Deadline,
    DeadlineExceeded,
    Message,
    Model,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PriceUnknown,
    Usage,
)
from digest.llm.ledger import REFUSALS, advisor_account
from digest.llm.prices import CHARS_PER_TOKEN
from digest.llm.servers import server_kind
from digest.models import Reader
from suggestions.changes.change import LESS, NONE
from suggestions.services.wish_models import PURPOSE as WISH
from suggestions.services.wish_models import wish_ask
from suggestions.wishes.drafting import wishes_of
from suggestions.wishes.wish import Names

# No check waits longer for one answer: all of it should take less than two minutes.
PROBE_S = 60.0
# No longer for a word. A server that loads its model first may need more, so this is no failure of the model.
REACH_S = 20.0
# The most tokens that a run may send, with some room below the 16,384 that a server should have.
CONTEXT_TOKENS = 12_000
HELLO: Sequence[Message] = [{"role": "user", "content": "Answer with one word: ready"}]
UNREACHED = {
    NO_MODEL,
    ModelUnavailable.code,
    ModelRefused.code,
    DeadlineExceeded.code,
    PriceUnknown.code,
    *(code for code, _ in REFUSALS.values()),
}
# Plain words of about four letters and a blank. Each is about a token, for any model.
WORDS = (
    *("the", "port", "lamp", "rain", "was", "seen", "from", "here", "when", "more", "than", "one", "boat"),
    *("left", "with", "salt", "and", "wood", "while", "some", "men", "kept", "their", "coat", "near", "that"),
    *(
        "wall",
        "then",
        "went",
        "home",
        "over",
        "hill",
        "road",
        "past",
        "farm",
        "gate",
        "into",
        "town",
        "where",
    ),
    *("bread", "tea", "milk", "cost", "less", "each", "week", "but", "news", "came", "late", "again"),
)


def reach_probe(model: Model) -> Probe:
    """Ask one model for a word, so that a wrong key, address or name is known at once. Stores nothing.

    A model whose word could cost more than `ADVISOR_RUN_CAP_USD` is not asked, and counts as reached.
    """
    began = time.monotonic()
    code, message, usage, cost = "", "", Usage(), Decimal(0)
    try:
        if model.worst_case_usd(HELLO, ()) <= Decimal(str(settings.ADVISOR_RUN_CAP_USD)):
            usage = model.complete(HELLO, (), timeout_s=REACH_S).usage
            cost = model.cost_usd(usage)
    except ModelError as error:
        code, message = error.code, str(error)
    thought_only = ONLY_REASONING in message
    return Probe(
        model=model.name,
        reached=code not in UNREACHED or thought_only,
        in_form=False,
        right=False,
        error_code=code,
        message=message,
        seconds=round(time.monotonic() - began, 1),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        thought_only=thought_only,
        usd=float(cost),
    )


def form_probe(model: Model, reader: Reader, words: str, source: str, now: datetime) -> Probe:
    """Ask one model for the meaning of a reader's `words`, which are about the key `source`."""
    names, today = Names(subscribed_titles(reader_id=reader.pk)), day_of(now, reader.zone)
    began = time.monotonic()
    answer = wish_ask(
        models=[model],
        words=words,
        names=names,
        today=today,
        ledger=advisor_account(reader_id=reader.pk, run_id=uuid4(), now=now, purpose=WISH),
        timeout_s=PROBE_S,
    )
    read = wishes_of(answer.value.changes, words, names, today).wishes if answer.value else ()
    thought_only = ONLY_REASONING in answer.message
    return Probe(
        model=model.name,
        reached=answer.error_code not in UNREACHED or thought_only,
        in_form=answer.value is not None,
        right=any(one.target.key == source and one.direction in (LESS, NONE) for one in read),
        error_code=answer.error_code,
        message=answer.message,
        seconds=round(time.monotonic() - began, 1),
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        thought_tokens=answer.usage.reasoning_tokens,
        thought_only=thought_only,
        usd=float(answer.cost),
    )


def context_probe(model: Model, reader_id: UUID, now: datetime) -> ContextProbe:
    """Send one model a prompt of about 12,000 tokens, and ask for the code word at its start."""
    word = f"heron{random.SystemRandom().randrange(1000, 10_000)}"
    began = time.monotonic()
    ledger = advisor_account(reader_id=reader_id, run_id=uuid4(), now=now, purpose=WISH)
    caller = ModelCaller(ledger, Deadline(began + PROBE_S))
    reply = caller.ask_all([model], [context_messages(word)])[0]
    seconds, turn = round(time.monotonic() - began, 1), reply.turn
    kind = server_kind(model.name)
    return ContextProbe(
        answered=turn is not None,
        recalled=turn is not None and word in turn.text.lower().replace(" ", "").replace("-", ""),
        read_tokens=turn.usage.input_tokens if turn else 0,
        output_tokens=turn.usage.output_tokens if turn else 0,
        thought_tokens=turn.usage.reasoning_tokens if turn else 0,
        thought_only=ONLY_REASONING in reply.message,
        seconds=seconds,
        error_code=reply.error_code,
        message=reply.message,
        server=kind.name if kind else "",
        server_words=kind.words if kind else "",
        declared_tokens=kind.context if kind else 0,
        usd=float(reply.cost),
    )


def context_messages(word: str) -> Sequence[Message]:
    """Return the prompt of about 12,000 tokens with the code word at its start."""
    dealt, opening = random.Random(word), f"The code word is {word}. Keep it in mind while you read on.\n"
    ask = "\n\nWhat is the code word from the first line of this message? Answer with that one word."
    lines, left = [], CONTEXT_TOKENS * CHARS_PER_TOKEN - len(opening) - len(ask)
    while left > 0:
        line = " ".join(dealt.choices(WORDS, k=14)).capitalize() + "."
        lines.append(line)
        left -= len(line) + 1
    return [
        {"role": "system", "content": "You answer a question about a text, in one word."},
        {"role": "user", "content": opening + "\n".join(lines) + ask},
    ]
