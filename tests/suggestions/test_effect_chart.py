"""The chart of an effect: its lines, the cases without a chart, and its page."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader
from suggestions.effect_chart import effect_chart
from suggestions.models import Outcome
from suggestions.services.resolve import suggestion_accept
from tests.support.browser import suggested

MEASURED = {"scope_before": [1, 4], "scope_after": [6, 8], "rest_before": [5, 10], "rest_after": [10, 20]}


def test_the_lines_go_from_the_share_liked_before_to_that_since():
    chart = effect_chart(label="Gazette", measured=MEASURED)
    assert chart and [line.label for line in chart.lines] == ["Gazette", "everything else"]
    assert chart.about.counts == ("1 of 4", "6 of 8")
    (first, last), (level, same) = chart.about.points, chart.rest.points
    assert first and last and first[1] > last[1], "up is more"
    assert level and same and level[1] == same[1] == dict(chart.ticks)["50%"]
    assert last[1] < same[1] < first[1]


def test_what_was_not_rated_before_begins_with_a_point():
    chart = effect_chart(label="Gazette", measured=MEASURED | {"scope_before": [0, 0]})
    assert chart and chart.about.points[0] is None and chart.about.counts[0] == "none rated"


@pytest.mark.parametrize(
    "measured",
    [
        {},
        {"scope_after": [5, 9], "basis": "thumbs"},
        MEASURED | {"scope_after": [0, 0]},
        MEASURED | {"rest_after": [0, 0]},
    ],
)
def test_there_is_no_chart_without_ratings_to_draw(measured: dict):
    assert effect_chart(label="Gazette", measured=measured) is None


@pytest.mark.parametrize(("language", "before"), [("en", "Two weeks before"), ("de", "Zwei Wochen davor")])
def test_the_history_draws_a_measured_effect_and_no_other(
    client: Client, ada: Reader, language: str, before: str
):
    suggestion = suggested(ada)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=timezone.now())
    client.force_login(ada)
    Reader.objects.update(language=language)
    assert "<figure" not in client.get("/ui/history").content.decode()
    decision = Outcome.objects.get()
    measured = {"words": "", "reason": "", **MEASURED}
    Outcome.objects.create(
        suggestion=suggestion,
        reader=ada,
        kind=Outcome.Kind.EFFECT,
        outcome="helped",
        suggestion_type=suggestion.suggestion_type,
        target_key=suggestion.target_key,
        config_before={},
        measured=measured,
        created_at=suggestion.created_at,
        decided_at=decision.decided_at,
    )
    body = client.get("/ui/history").content.decode()
    figure = re.search(r'<figure class="effect">.*?</figure>', body, re.DOTALL)
    assert figure and before in figure.group()
    numbers = re.findall(r' (?:x1|x2|y1|y2|cx|cy|y)="([^"]*)"', figure.group())
    assert numbers and all(re.fullmatch(r"\d+(\.\d+)?", number) for number in numbers)
