"""`python -m tests.lab bench.plots [FOLDER]`: the SVG plots of docs/benchmarks from the records. Needs pygal.

Run by `tests.lab.bench.report` in an environment that has it. Colours work on light and dark pages: they have
at least 3:1 against white and against #0d1117, words 4:1. A plot without a recorded series is not drawn, and
its older picture is removed, because the page says that it is missing.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pygal
from pygal.style import Style

from tests.lab.bench.report import FOLDER, PLOTTED, RECORDS, records_read

Json = Mapping[str, Any]
WORDS = "#737d87"
LOOK = Style(
    background="transparent",
    plot_background="transparent",
    foreground=WORDS,
    foreground_strong=WORDS,
    foreground_subtle="#8c959f",
    colors=(
        "#2f81f7",
        "#d4762c",
        "#2da44e",
        "#a371f7",
        "#e5534b",
        "#1b96a8",
        "#9a7d0a",
        "#8c959f",
        "#c2528b",
    ),
    font_family="system-ui, sans-serif",
    title_font_size=16,
    label_font_size=12,
    major_label_font_size=12,
    legend_font_size=12,
    value_font_size=11,
    opacity=".85",
    value_colors=(WORDS,) * 9,
    guide_stroke_color="#8c959f55",
    major_guide_stroke_color="#8c959f99",
    guide_stroke_dasharray="1,3",
    major_guide_stroke_dasharray="1,3",
)
CSS = ("file://style.css", "file://graph.css")
# A bar's number begins at the end of the bar.
BESIDE = "inline:.text-overlay text { text-anchor: start; }"
COMMON = {
    "style": LOOK,
    "js": (),
    "width": 860,
    "height": 440,
    "no_prefix": True,
    "show_minor_x_labels": True,
    "legend_at_bottom": True,
    "legend_at_bottom_columns": 3,
    "legend_box_size": 12,
    "margin": 12,
    "margin_bottom": 64,
    "pretty_print": True,
}
# The rules beside the planner that a plot of weeks can still show apart.
DRAWN = (
    "planner and learning loop",
    "learning loop alone",
    "learning loop + Beta .9",
    "greedy like-rate",
    "Beta .9",
    "random valid",
    "no change",
    "oracle",
)


def main() -> int:
    """Draw all that can be drawn; 0."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    records = {n: r for n, r in records_read(RECORDS).items() if not r["error"]}
    for name, (_, whose) in PLOTTED.items():
        path = folder / f"{name}.svg"
        chart = DRAW[name](records[whose]["report"]) if whose in records else None
        if chart is None:
            path.unlink(missing_ok=True)
            print(f"{name}: the records of {whose} hold no series for it", file=sys.stderr)
        else:
            save(chart, path)
    return 0


def save(chart: Any, path: Path) -> None:
    """Write the picture, the same bytes for the same figures."""
    chart.uuid = path.stem
    text = chart.render(is_unicode=True)
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


def uplift(report: Json) -> Any:
    """Mean change of nDCG@10 after each week, by row."""
    rows = {row["name"]: row["uplift_by_week"] for row in report["rows"] if row.get("uplift_by_week")}
    drawn = {name: rows[name] for name in DRAWN if name in rows}
    if not drawn:
        return None
    weeks = max(len(series) for series in drawn.values())
    chart = pygal.Line(
        **COMMON,
        title="Uplift of nDCG@10 over the weeks",
        x_title="week",
        dots_size=2,
        stroke_style={"width": 2},
    )
    chart.x_labels = [str(week) for week in range(weeks)]
    for name, series in drawn.items():
        chart.add(name, [row["uplift"] for row in series])
    return chart


def bars(title: str, sorts: Mapping[str, Mapping[str, float | None]]) -> Any:
    """Horizontal bars, the first step on top, each with its number."""
    options = {**COMMON, "print_values": True, "show_x_guides": True, "truncate_label": -1}
    options |= {"value_formatter": lambda value: f"\u00a0{value:,g}", "css": [*CSS, BESIDE]}
    options |= {"print_values_position": "top", "show_legend": len(sorts) > 1, "margin_right": 48}
    chart = pygal.HorizontalBar(**options, title=title)
    steps = list(next(iter(sorts.values())))
    chart.x_labels = steps[::-1]
    for sort, values in sorts.items():
        chart.add(sort, [values[step] for step in steps][::-1])
    return chart


def latency(report: Json) -> Any:
    """Milliseconds of each tool by the size of the history, on a log scale."""
    chart = pygal.Line(
        **COMMON,
        title="Milliseconds of each tool by thumbs",
        x_title="thumbs",
        logarithmic=True,
        dots_size=3,
        stroke_style={"width": 2},
    )
    chart.x_labels = [f"{size:,}" for size in report["sizes"]]
    chart.y_labels = [1, 10, 100, 1_000, 10_000]
    for row in report["rows"]:
        chart.add(row["name"], row["ms"])
    return chart


def growth(report: Json) -> Any:
    """Milliseconds of each benchmark by its size, on log scales; of the tools those that grow most."""
    timed = [row for row in report["rows"] if "ms" in row]
    rows = [row for row in timed if row["grows"] != "thumbs" or "mb" in row]
    tools = [row for row in timed if row not in rows]
    rows += sorted(tools, key=lambda row: -row["exponent"])[:2]
    return by_size("Milliseconds by size", rows, "ms", "exponent")


def growth_memory(report: Json) -> Any:
    """Megabytes of each benchmark by its size."""
    rows = [row for row in report["rows"] if "mb" in row]
    return by_size("Megabytes by size", rows, "mb", "mb_exponent")


def by_size(title: str, rows: Sequence[Json], figure: str, slope: str) -> Any:
    """Return a line for each row, named with its exponent."""
    options = {**COMMON, "legend_at_bottom_columns": 2, "margin_bottom": 96, "margin_right": 48}
    chart = pygal.XY(**options, title=title, logarithmic=True, dots_size=3, stroke_style={"width": 2})
    chart.x_value_formatter = chart.value_formatter = lambda value: f"{value:,.10g}"
    chart.x_labels = powers_of_ten([size for row in rows for size in row["sizes"]])
    chart.y_labels = powers_of_ten([value for row in rows for value in row[figure]])
    for row in rows:
        name = f"{row['work']} by {row['grows']}: n^{row[slope]}"
        chart.add(name, list(zip(row["sizes"], row[figure], strict=True)))
    return chart


def powers_of_ten(values: Sequence[float]) -> list[float]:
    """Return the powers of ten around and between the values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10**power for power in range(low, high + 1)]


def peers(report: Json) -> Any:
    """Return an agent's turn beside the frameworks'."""
    rows: Sequence[Json] = report["rows"]
    sorts = {"milliseconds by the clock": "ms_a_turn", "of the processor": "cpu_ms_a_turn"}
    return bars(
        "An agent's turn without the model's time",
        {said: {str(r["name"]): r.get(key) for r in rows} for said, key in sorts.items()},
    )


DRAW: dict[str, Callable[[Json], Any]] = {
    draw.__name__: draw for draw in (uplift, latency, growth, growth_memory, peers)
}


if __name__ == "__main__":
    sys.exit(main())
