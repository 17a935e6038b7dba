"""The result of an evaluation as text for people: a table a part, then the targets."""

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]
HEADS = {
    "readers": "readers",
    "uplift": "uplift",
    "captured": "of oracle",
    "suggestions_per_reader": "asked",
    "precision_all": "prec. all",
    "precision_accepted": "accepted",
    "harmful_accepted": "harmful",
    "lost_gained": "lost/gained",
    "of_gain": "gain kept",
    "null_rate": "null/week",
    "coverage": "coverage",
    "ece": "ECE",
}
CHECKED_HEADS = {
    "suggestions": "asked",
    "withdrawn": "withdrawn",
    "helpful_kept": "help kept",
    "harmful_withdrawn": "harm gone",
    "lost_kept": "loss left",
    "true_lost_gained": "lost/gained",
    "over_unchecked": "over none",
}
OPEN_HEADS = {
    "readers": "readers",
    "skipped_thin": "skipped",
    "silent": "silent",
    "advised": "advised",
    "suggestions": "asked",
    "uplift": "uplift",
    "precision": "precision",
    "precision_normalised": "normalised",
    "lost_gained": "lost/gained",
    "harmful_deconvolved": "harm, true",
    "harmful_deconvolved_95": "95 %",
    "harmful": "harm, raw",
    "over_greedy": "over greedy",
    "over_beta": "over Beta",
}
GUIDED_HEADS = {
    "runs": "runs",
    "uplift": "uplift",
    "suggestions": "asked",
    "precision_accepted": "accepted",
    "harmful_accepted": "harmful",
    "failed_writes": "failed",
    "tokens_per_run": "tokens/run",
}
NAME_WIDTH = 44


def text_of(result: Mapping[str, Any]) -> str:
    """Return tables of the rows, the skipped rows, the controls and the targets."""
    rows: list[Json] = result["rows"]
    simulated = [row for row in rows if "via" in row]
    guided = [row for row in rows if "failed_writes" in row]
    opened = [row for row in rows if "skipped" not in row and ("advised" in row or "precision" in row)]
    rest = [row for row in rows if row not in (*simulated, *guided, *opened)]
    parts = [_table("Simulator", HEADS, simulated), _table("Open histories", OPEN_HEADS, opened)]
    parts.append(_table("Checked by headlines", CHECKED_HEADS, [r for r in rows if "true_lost_gained" in r]))
    parts.append(_table("An eager agent", GUIDED_HEADS, guided))
    parts += [", ".join(f"{key} {value}" for key, value in row.items()) for row in rest]
    parts.append(_targets(result["targets"]))
    took = f"{result['seconds']} s ({result['cpu_seconds']} s of processor)"
    parts.append(f"{took}, seed {result['seed']}, data: {', '.join(result['data'])}")
    return "\n\n".join(part for part in parts if part)


def _table(title: str, heads: Mapping[str, str], rows: Sequence[Json]) -> str:
    if not rows:
        return ""
    lines = [f"{title:{NAME_WIDTH}}" + "".join(f"{head:>12}" for head in heads.values())]
    for row in rows:
        cells = "".join(f"{_cell(row.get(key)):>12}" for key in heads)
        lines.append(f"{str(row['name'])[: NAME_WIDTH - 1]:{NAME_WIDTH}}{cells}")
        if spread := row.get("uplift_95"):
            lines.append(f"{'':{NAME_WIDTH}}{'':>12}{_spread(spread):>16}")
    return "\n".join(lines)


def _spread(ends: Sequence[float]) -> str:
    return f"({ends[0]:+.3f}…{ends[1]:+.3f})"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):
        return f"{value['mean']:+.4f}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _targets(targets: Sequence[Json]) -> str:
    lines = [
        f"{'met' if t['met'] else 'MISSED':8}{t['metric']}: {t['value']} ({t['target']})" for t in targets
    ]
    return "\n".join(lines)
