"""The scripted policies of `tests.lab model`, and the figures of an arm."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from advisor.models import Run, Step
from advisor.run.request import run_request
from digest.feedback import noisy_counts
from digest.models import Feedback, Reader
from suggestions.changes.registry import change_stored
from suggestions.models import Suggestion
from suggestions.planner import population
from tests.lab.advisor.rules import Targets
from tests.lab.histories.pools import History, Pools, Rated, start_config
from tests.lab.histories.trials import Trial, histories_for, thumbs_import
from tests.lab.model.arms import PLANNER, SCRIPTS, changes_that_help
from tests.lab.model.command import arm_row, rows_known, targets_of_rows
from tests.lab.model.phrases import oracle_of_names, phrases, reasons, topics_that_help
from tests.lab.model.policies import POLICIES, ideas_from_titles, oracle_of
from tests.lab.model.readers import LATER, READERS_MIN, THUMBS, label_about
from tests.lab.model.replies import replies_stored, request_hash
from tests.lab.model.same_world import same_world
from tests.lab.world.entities import Asked, Course
from tests.support.changes import ADD_TOPIC, BOOST_SOURCE
from tests.support.histories import opinionated
from tests.support.scripted_model import Script, calls, finish

COLUMNS = ["url", "title", "source", "useful", "reason_tag", "days_ago"]
ROWS = [[f"#{n}", "A tennis match", "a.example", 1, None, 0] for n in range(5)]
ROWS += [[f"#{n}", "A bank report", "a.example", 0, None, 0] for n in range(5, 10)]
FACTS = {"item_columns": COLUMNS, "curated_items": ROWS, "hypotheses": []}
OPENING = [{"role": "system", "content": "Prompt"}, {"role": "system", "content": "Reader: ada. Today: now."}]


def answered(message: dict[str, Any], *results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a turn with the results of its calls."""
    rows = zip(message["tool_calls"], results, strict=True)
    return [message, *({"role": "tool", "tool_call_id": c["id"], "content": json.dumps(r)} for c, r in rows)]


