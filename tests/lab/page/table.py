"""From pages to the table: the share to taste after some thumbs, with paired intervals over readers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.lab.page.arms import ANSWERS, CONTROLS, NAMED, NO_GAIN, OFF, OFF_PLAIN, ON, ON_PLAIN, Arm
from tests.lab.page.course import Page

# Mornings that are read together: the first, and those with some 25, 64 and 114 thumbs before them.
WINDOWS = {"day_1": (1, 1), "days_4_5": (4, 5), "days_9_11": (9, 11), "days_16_18": (16, 18)}
# The days over which sources, repeats and age are read.
LATE = (8, 18)
# The second morning, and all but the first.
SECOND, AFTER_FIRST = (2, 2), (2, 18)
DRAWS, INTERVAL = 4_000, (2.5, 97.5)
# With six feeds nearly all is shown, so that the order of the first five counts.
FEW_FEEDS = 6

# The least share to taste that each arm should reach in each window, by feeds and arm.
LEAST = {
    (250, ON): (None, 0.27, 0.34, 0.37),
    (250, ANSWERS): (0.30, 0.33, 0.37, 0.42),
    (250, NAMED): (0.40, 0.40, 0.44, 0.48),
    (50, ON): (None, 0.24, 0.28, 0.32),
    (FEW_FEEDS, ON): (None, 0.30, 0.38, 0.37),
}
SOURCES_LEAST, REPEATS_MOST = 12.0, 0.05

Row = dict[str, Any]
Values = NDArray[np.float64]
Courses = Mapping[str, Sequence[Sequence[Page]]]


def rows_of(size: int, arms: Sequence[Arm], courses: Courses) -> list[Row]:
    """Return a row for each arm; `courses` has its readers' pages, by the arm's name."""
    share = "first_five" if size == FEW_FEEDS else "to_taste"
    return [_row(size, share, arm, courses) for arm in arms if arm.name in courses]


def _row(size: int, share: str, arm: Arm, courses: Courses) -> Row:
    own, base = courses[arm.name], courses.get(arm.base)
    row: Row = {"feeds": size, "arm": arm.name, "law": arm.law, "readers": len(own)}
    row |= {"chance": _mean(_values(own, "base", (1, 18)))}
    row |= {window: _mean(_values(own, share, days)) for window, days in WINDOWS.items()}
    row |= {f"{window}_95": _interval(_values(own, share, days)) for window, days in WINDOWS.items()}
    row["thumbs"] = [round(_mean(_values(own, "thumbs", days)) or 0) for days in WINDOWS.values()]
    row |= {
        key: _mean(_values(own, key, LATE)) for key in ("sources", "repeats", "age_days", "liked", "worth")
    }
    row |= {"passed_day_2": _mean(_values(own, "passed", SECOND))}
    row |= {key: _mean(_values(own, key, AFTER_FIRST)) for key in ("passed", "found")}
    row["others"] = _mean(_values(own, "others", LATE))
    if base is not None and arm.base != arm.name:
        row["over"] = arm.base
        for window in ("days_4_5", "days_9_11", "days_16_18"):
            row[f"{window}_over"] = _difference(own, base, share, WINDOWS[window])
        for key in ("liked", "worth", "age_days"):
            row[f"{key}_over"] = _difference(own, base, key, LATE)
    if (plain := courses.get({OFF: OFF_PLAIN, ON: ON_PLAIN}.get(arm.name, ""))) is not None:
        row["over_plain"] = {
            key: _difference(own, plain, key, AFTER_FIRST) for key in ("found", "to_taste", "first_five")
        }
    if (arm.answers or arm.named) and (alone := courses.get(ON)) is not None:
        row["over_thumbs"] = [_difference(own, alone, share, days) for days in WINDOWS.values()]
    return row


def _values(courses: Sequence[Sequence[Page]], key: str, days: tuple[int, int]) -> Values:
    """Return the mean over `days` for each reader; NaN for a reader without any."""
    rows = [[getattr(page, key) for page in pages[days[0] - 1 : days[1]]] for pages in courses]
    known = [[value for value in row if value is not None] for row in rows]
    return np.array([np.mean(row) if row else np.nan for row in known])


def _mean(values: Values) -> float | None:
    known = values[np.isfinite(values)]
    return round(float(known.mean()), 4) if len(known) else None


def _difference(
    own: Sequence[Sequence[Page]], base: Sequence[Sequence[Page]], key: str, days: tuple[int, int]
) -> list[float] | None:
    """Return the mean difference by reader and its 95 % bootstrap interval."""
    values = _values(own, key, days) - _values(base, key, days)
    ends, mean = _interval(values), _mean(values)
    return None if ends is None or mean is None else [mean, *ends]


def _interval(values: Values) -> list[float] | None:
    """Return the 95 % bootstrap interval of the mean over readers."""
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    drawn = values[np.random.default_rng(1).integers(0, len(values), (DRAWS, len(values)))].mean(axis=1)
    return [round(float(x), 4) for x in np.percentile(drawn, INTERVAL)]


def targets_of(rows: Sequence[Row]) -> list[Row]:
    """Return the targets of the rows that have one."""
    found = []
    for row in rows:
        name = f"{row['feeds']} feeds, {row['arm']}"
        least = LEAST.get((row["feeds"], row["arm"]), ())
        for window, wanted in zip(WINDOWS, least, strict=False):
            if wanted is not None and row[window] is not None:
                found.append(
                    _target(f"{name}: to taste, {window}", f">= {wanted}", row[window], row[window] >= wanted)
                )
        if least and row["feeds"] != FEW_FEEDS:
            sources, repeats = row["sources"], row["repeats"]
            found.append(
                _target(f"{name}: sources of 15", f">= {SOURCES_LEAST}", sources, sources >= SOURCES_LEAST)
            )
            found.append(_target(f"{name}: repeats", f"<= {REPEATS_MOST}", repeats, repeats <= REPEATS_MOST))
        if row["arm"] in (OFF, ON) and (passed := row["passed_day_2"]) is not None:
            metric = f"{name}: of the first 15 on day 2, among the first 15 of day 1"
            found.append(_target(metric, f"<= {REPEATS_MOST}", passed, passed <= REPEATS_MOST))
        if row["arm"] in CONTROLS | NO_GAIN and row.get("days_16_18_over"):
            mean, low, high = row["days_16_18_over"]
            over = f"{name}: over {row['over']}, days 16-18"
            if row["arm"] in CONTROLS:
                found.append(_target(f"{over}, holds 0", "0", mean, low <= 0 <= high))
            else:
                found.append(_target(f"{over}, lower end", "<= 0", low, low <= 0))
    return found


def _target(metric: str, target: str, value: float, met: bool) -> Row:
    return {"metric": metric, "target": target, "value": value, "met": bool(met)}


def words_of(rows: Sequence[Row]) -> str:
    """Return the table as aligned lines."""
    head = (
        f"{'feeds':>5} {'arm':34} {'day 1':>6} {'4-5':>5} {'9-11':>5} {'16-18':>5}  {'over base, 16-18':24} "
    )
    lines = [
        head + f"{'sources':>7} {'repeats':>7} {'passed, day 2':>13} {'found':>5} "
        f"{'age d':>5} {'worth':>6} {'others':>6}"
    ]
    for row in rows:
        shares = " ".join(_figure(row[window], 2).rjust(5) for window in WINDOWS)
        over = row.get("days_16_18_over")
        words = f"{over[0]:+.3f} [{over[1]:+.3f}, {over[2]:+.3f}]" if over else ""
        lines.append(
            f"{row['feeds']:>5} {row['arm']:34}  {shares}  {words:24} {_figure(row['sources'], 1):>7} "
            f"{_figure(row['repeats'], 2):>7} {_figure(row['passed_day_2'], 3):>13} "
            f"{_figure(row['found'], 2):>5} {_figure(row['age_days'], 2):>5} {_figure(row['worth'], 3):>6} "
            f"{_figure(row['others'], 2):>6}"
        )
    return "\n".join([*lines, *_asked_words(rows)])


def _asked_words(rows: Sequence[Row]) -> list[str]:
    """Return the lines that say what answers and named articles gain over thumbs alone, in each window."""
    found = [(row, row["over_thumbs"]) for row in rows if "over_thumbs" in row]
    head = f"{'feeds':>5} {'over “' + ON + '”':34} " + " ".join(f"{window:24}" for window in WINDOWS)
    lines = ["", head] if found else []
    for row, gains in found:
        words = (f"{g[0]:+.3f} [{g[1]:+.3f}, {g[2]:+.3f}]" if g else "–" for g in gains)
        lines.append(f"{row['feeds']:>5} {row['arm']:34} " + " ".join(f"{one:24}" for one in words))
    return lines


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("0.", ".", 1)
