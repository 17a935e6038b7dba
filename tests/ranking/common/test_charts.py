"""Charts: bars stack within the drawing, and lines break at missing values."""

import pytest

from ranking.common.charts import (
    SLOPE_LEFT,
    SLOPE_RIGHT,
    bars_stack,
    line_points,
    line_stretches,
    polyline,
    slopes_make,
)

WIDTH, HEIGHT = 600, 160
LINE = {"low": 0.0, "high": 2.0, "width": 240, "height": 64, "margin": 4}


def test_bars_stay_inside_the_chart_and_stack_to_the_sum_of_a_row():
    chart = bars_stack([(1.0, 3.0), (0.0, 0.0), (2.0, 0.0)], width=WIDTH, height=HEIGHT)
    first, second, third = chart.bars
    assert chart.top == 4.0 and (first.series, second.series, third.series) == (0, 1, 0)
    assert (first.height + second.height, second.y) == (HEIGHT, 0.0)
    assert third.height == HEIGHT / 2 and third.y == HEIGHT / 2
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in chart.bars)


@pytest.mark.parametrize("rows", [[], [(0.0, 0.0)]])
def test_without_a_value_there_is_no_bar(rows):
    assert bars_stack(rows, width=WIDTH, height=HEIGHT).bars == ()


def test_points_run_from_margin_to_margin_and_values_beyond_the_scale_are_cut_off():
    points = line_points([0.0, 1.0, 5.0], **LINE)
    assert points == [(4.0, 60.0), (120.0, 32.0), (236.0, 4.0)]


def test_a_missing_value_breaks_the_line_and_a_single_point_is_a_stretch():
    points = line_points([1.0, None, 1.0, 2.0, None], **LINE)
    dot, line = line_stretches(points)
    assert len(dot) == 1 and polyline(line) == "120,32 178,4"
    assert line_stretches([None, None]) == []


def test_a_slope_joins_the_places_of_an_item_and_says_which_way_it_goes():
    places = [(1, 1, "A"), (9, 2, "B"), (2, 9, "C"), (None, 3, "D"), (3, None, "E"), (4, 5, "F")]
    chart = slopes_make(places)
    kinds = {one.label: one.kind for one in chart.slopes}
    assert kinds == {"A": "still", "B": "up", "C": "down", "D": "in", "E": "out", "F": "still"}
    up = next(one for one in chart.slopes if one.label == "B")
    assert (up.x1, up.x2) == (SLOPE_LEFT, SLOPE_RIGHT) and up.y1 > up.y2
    assert [place for place, _ in chart.ticks] == [1, 5]
    assert chart.slopes[-1].kind == "out", "what moves is drawn above what stays"
    assert all(0 < one.y1 < chart.height and 0 < one.y2 < chart.height for one in chart.slopes)


def test_without_items_there_is_no_slope():
    assert slopes_make([]).slopes == slopes_make([(None, None, "A")]).slopes == ()
