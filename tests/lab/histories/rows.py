"""Rows of `tests.lab advisor` on open histories: MovieLens with a time split; NeMig and shuffled thumbs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from ranking.common.categories import category_key
from tests.lab.advisor.metrics import calibration, difference, interval, null_rate, precision
from tests.lab.advisor.series import uplift_by_week
from tests.lab.advisor.stage import Say, shards_run
from tests.lab.histories.data import MOVIELENS, SMALL
from tests.lab.histories.early import ANSWERS
from tests.lab.histories.pools import HARMFUL_THUMBS, History, oneshot, targets_of
from tests.lab.histories.replay import WEEK_THUMBS, WEEKS, replayed
from tests.lab.histories.scholar import READERS, SCHOLAR, day_rows, scholar_histories
from tests.lab.histories.trials import HISTORIES_MAX, Trial, histories_for
from tests.lab.histories.yardstick import harm_of
from tests.lab.world.entities import Course, course_of

Json = dict[str, Any]
NEMIG_SETS = ("nemig-en", "nemig-de")
# These histories carry no reasons, so the threshold on reasons is off for them.
ENVIRONMENT = {"ADVISOR_MIN_TAGGED": "0"}
NULL_READERS = 200
THUMBS, SHUFFLED_THUMBS = (20, 50, 100), (50, 100)
# A precision of fewer suggestions is not set beside others.
NORMALISED_MIN = 20
RULES_BESIDE = ("random valid", "greedy like-rate", "Beta .9", "oracle")
RIVALS = {"over_greedy": "greedy like-rate", "over_beta": "Beta .9"}
REPLAY_BESIDE = ("random valid", *RIVALS.values())
FILMS = (MOVIELENS, SMALL)


def movielens_rows(seed: int, say: Say, *, readers: int = 0, names: Sequence[str] = FILMS) -> list[Json]:
    """The planner beside array rules, with the period and with the genre as source, and on shuffled thumbs.

    `readers` of those long enough get a run (0: all); everybody's thumbs are imported.
    """
    if missing := next(filter(None, map(_missing, names)), None):
        return [missing]
    sets = _sets(names)
    trials = [Trial(d, t, readers, by_genre=g, seed=seed) for d, g in sets for t in THUMBS]
    trials += [
        Trial(d, t, readers, shuffled=True, by_genre=g, seed=seed) for d, g in sets for t in SHUFFLED_THUMBS
    ]
    rows, real = [], []
    for trial, courses in zip(trials, _run(trials, say), strict=True):
        histories = histories_for(trial)
        rows += _movielens(trial, courses, histories)
        real += [] if trial.shuffled else courses
        say(f"{_name(trial)}: rules on arrays done")
    return [*rows, _calibrated(real), *_early_rows(sets, readers, seed, say)]


def scholar_rows(folder: Path, seed: int, say: Say, *, readers: int = 0) -> list[Json]:
    """Return each day's AUC by the thumbs before, and the planner's rows beside array rules.

    Raises `BadData`. `readers` of those long enough get a run (0: all that are read).
    """
    data = f"{SCHOLAR}:{folder.resolve()}"
    days = day_rows(scholar_histories(folder, limit=HISTORIES_MAX), readers=readers or READERS, seed=seed)
    say(f"{SCHOLAR}: each day by the days before done")
    trials = [
        Trial(data, thumbs, readers, shuffled=shuffled, seed=seed)
        for shuffled in (False, True)
        for thumbs in SHUFFLED_THUMBS
    ]
    runs = [
        _movielens(trial, courses, histories_for(trial))
        for trial, courses in zip(trials, _run(trials, say), strict=True)
    ]
    return [*days, *(row for rows in runs for row in rows)]


def _early_rows(sets: Sequence[tuple[str, bool]], readers: int, seed: int, say: Say) -> list[Json]:
    """Return the early change after twenty answers: of all readers, of those with an odd number, and
    shuffled.

    The constants were tuned without the odd readers. A gain is that of the whole change.
    """
    trials = [Trial(d, ANSWERS, readers, s, g, seed) for s in (False, True) for d, g in sets]
    rows = []
    for trial, courses in zip(trials, _run(trials, say, kind="early"), strict=True):
        name = f"early change, {_name(trial)}"
        some_of = [(name, courses)]
        if not trial.shuffled:
            some_of.append((f"{name}, odd", [c for c in courses if c.reader % 2]))
        for label, some in some_of:
            asked = sum(bool(c.asked) for c in some)
            rows.append(_gains(label, some) | {"asked_share": round(asked / max(1, len(some)), 4)})
    return rows


def replay_rows(seed: int, say: Say, *, readers: int = 0, names: Sequence[str] = FILMS) -> list[Json]:
    """Return the planner week after week beside the simplest rules in the same replay. Only MovieLens has
    times.

    With the period as source there are also rows on shuffled thumbs, where nothing can be found. `readers` of
    those with enough thumbs get runs (0: all). Everybody's thumbs are imported.
    """
    if missing := next(filter(None, map(_missing, names)), None):
        return [missing]
    thumbs, seeded = WEEKS * WEEK_THUMBS, {"seed": seed, "held": 0}
    trials = [Trial(d, thumbs, readers, by_genre=g, **seeded) for d, g in _sets(names)]
    trials += [Trial(d, thumbs, readers, shuffled=True, **seeded) for d in names]
    rows = []
    for trial, courses in zip(trials, _run(trials, say, kind="replay"), strict=True):
        rows += _replay(trial, courses)
        say(f"{_name(trial)}: rules on arrays done")
    return rows


def _sets(names: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each set with the period and with the genre as source."""
    return [(name, by_genre) for name in names for by_genre in (False, True)]


