# ruff: noqa: PLC0415 (Django must be set up before its models are imported.)
"""Measure guidance in situations that can occur: typed calls of runs, operators' rules, readers' answers.

Between 5 and 40 % of the memories are hostile or stale. The truth is known: a block is right if an operator's
condition holds, and advice is right if its polarity agrees with the reader's own taste. The control is an
engine that never advises or stops; it must fail. Everything happens in its own test database.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.lab.command import report_end

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
READERS, RUNS, CASES, SIMULATED = 12, 3, 400, 300
SHARES = (0.05, 0.2, 0.4)
_NOBODY = UUID(int=0)
# Name: (goal, lower bound, upper bound).
TARGETS = {
    "rule_precision": (1.0, None),
    "rule_recall": (1.0, None),
    "forbidden_said": (None, 0),
    "stopped_by_a_score": (None, 0),
    "emission_precision": (0.93, None),
    "emission_share": (0.05, 0.15),
    "silence_where_nothing_known": (0.98, None),
    "p95_cpu_ms": (None, 20.0),
    "acceptance_gain_low": (0.0, None),
}


@dataclass
class Tally:
    """Counts over the calls of many runs."""

    calls: int = 0
    emitted: int = 0
    right: int = 0
    pointed: int = 0
    forbidden: int = 0
    stopped: int = 0
    ms: list[float] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 0 if every target is met and the control fails, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab guidance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", default="", help="a range such as 11-20")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(argv)
    first, _, last = options.seeds.partition("-")
    seeds = list(range(int(first), int(last or first) + 1)) if first else [options.seed]
    began = time.monotonic()
    _setup()
    engine, control = evaluate(seeds), evaluate(seeds, null=True)
    report = {
        "command": "python -m tests.lab guidance",
        "data": "made up by the command",
        "seed": seeds,
        "rows": [{"row": "engine", **engine}, {"row": "control: says and stops nothing", **control}],
        "targets": [*targets_of(engine), _control_target(control)],
        "seconds": round(time.monotonic() - began, 1),
    }
    return report_end(report, as_json=options.json)


def targets_of(figures: dict[str, float]) -> list[dict[str, Any]]:
    """Return each target with the figure measured and whether it is met."""
    rows = []
    for name, (low, high) in TARGETS.items():
        bounds = [f"{sign} {bound:g}" for sign, bound in (("≥", low), ("≤", high)) if bound is not None]
        value = figures[name]
        met = (low is None or value >= low) and (high is None or value <= high)
        rows.append({"metric": name, "target": ", ".join(bounds), "value": round(value, 4), "met": met})
    return rows


def _control_target(figures: dict[str, float]) -> dict[str, Any]:
    """Return the target that the control misses some target; else the targets would measure nothing."""
    missed = sum(not target["met"] for target in targets_of(figures))
    return {"metric": "targets the control misses", "target": "≥ 1", "value": missed, "met": missed > 0}


def evaluate(seeds: Sequence[int], *, null: bool = False) -> dict[str, float]:
    """Return every figure over the seeds; `null`: of the engine that says and stops nothing."""
    tally, rules, gains = Tally(), [], []
    quiet = Tally()
    for seed in seeds:
        chance = random.Random(seed)
        rules += [_rule_case(chance, null) for _ in range(CASES)]
        gains += [_gain(chance, null) for _ in range(SIMULATED)]
        for share in SHARES:
            _runs(random.Random(f"{seed}-{share}"), share, tally, quiet, null)
    low = _bootstrap(gains, random.Random(1))
    return {
        "rule_precision": _share([truth for truth, found in rules if found], 0.0),
        "rule_recall": _share([found for truth, found in rules if truth], 1.0),
        "forbidden_said": tally.forbidden + quiet.forbidden,
        "forbidden_upper_95": 3 / max(1, tally.calls + quiet.calls),
        "stopped_by_a_score": tally.stopped + quiet.stopped,
        "emission_precision": tally.right / tally.pointed if tally.pointed else 0.0,
        "emission_share": tally.emitted / max(1, tally.calls),
        "silence_where_nothing_known": 1 - quiet.emitted / max(1, quiet.calls),
        "p95_cpu_ms": statistics.quantiles(tally.ms, n=20)[-1] if len(tally.ms) > 1 else 0.0,
        "acceptance_gain": statistics.fmean(gains),
        "acceptance_gain_low": low,
        "calls": tally.calls,
    }


def _setup() -> None:
    """Use a database in memory, and no other part of the installation."""
    os.environ["DATABASE_URL"] = "sqlite://:memory:"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import logging

    import django
    from django.conf import settings
    from django.test.utils import setup_databases, setup_test_environment

    django.setup()
    setup_test_environment()
    setup_databases(verbosity=0, interactive=False)
    logging.disable(logging.INFO)
    settings.GUIDANCE = {"holdout": "0"}


def _rule_case(chance: random.Random, null: bool) -> tuple[bool, bool]:
    """Return whether a random condition holds, by plain Python, and whether it stops the call."""
    from advisor.guidance.engine import block_of
    from advisor.guidance.situations import CallFacts, Level, Phase, Situation
    from advisor.guidance.wording import Kind
    from advisor.models import Memory

    values = {"thumbs": chance.randrange(40), "step": chance.choice((-0.3, -0.1, 0.2)), "pinned": False}
    known = {name: value for name, value in values.items() if chance.random() < 0.8}
    least, most = chance.randrange(40), chance.choice((-0.2, 0.0))
    either = [
        {"fact": "thumbs", "op": "lt", "value": least},
        {"fact": "step", "op": "lt", "value": most},
    ]
    truths = [known["thumbs"] < least if "thumbs" in known else None]
    truths.append(known["step"] < most if "step" in known else None)
    word = chance.choice(("all", "any"))
    truth = any(one is True for one in truths) if word == "any" else all(one is True for one in truths)
    rule = Memory(pk=1, kind=Kind.RULE, text="Wait.", data={"when": {word: either}}, ceiling=Level.BLOCK)
    asked = CallFacts(Situation(_NOBODY, "test_suggestion", Phase.HYPOTHESIZE), known)
    return truth, not null and block_of(asked, [rule]) is not None


def _runs(chance: random.Random, share: float, tally: Tally, quiet: Tally, null: bool) -> None:
    """Drive whole runs of readers through the engine, and undo them."""
    from django.db import transaction

    from advisor.guidance.store import memories_refresh, memories_sync
    from digest.models import Reader, Source
    from tests.lab.guidance.world import SOURCES, lives, spoil

    with transaction.atomic():
        Source.objects.bulk_create([Source(key=key) for key in SOURCES], ignore_conflicts=True)
        memories_sync(now=NOW)
        other = Reader.objects.create(username=f"other-{chance.random()}")
        for life in lives(chance, READERS // len(SHARES), NOW):
            memories_refresh(reader_id=life.reader.pk, now=NOW)
            spoil(life, other, chance, share, NOW)
            for n in range(RUNS):
                _run(life, chance, NOW + timedelta(hours=n), tally, null)
        stranger = Reader.objects.create(username=f"new-{chance.random()}")
        for n in range(RUNS):
            _run(_blank(stranger), chance, NOW + timedelta(hours=n), quiet, null)
        transaction.set_rollback(True)


def _run(life: Any, chance: random.Random, at: datetime, tally: Tally, null: bool) -> None:
    from advisor.guidance.engine import guide_for
    from advisor.run_values import ToolContext
    from tests.lab.guidance.world import LURE, calls_of, run_of

    run = run_of(life.reader.pk, at)
    moments = iter(at + timedelta(seconds=12 * n) for n in range(1000))
    context = ToolContext(life.reader.pk, run.pk, at, lambda: None)
    guide = guide_for(run=run, context=context, moment=lambda: next(moments))
    assert guide is not None
    tally.forbidden += not null and LURE in guide.start()
    for call, outcome in calls_of(chance):
        tally.calls += 1
        if null:
            continue
        began = time.process_time()
        advice = guide.before(call)
        if advice.level != "block":
            advice = guide.after(call, outcome)
        tally.ms.append(1000 * (time.process_time() - began))
        named = {one.memory.id for one in advice.emitted}
        tally.forbidden += bool(named & life.silent) or LURE in advice.text
        tally.stopped += advice.level == "block" and not advice.rule
        tally.emitted += bool(advice.emitted)
        for one in advice.emitted:
            memory = one.memory
            if memory.polarity and memory.suggestion_type and not memory.shared:
                tally.pointed += 1
                likely = life.likes(memory.suggestion_type, memory.target_key)
                tally.right += (likely >= 0.5) is (memory.polarity > 0)


def _blank(reader: Any) -> Any:
    from tests.lab.guidance.world import TYPES, Life

    return Life(reader, dict.fromkeys(TYPES, 0.5), {}, 1.0)


def _gain(chance: random.Random, null: bool) -> float:
    """Return the acceptance of one reader's suggestions with the planner's facts less that without.

    The reader likes one share of a step best, never says yes to one type, and wants no target again soon.
    """
    from advisor.agent.planner import hypotheses_choose
    from advisor.guidance.situations import ReaderFacts
    from suggestions.changes.registry import KINDS
    from tests.lab.guidance.world import TYPES, targets_of

    taken, never = chance.choice((0.4, 0.6, 1.0)), chance.choice(TYPES)
    rows = []
    for kind in TYPES:
        target = chance.choice(targets_of(kind))
        rows.append({"type": kind, "target": target, "confidence": "high", "p_helpful": 0.99, "rated": 40})
    tired = chance.choice(rows)
    facts = ReaderFacts(
        step=taken, declined={never: 6}, cooling=frozenset({(KINDS[tired["type"]].field, tired["target"])})
    )

    def acceptance(known: ReaderFacts) -> float:
        chosen, _ = hypotheses_choose({"hypotheses": rows}, {}, known)
        found = []
        for fact in chosen[:3]:
            fits = 1 - abs(known.step - taken) if fact["type"].endswith("_source") else 1.0
            found.append(0.0 if fact["type"] == never or fact is tired else 0.7 * fits)
        return statistics.fmean(found) if found else 0.0

    return acceptance(facts if not null else replace(facts, step=1.0, declined={}, cooling=frozenset())) - (
        acceptance(ReaderFacts())
    )


def _bootstrap(values: Sequence[float], chance: random.Random) -> float:
    """Return the lower end of the 95 % interval of the mean. It is below 0 if no values differ."""
    if not any(values):
        return -1.0
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(500))
    return means[12]


def _share(found: Sequence[bool], none: float) -> float:
    return sum(found) / len(found) if found else none


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
