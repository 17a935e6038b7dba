"""The repeat guard: the same tool failing in the same way on the same target is not a plan. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

DROP_AT = 2
END_AT = 3
DROP_NOTE = "Failed again. Drop this hypothesis, list it under skipped, go on."


class Verdict(Enum):
    """What follows from a failure."""

    GO_ON = "go_on"
    DROP = "drop"
    END = "end"


@dataclass(slots=True)
class RepeatGuard:
    """Counts failures by tool, error code and target. A success in between forgives nothing."""

    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def verdict(self, *, tool: str, code: str, target: str) -> Verdict:
        """Count one failure: the second equal one drops its hypothesis, the third ends the run."""
        key = (tool, code, target)
        self.failures[key] += 1
        if self.failures[key] >= END_AT:
            return Verdict.END
        return Verdict.DROP if self.failures[key] == DROP_AT else Verdict.GO_ON