def _replay(trial: Trial, courses: Sequence[Course]) -> list[Json]:
    """Return the planner's row and the rules' rows of one replay; `…_low` are lower ends of 95 %."""
    name, histories = f"weekly replay, {_name(trial)}", histories_for(trial)
    targets = targets_of(histories)
    beside = {
        rule: [replayed(histories[c.reader], c.reader, rule, targets=targets) for c in courses]
        for rule in REPLAY_BESIDE
    }
    planner = _gains(name, courses) | _silence(name, courses, shuffled=trial.shuffled)
    planner |= {key: difference(courses, beside[rule]) for key, rule in RIVALS.items()}
    planner |= _tagged(courses, histories)
    if trial.shuffled:
        planner["null_rate"] = null_rate(courses)
    else:
        lows = {"replay_low": planner["uplift_95"]}
        lows |= {f"replay_{key}_low": planner[key]["interval_95"] for key in RIVALS}
        planner |= {key: ends[0] if ends else None for key, ends in lows.items()}
    planner |= {"name": f"{name}: planner", "nothing_to_find": False, "by_week": _by_week(courses)}
    return [
        planner,
        *(_gains(f"{name}: {r}", c) | {"by_week": _by_week(c)} for r, c in beside.items()),
    ]


def _by_week(courses: Sequence[Course]) -> list[float]:
    """Return the mean gain up to each week."""
    return [week["uplift"] for week in uplift_by_week(courses)[1:]]


def nemig_rows(seed: int, say: Say, *, readers: int = 0) -> list[Json]:
    """History does not predict choice in NeMig: the planner should stay silent, also on shuffled thumbs."""
    if missing := next(filter(None, map(_missing, NEMIG_SETS)), None):
        return [missing]
    trials = [Trial(name, 0, readers or NULL_READERS, seed=seed) for name in NEMIG_SETS]
    trials.append(Trial(NEMIG_SETS[0], 0, readers or NULL_READERS, shuffled=True, seed=seed))
    return [
        _silence(_name(trial), courses, shuffled=trial.shuffled)
        for trial, courses in zip(trials, _run(trials, say), strict=True)
    ]


def _calibrated(courses: Sequence[Course]) -> Json:
    """How well stated probabilities hold for readers with an odd number: none of them set a constant."""
    odd = [a for c in courses if c.reader % 2 for a in c.asked]
    return {"name": "open histories, readers with an odd number", "suggestions": len(odd), **calibration(odd)}


def _missing(name: str) -> Json | None:
    """Return a row that reports missing data, or None if the data is there."""
    folder = settings.TIDINGS_DATA
    if folder and (Path(folder) / name).is_dir():
        return None
    reason = f"no {name} below TIDINGS_DATA ({folder or 'not set'})"
    return {"name": name, "skipped": reason}


