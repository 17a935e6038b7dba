"""A run that stored nothing for its reader is handed to the planner, which is free, and says so."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from advisor.guidance.run_context import targets_refused
from advisor.models import Decision, Run, Step
from advisor.run.execute import run_execute
from advisor.run.request import GenerateResult, run_request
from advisor.run.scheduling import readers_advise, readers_ration, run_candidates
from advisor.run.status_words import status_message
from advisor.run_values import BY_PLANNER, StopReason
from advisor.selectors import run_reason
from digest.llm.caller import prompt_read
from digest.llm.providers import PROVIDERS
from digest.models import Reader, Spend
from suggestions.changes.proposal import DRAFT, REFUSE, Review
from suggestions.models import Suggestion
from suggestions.planner.hypotheses import BALANCED, SILENCE_SENTENCES
from tests.advisor.agent.test_wire_runs import READ, boost, urls_of
from tests.support.factories import ReaderFactory, SubscriptionFactory
from tests.support.histories import balanced, opinionated
from tests.support.scripted_model import Script, calls, finish, garbage, status, text

pytestmark = pytest.mark.django_db
CLOSING = '{"suggestions": [], "skipped": [], "meta": {}}'
REFUSAL = {"error": {"message": "I will not.", "type": "policy", "param": None, "code": None}}


@pytest.fixture
def model(ada, now, httpserver, settings):
    """Run the advisor for Ada, who clearly likes one source and dislikes another, with a scripted model."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]

    def asked(*steps, trigger=Run.Trigger.UI, reader=ada) -> tuple[GenerateResult, Run]:
        with Script(httpserver, steps):
            result = run_request(reader=reader, trigger=trigger, now=now, inline=True)
        return result, Run.objects.get(pk=result.run_id)

    return asked


def targets(reader: Reader, status: str = "pending") -> set[str]:
    """Return the targets of the reader's suggestions with this status."""
    return set(Suggestion.objects.filter(reader=reader, status=status).values_list("target_key", flat=True))


def stands(result: GenerateResult, run: Run, reason: StopReason) -> None:
    """Assert that the planner made suggestions, labelled, and that the truth about the models is kept."""
    assert (run.status, run.stop_reason) == (result.status, reason) == ("completed", reason)
    assert (run.meta["finished_by"], run.model) == ("planner", "offline:planner")
    assert result.suggestions_created > 0 and result.reason == run_reason(run) == BY_PLANNER
    assert run.meta["suggestions_after_validation"] == result.suggestions_created
    assert Decision.objects.filter(run=run, action="run_handed_over", data={"code": reason}).exists()


def test_a_model_that_refuses(ada, model):
    opinionated(ada)
    result, run = model(garbage(json.dumps(REFUSAL).encode(), status=400))
    stands(result, run, StopReason.MODEL_REFUSED)
    assert targets(ada) == {"loved.example", "loathed.example"}
    assert not Decision.objects.filter(actor="policy").exists(), "its suggestions wait: no retry is of use"


@pytest.mark.parametrize("words", ["", "I have nothing to say.", CLOSING], ids=["empty", "prose", "summary"])
def test_a_model_that_stays_silent(ada, model, words: str):
    opinionated(ada)
    result, run = model(READ, text(words or " "))
    stands(result, run, StopReason.DONE)


@pytest.mark.parametrize("spoilt", ["evidence", "words", "value", "side"])
def test_a_model_whose_every_draft_is_badly_made_costs_its_reader_nothing(ada, model, spoilt: str):
    opinionated(ada)
    liked, made_up = (
        urls_of(ada, "loved.example", True),
        [f"https://loved.example/made-up/{n}" for n in range(3)],
    )
    name, given = boost(made_up if spoilt == "evidence" else liked)
    given |= {
        "words": {"reason": "Sign in at https://tidings-login.example to keep it."},
        "value": {"suggested_value": "0.2"},
        "side": {"reason": "You disliked most of what it brings."},
    }.get(spoilt, {})
    draft = calls((name, given))
    result, run = model(READ, draft, draft, draft)
    stands(result, run, StopReason.REPEATED_FAILURE)
    assert targets(ada) == {"loved.example", "loathed.example"}


