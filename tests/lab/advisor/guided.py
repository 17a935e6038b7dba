"""`tests.lab advisor --guidance`: an eager agent on a made-up model server, with guidance, without, held out.

Every arm has the same readers in the same world, with the same agent behind the real wire. Only guidance
differs. Held-out advice is drawn as in production, by run, call and memory.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from advisor.audit.kpis import NOT_FAILURES
from advisor.guidance.events import Arm, difference_of
from tests.lab.advisor.eager import eager_turn
from tests.lab.advisor.metrics import difference, row_of
from tests.lab.advisor.report import Scale
from tests.lab.advisor.stage import Say, shards_run
from tests.lab.advisor.targets import Json, Target
from tests.lab.advisor.wire import served
from tests.lab.world.entities import Course, course_of

OFF, ON, HOLDOUT, ALL = "off", "on", "holdout", "all"
ARMS = (OFF, ON, HOLDOUT)
SETTINGS: Mapping[str, Mapping[str, str]] = {
    OFF: {"ADVISOR_GUIDANCE": "false"},
    ON: {"ADVISOR_GUIDANCE": "true", "GUIDANCE": "holdout=0"},
    HOLDOUT: {"ADVISOR_GUIDANCE": "true", "GUIDANCE": ""},
}
NAMES = {OFF: "agent, guidance off", ON: "agent, guidance on", HOLDOUT: "agent, one call in ten held out"}
COMPARED = "guidance on against off"
# Readers of an arm; each week of one is half a dozen requests.
READERS, READERS_FULL = 24, 120
SHARDS = 2
# The reviewers are the rules, as in a run somebody waits for: the agent is no reviewer.
REVIEW = "openai:none"
TAKEN = (
    "readers",
    "uplift",
    "uplift_95",
    "suggestions",
    "accepted",
    "precision_accepted",
    "harmful_accepted",
)
# A scripted agent's failed writes without guidance, and how many of them guidance should spare it.
FEWER_MIN = 0.6


def guided_rows(scale: Scale, wanted: str, say: Say) -> list[Json]:
    """Return a row for each arm, for shown against held-out advice, and for guidance on against off."""
    asked = ARMS if wanted == ALL else (wanted,)
    readers = min(READERS_FULL if len(scale.seeds) > 1 else READERS, scale.readers)
    with served(eager_turn) as url:
        tasks = [
            task
            for arm in asked
            for seed in scale.seeds
            for task in _tasks(arm, seed, readers, scale.weeks, url)
        ]
        results = shards_run(tasks, say=say)
    found: dict[str, list[Json]] = {arm: [] for arm in asked}
    for task, result in zip(tasks, results, strict=True):
        found[task["arm"]].append(result | {"seed": task["setting"]["seed"]})
    courses = {arm: _courses(parts) for arm, parts in found.items()}
    rows = [_row(arm, own, found[arm]) for arm, own in courses.items()]
    rows += [row for arm in asked for row in _told(arm, found[arm])]
    return [*rows, _compared(courses[ON], courses[OFF])] if {ON, OFF} <= courses.keys() else rows


def guided_targets(rows: Sequence[Json]) -> list[Json]:
    """Return the target that these rows can answer."""
    target = Target("failed writes spared by guidance", COMPARED, "failed_fewer", True, FEWER_MIN)
    held = target.held(rows)
    return [held] if held else []


def failed(course: Course) -> int:
    """Return the number of writes that a rule refused. Stops by guidance and review rounds do not count."""
    return sum(times for code, times in course.writes.items() if code and code not in NOT_FAILURES)


def _tasks(arm: str, seed: int, readers: int, weeks: int, url: str) -> list[Json]:
    """Return two shards: the readers dealt in turn, all in the same world."""
    env = {"LOCAL_LLM_BASE_URL": url, "LLM_CHAIN": "local:eager", "LLM_CHAIN_REVIEW": REVIEW, **SETTINGS[arm]}
    parts = min(SHARDS, readers)
    return [
        {
            "kind": "guided",
            "arm": arm,
            "name": f"{NAMES[arm]}, seed {seed}, part {part + 1} of {parts}",
            "env": env,
            "setting": {"seed": seed, "weeks": weeks, "readers": list(range(part, readers, parts))},
        }
        for part in range(parts)
    ]


def _courses(parts: Sequence[Json]) -> list[Course]:
    """Return all courses of an arm, with reader numbers that are unique over seeds, in their order."""
    rows = [
        {**row, "reader": part["seed"] * 1_000_000 + row["reader"]}
        for part in parts
        for row in part["courses"]
    ]
    return sorted(map(course_of, rows), key=lambda course: course.reader)


def _row(arm: str, courses: Sequence[Course], parts: Sequence[Json]) -> Json:
    """Return one arm's figures, all of them over all its runs."""
    figures = row_of(NAMES[arm], courses, [])
    runs = sum((Counter(course.runs) for course in courses), Counter[str]())
    made = max(1, runs.total() - runs["skipped"])
    writes = sum((Counter(course.writes) for course in courses), Counter[str]())
    levels = sum((Counter(part["guidance"]["levels"]) for part in parts), Counter[str]())
    return {
        "name": NAMES[arm],
        "runs": made,
        **{name: figures[name] for name in TAKEN},
        "failed_writes": sum(map(failed, courses)),
        "tokens_per_run": round(sum(course.tokens for course in courses) / made),
        "writes": {code or "stored": times for code, times in writes.most_common()},
        "levels": dict(levels.most_common()),
    }


def _told(arm: str, parts: Sequence[Json]) -> list[Json]:
    """Told against held out within an arm that holds out: two shares, their difference and its interval."""
    rows = []
    for what in ("accepted",) if arm == HOLDOUT else ():
        told, held_out = (_arm(parts, what, side) for side in ("told", "held_out"))
        found = difference_of(told, held_out)
        rows.append(
            {
                "name": f"{what.replace('_', ' ')}: told against held out",
                "told": f"{told.hits} of {told.total}",
                "held_out": f"{held_out.hits} of {held_out.total}",
                "difference": found.difference,
                "difference_95": None if found.low is None else [found.low, found.high],
                "verdict": found.verdict,
            }
        )
    return rows


def _arm(parts: Sequence[Json], what: str, side: str) -> Arm:
    pairs: list[list[int]] = [part["guidance"][what][side] for part in parts]
    return Arm(sum(hits for hits, _ in pairs), sum(total for _, total in pairs))


def _compared(on: Sequence[Course], off: Sequence[Course]) -> Json:
    """Return the effect of guidance: fewer failed writes, the paired difference of uplift, tokens."""
    failures, before = sum(map(failed, on)), sum(map(failed, off))
    gained = difference(on, off)
    spent, spent_off = (sum(course.tokens for course in courses) for courses in (on, off))
    return {
        "name": COMPARED,
        "failed_fewer": round(1 - failures / before, 4) if before else None,
        "uplift_gained": gained["mean"],
        "uplift_gained_95": gained["interval_95"],
        "tokens_times": round(spent / spent_off, 4) if spent_off else None,
    }
