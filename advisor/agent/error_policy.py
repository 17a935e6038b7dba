"""The error policy: one table of what is done about each kind of error.

| kind | first time | again | why |
|---|---|---|---|
| rate_limit | retry after the wait | the same, within the day's attempts | the provider said when |
| no_data | skip | skip | nothing is wrong; there is not enough feedback yet |
| database | alert | alert | nothing works without it, and only a person can mend it |
| generation | retry once | skip | a model may do better the second time, not the third |
| unknown | skip and log | skip and log | one reader's trouble must not become everyone's |

Pure."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from advisor.entities import StopReason


class Kind(StrEnum):
    """The kind of an error."""

    RATE_LIMIT = "rate_limit"
    NO_DATA = "no_data"
    DATABASE = "database"
    GENERATION = "generation"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """What is done about an error; the action of the policy's `Decision` row."""

    RETRY_AFTER = "retry_after"
    RETRY_ONCE = "retry_once"
    SKIP = "skip"
    SKIP_AND_LOG = "skip_and_log"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table: what is done at first and at every later time, and why."""

    first: Action
    again: Action
    why: str


POLICY = {
    Kind.RATE_LIMIT: Rule(Action.RETRY_AFTER, Action.RETRY_AFTER, "The provider asked to wait."),
    Kind.NO_DATA: Rule(Action.SKIP, Action.SKIP, "There is not enough to go by yet."),
    Kind.DATABASE: Rule(Action.ALERT, Action.ALERT, "The database failed; only a person can mend that."),
    Kind.GENERATION: Rule(Action.RETRY_ONCE, Action.SKIP, "A model may do better once, not twice."),
    Kind.UNKNOWN: Rule(Action.SKIP_AND_LOG, Action.SKIP_AND_LOG, "Nobody knows this error; see the log."),
}
KIND_OF_STOP = {
    StopReason.RATE_LIMITED: Kind.RATE_LIMIT,
    StopReason.DATABASE: Kind.DATABASE,
    StopReason.DEADLINE: Kind.GENERATION,
    StopReason.TURN_LIMIT: Kind.GENERATION,
    StopReason.TOOL_CALL_LIMIT: Kind.GENERATION,
    StopReason.REPEATED_FAILURE: Kind.GENERATION,
    StopReason.MODELS_EXHAUSTED: Kind.GENERATION,
    StopReason.MODEL_REFUSED: Kind.GENERATION,
    StopReason.PROMPT_UNUSABLE: Kind.UNKNOWN,
    StopReason.CRASHED: Kind.UNKNOWN,
}
# Error codes of tool steps that are failures of ours. A refusal by a rule is an answer, no error.
KIND_OF_TOOL_CODE = {"tool_failed": Kind.UNKNOWN, "database_failed": Kind.DATABASE}
# By the names of an exception's classes, nearest first, so that this table needs none of their packages.
KIND_OF_EXCEPTION = {
    "RateLimitError": Kind.RATE_LIMIT,
    "InterfaceError": Kind.DATABASE,
    "DatabaseError": Kind.DATABASE,
    "ModelError": Kind.GENERATION,
}
# Where the provider asked for no particular wait: long enough for a limit per minute to pass.
WAIT_DEFAULT_S = 300.0
# A wait longer than this is the next day's business.
WAIT_MAX_S = 6 * 3600.0


def kind_of_stop(reason: StopReason) -> Kind | None:
    """Return the kind of a run's end; `None` for one that is no error (done, out of money, taken over)."""
    return KIND_OF_STOP.get(reason)


def kind_of_exception(error: BaseException) -> Kind:
    """Return the kind of an exception: by a wait it carries, else by its classes, else unknown."""
    if getattr(error, "retry_after_s", None) is not None:
        return Kind.RATE_LIMIT
    for cls in type(error).__mro__:
        if kind := KIND_OF_EXCEPTION.get(cls.__name__):
            return kind
    return Kind.UNKNOWN


def action_of(kind: Kind, earlier: int) -> Action:
    """Return what is done about an error of this kind that was retried `earlier` times today."""
    rule = POLICY[kind]
    return rule.again if earlier else rule.first


def wait_of(action: Action, retry_after_s: float | None) -> timedelta | None:
    """Return the wait until the retry that `action` asks for; `None` when it asks for none."""
    if action is Action.RETRY_ONCE:
        return timedelta(0)
    if action is not Action.RETRY_AFTER:
        return None
    wait = WAIT_DEFAULT_S if retry_after_s is None else max(retry_after_s, 0.0)
    return timedelta(seconds=min(wait, WAIT_MAX_S))
