"""The figures of a model check, and what follows from them: a verdict, its reasons, what to change. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advisor.run_values import StopReason

GOOD, USABLE, NOT_USABLE = "good", "usable", "not usable"
# Of a model's calls, the share that must be understood; below it a run is mostly waste.
UNDERSTOOD_MIN = 0.5
# The same call made again so often is a loop, not a second look.
REPEATS_MAX = 2
ADDRESS = "See that its server runs and that the address ends as its documentation says, mostly in /v1."
REACH_ADVICE = {
    "model_unavailable": f"Its message says what the provider answered. {ADDRESS}",
    "deadline_exceeded": "It answers too slowly here: take a smaller or faster model.",
    "model_refused": "Change the model or the parameter that its message names.",
    "price_unknown": "Set LLM_PRICES as its message says.",
    "budget_day": "Raise ADVISOR_RUN_CAP_USD for the check, or take a cheaper model.",
    "budget_run": "Raise ADVISOR_RUN_CAP_USD for the check, or take a cheaper model.",
    "budget_reader": "Raise ADVISOR_RUN_CAP_USD for the check, or take a cheaper model.",
}
NO_TOOLS = (
    "This model, or its server, does not do tool calling. Behind `local`, start the server with tool calling "
    "on, or set LOCAL_LLM_TOOL_MODE=envelope; else name another model in LLM_CHAIN."
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One typed question to one model: was it reached, was its answer in form, was it right?

    `error_code` and `message` are those of the answer, empty for one in form.
    """

    model: str
    reached: bool
    in_form: bool
    right: bool
    error_code: str
    message: str
    seconds: float
    input_tokens: int
    output_tokens: int
    usd: float


@dataclass(frozen=True, slots=True)
class Calls:
    """What became of the tool calls of a model; `refused` counts them by the code of the rule or reviewer."""

    understood: int = 0
    malformed: int = 0
    unknown: int = 0
    repeated: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Return how many there were."""
        return self.understood + self.malformed + self.unknown


@dataclass(frozen=True, slots=True)
class Suggested:
    """A change that was suggested: its type and what it is about."""

    type: str
    target: str


@dataclass(frozen=True, slots=True)
class CheckFigures:
    """All that a check measured. Tokens and USD are those of probes, run and reviews together."""

    probes: Sequence[Probe]
    model: str
    turns: int
    seconds_per_turn: float
    stop_reason: str
    message: str
    summary_in_form: bool
    planner_took_over: bool
    calls: Calls
    suggested: Sequence[Suggested]
    by_planner: Sequence[Suggested]
    votes: Mapping[str, int]
    votes_missing: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float

    @property
    def shared(self) -> list[Suggested]:
        """Return what model and planner both suggest."""
        return [one for one in self.suggested if one in self.by_planner]


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason of a verdict, and what to change. A `fatal` one makes the model unusable."""

    what: str
    change: str
    fatal: bool = False


def verdict_of(figures: CheckFigures, *, interactive_s: float) -> tuple[str, list[Finding]]:
    """Return the verdict with its findings, fatal ones first; a run for a waiting reader has
    `interactive_s` seconds.
    """
    found = [*_reach(figures), *_form(figures)]
    if any(probe.reached for probe in figures.probes):
        found += [*_tools(figures), *_run(figures, interactive_s)]
    found.sort(key=lambda finding: not finding.fatal)
    if not found:
        return GOOD, found
    return (NOT_USABLE if found[0].fatal else USABLE), found


def _reach(figures: CheckFigures) -> list[Finding]:
    silent = [probe for probe in figures.probes if not probe.reached]
    none = len(silent) == len(figures.probes)
    return [
        Finding(f"{one.model} gave no answer: {one.message}", REACH_ADVICE.get(one.error_code, ADDRESS), none)
        for one in silent
    ]


def _form(figures: CheckFigures) -> list[Finding]:
    found = []
    for one in figures.probes:
        if one.reached and not one.in_form:
            change = "Reviews and wishes need JSON: take a model that keeps to a form."
            found.append(Finding(f"{one.model} did not answer in the form asked for: {one.message}", change))
        elif one.reached and not one.right:
            change = "Take a larger model if readers are to write in their own words."
            found.append(Finding(f"{one.model} misread a reader's own words.", change))
    return found


def _tools(figures: CheckFigures) -> list[Finding]:
    calls = figures.calls
    if not figures.turns:
        return [Finding(f"It took no turn of a run: {figures.message}", REACH_ADVICE["model_refused"], True)]
    if not calls.total:
        return [Finding("No tool calls.", NO_TOOLS, True)]
    found = []
    if wrong := calls.malformed + calls.unknown:
        what = f"{wrong} of {calls.total} tool calls were malformed or named no tool."
        change = "Take a larger model, or a server whose template fits the model's way of calling tools."
        found.append(Finding(what, change, calls.understood < UNDERSTOOD_MIN * calls.total))
    if calls.repeated > REPEATS_MAX:
        change = "It goes in circles: take a larger model, or a server with a longer context."
        found.append(Finding(f"{calls.repeated} calls repeated an earlier one.", change))
    return found


def _run(figures: CheckFigures, interactive_s: float) -> list[Finding]:
    found = []
    if figures.planner_took_over:
        change = "Runs end with the planner then; read why above, and see how the provider's limits are set."
        found.append(Finding("The planner had to finish the run.", change))
    elif figures.turns and figures.stop_reason != StopReason.DONE:
        change = "Take a model that ends by itself, or raise ADVISOR_SCHEDULED_TIMEOUT_S where time ran out."
        found.append(Finding(f"The run did not end by itself: {figures.message}", change))
    elif figures.calls.total and not figures.summary_in_form:
        found.append(Finding("Its last message was no summary in JSON.", "Nothing is lost but the reasons."))
    if figures.calls.total and figures.by_planner and not figures.suggested:
        what = f"It suggested nothing; the planner found {len(figures.by_planner)}, for nothing."
        found.append(Finding(what, "The planner alone does better: leave the model out, or take a larger."))
    if (seconds := figures.seconds_per_turn * figures.turns) > interactive_s:
        what = f"Its turns took {seconds:.0f} s; a reader who waits has {interactive_s:.0f}."
        change = "Raise ADVISOR_TIMEOUT_S, or leave it to scheduled runs; readers get the planner's advice."
        found.append(Finding(what, change))
    if figures.votes_missing:
        change = "A missing vote counts against a suggestion: set LLM_CHAIN_REVIEW to a model that answers."
        found.append(Finding(f"{figures.votes_missing} reviewers' votes are missing.", change))
    return found