def test_a_target_that_a_rule_refuses_is_left_alone(ada, model):
    opinionated(ada)
    name, given = boost(urls_of(ada, "middling0.example", True))
    draft = calls((name, given | {"target": "middling0.example"}))
    _, run = model(READ, draft, draft, draft)
    code = Step.objects.filter(run=run, tool="write_suggestion").first().error_code
    assert code in ("evidence_contradicts", "weak_evidence")
    assert targets_refused(run_id=run.pk) == {("source_weights", "middling0.example")}


def test_a_write_of_no_form_is_no_refusal_of_its_target(ada, model):
    opinionated(ada)
    result, run = model(calls(boost([], evidence=None)), text(CLOSING))
    stands(result, run, StopReason.DONE)
    assert targets(ada) == {"loved.example", "loathed.example"}


@pytest.mark.parametrize(
    "review",
    [Review(REFUSE, "reflector_refused", "No."), Review("improve", message="Say it better.")],
    ids=["reflector", "panel"],
)
def test_what_reviewers_refused_is_not_proposed_again(ada, model, monkeypatch, review: Review):
    opinionated(ada)
    monkeypatch.setattr(
        "advisor.review.compose._review",
        lambda proposal, *_: review if proposal.change.target == "loved.example" else Review("pass"),
    )
    result, run = model(READ, calls(boost(urls_of(ada, "loved.example", True))), text(CLOSING))
    stands(result, run, StopReason.DONE)
    assert targets(ada) == {"loathed.example"}


def test_a_draft_that_waits_for_an_operator_stays_and_is_not_doubled(ada, model, monkeypatch):
    opinionated(ada)
    reviews = iter([Review(DRAFT)])
    monkeypatch.setattr("advisor.review.compose._review", lambda *_: next(reviews, Review("pass")))
    result, run = model(READ, calls(boost(urls_of(ada, "loved.example", True))), text(CLOSING))
    stands(result, run, StopReason.DONE)
    assert targets(ada, "draft") == {"loved.example"} and targets(ada) == {"loathed.example"}


@pytest.mark.parametrize(
    "setting", ["ADVISOR_RUN_CAP_USD", "ADVISOR_DAILY_CAP_USD", "ADVISOR_READER_DAILY_CAP_USD"]
)
def test_a_cap_that_was_reached_before(ada, model, settings, setting: str):
    opinionated(ada)
    setattr(settings, setting, 0.0001)
    result, run = model()
    stands(result, run, StopReason.BUDGET)
    assert run.cost_usd == 0 and not Spend.objects.exists()


def test_money_that_runs_out_in_mid_run(ada, model, settings):
    opinionated(ada)
    settings.ADVISOR_RUN_CAP_USD = 0.01
    result, run = model(replace(READ, usage={"prompt_tokens": 99_000, "completion_tokens": 10}))
    stands(result, run, StopReason.BUDGET)
    assert run.cost_usd > 0.009, "the run's money is spent, and the planner's writes are not stopped for it"


def test_what_a_model_stored_before_its_money_ran_out_is_not_added_to(ada, model, settings):
    opinionated(ada)
    settings.ADVISOR_RUN_CAP_USD = 0.01
    dear = {"prompt_tokens": 99_000, "completion_tokens": 10}
    result, run = model(calls(boost(urls_of(ada, "loved.example", True)), usage=dear))
    assert (result.status, targets(ada)) == ("budget_exceeded", {"loved.example"})
    assert "finished_by" not in run.meta


