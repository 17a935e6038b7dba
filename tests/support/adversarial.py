"""Strings made to be slow for a pattern, and a measure of how its time grows with their length."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, Final

# Signs that are repeated first. Each pattern adds the signs that it names itself.
SIGNS: Final = (" ", "\n", "_", ".", "1", "<", "&", '"', "'", "-", "a", "/", "\\", "|", "[", "(", "é", "字")
PAIRS: Final = (". ", "a.", "a ", "1,", "'a", "_a", "-a", "a@", "<>", "&;", "(a", " \n", "|\\", '\\"', ".\n")
# Openings of formats. A parser may search for their ends in vain.
OPENINGS: Final = (
    *(
        "<a ",
        "</",
        "<!--",
        "<![CDATA[",
        "<!DOCTYPE ",
        "<?xml ",
        "<b>",
        '<outline text="',
        "<title>",
        "&#",
        "&amp",
    ),
    *("```json", '{"a":', "[[", '["', "http://", "a@b.", "| 1 ", "- a (source: ", "//", "%2", "\\|", "---\n"),
)
# The last sign lets a repetition that would reach the end fail instead.
END: Final = "\0"
SIGNS_MAX, PAIRED_MAX, SAMPLES_MAX, PREFIXES_MAX = 26, 7, 8, 6
# The length all strings are tried at, and the longest of those compared. Linear patterns need 0.1 to 0.4 ms
# for the first, quadratic ones some milliseconds.
SCREENED, COMPARED = 4_096, 16_384
# Linear work takes four times as long for the second length. Work that more than triples per doubling takes
# six.
STEADY_MAX = 5.0
SHORT, SHORT_S = (22, 24, 48, 96, 256), 0.1
# A busy machine triples one measurement of some milliseconds now and then, and never the best of many.
SHORT_NOISE_S, SHORT_RUNS = 0.02, 5
SUSPECT_S, MEASURABLE_S, UNDOUBTED_S, FACTOR_MAX, RUNS = 0.0006, 0.002, 0.1, 3.0, 5
CATEGORIES: Final = {
    sre.CATEGORY_SPACE: " \n",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_WORD: "a_1",
    sre.CATEGORY_NOT_WORD: ".",
}


def pattern_signs(parsed: Any) -> Iterator[str]:
    """Yield signs of every class that a parsed pattern names, and of none of them."""
    for kind, value in parsed:
        if kind in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(value)
        elif kind is sre.RANGE:
            yield chr(value[0])
        elif kind is sre.CATEGORY:
            yield from CATEGORIES[value]
        elif kind is sre.IN:
            yield from pattern_signs(value)
        else:
            for inner in _inside(kind, value):
                yield from pattern_signs(inner)


def _inside(kind: Any, value: Any) -> list[Any]:
    """Return the parsed patterns inside a node."""
    if kind is sre.BRANCH:
        return list(value[1])
    if kind is sre.ATOMIC_GROUP:
        return [value]
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind is sre.SUBPATTERN:
        return [value[3]]
    return [value[1]] if kind in (sre.ASSERT, sre.ASSERT_NOT) else []


def pattern_samples(parsed: Any) -> list[str]:
    """Return some strings that nearly match: each alternative once, each repetition once."""
    samples = [""]
    for kind, value in parsed:
        pieces = [""]
        if kind is sre.LITERAL:
            pieces = [chr(value)]
        elif kind is sre.ANY:
            pieces = ["a"]
        elif kind is sre.NOT_LITERAL:
            pieces = ["b" if chr(value) == "a" else "a"]
        elif kind is sre.IN:
            negated = value[0][0] is sre.NEGATE
            pieces = [_other(value)] if negated else [next(pattern_signs(value), "")]
        elif kind not in (sre.ASSERT, sre.ASSERT_NOT):
            pieces = [sample for inner in _inside(kind, value) for sample in pattern_samples(inner)] or [""]
            if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
                pieces = [piece * max(1, min(value[0], 9)) for piece in pieces]
        whole = [sample + piece for piece in pieces for sample in samples]
        step = max(1, len(whole) // SAMPLES_MAX)
        samples = whole[::step][:SAMPLES_MAX]
    return samples


def _other(members: Any) -> str:
    """Return a sign that a negated class lets through."""
    named = set(pattern_signs(members[1:]))
    return next(sign for sign in "ab.1 _<" if sign not in named)


def families(pattern: re.Pattern[Any]) -> dict[str, Callable[[int], str]]:
    """Return, by name, functions that make each adversarial string of the pattern for a length."""
    parsed = sre_parser.parse(pattern.pattern, pattern.flags)
    own = list(dict.fromkeys(pattern_signs(parsed)))
    signs = list(dict.fromkeys([*own[:: max(1, len(own) // 12)], *SIGNS]))[:SIGNS_MAX]
    made: dict[str, Callable[[int], str]] = {}
    for sign in signs:
        made[f"{sign!r} repeated"] = _repeated(sign)
    few = signs[:PAIRED_MAX]
    for pair in (one + other for one in few for other in few if one != other):
        made[f"{pair!r} repeated"] = _repeated(pair)
    for sample in dict.fromkeys(pattern_samples(parsed)):
        cuts = range(1, len(sample) + 1, max(1, len(sample) // PREFIXES_MAX))
        for prefix in dict.fromkeys([*(sample[:cut] for cut in cuts), sample[:-1], sample]):
            if prefix:
                made[f"{prefix!r} repeated"] = _repeated(prefix)
                made[f"{prefix!r}, then its last sign"] = _repeated(prefix[-1], prefix)
        for sign in signs[:6]:
            made[f"{sample[:-1]!r}, then {sign!r}"] = _repeated(sign, sample[:-1])
            made[f"{sample + sign * 3!r} repeated"] = _repeated(sample + sign * 3)
    return made


def text_families() -> dict[str, Callable[[int], str]]:
    """Return, by name, functions that make each adversarial string of text for a length."""
    made = {f"{sign!r} repeated": _repeated(sign) for sign in (*SIGNS, *OPENINGS)}
    for opening in OPENINGS:
        for sign in (" ", opening[-1]):
            made[f"{opening!r}, then {sign!r}"] = _repeated(sign, opening)
    return made | {f"{pair!r} repeated": _repeated(pair) for pair in PAIRS}


def _repeated(piece: str, before: str = "") -> Callable[[int], str]:
    return lambda length: before + piece * (length // len(piece)) + END


def seconds(work: Callable[[Any], object], text: Any, runs: int = 1) -> float:
    """Return how much processor time `work` takes on `text`: the least of some runs."""
    best = float("inf")
    for _ in range(runs):
        began = time.thread_time()
        work(text)
        best = min(best, time.thread_time() - began)
    return best


def slower_than_linear(
    work: Callable[[Any], object], make: Callable[[int], Any], *, suspect_s: float = SUSPECT_S
) -> str:
    """Return how the time of `work` grows, if it more than triples when the length doubles, else ""."""
    # Short ones first: exponential time shows there, and the check ends.
    for length in SHORT:
        if seconds(work, make(length)) > SHORT_S and seconds(work, make(length)) > SHORT_S:
            return f"more than {SHORT_S} s for {length} signs"
    length, took = SCREENED, seconds(work, make(SCREENED))
    if took < suspect_s or (took < UNDOUBTED_S and _is_steady(work, make, took)):
        return ""
    while length < COMPARED:
        length, before = 2 * length, min(took, seconds(work, make(length), 2))
        took = seconds(work, make(length))
        if took > max(MEASURABLE_S, FACTOR_MAX * before):
            if before > UNDOUBTED_S:
                return f"{before:.4f} s for {length // 2} signs, {took:.4f} s for {length}"
            # Again and thoroughly: the first figures may be an accident.
            runs = RUNS if took < UNDOUBTED_S else 1
            runs *= SHORT_RUNS if took < SHORT_NOISE_S else 1
            before, took = (seconds(work, make(size), runs) for size in (length // 2, length))
            # Such growth repeats at the next length. An accident of the clock does not.
            again = took > max(MEASURABLE_S, FACTOR_MAX * before)
            last = 1 if FACTOR_MAX * took > UNDOUBTED_S else runs
            if again and seconds(work, make(2 * length), last) > FACTOR_MAX * took:
                return f"{before:.4f} s for {length // 2} signs, {took:.4f} s for {length}"
    return ""


def _is_steady(work: Callable[[Any], object], make: Callable[[int], Any], took: float) -> bool:
    """Return whether the time, `took` for the screened length, grows from there as linear work does."""
    again = min(took, seconds(work, make(SCREENED)))
    return seconds(work, make(COMPARED)) < STEADY_MAX * again


def patterns_in(value: object, name: str) -> Iterable[tuple[str, re.Pattern[Any]]]:
    """Yield the compiled patterns of a module's value, inside containers and classes too."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from patterns_in(inner, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple | set | frozenset):
        for number, inner in enumerate(value):
            yield from patterns_in(inner, f"{name}[{number}]")
