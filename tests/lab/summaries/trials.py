"""The quality of extracts and of the grounding check, on texts with a standfirst by their own publisher.
Pure.

A standfirst is a faithful summary from another author. The check must accept it. It must refuse it with
another text, with a changed number, and with a name that the text does not have.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from digest.summaries.grounding import (
    OVERLAP_MIN,
    Grounding,
    content_stems,
    grounding_of,
    names_of,
    numbers_of,
    overlap_of,
    whitespace_collapse,
)
from digest.summaries.summarise import SHOWN_CHARS, extract_of, sentence_usable, sentences_of

Row = dict[str, Any]
# Each standfirst is tried with this many other texts.
WRONG_TEXTS = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """One item with its publisher's standfirst, which is not the beginning of the text."""

    title: str
    text: str
    standfirst: str

    @property
    def shown(self) -> str:
        """Return the part of the text that a model would see, against which a summary is checked."""
        return self.text[:SHOWN_CHARS]


@dataclass(frozen=True, slots=True)
class Trial:
    """A summary beside a text with the citations it claims."""

    summary: str
    citations: tuple[str, ...]
    title: str
    text: str

    @property
    def kept(self) -> bool:
        """Return whether the check lets it pass."""
        return self._check().grounded

    @property
    def fault(self) -> str:
        """Return the first fault that the check finds."""
        return self._check().fault

    def _check(self) -> Grounding:
        return grounding_of(self.summary, self.citations, title=self.title, text=self.text)


def trials_report(samples: Sequence[Sample], items: Sequence[tuple[str, str]], seed: int) -> list[Row]:
    """Return every row of the evaluation, from the same samples and the same draws.

    `items` are (title, text) of arbitrary items, for the offline counterpart.
    """
    rnd = random.Random(seed)
    right = [Trial(s.standfirst, (_quote(s.standfirst, s.shown),), s.title, s.shown) for s in samples]
    quoted = [trial for trial in right if trial.citations[0]]
    return [
        _coverage_row(items),
        *_extract_rows(samples, rnd),
        _overlap_row("overlap, faithful", [overlap_of(t.summary, f"{t.title}\n{t.text}") for t in right]),
        _overlap_row("overlap, cross-wired", _overlaps_wrong(samples, rnd, whole=False)),
        _overlap_row(
            "overlap, cross-wired, whole texts (control)", _overlaps_wrong(samples, rnd, whole=True)
        ),
        _faithful_row("kept: faithful", quoted),
        _faithful_row("kept: faithful, whole texts", _whole(samples)),
        _caught_row("caught: another text's summary and citations", _cross_wired(quoted, rnd, own=True)),
        _caught_row("caught: another text's summary, exact citations", _cross_wired(quoted, rnd, own=False)),
        _caught_row("caught: a number changed", _changed(quoted, rnd, _number_changed), fault="number"),
        _caught_row("caught: a foreign name", _changed(quoted, rnd, _name_changed), fault="name"),
        _caught_row("caught: a word of the citation changed", _changed(quoted, rnd, _citation_changed)),
        _caught_row("not caught by design: a denial", _changed(quoted, rnd, _denied)),
    ]


def _extract_rows(samples: Sequence[Sample], rnd: random.Random) -> list[Row]:
    """How much of the publisher's own words an extract shares, beside the first two and any two sentences."""
    found = [(s, e) for s in samples if (e := extract_of(s.title, s.text))]
    pairs = {
        "extract": [(e.text, s.standfirst) for s, e in found],
        "first two sentences": [(" ".join(_usable(s)[:2]), s.standfirst) for s, _ in found],
        "any two sentences (control)": [
            (" ".join(rnd.sample(_usable(s), min(2, len(_usable(s))))), s.standfirst) for s, _ in found
        ],
    }
    return [
        {"name": f"words shared with the standfirst: {name}", "f1": _mean([_f1(*pair) for pair in made])}
        for name, made in pairs.items()
    ]


def _coverage_row(items: Sequence[tuple[str, str]]) -> Row:
    """For how many texts there is an extract, whether its citations are exact, whether the check keeps it."""
    found = [(title, text, made) for title, text in items if (made := extract_of(title, text))]
    exact = [all(part in whitespace_collapse(text) for part in made.sentences) for _, text, made in found]
    kept = [
        grounding_of(made.text, made.sentences, title=title, text=text).grounded
        for title, text, made in found
    ]
    covered = len(found) / len(items) if items else 0.0
    return {
        "name": "extracts",
        "texts": len(items),
        "covered": round(covered, 3),
        "citations_exact": _share(exact),
        "kept": _share(kept),
    }


def _usable(sample: Sample) -> list[str]:
    return [sentence for sentence in sentences_of(sample.text) if sentence_usable(sentence)]