def test_a_time_that_is_up(ada, model, settings):
    opinionated(ada)
    settings.ADVISOR_TIMEOUT_S = 2
    result, run = model(text(CLOSING, delay_s=6, optional=True))
    assert (run.status, run.meta["finished_by"]) == ("completed", "planner")
    # The model's call ends before the run's time does. On a fast machine the planner finishes in the rest.
    assert run.stop_reason in ("done", "deadline")
    assert result.suggestions_created > 0


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("ADVISOR_MAX_TURNS", "turn_limit"), ("ADVISOR_MAX_TOOL_CALLS", "tool_call_limit")],
)
def test_turns_or_calls_that_are_used_up(ada, model, settings, setting: str, reason: str):
    opinionated(ada)
    setattr(settings, setting, 8)
    look = calls(*[("query_user_config", {})] * 8) if "CALLS" in setting else None
    result, run = model(*([look, READ] if look else [READ] * 8))
    stands(result, run, StopReason(reason))


@pytest.mark.parametrize(
    "answer", [status(503), status(429), garbage(b"<html>")], ids=["down", "busy", "odd"]
)
def test_a_provider_that_fails(ada, model, answer):
    opinionated(ada)
    result, run = model(answer, replace(answer, optional=True), replace(answer, optional=True))
    assert (result.status, run.meta["finished_by"], result.reason) == ("completed", "planner", BY_PLANNER)
    assert targets(ada) == {"loved.example", "loathed.example"}


def test_a_provider_that_fails_is_not_asked_for_reviews_either(ada, model, settings):
    opinionated(ada)
    settings.ADVISOR_PANEL = settings.ADVISOR_REFLECTOR = True
    down = replace(status(503), optional=True)
    result, run = model(status(503), down, down, trigger=Run.Trigger.SCHEDULED)
    assert (result.status, run.meta["finished_by"]) == ("completed", "planner")
    assert targets(ada) == {"loved.example", "loathed.example"} and not targets(ada, "draft")
    assert not Spend.objects.filter(purpose="review").exists()


def test_a_provider_that_hangs(ada, model, monkeypatch):
    opinionated(ada)
    monkeypatch.setitem(PROVIDERS, "openai", replace(PROVIDERS["openai"], call_timeout_s=0.5))
    result, run = model(text(CLOSING, delay_s=3))
    assert (result.status, run.meta["finished_by"]) == ("completed", "planner")
    assert Step.objects.filter(run=run, error_code="model_unavailable").exists()


def test_a_fault_of_our_own_is_not_hidden_by_suggestions(ada, model, settings):
    opinionated(ada)
    settings.LLM_CHAIN = ["nonsense"]
    result, run = model()
    assert (result.status, run.stop_reason) == ("agent_error", StopReason.CRASHED)
    assert not Suggestion.objects.exists()


def test_a_prompt_that_is_gone(ada, model, monkeypatch, tmp_path):
    opinionated(ada)
    monkeypatch.setattr("advisor.run.execute.prompt_load", lambda: prompt_read(tmp_path / "gone.md"))
    result, run = model()
    stands(result, run, StopReason.PROMPT_UNUSABLE)


def test_reviewers_of_whom_none_answers_in_form_leave_the_verdict_to_the_checks(ada, model, settings):
    opinionated(ada)
    settings.ADVISOR_REFLECTOR = False
    votes = [text("I think so")] * 6
    write = calls(boost(urls_of(ada, "loved.example", True)))
    _, run = model(READ, write, *votes, text(CLOSING), trigger=Run.Trigger.SCHEDULED)
    assert targets(ada) == {"loved.example"} and not targets(ada, "draft")
    by = {vote.model.partition(":")[0] for vote in run.votes.filter(error_code="")}
    assert by == {"rules"} and Decision.objects.filter(run=run, action="panel_by_rules").exists()


def test_a_planner_that_finds_nothing_either_leaves_the_end_as_it_was(ada, model, settings):
    balanced(ada)
    settings.ADVISOR_DAILY_CAP_USD = 0.0001
    result, run = model()
    assert (result.status, run.stop_reason) == ("budget_exceeded", "budget")
    assert (result.suggestions_created, run.meta["finished_by"]) == (0, "planner")


def test_a_silent_model_and_a_silent_planner_give_the_planner_s_reason_and_the_model_s_words(ada, model):
    balanced(ada)
    _, run = model(READ, finish("Your ratings are even."))
    assert run.message == f"{SILENCE_SENTENCES[BALANCED]} The model adds: “Your ratings are even.”"
    assert run_reason(run) == run.message and run.summary["reason"] == "Your ratings are even."


