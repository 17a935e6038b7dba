"""The one thing that a run may ask its reader: its rules, its answer, and the card that quotes it."""

import json
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.result_size import item_ref
from advisor.tools.registry import dispatch
from digest.llm.entities import ToolCall
from digest.models import Item, Reader
from suggestions.models import Question, Suggestion
from suggestions.proposals import FenceLost, Refusal
from suggestions.questions import OPEN, QuestionDraft
from suggestions.selectors import question_open, reader_export_suggestions
from suggestions.services.answers import question_answer
from suggestions.services.questions import question_ask
from tests.support.browser import suggested
from tests.support.histories import context_for, opinionated
from tests.support.suggestion_worlds import LOVED, boost, propose, proposed, tastes, urls

pytestmark = pytest.mark.django_db
TEXT, ANSWERS = "Is it the depth or the subject that you like?", ["The depth", "The subject"]


def asked(reader: Reader, now=None, text=TEXT, answers=ANSWERS, items=None, fence=lambda: None):
    items = urls(reader, LOVED, True, 2) if items is None else items
    draft = QuestionDraft(text, answers, items)
    now = now or timezone.now()
    return question_ask(reader_id=reader.pk, run_id=uuid4(), draft=draft, now=now, fence=fence)


@pytest.fixture
def taste(ada: Reader) -> Reader:
    tastes(ada)
    return ada


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    client.force_login(ada)
    return client


def test_a_question_is_shown_on_today_for_fourteen_days(page: Client, taste: Reader):
    row = asked(taste)
    body = page.get("/").content.decode()
    assert TEXT in body and all(f">{answer}</button>" in body for answer in ANSWERS)
    assert row.titles[0] in body
    assert question_open(reader_id=taste.pk, now=row.asked_at + OPEN) is None


def test_suggestions_that_wait_come_before_a_question(page: Client, taste: Reader):
    asked(taste)
    suggested(taste)
    assert TEXT not in page.get("/").content.decode()


def test_who_wants_no_suggestions_is_asked_nothing(page: Client, taste: Reader):
    asked(taste)
    Reader.objects.update(suggestions_enabled=False)
    assert TEXT not in page.get("/").content.decode()


def test_an_answer_is_kept_and_the_question_is_gone(page: Client, taste: Reader):
    row = asked(taste)
    shown = page.post(reverse("suggestions:question", args=[row.pk]), {"choice": "1"}, follow=True)
    assert TEXT not in shown.content.decode() and "Thank you." in shown.content.decode()
    assert Question.objects.get().answer == "The subject"


def test_a_reader_may_say_nothing(page: Client, taste: Reader):
    row = asked(taste)
    page.post(reverse("suggestions:question", args=[row.pk]))
    row.refresh_from_db()
    assert row.answer == "" and row.answered_at is not None
    assert question_open(reader_id=taste.pk, now=timezone.now()) is None


def answer_by_api(client: Client, pk: int, choice: object):
    body = json.dumps({"choice": choice})
    return client.post(f"/api/question/{pk}/answer", body, content_type="application/json")


def test_a_script_reads_the_question_and_answers_it_once(page: Client, taste: Reader):
    assert page.get("/api/question").json() == {"question": None}
    row = asked(taste)
    told = page.get("/api/question").json()["question"]
    assert (told["question_id"], told["text"], told["answers"]) == (row.pk, TEXT, ANSWERS)
    assert told["titles"] == row.titles
    said = {"success": True, "question_id": row.pk, "answer": "The subject"}
    assert answer_by_api(page, row.pk, 1).json() == said
    again = answer_by_api(page, row.pk, 0)
    assert (again.status_code, again.json()["error"]) == (404, "not_found")
    assert page.get("/api/question").json() == {"question": None}
    assert Question.objects.get().answer == "The subject"


def test_by_script_too_a_reader_may_say_nothing(page: Client, taste: Reader):
    row = asked(taste)
    assert answer_by_api(page, row.pk, None).json()["answer"] == ""
    assert question_open(reader_id=taste.pk, now=timezone.now()) is None


@pytest.mark.parametrize(
    ("choice", "status"), [(2, 404), (4, 422), (-1, 422), ("1", 422), (True, 422), (1.0, 422)]
)
def test_by_script_too_what_was_not_offered_is_no_answer(
    page: Client, taste: Reader, choice: object, status: int
):
    assert answer_by_api(page, asked(taste).pk, choice).status_code == status
    assert Question.objects.get().answered_at is None


def test_a_script_learns_of_no_question_that_its_reader_would_not_see(
    page: Client, taste: Reader, ben: Reader
):
    row = asked(taste)
    Reader.objects.filter(pk=taste.pk).update(suggestions_enabled=False)
    assert page.get("/api/question").json() == {"question": None}
    page.force_login(ben)
    assert page.get("/api/question").json() == {"question": None}
    assert answer_by_api(page, row.pk, 0).status_code == 404


