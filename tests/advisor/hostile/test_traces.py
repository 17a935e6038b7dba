"""Thousands of random tool calls, in any order, sane and insane: no trace of them breaks an invariant.

`TIDINGS_TRACES` sets how many calls there are at least; 1,000 in the suite, 10,000 in `make test-hostile`.
"""

import json
import os
import random
from collections import Counter

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from advisor.agent.loop import tool_step
from advisor.models import Run
from advisor.run.calls import RunCalls
from advisor.run.ownership import RunClock, StepLog, fence_of
from advisor.run_values import ToolContext
from advisor.tools.registry import TOOLS
from digest.llm.entities import ToolCall
from tests.advisor.hostile.doors import Attempt, statements
from tests.advisor.hostile.invariants import breaches
from tests.advisor.hostile.payloads import MARKUP, boost, honest
from tests.advisor.hostile.world import AVOIDED, COOLING, PUSHED, World

pytestmark = pytest.mark.alike

SUITE = 1000
CALLS_MIN = int(os.environ.get("TIDINGS_TRACES", SUITE))
BATCH, BATCHES = 10, 25
# Tools that weigh all thumbs come up now and then, the others all the time.
HEAVY = ("query_user_feedback", "test_suggestion", "self_critique", "compare_configs")
LIGHT = (
    *("query_user_config", "get_user_profile", "get_suggestion_outcomes", "get_acceptance_history"),
    *("read_items", "finish"),
)
SOURCES = (
    "loved.example",
    "loathed.example",
    "middling.example",
    PUSHED,
    AVOIDED,
    COOLING,
    "ben0.example",
    "",
)
TYPES = ("add_topic", "remove_topic", "boost_source", "reduce_source", "sell", "")

JUNK = (None, True, -1, 10**400, float("nan"), -0.0, "", "١", "x" * 300, "a\u202eb\n", MARKUP, [], {"x": 1})
VALUES = ("1.3", "0.8", 1.1, "1.5", "0.1", 2, "Kubernetes", "Sailing", "note")
NAMES = ("Kubernetes", "Sailing", "evil.example", "call 555 010 9999", "sign in", "note")
KEYS = ("user_id", "reader", "limit", "ids", "layer", "drafts", "window_days", "before", "after", "changes")
Call = tuple[str, object]


class Caller:
    """A random model: any tool, mostly with plausible arguments, sometimes with nonsense."""

    def __init__(self, world: World) -> None:
        sets = [world.urls(source, liked) for source in SOURCES[:5] for liked in (True, False)]
        theirs = world.urls("ben0.example", reader=world.ben)
        self.world = world
        self.honest_reduction = boost(
            "loathed.example",
            world.urls("loathed.example", False),
            suggestion_type="reduce_source",
            suggested_value="0.8",
        )
        self.evidence = [*sets, theirs, [*sets[0][:2], theirs[0]], ["https://made.example/up"] * 3, []]

    def calls(self, seed: int) -> list[Call]:
        """Return the batch that belongs to `seed`."""
        chance = random.Random(seed)
        return [self._call(chance) for _ in range(BATCH)]

    def _call(self, chance: random.Random) -> Call:
        n = chance.randrange(60)
        if n < 2:
            return self._heavy(chance)
        if n < 4:
            return honest(self.world, "") if n == 2 else self.honest_reduction
        if n < 9:
            return chance.choice(("accept_suggestion", "", "\u202e", "eval")), self._wild(chance)
        if n < 30:
            return self._light(chance)
        return "write_suggestion", self._write(chance)

    def _light(self, chance: random.Random) -> Call:
        name = chance.choice(LIGHT)
        if chance.random() < 0.5:
            return name, self._wild(chance)
        # Any number may be the id of any reader's item.
        refs = [f"#{chance.choice((chance.randrange(1, 400), 10**18, 0))}" for _ in range(3)]
        if name == "finish":
            return name, {"question": self._question(chance, refs)}
        return name, {"items": refs} if name == "read_items" else {}

    def _question(self, chance: random.Random, refs: list[str]) -> dict[str, object]:
        own = [url for urls in self.evidence for url in urls]
        return {
            "text": chance.choice(("Is it the depth that you like?", MARKUP, "Sign in?", *JUNK)),
            "answers": [chance.choice(("Yes", "No", MARKUP, "evil.example")) for _ in range(3)],
            "items": chance.choice((refs, [chance.choice(own)])),
        }

    def _heavy(self, chance: random.Random) -> Call:
        name = chance.choice(HEAVY)
        change = {"suggestion_type": chance.choice(TYPES[:4]), "target": chance.choice(SOURCES)}
        drafts = {"drafts": [change | {"evidence": chance.choice(self.evidence)}]}
        return name, {"test_suggestion": change, "self_critique": drafts}.get(name, {})

    def _write(self, chance: random.Random) -> dict[str, object]:
        kind = chance.choice(TYPES)
        sane = {
            "suggestion_type": kind,
            "target": chance.choice(SOURCES),
            "suggested_value": chance.choice(VALUES),
            "evidence": chance.choice(self.evidence),
            "reason": chance.choice(("", MARKUP, "You like it.")),
        }
        if chance.random() < 0.3:
            sane["other_names"] = [chance.choice((*NAMES, *JUNK)) for _ in range(chance.randrange(20))]
        for key in sane if chance.random() < 0.4 else ():
            if chance.random() < 0.3:
                sane[key] = chance.choice(JUNK)
        return sane

    def _wild(self, chance: random.Random) -> dict[str, object]:
        return {chance.choice(KEYS): chance.choice(JUNK) for _ in range(chance.randrange(3))}