def test_without_models_the_planner_s_run_is_no_news(ada, now, settings):
    settings.LLM_CHAIN = []
    opinionated(ada)
    result = run_request(reader=ada, trigger=Run.Trigger.UI, now=now, inline=True)
    run = Run.objects.get(pk=result.run_id)
    assert result.suggestions_created and "finished_by" not in run.meta and run.message == "Finished."


def test_a_worker_that_lost_its_run_hands_nothing_over(ada, now, model, monkeypatch):
    opinionated(ada)
    taken = "advisor.run.execute.models_for"
    monkeypatch.setattr(taken, lambda reader: Run.objects.update(fence=99) and [])
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    run_execute(run_id=run.pk, now=now)
    assert [row.action for row in Decision.objects.all()] == ["run_lost"]
    assert not Suggestion.objects.exists()


# --- The page and the API ----------------------------------------------------------------------------------


def test_the_page_and_the_api_say_who_made_them(ada, client, model, settings):
    opinionated(ada, now=timezone.now())
    client.force_login(ada)
    settings.ADVISOR_DAILY_CAP_USD = 0.0001
    answer = client.post("/api/suggestions/generate", data="{}", content_type="application/json").json()
    assert (answer["status"], answer["reason"]) == ("completed", BY_PLANNER)
    assert client.get(f"/api/runs/{answer['run_id']}").json()["finished_by"] == "planner"
    page = client.get("/ui/suggestions").content.decode()
    assert f"data-by-planner>{BY_PLANNER}" in page
    assert status_message("completed", 2, BY_PLANNER) == f"2 new suggestions. {BY_PLANNER}"


# --- Put off for money -------------------------------------------------------------------------------------


@pytest.fixture
def broke(settings, httpserver):
    """Return a chain that costs money, on a day without any."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN, settings.ADVISOR_DAILY_CAP_USD = ["openai:gpt-6-luna"], 0.0
    return settings


def test_readers_the_money_does_not_cover_get_the_planner_s_run(ada, now, broke):
    opinionated(ada)
    [result] = readers_advise(now=now)
    run = Run.objects.get()
    assert (result.status, result.reason, run.stop_reason) == ("completed", BY_PLANNER, "done")
    assert (run.meta["finished_by"], run.meta["deferred"], run.cost_usd) == ("planner", True, 0)
    assert targets(ada) == {"loved.example", "loathed.example"}
    assert Decision.objects.get(action="deferred").reason.startswith("Runs without a model: place 1 of 1")


def test_a_reader_with_an_obstacle_is_deferred_through_the_same_door(ada, now, broke):
    opinionated(ada)
    failed = Run.objects.create(
        reader=ada, day=now.date(), trigger="scheduled", status="agent_error", created_at=now
    )
    readers_advise(now=now + timedelta(hours=1))
    run = Run.objects.exclude(pk=failed.pk).get()
    assert run.meta["deferred"] is True and run.status == "completed"


def test_a_deferred_run_ends_no_waiting_for_a_model(ada, now, broke):
    opinionated(ada)
    before = run_candidates(readers=[ada], now=now)[0]
    readers_advise(now=now)
    after = run_candidates(readers=[ada], now=now + timedelta(days=7))[0]
    assert after.days_waited == pytest.approx(before.days_waited + 7)
    assert after.fresh_ratings == before.fresh_ratings


def test_deferred_runs_come_after_those_that_are_chosen(now, broke):
    broke.ADVISOR_DAILY_CAP_USD = 1.0
    readers = [ReaderFactory() for _ in range(2)]
    for reader in readers:
        opinionated(reader)
    free = ReaderFactory()
    opinionated(free)
    SubscriptionFactory(reader=free, ai_enabled=False)
    ration = readers_ration(readers=[free, *readers], now=now)
    assert len(ration.readers) == 3 and len(ration.deferred) <= 2
    order = [reader.pk in ration.deferred for reader in ration.readers]
    assert order == sorted(order)
