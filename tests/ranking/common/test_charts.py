"""Charts: bars stack within the drawing."""

import pytest

from ranking.common.charts import bars_stack

WIDTH, HEIGHT = 600, 160


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
