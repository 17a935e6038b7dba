"""A run with guidance beside it, memories for it to know, and a clock that stands still until it is moved."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from advisor.guidance.admission import text_signature, tokens_of
from advisor.guidance.engine import Guide, guide_for
from advisor.guidance.situations import Level
from advisor.models import GuidanceEvent, Memory, Run
from advisor.run_values import ToolContext, ToolOutcome
from digest.llm.entities import ToolCall
from digest.models import Reader
from tests.support.factories import CLOCK

CAUTION = "Lower a source by small steps, because 3 of 3 large ones were declined."
WROTE = ToolOutcome('{"success":true,"suggestion_id":1,"status":"pending"}')


@dataclass
class Desk:
    """One reader's run and its guidance. `at` is the time of day."""

    reader: Reader
    at: datetime = CLOCK
    trigger: str = "ui"
    run: Run = field(init=False)
    guide: Guide = field(init=False)

    def __post_init__(self) -> None:
        self.run = run_of(self.reader, self.at, self.trigger)
        self.guide = self.again()

    def again(self) -> Guide:
        """Return new guidance for the same run, as another worker would make it."""
        context = ToolContext(self.reader.pk, self.run.pk, self.at, lambda: None)
        guide = guide_for(run=self.run, context=context, moment=lambda: self.at)
        assert guide is not None
        return guide

    def call(self, name: str, outcome: ToolOutcome = WROTE, **arguments):
        """Return guidance's answer to one call: a block before it, or words in its `outcome`."""
        asked = ToolCall("c", name, json.dumps(arguments))
        advice = self.guide.before(asked)
        return advice if advice.level is Level.BLOCK else self.guide.after(asked, outcome)

    def trial(self, target: str = "loud.example", **more):
        """Return the same for a test of the write. Guidance speaks before it."""
        about = {"suggestion_type": "reduce_source", "target": target, "suggested_value": "0.7"}
        return self.call("test_suggestion", **(about | more))

    def write(self, target: str = "loud.example", outcome: ToolOutcome = WROTE, **more):
        """Return the same for a write about a source."""
        arguments = {
            "suggestion_type": "reduce_source",
            "target": target,
            "suggested_value": "0.7",
            "evidence": [f"https://{target}/{n}" for n in range(3)],
            "reason": "Too loud.",
        }
        return self.call("write_suggestion", outcome, **(arguments | more))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)

    @property
    def events(self) -> list[GuidanceEvent]:
        """Return the stored events, in order."""
        return list(GuidanceEvent.objects.filter(run=self.run).order_by("pk"))


def run_of(reader: Reader, at: datetime = CLOCK, trigger: str = "ui") -> Run:
    """Return a run under way."""
    return Run.objects.create(
        reader=reader,
        day=at.date(),
        trigger=trigger,
        status=Run.Status.RUNNING,
        fence=1,
        # Resumed, so that new guidance continues at the same place.
        attempt=2,
        created_at=at,
        started_at=at,
    )


def memory(reader: Reader | None, text: str = CAUTION, **more) -> Memory:
    """Return a memory of a reader's or of all: a strong caution about lowering one source unless told
    otherwise."""
    at = more.pop("at", CLOCK)
    values = {
        "kind": Memory.Kind.PATTERN,
        "key": f"k{Memory.objects.count()}",
        "title": "Small steps down",
        "suggestion_type": "reduce_source",
        "target_key": "loud.example",
        "tool": "write_suggestion",
        "phase": "write",
        "polarity": -1,
        "unified": 0.9,
        "confidence": 0.95,
        "evidence": 5,
        "tokens": list(tokens_of(text)),
        "text_sig": text_signature(text),
        "valid_from": at - timedelta(days=1),
        "updated_at": at - timedelta(days=1),
    }
    return Memory.objects.create(reader=reader, text=text, **(values | more))