@pytest.mark.parametrize("choice", ["2", "-1", "x", "1" * 5000, "١"])
def test_what_was_not_offered_is_no_answer(page: Client, taste: Reader, choice: str):
    row = asked(taste)
    shown = page.post(reverse("suggestions:question", args=[row.pk]), {"choice": choice}, follow=True)
    assert "not open any more" in shown.content.decode()
    assert Question.objects.get().answered_at is None


def test_neither_another_reader_nor_a_second_or_late_answer_counts(taste: Reader, ben: Reader):
    row = asked(taste)
    now = row.asked_at

    def said(reader, choice, now=now):
        return isinstance(question_answer(reader=reader, question_id=row.pk, choice=choice, now=now), Refusal)

    assert said(ben, 0) and said(taste, 0, now + OPEN)
    assert not said(taste, 0) and said(taste, 1)
    assert Question.objects.get().answer == "The depth"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"text": "Tell me"}, "invalid_question"),
        ({"text": f"{'x' * 200}?"}, "invalid_question"),
        ({"answers": ["Yes"]}, "invalid_question"),
        ({"answers": ["Yes", "yes"]}, "invalid_question"),
        ({"answers": ["Yes", ""]}, "invalid_question"),
        ({"answers": ["a", "b", "c", "d", "e"]}, "invalid_question"),
        ({"answers": ["Yes", "no " * 30]}, "invalid_question"),
        ({"text": "Would you sign in again?"}, "unsafe_question"),
        ({"text": "Do you know evil.example?"}, "unsafe_question"),
        ({"answers": ["Yes", "Call 555 010 9999"]}, "unsafe_question"),
        ({"text": "Do you like Zweckverband?"}, "unsafe_question"),
        ({"text": "Do you li\u202eke it?"}, "unsafe_question"),
        ({"items": ()}, "evidence_not_grounded"),
        ({"items": ("https://loved.example/made-up",)}, "evidence_not_grounded"),
    ],
)
def test_a_question_keeps_the_rules_for_a_models_words(taste: Reader, changed, code):
    refusal = asked(taste, **changed)
    assert refusal.code == code and not Question.objects.exists()


def test_nothing_is_asked_within_fourteen_days_of_a_question_answered_or_not(taste: Reader):
    row = asked(taste)
    question_answer(reader=taste, question_id=row.pk, choice=0, now=row.asked_at)
    assert asked(taste, row.asked_at + OPEN - timedelta(minutes=1)).code == "asked_lately"
    assert isinstance(asked(taste, row.asked_at + OPEN), Question)


def test_a_run_that_lost_its_claim_asks_nothing(taste: Reader):
    def lost() -> None:
        raise FenceLost

    with pytest.raises(FenceLost):
        asked(taste, fence=lost)
    assert not Question.objects.exists()


def test_a_suggestion_quotes_the_answer_that_led_to_it(page: Client, taste: Reader, now):
    row = asked(taste, now)
    assert propose(taste, boost(taste, question=row.pk)).code == "question_unknown"
    question_answer(reader=taste, question_id=row.pk, choice=0, now=now)
    led = proposed(taste, boost(taste, question=row.pk))
    assert led.question == row
    Suggestion.objects.update(created_at=timezone.now())
    said = f"You answered “The depth” to “{TEXT}”"
    assert said in page.get("/ui/suggestions").content.decode()
    [shown] = page.get("/api/suggestions").json()["suggestions"]
    assert shown["asked"] == {"question": TEXT, "answer": "The depth"}


@pytest.mark.parametrize("late", [False, True])
def test_an_answer_of_another_reader_or_long_ago_leads_to_nothing(taste: Reader, ben: Reader, now, late):
    row = asked(taste, now - timedelta(days=190 if late else 1))
    question_answer(reader=taste, question_id=row.pk, choice=0, now=row.asked_at)
    if not late:
        Question.objects.update(reader=ben)
    assert propose(taste, boost(taste, question=row.pk)).code == "question_unknown"


def call(reader: Reader, name: str, **arguments):
    context = replace(context_for(reader), run_id=uuid4())
    return json.loads(dispatch(context, ToolCall("c", name, json.dumps(arguments))).content)


def test_a_run_asks_when_it_finishes_and_the_next_one_reads_the_answer(ada: Reader, now):
    opinionated(ada)
    pk = Item.objects.filter(feedback__reader=ada, source_id="loved.example").values_list("pk", flat=True)[0]
    question = {"text": TEXT, "answers": ANSWERS, "items": [item_ref(pk)]}
    assert call(ada, "finish", question=question | {"answers": ["One"]})["error"] == "invalid_question"
    assert call(ada, "finish", reason="", skipped=[], question=question) == {"success": True}
    row = Question.objects.get()
    assert "answers" not in call(ada, "get_user_profile")
    question_answer(reader=ada, question_id=row.pk, choice=1, now=now)
    told = call(ada, "get_user_profile")["answers"]
    assert told == [{"id": row.pk, "question": TEXT, "answer": "The subject"}]
    assert call(ada, "finish", question=question) == {"success": True} and Question.objects.count() == 1


def test_questions_are_in_a_readers_export(taste: Reader):
    asked(taste)
    rows = dict(reader_export_suggestions(reader_id=taste.pk))["questions"]
    assert [row["text"] for row in rows] == [TEXT]
