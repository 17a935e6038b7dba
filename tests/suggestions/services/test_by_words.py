"""A change that the reader's own words ask for: proposed to them, quoted, and never by what others wrote."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import translation

from digest.models import Feedback, Reader
from ranking.services import target_pin
from suggestions.models import Suggestion
from suggestions.planner.evidence import hypotheses_for
from suggestions.proposals import Draft, Refusal
from suggestions.selectors import facts_of
from suggestions.sentences import because, forecast_words
from suggestions.services.resolve import suggestion_reject
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import HATED, LOVED, propose, proposed, rate, tastes, unread, urls

pytestmark = pytest.mark.django_db
WORDS, TARGET = "I want to read more about harbours", ("add_topic", "harbour")
DAY = timedelta(days=1)


def write(reader: Reader, words: str, count: int = 3, at=CLOCK) -> tuple[str, ...]:
    """Write `words` beside articles of two weeks that the reader disliked; return their addresses."""
    items = [rate(reader, HATED, f"Grey {at:%d}{n}", False, at - (1 + n) * DAY) for n in range(count)]
    given = Feedback.objects.filter(reader=reader, item__in=items)
    given.update(other_reasons=[words], has_reason=True)
    return tuple(item.url for item in items)


def draft(cited: tuple[str, ...], **more) -> Draft:
    return Draft("add_topic", "harbours", "harbours", cited, "", **more)


def asked(reader: Reader, now=CLOCK) -> list[tuple[str, str]]:
    found = hypotheses_for(reader_id=reader.pk, now=now).hypotheses
    return [(one.change.suggestion_type, one.change.target) for one in found]


@pytest.fixture
def writer(ada: Reader) -> Reader:
    """Ada, who rated much and whose feeds bring something about harbours; she wrote nothing yet."""
    tastes(ada)
    unread("Harbours")
    return ada


def test_a_wish_written_again_is_the_first_hypothesis_and_the_rules_accept_it(writer: Reader):
    assert TARGET not in asked(writer)
    cited = write(writer, WORDS)
    assert asked(writer)[0] == TARGET
    [change] = facts_of(reader_id=writer.pk, now=CLOCK).wished
    suggestion = proposed(writer, draft(change.evidence_urls))
    assert suggestion.reason == f"You wrote: “{WORDS}”." and suggestion.model_note == ""
    assert suggestion.confidence in ("low", "medium")
    assert suggestion.forecast["by_words"] and suggestion.forecast["ndcg_gain"] is None
    assert {row.url for row in suggestion.evidence.all()} == set(cited)
    assert because(suggestion.reason) == f", since you wrote: “{WORDS}”."
    told = forecast_words(suggestion.forecast, suggestion.suggestion_type)
    assert told.startswith("It could not be measured beforehand")
    with translation.override("de"):
        assert WORDS in because(suggestion.reason) and "You wrote" not in because(suggestion.reason)


def test_only_the_articles_with_the_words_are_evidence_by_words(writer: Reader):
    cited = write(writer, WORDS)
    for other in (cited[:2], (*cited, *urls(writer, LOVED, True, 1)), (*cited, "https://made.up/1")):
        assert isinstance(propose(writer, draft(other)), Refusal)
    assert not Suggestion.objects.exists()


def test_other_names_are_the_agents_own_and_thumbs_judge_them(writer: Reader):
    cited = write(writer, WORDS)
    assert isinstance(propose(writer, draft(cited, other_names=["Grey"])), Refusal)
    assert isinstance(propose(writer, replace(draft(cited), suggestion_type="remove_topic")), Refusal)


def test_what_another_reader_wrote_and_what_titles_say_counts_for_nothing(writer: Reader, ben: Reader):
    cited = write(ben, WORDS)
    for n in range(4):
        rate(writer, HATED, WORDS, False, CLOCK - (1 + n) * DAY)
    assert TARGET not in asked(writer)
    assert propose(writer, draft(cited)).code == "evidence_not_grounded"
    assert isinstance(propose(writer, draft(urls(writer, HATED, False))), Refusal)


def test_a_pin_holds_it_back(writer: Reader):
    cited = write(writer, WORDS)
    target_pin(reader_id=writer.pk, target="harbours", pin="avoided", ref="", now=CLOCK)
    assert TARGET not in asked(writer)
    assert propose(writer, draft(cited)).code == "pinned"


def test_after_a_no_it_comes_back_with_new_words_alone(writer: Reader):
    cited = write(writer, WORDS)
    no = proposed(writer, draft(cited))
    suggestion_reject(reader_id=writer.pk, suggestion_id=no.pk, now=CLOCK)
    later = CLOCK + 20 * DAY
    unread("Harbours", at=later)
    assert TARGET not in asked(writer, later)
    assert isinstance(propose(writer, draft(cited), later), Refusal)
    write(writer, WORDS, 2, at=later)
    assert TARGET not in asked(writer, later)
    write(writer, WORDS, at=later)
    assert TARGET in asked(writer, later)


@pytest.mark.services
def test_old_words_and_those_that_were_taken_back_count_no_more(writer: Reader):
    write(writer, WORDS, at=CLOCK - 90 * DAY)
    assert facts_of(reader_id=writer.pk, now=CLOCK).wished == ()
    write(writer, WORDS)
    assert facts_of(reader_id=writer.pk, now=CLOCK).wished
    Feedback.objects.filter(reader=writer).update(other_reasons=[])
    assert facts_of(reader_id=writer.pk, now=CLOCK).wished == ()
