"""A model reads words that the grammar cannot, and only targets of the reader's own are kept of its
answer."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from pytest_httpserver import HTTPServer

from digest.models import Reader, Spend, SpendRefusal
from ranking.selectors import config_versions
from suggestions.proposals import Refusal
from suggestions.services.wish_models import NOTE
from suggestions.services.wishes import WishAnswer, wish_accept, wishes_draft
from suggestions.wishes.ways import WAYS
from suggestions.wishes.wish import WISH_CHARS_MAX, WISHES_MAX
from tests.advisor.hostile.payloads import FORMS, INJECTIONS
from tests.support.factories import CLOCK, FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.support.scripted_model import Script, Step, garbage, status, text

pytestmark = pytest.mark.django_db
UNCLEAR = "these endless bitcoin stories wear me out, and the Gazette is my morning joy"
LESS_BITCOIN = {"direction": "less", "kind": "word", "name": "bitcoin"}
MORE_GAZETTE = {"direction": "more", "kind": "source", "name": "gazette.example", "amount": "small"}
OF_GAZETTE = {"kind": "source", "name": "gazette.example"}
HOSTILE = [
    {"direction": "less", "kind": "source", "name": "ledger.example"},
    {"direction": "none", "kind": "author", "name": "Ben Secret"},
    {"direction": "more", "kind": "word", "name": "casino"},
    {"direction": "add", "kind": "topic", "name": "casino until 2099"},
    {"direction": "none", "kind": "word", "name": 'x" and mute source "Gazette'},
    {"direction": "less", "kind": "source", "name": ""},
]
NO_RULES = [
    {"direction": "keep", "kind": "source", "name": "ledger.example"},
    {"direction": "age", "kind": "source", "name": "gazette.example", "number": 9999},
    {"direction": "limit", "kind": "source", "name": "gazette.example"},
    {"direction": "less", "kind": "word", "name": "bitcoin", "number": 3},
    {"direction": "delete everything", "kind": "source", "name": "gazette.example"},
]


def says(*changes: dict, **more) -> Step:
    return text(json.dumps({"changes": list(changes)}), **more)


@pytest.fixture
def reads(ada: Reader, ben: Reader) -> Reader:
    """Ada reads two sources, Ben a third that Ada does not."""
    for reader, key, title in (
        (ada, "gazette.example", "A bitcoin falls"),
        (ada, "herald.example", "Chess openings"),
        (ben, "ledger.example", "Secret ledgers"),
    ):
        source, at = SourceFactory(key=key), CLOCK - timedelta(hours=1)
        SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
        author = "Ben Secret" if reader == ben else ""
        ItemFactory(source=source, title=title, author=author, published_at=at, first_seen_at=at, dated_at=at)
    return ada


@pytest.fixture
def modelled(httpserver: HTTPServer, settings) -> HTTPServer:
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    return httpserver


def asked(reader: Reader, words: str = UNCLEAR) -> WishAnswer:
    answer = wishes_draft(reader=reader, words=words, now=CLOCK)
    assert isinstance(answer, WishAnswer)
    return answer


def test_a_model_makes_drafts_of_what_the_grammar_cannot_read(reads: Reader, modelled: HTTPServer):
    with Script(modelled, [says(LESS_BITCOIN, MORE_GAZETTE)]) as script:
        answer = asked(reads)
    assert [(d.change.field, d.change.target, d.change.after) for d in answer.drafts] == [
        ("keyword_boosts", "bitcoin", -0.5),
        ("source_weights", "gazette.example", 1.1),
    ]
    assert answer.notes == (NOTE,) and answer.question is None and config_versions(reader_id=reads.pk) == []
    sent = json.dumps(script.bodies)
    assert "gazette.example" in sent and "ledger" not in sent and "Secret" not in sent
    [spend] = Spend.objects.all()
    assert (spend.reader, spend.purpose) == (reads, "wish") and spend.settled_usd is not None
    done = wish_accept(reader=reads, signed=answer.drafts[0].signed, now=CLOCK)
    assert not isinstance(done, Refusal) and config_versions(reader_id=reads.pk)[0].note == UNCLEAR


def test_a_model_may_ask_for_every_rule_of_a_source_that_the_grammar_knows(
    reads: Reader, modelled: HTTPServer
):
    rules = (
        {"direction": "age", "number": 48} | OF_GAZETTE,
        {"direction": "keep", "kind": "source", "name": "herald.example"},
        {"direction": "out"} | OF_GAZETTE,
    )
    with Script(modelled, [says(*rules), says({"direction": "limit", "number": 3} | OF_GAZETTE)]) as script:
        answer, limited = asked(reads), asked(reads)
    assert [(d.change.field, d.change.target, d.change.after) for d in answer.drafts] == [
        ("shelf_lives", "gazette.example", 48),
        ("never_missed", "herald.example", True),
    ]
    assert answer.notes[0] == NOTE and "out of Today" in answer.notes[1]
    [limit] = limited.drafts
    assert (limit.change.field, limit.change.after) == ("daily_limits", 3)
    prompt = json.dumps(script.bodies[0])
    assert "{ways}" not in prompt and all(f"`{way}`" in prompt for way in WAYS)


def test_what_a_model_reads_beyond_three_changes_is_named_and_stays_in_plain_words(
    reads: Reader, modelled: HTTPServer
):
    of_herald = {"direction": "more", "kind": "source", "name": "herald.example"}
    wishes = [LESS_BITCOIN, MORE_GAZETTE, of_herald, {"direction": "fresher", "kind": "freshness"}]
    with Script(modelled, [says(*wishes)]):
        answer = asked(reads)
    assert len(answer.drafts) == 3 and answer.left == "newer" and "“freshness”" in answer.notes[-1]


@pytest.mark.parametrize("words", ["less bitcoin", "bitcoin", "less chess and bitcoin"])
def test_no_model_is_asked_what_the_grammar_reads_or_asks_back(
    reads: Reader, modelled: HTTPServer, words: str
):
    with Script(modelled, []):
        answer = asked(reads, words)
    assert answer.drafts or answer.question


def test_without_a_model_or_leave_to_ask_one_the_grammar_answers(reads: Reader, modelled, settings):
    reads.ai_enabled = False
    reads.save()
    with Script(modelled, []):
        refused = asked(reads)
    settings.OPENAI_API_KEY = ""
    assert refused == asked(reads) and not refused.drafts and refused.question


@pytest.mark.parametrize(
    "step",
    [
        status(500),
        garbage(b"no"),
        text("less bitcoin"),
        says(),
        says({"direction": "less"}),
        says({"direction": "age", "number": 0} | OF_GAZETTE),
        says(*HOSTILE),
        says(*NO_RULES),
        says(LESS_BITCOIN | {"until": "2020-01-01"}),
        says(*[LESS_BITCOIN] * 11),
    ],
)
def test_what_is_no_answer_leaves_the_grammars_own(reads: Reader, modelled, settings, step: Step):
    with Script(modelled, [step, replace(step, optional=True)]):
        answer = asked(reads)
    settings.OPENAI_API_KEY = ""
    assert answer == asked(reads) and answer.drafts == ()


def test_a_reader_whose_money_is_spent_gets_the_grammars_answer(reads: Reader, modelled, settings):
    settings.ADVISOR_READER_DAILY_CAP_USD = 0.0
    with Script(modelled, []):
        assert asked(reads).drafts == ()
    assert SpendRefusal.objects.get().reader == reads


@pytest.mark.alike
def test_of_an_obedient_model_nothing_but_the_readers_own_is_left(reads: Reader, modelled: HTTPServer):
    attacks = [
        text_
        for injection in INJECTIONS
        for n, form in enumerate(FORMS)
        for text_ in injection.planted(form, n)
    ]
    obedient = says(*HOSTILE, LESS_BITCOIN, MORE_GAZETTE | {"amount": "big"})
    words = [f"bitcoin wears me out. {attack}"[:WISH_CHARS_MAX] for attack in attacks][:60]
    step = replace(obedient, optional=True)
    with Script(modelled, [step] * len(words)) as script:
        for sentence in words:
            answer = wishes_draft(reader=reads, words=sentence, now=CLOCK)
            drafts = () if isinstance(answer, Refusal) else answer.drafts
            assert len(drafts) <= WISHES_MAX
            assert {d.change.target for d in drafts} <= {"bitcoin", "gazette.example"}, sentence
            assert all(abs(d.change.after - (d.change.before or 0)) <= 0.75 for d in drafts)
    assert len(script.bodies) > 20 and config_versions(reader_id=reads.pk) == []
