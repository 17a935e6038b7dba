"""The tasks of a shard, by name: plain JSON in, plain JSON out."""

import time
from collections.abc import Callable
from typing import Any

from tests.lab.advisor.driver import Setting, simulate
from tests.lab.advisor.fortnight import fortnight_run
from tests.lab.advisor.guided_counts import guidance_counts
from tests.lab.histories.early import early_run
from tests.lab.histories.replay_runs import replay_run
from tests.lab.histories.trials import Trial, trial_run
from tests.lab.model.arms import arm_run

Json = dict[str, Any]


def task_run(task: Json, progress: Callable[[int], None]) -> Json:
    """Carry out one task in the current database, which it may fill.

    `{"kind": "simulate", "setting": {…}}` and `{"kind": "trial", "trial": {…}}` (the fields of `Setting` and
    `Trial`; "replay" and "early" take a trial, too) return `{"courses": […], "seconds"}`. `{"kind": "guided",
    "setting": {…}}` runs the same as the first and adds the counts of guidance (`guidance_counts`). `{"kind":
    "model", "arm", "trial": {…}}` adds the cost of an arm's runs and the outcomes of its writes. `{"kind":
    "fortnight", "seed", "readers": […]}` returns `{"lives": […]}`.
    """
    started = time.monotonic()
    result = KINDS[task["kind"]](task, progress)
    return result | {"seconds": round(time.monotonic() - started, 1)}


def _simulate(task: Json, progress: Callable[[int], None]) -> Json:
    given = task["setting"]
    setting = Setting(**{**given, "readers": tuple(given["readers"])})
    return {"courses": [course.as_dict() for course in simulate(setting, progress)]}


def _guided(task: Json, progress: Callable[[int], None]) -> Json:
    return _simulate(task, progress) | {"guidance": guidance_counts()}


def _trial(task: Json, progress: Callable[[int], None]) -> Json:
    return {"courses": [course.as_dict() for course in trial_run(Trial(**task["trial"]), progress)]}


def _replay(task: Json, progress: Callable[[int], None]) -> Json:
    return {"courses": [course.as_dict() for course in replay_run(Trial(**task["trial"]), progress)]}


def _fortnight(task: Json, progress: Callable[[int], None]) -> Json:
    return {"lives": fortnight_run(task["seed"], task["readers"], progress)}


def _early(task: Json, progress: Callable[[int], None]) -> Json:
    return {"courses": [course.as_dict() for course in early_run(Trial(**task["trial"]), progress)]}


def _model(task: Json, progress: Callable[[int], None]) -> Json:
    return arm_run(task["arm"], Trial(**task["trial"]), progress, replies=task["replies"])


KINDS: dict[str, Callable[[Json, Callable[[int], None]], Json]] = {
    "simulate": _simulate,
    "guided": _guided,
    "trial": _trial,
    "replay": _replay,
    "early": _early,
    "fortnight": _fortnight,
    "model": _model,
}