def _name(trial: Trial) -> str:
    parts = [trial.data.partition(":")[0]]
    if trial.thumbs:
        parts.append(f"{trial.thumbs} thumbs")
    if trial.by_genre:
        parts.append("genre as source")
    return ", ".join([*parts, *(["shuffled"] if trial.shuffled else [])])


def _run(trials: Sequence[Trial], say: Say, *, kind: str = "trial") -> list[list[Course]]:
    tasks = [
        {
            "kind": kind,
            "name": _name(trial),
            "env": ENVIRONMENT,
            "trial": {name: getattr(trial, name) for name in Trial.__slots__},
        }
        for trial in trials
    ]
    return [[course_of(c) for c in result["courses"]] for result in shards_run(tasks, say=say)]


def _beside(
    trial: Trial, courses: Sequence[Course], histories: Sequence[History]
) -> list[tuple[str, list[Course]]]:
    """Return the array rules on the same readers; none on shuffled thumbs."""
    if trial.shuffled:
        return []
    targets = targets_of(histories)
    return [
        (
            rule,
            [
                oneshot(histories[c.reader], c.reader, rule, thumbs=trial.thumbs, targets=targets)
                for c in courses
            ],
        )
        for rule in RULES_BESIDE
    ]


def _movielens(trial: Trial, courses: Sequence[Course], histories: Sequence[History]) -> list[Json]:
    """Return the planner's row and the rules' rows of one trial."""
    name, beside = _name(trial), _beside(trial, courses, histories)
    floor, roof = (
        next((_precision(c) for n, c in beside if n == rule), None) for rule in ("random valid", "oracle")
    )
    planner = _gains(f"{name}: planner", courses) | _silence(name, courses, shuffled=trial.shuffled)
    planner |= {"name": f"{name}: planner", "nothing_to_find": trial.shuffled} | _tagged(courses, histories)
    given = dict(beside)
    planner |= {key: difference(courses, given[rule]) for key, rule in RIVALS.items() if rule in given}
    own = planner["precision"]
    enough = planner["suggestions"] >= NORMALISED_MIN
    if enough and own is not None and floor is not None and roof is not None and roof > floor:
        # Thumbs carry noise: random changes "help" half the time, the best possible ones two times of three.
        planner["precision_normalised"] = round((own - floor) / (roof - floor), 4)
    return [planner, *(_gains(f"{name}: {rule}", theirs) for rule, theirs in beside)]


def _gains(name: str, courses: Sequence[Course]) -> Json:
    asked = [a for c in courses for a in c.asked]
    uplifts = [c.uplift for c in courses]
    bad = sum(a.gain < HARMFUL_THUMBS for a in asked)
    return {
        "name": name,
        "readers": len(courses),
        "start": round(sum(c.start for c in courses) / max(1, len(courses)), 4),
        "uplift": round(sum(uplifts) / max(1, len(uplifts)), 4),
        "uplift_95": interval(uplifts),
        "suggestions": len(asked),
        "precision": _precision(courses),
        **harm_of(courses),
        "harmful": round(bad / len(asked), 4) if asked else None,
    }


def _tagged(courses: Sequence[Course], histories: Sequence[History]) -> Json:
    """How many suggestions were about a tag that readers gave."""
    tags = {tag for h in histories for one in h.rated for tag in one.categories}
    return {"about_tags": sum(category_key(a.target) in tags for c in courses for a in c.asked)}


def _precision(courses: Sequence[Course]) -> float | None:
    return precision([a for c in courses for a in c.asked])


def _silence(name: str, courses: Sequence[Course], *, shuffled: bool) -> Json:
    """How many readers were skipped for want of thumbs, stayed unadvised, and were advised."""
    ends = sum((Counter(c.runs) for c in courses), Counter[str]())
    able_readers = sum(ends.values()) - ends["skipped"]
    return {
        "name": name,
        "readers": len(courses),
        "skipped_thin": ends["skipped"],
        "silent": ends["silent"],
        "advised": ends["advised"],
        "failed": sum(ends.values()) - ends["skipped"] - ends["silent"] - ends["advised"],
        "suggestions": sum(len(c.asked) for c in courses),
        "per_reader": round(sum(len(c.asked) for c in courses) / max(1, len(courses)), 4),
        "advised_share": round(ends["advised"] / able_readers, 4) if able_readers else None,
        "shuffled": shuffled,
        "nothing_to_find": True,
    }
