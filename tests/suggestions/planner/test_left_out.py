"""Why the planner left a change out: its figure and the bar, in plain words, on the page of the run."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from advisor.models import Run
from advisor.run_values import LEFT_OUT
from digest.models import Reader
from ranking.services import target_pin
from suggestions.planner.evidence import hypotheses_for
from suggestions.planner.hypotheses import EvaluatedChange
from suggestions.planner.left_out import LEFT_OUT_MAX, WORDS, LeftOut, left_out_words, unclear_reason
from suggestions.planner.tastes import FALSE_SIGN_MAX, LEAN_MIN, READER_MIN, TARGET_MIN, Taste
from tests.support.factories import OperatorFactory
from tests.support.histories import opinionated, thumbs

LOVED = "loved.example"


def reasons(reader: Reader, now) -> dict[tuple[str, str], LeftOut]:
    report = hypotheses_for(reader_id=reader.pk, now=now)
    assert len(report.left_out) <= LEFT_OUT_MAX
    shown = {(one.change.suggestion_type, one.change.target) for one in report.hypotheses}
    found = {(one.suggestion_type, one.target): one for one in report.left_out}
    assert not shown & found.keys()
    return found


@pytest.mark.parametrize(
    ("thumbs_all", "on_it", "lean", "false_sign", "reason"),
    [
        (9.0, 9.0, 1.0, 0.0, ("few_ratings", 9.0, READER_MIN)),
        (30.0, 2.5, 1.0, 0.0, ("few_thumbs", 2.5, TARGET_MIN)),
        (30.0, 9.0, 0.1, 0.0, ("small_lean", 0.1, LEAN_MIN)),
        (30.0, 9.0, 0.4, 0.4, ("chance", 0.4, FALSE_SIGN_MAX)),
        (30.0, 9.0, 0.4, 0.1, None),
    ],
)
def test_a_lean_that_is_not_clear_has_its_figure_and_the_bar(thumbs_all, on_it, lean, false_sign, reason):
    taste = Taste(lean, 0.3, 0.2, on_it, thumbs_all, false_sign=false_sign)
    choice = EvaluatedChange(None, 0.6, taste.is_known, taste.is_clear, 0.1, 0.0, 0.0, lean, taste)
    assert unclear_reason(choice) == reason


@pytest.mark.parametrize("code", [*WORDS, "a_new_rule"])
def test_each_reason_is_a_sentence_with_its_figures(code):
    words = left_out_words({"code": code, "figure": 0.125, "bar": 3.0})
    assert words.endswith(".") and "{" not in words and "_" not in words.replace("ADVISOR_KINDS", "")


@pytest.mark.django_db
def test_what_a_reader_leans_to_a_little_is_told_with_its_lean(ada, now):
    opinionated(ada, now=now)
    thumbs(ada, "rare.example", 2, rate=1.0, now=now)
    found = reasons(ada, now)
    assert found and {one.code for one in found.values()} <= {
        "few_thumbs",
        "small_lean",
        "chance",
        "repeated",
    }
    for one in found.values():
        if one.code in ("few_thumbs", "small_lean"):
            assert one.figure < one.bar
        if one.code == "chance":
            assert one.figure > one.bar


@pytest.mark.django_db
def test_a_clear_change_that_a_rule_refuses_is_told_first(ada, now, settings):
    opinionated(ada, now=now)
    assert ("boost_source", LOVED) not in reasons(ada, now)
    target_pin(reader_id=ada.pk, target=LOVED, pin="locked", ref="", now=now)
    first = next(iter(reasons(ada, now).values()))
    assert (first.suggestion_type, first.target, first.code) == ("boost_source", LOVED, "pinned")
    settings.ADVISOR_KINDS = ["age_faster"]
    assert {one.code for one in list(reasons(ada, now).values())[:2]} == {"kind_off"}


@pytest.mark.django_db
def test_the_page_of_a_run_says_why_not_another_change_and_stores_little(client: Client, ada):
    now = timezone.now()
    opinionated(ada, now=now)
    target_pin(reader_id=ada.pk, target=LOVED, pin="locked", ref="", now=now)
    client.force_login(ada)
    client.post("/ui/suggestions/generate")
    run = Run.objects.get()
    stored = run.meta[LEFT_OUT]
    assert 1 <= len(stored) <= LEFT_OUT_MAX and len(json.dumps(stored)) < 1200
    step = run.steps.get(tool="query_user_feedback")
    assert "left_out" not in step.result, "no model reads it"
    client.force_login(OperatorFactory())
    page = client.get(f"/admin/advisor/run/{run.pk}/change/").content.decode()
    assert "Why not another change?" in page
    assert "The reader keeps it as it is, or never wants it suggested." in page
