"""Sentences by what they are, beside the benchmark's own, and in two halves. Pure.

Rules that tell advice from garbage may be shaped on the first half; the second only checks them.
"""

from functools import lru_cache
from importlib.resources import files

SHAPED, CHECKED = 0, 1
# What may be let in; every other section is garbage.
ADVICE = "advice"
SECTIONS = ("injection", "platitude", "edge", "noise", "empty", ADVICE)


@lru_cache(maxsize=1)
def phrasings() -> dict[str, tuple[str, ...]]:
    """The lines of each section, in the file's order; `@N text` is `text`, N times over."""
    text = files("advisor.evaluation").joinpath("guidance_phrasings.txt").read_text("utf-8")
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    rows: list[str] = []
    for line in text.splitlines():
        if line.startswith("[") and line[1:-1] in found:
            rows = found[line[1:-1]]
        elif line and not line.startswith("# "):
            rows.append(_spelled(line))
    return {name: tuple(lines) for name, lines in found.items()}


def half_of(section: str, half: int) -> tuple[str, ...]:
    """Every other line of a section: `SHAPED` or `CHECKED`."""
    return phrasings()[section][half::2]


def _spelled(line: str) -> str:
    if not line.startswith("@"):
        return line
    times, _, text = line[1:].partition(" ")
    return text * int(times)
