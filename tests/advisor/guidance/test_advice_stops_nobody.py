"""A warning by score stops neither a model nor the planner, and both get the same facts."""

import json
from datetime import timedelta

import pytest

from advisor.agent.planner import StatisticalPlanner, hypotheses_choose
from advisor.guidance.situations import ReaderFacts
from advisor.models import GuidanceEvent, Run, Step
from advisor.run.request import run_request
from advisor.tools.registry import schemas
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from tests.advisor.agent.test_planner import FACT, LESS, TOPIC, feedback, results, tell, written
from tests.advisor.guidance.desk import CAUTION, memory
from tests.advisor.guidance.lives import DAY, answered, suggestion
from tests.advisor.tools.test_tools import boost, liked_urls
from tests.support.factories import SourceFactory
from tests.support.histories import opinionated
from tests.support.scripted_model import Script, calls, text

pytestmark = [pytest.mark.alike, pytest.mark.django_db]
# A run's start derives a reader's other memories again, but leaves this kind.
ABOUT = {"kind": "insight", "suggestion_type": "boost_source", "target_key": "loved.example"}
CLOSING = '{"suggestions": [], "skipped": [], "meta": {}}'


@pytest.fixture
def warned(ada, settings):
    """Ada's wishes are plain, and a memory warns of the very change that they speak for."""
    settings.GUIDANCE = {"holdout": "0"}
    opinionated(ada)
    return memory(ada, CAUTION, **ABOUT)


def warning(reader) -> GuidanceEvent:
    return GuidanceEvent.objects.get(reader=reader, level="warning")


def test_a_model_is_warned_with_the_feedback_and_its_write_goes_through_without_a_word(
    ada, now, warned, httpserver, settings
):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    reason = "You liked nearly every story from Loved."
    write = calls(("write_suggestion", boost(liked_urls(ada), reason=reason)))
    read = calls(("query_user_feedback", {}))
    with Script(httpserver, [read, write, text(CLOSING)]) as script:
        result = run_request(reader=ada, trigger=Run.Trigger.UI, now=now, inline=True)
    told, answer = (json.loads(body["messages"][-1]["content"]) for body in script.bodies[1:3])
    assert next(iter(told)) == "guidance" and "declined" in told["guidance"]
    assert (answer["success"], "guidance" in answer, result.suggestions_created) == (True, False, 1)
    assert warned.pk in warning(ada).emitted_ids and warning(ada).tool == "query_user_feedback"
    assert list(Step.objects.filter(kind="tool").values_list("error_code", flat=True)) == ["", ""]


def test_the_planner_writes_and_is_told_nothing(ada, now, warned, settings):
    settings.LLM_CHAIN = []
    run_request(reader=ada, trigger=Run.Trigger.UI, now=now, inline=True)
    events = GuidanceEvent.objects.filter(reader=ada)
    assert {event.text for event in events} == {""} and events.filter(why="no_model").exists()
    assert Suggestion.objects.filter(reader=ada, target_key="loved.example").exists()


def taught(reader, now) -> None:
    """The reader turned down each of six reductions, chose half of two steps, and one target rests."""
    SourceFactory(key="loved.example")
    for n in range(6):
        row = suggestion(reader, "reduce_source", f"s{n}.example", created_at=now - 60 * DAY)
        row.resolved_at = now - 50 * DAY
        row.save()
        answered(row, "rejected", now - 50 * DAY)
    for n in range(2):
        row = suggestion(
            reader,
            target=f"t{n}.example",
            current_value="1.0",
            suggested_value="1.2",
            created_at=now - 60 * DAY,
        )
        row.resolved_at = now - 50 * DAY
        row.save()
        answered(row, "accepted", now - 50 * DAY)
        Outcome.objects.filter(suggestion=row).update(edited_value="1.1")
    resting = suggestion(reader, target="resting.example", status="rejected", created_at=now - 4 * DAY)
    resting.resolved_at = now - timedelta(days=3)
    resting.save()
    PreferenceProfile.objects.update_or_create(
        reader=reader, defaults={"patterns": {"prefers_smaller_steps": True}, "computed_at": now}
    )


def test_planner_and_model_get_the_same_facts(ada, now):
    from tests.advisor.guidance.desk import Desk  # noqa: PLC0415

    taught(ada, now)
    guide = Desk(ada).guide
    facts, words = guide.reader_facts(), guide.start()
    assert facts.declined == {"reduce_source": 6} and facts.step == pytest.approx(0.5)
    assert ("source_weights", "resting.example") in facts.cooling
    assert "reduce_source: this reader turned down every one of 6" in words
    assert "50% of the step" in words and "resting.example" in words


def test_the_planner_proposes_no_declined_type_and_no_cooling_target():
    facts = ReaderFacts(declined={"reduce_source": 6}, cooling=frozenset({("topics", "chess opening")}))
    chosen, skipped = hypotheses_choose(feedback(FACT, TOPIC, LESS), {}, facts)
    assert [fact["target"] for fact in chosen] == ["loved.example"]
    assert [row["hypothesis"] for row in skipped] == ["Add the topic Chess openings", "Less from Hype"]
    assert [fact["target"] for fact in hypotheses_choose(feedback(FACT, TOPIC, LESS), {})[0]] == [
        "loved.example",
        "chess opening",
        "hype.example",
    ]


@pytest.mark.parametrize(
    ("step", "current", "value"),
    [(1.0, 1.0, "1.3"), (0.5, 1.0, "1.15"), (0.5, 1.1, "1.2"), (0.1, 1.0, "1.03")],
)
def test_the_planner_takes_the_step_that_the_reader_takes(step, current, value):
    planner = StatisticalPlanner(ReaderFacts(step=step))
    answers = results(feedback(FACT), written(1))
    answers["query_user_config"] = {"config": {}, "active_weights": {"loved.example": current}}
    messages = [{"role": "user", "content": "go"}]
    turn = planner.complete(messages, schemas(), timeout_s=1)
    turn = planner.complete(tell(messages, turn, answers), schemas(), timeout_s=1)
    assert turn.tool_calls[0].arguments["suggested_value"] == value