def _overlap_row(name: str, values: Sequence[float]) -> Row:
    low, median, high = (round(float(q), 3) for q in np.quantile(values, [0.1, 0.5, 0.9]))
    passed = _share([value >= OVERLAP_MIN for value in values])
    return {"name": name, "pairs": len(values), "p10": low, "median": median, "p90": high, "passed": passed}


def _overlaps_wrong(samples: Sequence[Sample], rnd: random.Random, *, whole: bool) -> list[float]:
    return [
        overlap_of(sample.standfirst, f"{other.title}\n{other.text if whole else other.shown}")
        for sample in samples
        for other in _others(samples, sample, rnd)
    ]


def _others(items: Sequence[Any], own: Any, rnd: random.Random) -> list[Any]:
    return rnd.sample([item for item in items if item.text != own.text], WRONG_TEXTS)


def _cross_wired(trials: Sequence[Trial], rnd: random.Random, *, own: bool) -> list[Trial]:
    """Summaries beside other texts, with citations of their `own` text or exact ones of the wrong one."""
    return [
        replace(trial, title=other.title, text=other.text) if own else replace(other, summary=trial.summary)
        for trial in trials
        for other in _others(trials, trial, rnd)
    ]


def _changed(
    trials: Sequence[Trial],
    rnd: random.Random,
    change: Callable[[Trial, Sequence[Trial], random.Random], Trial],
) -> list[Trial]:
    """Return the kept trials that `change` could alter, altered."""
    made = [(trial, change(trial, trials, rnd)) for trial in trials if trial.kept]
    return [changed for trial, changed in made if changed != trial]


def _number_changed(trial: Trial, trials: Sequence[Trial], rnd: random.Random) -> Trial:
    """Replace one number by another that the text does not have. If there is none, add one."""
    there = set(numbers_of(f"{trial.title}\n{trial.text}"))
    other = next(str(n) for n in iter(lambda: rnd.randint(13, 99_999), None) if str(n) not in there)
    changed = re.sub(r"\d+(?:[.,]\d+)*", other, trial.summary, count=1)
    return replace(
        trial, summary=changed if changed != trial.summary else f"{trial.summary} In all, {other}."
    )


def _name_changed(trial: Trial, trials: Sequence[Trial], rnd: random.Random) -> Trial:
    """Replace one of its names by one of another standfirst, or add that at the end."""
    lower = f"{trial.title}\n{trial.text}".casefold()
    foreign = [
        name
        for other in rnd.sample(trials, min(20, len(trials)))
        for name in names_of(other.summary)
        if name.casefold()[:4] not in lower
    ]
    if not foreign:
        return trial
    own = next(iter(names_of(trial.summary)), "")
    if own:
        return replace(trial, summary=re.sub(rf"\b{re.escape(own)}\b", foreign[0], trial.summary, count=1))
    return replace(trial, summary=f"{trial.summary.rstrip('.')}, says {foreign[0]}.")


def _citation_changed(trial: Trial, trials: Sequence[Trial], rnd: random.Random) -> Trial:
    words = trial.citations[0].split()
    words[len(words) // 2] = "verily"
    return replace(trial, citations=(" ".join(words),))


def _denied(trial: Trial, trials: Sequence[Trial], rnd: random.Random) -> Trial:
    return replace(trial, summary=f"It is not true that {trial.summary[0].lower()}{trial.summary[1:]}")


def _quote(summary: str, text: str) -> str:
    """Return the sentence of the text that shares most with the summary, as a careful writer would cite
    it."""
    said = set(content_stems(summary))
    fitting = [s for s in sentences_of(text) if sentence_usable(s) and s in whitespace_collapse(text)]
    return max(fitting, key=lambda s: len(said & set(content_stems(s))), default="")


def _whole(samples: Sequence[Sample]) -> list[Trial]:
    """Return the standfirsts beside their whole texts: a publisher sums up more than a model is shown."""
    made = [Trial(s.standfirst, (_quote(s.standfirst, s.text),), s.title, s.text) for s in samples]
    return [trial for trial in made if trial.citations[0]]


def _faithful_row(name: str, trials: Sequence[Trial]) -> Row:
    faults = [trial.fault for trial in trials]
    return {
        "name": name,
        "pairs": len(faults),
        "share": _share([not fault for fault in faults]),
        "false_alarms": {name: faults.count(name) for name in sorted({*faults} - {""})},
    }


def _caught_row(name: str, trials: Sequence[Trial], fault: str = "") -> Row:
    """Return the share of trials that the check refuses. `by` counts the faults."""
    faults = [trial.fault for trial in trials]
    row: Row = {"name": name, "pairs": len(faults), "share": _share([bool(f) for f in faults])}
    row["by"] = {found: faults.count(found) for found in sorted({*faults} - {""})}
    if fault:
        row["by_its_own_check"] = _share([found == fault for found in faults])
    return row


def _f1(first: str, second: str) -> float:
    a, b = set(content_stems(first)), set(content_stems(second))
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / len(found), 3) if found else 0.0


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 3) if values else 0.0