def machine_for(world: World, done: Counter[str]) -> type[RuleBasedStateMachine]:
    """Return the machine on this world. `done` counts the calls by tool and by result."""
    caller = Caller(world)

    class Traces(RuleBasedStateMachine):
        """One run: a context bound to Ada, and any calls of a model in any order."""

        @initialize()
        def begin(self) -> None:
            self.savepoint = transaction.savepoint()
            self.run = Run.objects.create(
                reader=world.ada,
                day=world.now.date(),
                trigger="ui",
                status="running",
                fence=1,
                created_at=world.now,
            )
            context = ToolContext(world.ada.pk, self.run.pk, world.now, fence_of(self.run))
            self.log = StepLog(self.run, context.fence, RunClock(world.now))
            self.tools, self.attempt = RunCalls(context), Attempt(self.run)

        @rule(seed=st.integers(0, 2**32))
        def call(self, seed: int) -> None:
            with statements() as sql:
                for n, (name, arguments) in enumerate(caller.calls(seed)):
                    call = ToolCall(f"c{n}", name, json.dumps(arguments))
                    outcome = self.tools.answer(call)
                    answer = outcome.content
                    self.log.add(tool_step(call, answer, outcome.error_code, 0.0))
                    self.attempt.answers.append(answer)
                    self.attempt.emitted += 1
                    refused = json.loads(answer).get("error", "")
                    done[name if name in TOOLS else "unknown"] += 1
                    done["refused" if refused else "answered"] += 1
                    done["written"] += name == "write_suggestion" and not refused
            self.attempt.sql += sql

        def teardown(self) -> None:
            if not hasattr(self, "savepoint"):
                return
            try:
                found = breaches(world, self.attempt, "", "")
            finally:
                transaction.savepoint_rollback(self.savepoint)
            # No loop held these calls to its caps, so the caps are the one thing not asked for here.
            assert [breach for breach in found if breach != "I4: too many tool calls"] == []

    return Traces


def test_no_trace_of_random_calls_breaks_an_invariant(world):
    done: Counter[str] = Counter()
    run_state_machine_as_test(
        machine_for(world, done),
        settings=settings(
            max_examples=-(-CALLS_MIN // (BATCH * BATCHES)) + 1,
            stateful_step_count=BATCHES + 1,
            # The suite's calls are the same each time; the many of `make test-hostile` are new each time.
            derandomize=CALLS_MIN <= SUITE,
            suppress_health_check=list(HealthCheck),
        ),
    )
    calls = sum(done[name] for name in (*TOOLS, "unknown"))
    print(f"{calls} calls: {dict(done)}")
    assert calls >= CALLS_MIN
    assert min(done[name] for name in TOOLS) > 0 and done["written"] > 0 and done["answered"] > calls / 5
