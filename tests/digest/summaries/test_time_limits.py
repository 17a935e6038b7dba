"""Extracts of many texts: a slow or broken text affects no other, and finished extracts are stored soon."""

import random
from collections.abc import Callable
from itertools import count

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import connection
from django.test.utils import CaptureQueriesContext

from digest.feedback.reasons import reasons_offline
from digest.feeds.sanitise import FIELD_MAX_CHARS, TITLE_MAX_CHARS
from digest.llm.entities import Deadline
from digest.models import Reader, SuggestedReasons, Summary
from digest.summaries import services
from digest.summaries.selectors import reasons_suggested_for, summaries_for
from digest.summaries.services import CHUNK, CHUNK_S, DOCUMENT_S, extracts_make
from digest.summaries.summarise import (
    SUMMARY_CHARS_MAX,
    SummaryReply,
    Text,
    TooSlow,
    sentences_of,
    summary_check,
    summary_offline,
)
from tests.support.adversarial import seconds, text_families
from tests.support.summaries import carry, long_text

# Only a text made for it is this slow, and it is far below the limit for giving up.
WORST_S = DOCUMENT_S / 8


class Clock:
    """Processor time that passes only while a text with one of these words is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **takes: float) -> None:
        self.now, self.takes, real = 0.0, takes, services.reasons_offline

        def slowly(title: str, text: str, **more: bool) -> object:
            self.now += next((took for word, took in self.takes.items() if word in title), 0.0)
            return real(title, text, **more)

        monkeypatch.setattr(services, "reasons_offline", slowly)

    def __call__(self) -> float:
        return self.now


def refusals() -> dict[str, int]:
    """Return how many extracts are stored per refusal code."""
    codes = list(Summary.objects.values_list("refusal", flat=True))
    return {code: codes.count(code) for code in codes}


def test_a_text_over_its_time_is_given_up_once_and_holds_no_other_back(ada: Reader, now, monkeypatch):
    slow, *others = [carry(ada, word, hours=n) for n, word in enumerate(("molasses", "gulls", "terns"), 1)]
    clock = Clock(monkeypatch, molasses=DOCUMENT_S + 0.1)
    assert extracts_make(now=now, clock=clock) == 3
    assert refusals() == {"": 2, "TIME_LIMIT": 1}
    shown = summaries_for(reader_id=ada.pk, items=[slow, *others])
    assert shown[slow.pk].refusal == "TIME_LIMIT" and not shown[slow.pk].text
    assert all(shown[item.pk].text for item in others)
    assert len(reasons_suggested_for(reader_id=ada.pk, items=[slow])[slow.pk]) >= 3
    spent = clock.now
    assert extracts_make(now=now, clock=clock) == 0, "tried again"
    assert clock.now == spent


def test_a_text_within_its_time_gets_its_extract_however_long_the_others_took(ada: Reader, now, monkeypatch):
    for n in range(1, 6):
        carry(ada, f"gulls{n}", hours=n)
    clock = Clock(monkeypatch, gulls=DOCUMENT_S - 0.1)
    assert extracts_make(now=now, clock=clock) == 5
    assert refusals() == {"": 5}


def test_a_text_that_breaks_the_reading_costs_itself_alone(ada: Reader, now, monkeypatch):
    for n, word in enumerate(("broken", "gulls", "terns"), 1):
        carry(ada, word, hours=n)
    real = services.summary_offline

    def breaks(title: str, text: str, deadline: Deadline) -> object:
        if "broken" in title:
            raise ValueError("no such sign")
        return real(title, text, deadline)

    monkeypatch.setattr(services, "summary_offline", breaks)
    assert extracts_make(now=now) == 3
    assert refusals() == {"": 2, "FAILED": 1}
    assert extracts_make(now=now) == 0


def test_what_took_a_second_is_stored_before_the_next_text_begins(ada: Reader, now, monkeypatch):
    """A worker killed at the fourth text loses less than the fifty that are read together."""
    for n, word in enumerate(("gulls", "gulls two", "gulls three", "killer"), 1):
        carry(ada, word, hours=n)
    clock, real = Clock(monkeypatch, gulls=CHUNK_S / 1.5), services.summary_offline

    def killed(title: str, text: str, deadline: Deadline) -> object:
        if "killer" in title:
            raise KeyboardInterrupt
        return real(title, text, deadline)

    monkeypatch.setattr(services, "summary_offline", killed)
    with pytest.raises(KeyboardInterrupt):
        extracts_make(now=now, clock=clock)
    assert refusals() == {"": 2} and SuggestedReasons.objects.count() == 2


def test_the_texts_of_a_window_are_looked_for_once_however_many_are_read_in_turn(ada: Reader, now):
    for n in range(1, 2 * CHUNK + 2):
        carry(ada, f"gulls{n}", hours=n / 10)
    with CaptureQueriesContext(connection) as queries:
        assert extracts_make(now=now) == 2 * CHUNK + 1
    looked = [query["sql"] for query in queries if '"dated_at" >' in query["sql"]]
    assert len(looked) == 1
    assert len([query for query in queries if query["sql"].startswith("SELECT")]) == 1 + 3


def test_a_workers_own_time_limit_is_no_fault_of_the_text(ada: Reader, now, monkeypatch):
    carry(ada, "gulls")

    def stopped(*_: object) -> None:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(services, "summary_offline", stopped)
    with pytest.raises(SoftTimeLimitExceeded):
        extracts_make(now=now)
    assert not Summary.objects.exists()


def test_the_deadline_is_looked_at_between_sentences():
    ticks = count()
    with pytest.raises(TooSlow):
        sentences_of(long_text("gulls"), Deadline(5, lambda: float(next(ticks))))
    assert next(ticks) == 7


def test_the_deadline_is_looked_at_before_sentences_are_compared():
    ticks, two = count(), "The gulls of the harbour were counted.\nNobody had expected so many of them."
    with pytest.raises(TooSlow):
        summary_offline("Gulls", two, Deadline(3.5, lambda: float(next(ticks))))


def sentences(chars: int, signs: str, end: str) -> Callable[[int], str]:
    """Return a function that makes texts of sentences of this length, all different."""
    chance = random.Random(1)

    def sentence() -> str:
        words = ("".join(chance.choices(signs, k=5)) for _ in range(chars // 6))
        return " ".join(words).capitalize() + end

    return lambda length: "".join(sentence() for _ in range(length // chars))


def test_between_two_looks_at_the_deadline_no_text_takes_long():
    """Each function that reads a text, on the longest there is, in full: no deadline has to stop it."""
    ideographs = "".join(map(chr, range(0x4E00, 0x9FFF, 7)))
    families = {
        **text_families(),
        "short sentences": sentences(30, "abcdefgh", ". "),
        "long sentences": sentences(SUMMARY_CHARS_MAX - 10, "abcdefgh", ". "),
        "long sentences without spaces": sentences(SUMMARY_CHARS_MAX - 10, ideographs, "。"),
        "abbreviations": lambda length: "A. b.c. " * (length // 8),
    }
    # A process's first extract imports its modules.
    summary_offline("Gulls", long_text("gulls"))
    slow = []
    for name, make in families.items():
        text = make(FIELD_MAX_CHARS)
        title = text[:TITLE_MAX_CHARS]
        reply = SummaryReply(n=1, summary=text[:2_000], citations=[text[:SUMMARY_CHARS_MAX]] * 10)
        works = {
            "reasons": lambda _, title=title, text=text: reasons_offline(title, text),
            "extract": lambda _, title=title, text=text: summary_offline(title, text),
            "check": lambda _, title=title, text=text, reply=reply: summary_check(
                Text(1, "", title, text), reply
            ),
        }
        for what, work in works.items():
            if (took := seconds(work, None)) > WORST_S:
                slow.append(f"{what}, {name}: {took:.2f} s")
    assert slow == []