def called(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls", [])]


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_policy_ends_whatever_tools_answer(name: str):
    messages = list(OPENING)
    for _ in range(30):
        said = SCRIPTS[name](messages)
        if not (wanted := said.get("tool_calls")) or wanted[-1]["function"]["name"] == "finish":
            break
        refused = {"success": False, "error": "tool_failed", "details": "no"}
        messages += answered(said, *[refused for _ in said["tool_calls"]])
    else:
        pytest.fail("it never ends")


def test_an_idea_is_tried_and_written_with_the_references_of_the_trial():
    assert ("add_topic", "tennis") in list(ideas_from_titles(FACTS))
    assert not [one for one in ideas_from_titles(FACTS) if one[1] == "bank"]
    said = POLICIES["titles"](OPENING)
    messages = [*OPENING, *answered(said, FACTS)]
    tried = POLICIES["titles"](messages)
    assert called(tried)[0][0] == "test_suggestion"
    examples = [{"url": "#1", "useful": 1}, {"url": "#7", "useful": 0}]
    messages += answered(tried, {"examples": examples, "would_be_refused": "", "suggested_value": "match"})
    [(name, given)] = called(POLICIES["titles"](messages))
    assert name == "write_suggestion" and json.loads(given)["evidence"] == ["#1"]


def test_names_that_do_not_fit_are_left_out_before_a_topic_is_written():
    messages = [*OPENING, *answered(phrases(OPENING), FACTS)]
    [(name, given)] = called(tried := phrases(messages))
    assert name == "test_suggestion" and json.loads(given)["target"] == "sport"
    names = {"match": 5, "tennis": 5, "coach": 0}
    messages += answered(tried, {"names": names, "would_be_refused": "name_unsaid"})
    [(name, given)] = called(again := phrases(messages))
    assert name == "test_suggestion" and json.loads(given)["other_names"] == ["match", "tennis"]
    told = {
        "would_be_refused": "name_disliked",
        "details": "The reader disliked most items that say “match”.",
    }
    refused = answered(again, {"names": {"match": 5, "tennis": 5}} | told)
    [(name, given)] = called(phrases([*messages, *refused]))
    assert name == "test_suggestion" and json.loads(given)["other_names"] == ["tennis"]
    fitting = {"names": {"match": 5, "tennis": 5}, "would_be_refused": ""}
    messages += answered(again, fitting | {"examples": [{"url": "#1", "useful": 1}]})
    [(name, given)] = called(phrases(messages))
    assert name == "write_suggestion" and json.loads(given)["other_names"] == ["match", "tennis"]


def test_the_judge_counts_the_other_names_of_a_topic():
    rated = [Rated(f"u{n}", "cup final" if n % 2 else "bank", "a", (), bool(n % 2)) for n in range(60)]
    judge, first = Pools(rated, [1, 0]), start_config(Targets((), ()))
    change = change_stored(kind=ADD_TOPIC, target="sport", value="sport")
    assert judge.gain(first, change.applied(first)) == 0
    assert judge.gain(first, replace(change, names=("cup",)).applied(first)) > 0.1


def test_the_judge_finds_a_topic_in_the_text_and_by_meaning_as_ranking_does():
    texts = {True: "The cup went to Leeds.", False: "Shares went down."}
    rated = [
        Rated(f"u{n}", "Monday’s news", "a", (), bool(n % 2), text=texts[bool(n % 2)]) for n in range(60)
    ]
    first = start_config(Targets((), ()))
    after = change_stored(kind=ADD_TOPIC, target="cup", value="cup").applied(first)
    by_text = Pools(rated, [1, 0]).gain(first, after)
    bare = [replace(one, text="") for one in rated]
    assert by_text > 0.1 and Pools(bare, [1, 0]).gain(first, after) == 0
    by_meaning = Pools(bare, [1, 0], lambda topic, items: np.array([one.liked for one in items]))
    assert 0 < by_meaning.gain(first, after) <= by_text


def test_topics_that_the_readers_own_words_name_are_tried_whatever_the_titles_say():
    facts = FACTS | {"own_words": [["#7", 0, "I want to read more about technology"]]}
    messages = [*OPENING, *answered(reasons(OPENING), facts)]
    [(name, given)] = called(reasons(messages))
    assert (name, json.loads(given)["target"]) == ("test_suggestion", "technology")
    [(name, given)] = called(phrases(messages))
    assert json.loads(given)["target"] == "sport"


def test_an_oracle_of_names_tries_the_topics_that_help_its_own_reader():
    oracle = oracle_of_names({"ada": ["business"]}.__getitem__)
    [(name, given)] = called(oracle([*OPENING, *answered(oracle(OPENING), FACTS)]))
    assert (name, json.loads(given)["target"]) == ("test_suggestion", "business")


def test_a_topic_helps_if_its_names_are_in_what_was_liked():
    rated = [Rated(f"u{n}", "cup final" if n % 2 else "bank", "a", (), bool(n % 2)) for n in range(60)]
    assert topics_that_help(Pools(rated, [1, 0]), start_config(Targets((), ()))) == ["sport"]


@pytest.mark.data
def test_readers_with_written_reasons_tell_their_taste_by_these_alone():
    for history in histories_for(Trial("labels-topics-bbc-reasons", THUMBS, 2, seed=3))[:20]:
        first, later = history.rated[:THUMBS], history.rated[THUMBS:]
        assert len(later) == LATER and not any(one.reasons for one in later)
        written = {reason for one in first for reason in one.reasons}
        assert 1 <= len(written) <= 2 and all("more about" in reason for reason in written)
        assert 3 <= sum(bool(one.reasons) for one in first) <= THUMBS / 2
        assert 0.25 < sum(one.liked for one in first) / THUMBS < 0.75


@pytest.mark.data
def test_written_reasons_are_imported_as_the_readers_own_words(db, now):
    trial = Trial("labels-topics-bbc-reasons", THUMBS, 2, seed=3)
    history = histories_for(trial)[0]
    with same_world(trial):
        thumbs_import([(history.reader, history.rated[:THUMBS])], now - timedelta(days=30), now)
        stored = dict(Feedback.objects.values_list("item__url", "other_reasons"))
    assert stored == {one.url: [*one.reasons] for one in history.rated[:THUMBS]}


@pytest.mark.data
def test_readers_of_nemig_like_labels_and_their_articles_have_publishers():
    [history, *_] = histories_for(Trial("labels-nemig-en", THUMBS, 2, seed=3))
    sources = {one.source for one in history.rated}
    assert len(history.rated) == THUMBS + LATER and len(sources) > 15
    assert "fox-news.example" in sources and 0.15 < np.mean([one.liked for one in history.rated]) < 0.6


@pytest.mark.data
def test_texts_are_about_a_topic_that_they_do_not_say(settings):
    folder, history = Path(settings.TIDINGS_DATA), histories_for(Trial("labels-topics-bbc", 60, 2, seed=3))[0]
    found = label_about(folder, "labels-topics-bbc")("tennis", history.rated)
    about = [one for one, is_about in zip(history.rated, found, strict=True) if is_about]
    assert 0 < len(about) < len(history.rated) / 4
    assert not label_about(folder, "labels-topics-bbc")("house of no such name", history.rated).any()


def test_a_row_is_told_as_soon_as_its_arm_and_the_planner_are_done():
    known = {("labels-topics-bbc", "phrases"): gained(0.1, 0.1)}
    assert rows_known(known, {"data": "labels-topics-bbc", "arm": "phrases"}) == []
    known |= {("labels-topics-bbc", PLANNER): gained(0, 0)}
    told = rows_known(known, {"data": "labels-topics-bbc", "arm": PLANNER})
    assert [row["arm"] for row in told] == ["phrases", PLANNER]
    known |= {("labels-topics-bbc", "titles"): gained(0, 0)}
    told = rows_known(known, {"data": "labels-topics-bbc", "arm": "titles"})
    assert [row["arm"] for row in told] == ["titles"]


def test_phrases_must_gain_more_than_chance():
    planner = found()
    for gains, met in (((0.05, 0.05, 0.05), True), ((0.3, -0.1, -0.1), False), ((0.01, 0.01, 0.01), False)):
        rows = [arm_row("labels-topics-bbc", "phrases", gained(*gains), gained(0, 0, 0))]
        rows.append(arm_row("labels-topics-bbc", PLANNER, planner, planner))
        assert [target["met"] for target in targets_of_rows(rows)] == [met]


@pytest.mark.data
def test_every_arm_has_the_same_readers_and_the_same_noise(settings, db):
    trial, drawn = Trial("labels-topics-bbc", 60, 2, seed=3), []
    for _ in range(2):
        with same_world(trial):
            drawn.append((population.uniforms_secret((2, 2)).tolist(), set(Reader.objects.values_list("pk"))))
            assert noisy_counts.uniforms_secret is population.uniforms_secret
        Reader.objects.all().delete()
    assert drawn[0] == drawn[1] and len(drawn[0][1]) == READERS_MIN
    assert noisy_counts.uniforms_secret.__name__ == population.uniforms_secret.__name__ == "uniforms_secret"


@pytest.mark.data
def test_thumbs_are_imported_for_the_readers_of_every_arm(db, now):
    trial = Trial("labels-topics-bbc", 60, 2, seed=3)
    history = histories_for(trial)[0]
    with same_world(trial):
        thumbs_import([(history.reader, history.rated[:60])], now - timedelta(days=30), now)
        assert Feedback.objects.filter(reader__username=history.reader).count() == 60


def test_an_oracle_tries_what_helps_its_own_reader():
    oracle = oracle_of({"ada": [("add_topic", "tennis")]}.__getitem__)
    [(name, given)] = called(oracle(OPENING))
    assert (name, json.loads(given)["target"]) == ("test_suggestion", "tennis")


def test_what_helps_is_worked_out_from_the_later_thumbs():
    rated = [
        Rated(f"u{n}", "tennis today" if n % 2 else "banks today", "a", (), bool(n % 2)) for n in range(60)
    ]
    first = start_config(Targets((), ()))
    best = changes_that_help(History("ada", tuple(rated)), 0, 20, first)
    assert best[0] == (ADD_TOPIC, "tennis")


def found(*asks: tuple[str, str], **more: Any) -> dict[str, Any]:
    asked = tuple(Asked(1, kind, target, 0.1, True) for kind, target in asks)
    course = Course(7, False, 0.5, (0.0, 0.1 * len(asks)), (60,), asked)
    used = {"tokens_in": 10, "tokens_out": 2, "usd": 0.0, "requests": 3, "by_planner": 1, "seconds": 1.0}
    return {"courses": [course.as_dict()], "writes": {"stored": len(asks)}, **used, **more}


def gained(*gains: float) -> dict[str, Any]:
    """Return an arm whose readers gained this much."""
    courses = [Course(n, False, 0.5, (0.0, gain), (60,), ()) for n, gain in enumerate(gains)]
    return found(courses=[course.as_dict() for course in courses])


def test_a_floor_arm_that_differs_from_the_planner_misses_its_target():
    planner, other = found((ADD_TOPIC, "tennis")), found()
    rows = [
        arm_row("labels-topics-bbc", PLANNER, planner, planner),
        arm_row("labels-topics-bbc", "silent", planner, planner),
        arm_row("labels-topics-bbc", "hostile", other, planner),
    ]
    assert [target["met"] for target in targets_of_rows(rows)] == [True, False]


def test_a_boost_that_titles_ordered_and_asks_of_shuffled_thumbs_are_counted():
    planner, obeyed = (
        found((ADD_TOPIC, "tennis")),
        found((ADD_TOPIC, "tennis"), (BOOST_SOURCE, "desk.example")),
    )
    for data, missed in (
        ("labels-topics-bbc-orders", "orders obeyed"),
        ("labels-nemig-en:shuffled", "asks of shuffled"),
    ):
        rows = [arm_row(data, PLANNER, planner, planner), arm_row(data, "titles", obeyed, planner)]
        [target] = targets_of_rows(rows)
        assert missed in target["metric"] and not target["met"]


def test_a_configured_model_is_asked_once_and_its_runs_are_replayed(ada, now, httpserver, settings, tmp_path):
    opinionated(ada)
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-canary", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    steps = [calls(("query_user_feedback", {}), content="Let me see."), finish("Even.")]
    for asked in (steps, []):
        with Script(httpserver, asked), replies_stored(tmp_path):
            found = run_request(reader=ada, trigger=Run.Trigger.UI, now=now, inline=True)
        run = Run.objects.get(pk=found.run_id)
        said = Step.objects.filter(run=run, tool="finish").order_by("n").values_list("arguments", flat=True)
        assert said[0] == {"reason": "Even.", "skipped": []}
        assert (run.input_tokens, run.cost_usd > 0) == (2000, True)
        Suggestion.objects.all().delete()
        Run.objects.all().delete()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_request_is_the_same_for_any_reader_and_another_for_other_words():
    first, again, other = (
        request_hash([{"content": f"Reader: {reader}. {words}"}])
        for reader, words in ((uuid4(), "a"), (uuid4(), "a"), (uuid4(), "b"))
    )
    assert first == again != other
