"""The figures of a model check, and their result: a verdict, its reasons, and advice. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.run_values import StopReason
from digest.llm.cures import (
    REFUSED_HELP,
    SettingNames,
    context_cure,
    less_thinking_cure,
    names_of,
    reach_cure,
    refused_cure,
    slow_cure,
    status_cure,
    tools_cure,
)

GOOD, USABLE, NOT_USABLE = "good", "usable", "not usable"
# What is asked: each model for the meaning of a reader's words, and for the start of a long prompt; then the
# chain for a whole run, with the reviews in it.
WORDS, PROMPT, RUN, REVIEW = "words", "prompt", "run", "review"
# Of a model's calls, the share that must be understood; below it a run is mostly waste.
UNDERSTOOD_MIN = 0.5
# The same call made again so often is a loop, not a second look.
REPEATS_MAX = 2
# Tokens that a server's context must have: the longest run, the tools and an answer.
CONTEXT_MIN = 16_384
# The least share of the sent tokens that a complete reading counts, for any tokenizer.
READ_MIN = 0.7
CONTEXT_CURES = {
    "Ollama": (
        f"Start Ollama with OLLAMA_CONTEXT_LENGTH={CONTEXT_MIN}, or set LOCAL_LLM_WIRE=ollama: Tidings then "
        "uses Ollama's own /api/chat and asks for num_ctx in every request."
    ),
    "llama.cpp": f"Start llama.cpp's server with --ctx-size {CONTEXT_MIN} for each of its --parallel slots.",
    "vLLM": f"Start vLLM with --max-model-len {CONTEXT_MIN}.",
}
THINKING_CURES = {
    "Ollama": (
        "Leave LOCAL_LLM_REASONING_EFFORT at none and update Ollama, or set LOCAL_LLM_WIRE=ollama, by which "
        "think=false is asked for."
    ),
    "llama.cpp": "Start llama.cpp's server with --reasoning-budget 0.",
    "vLLM": "Start vLLM with --default-chat-template-kwargs '{\"enable_thinking\": false}'.",
}
MONEY = "Raise ADVISOR_RUN_CAP_USD for the check, or take a cheaper model."
# The cures of errors that are the same for every provider.
ALIKE_CURES = {
    "price_unknown": "Set LLM_PRICES as its message says.",
    "budget_day": MONEY,
    "budget_run": MONEY,
    "budget_reader": MONEY,
}
# Errors of a long prompt that mostly come from its length, because a short one was answered.
AT_FAULT = ("model_refused", "model_unavailable", "no_model")


@dataclass(frozen=True, slots=True)
class ContextProbe:
    """The answer to a question about the first line of a long prompt: was the line still there?

    `read_tokens` are those that the server counted. `server` is the kind of server, if it is known, and
    `declared_tokens` the context that it says it has.
    """

    answered: bool
    recalled: bool
    read_tokens: int
    output_tokens: int
    thought_tokens: int
    thought_only: bool
    seconds: float
    error_code: str
    message: str
    server: str
    server_words: str
    declared_tokens: int
    usd: float
    sent_tokens: int = 12_000

    @property
    def cut(self) -> bool:
        """Return whether the server read less than it was sent."""
        return self.read_tokens < READ_MIN * self.sent_tokens


@dataclass(frozen=True, slots=True)
class Probe:
    """One typed question to one model: was it reached, was its answer in form, was it right?

    `error_code` and `message` are those of the answer, empty for one in form. `thought_only` means that the
    model spent its output on thoughts. `context` is the long question, if it was asked.
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
    thought_tokens: int = 0
    thought_only: bool = False
    context: ContextProbe | None = None

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the tokens in and out of both questions."""
        long = (self.context.read_tokens, self.context.output_tokens) if self.context else (0, 0)
        return self.input_tokens + long[0], self.output_tokens + long[1]

    @property
    def can_run(self) -> bool:
        """Return whether a run could get anything from this model."""
        return self.reached and self.context is not None and self.context.recalled


@dataclass(frozen=True, slots=True)
class Calls:
    """The results of a model's tool calls; `refused` counts them by the code of the rule or reviewer."""

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
    """A suggested change: its type and its target."""

    type: str
    target: str


@dataclass(frozen=True, slots=True)
class CheckFigures:
    """All that a check measured. Tokens and USD are those of probes, run and reviews together."""

    probes: Sequence[Probe]
    model: str = ""
    turns: int = 0
    seconds_per_turn: float = 0.0
    stop_reason: str = ""
    message: str = ""
    has_finished: bool = False
    planner_took_over: bool = False
    calls: Calls = field(default_factory=Calls)
    suggested: Sequence[Suggested] = ()
    by_planner: Sequence[Suggested] = ()
    votes: Mapping[str, int] = field(default_factory=dict)
    votes_missing: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def shared(self) -> list[Suggested]:
        """Return the changes that model and planner both suggest."""
        return [one for one in self.suggested if one in self.by_planner]


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason of a verdict, with advice. A `fatal` one makes the model unusable.

    `question` is one of `WORDS`, `PROMPT`, `RUN` and `REVIEW`. `model` is "" if the chain was asked.
    """

    what: str
    change: str
    fatal: bool = False
    question: str = RUN
    model: str = ""


def verdict_of(figures: CheckFigures, *, interactive_s: float) -> tuple[str, list[Finding]]:
    """Return the verdict with its findings, fatal ones first; a run for a waiting reader has
    `interactive_s` seconds.
    """
    found = [*_reach(figures), *_form(figures), *_context(figures), *_thinking(figures)]
    if any(probe.can_run for probe in figures.probes):
        found += [*_tools(figures), *_run(figures, interactive_s)]
    found.sort(key=lambda finding: not finding.fatal)
    return verdict_worst(finding.fatal for finding in found), found


def verdict_worst(fatal: Iterable[bool]) -> str:
    """Return the verdict that follows from findings, by whether each is fatal."""
    return {None: GOOD, False: USABLE, True: NOT_USABLE}[max(fatal, default=None)]


def _reach(figures: CheckFigures) -> list[Finding]:
    silent = [probe for probe in figures.probes if not probe.reached]
    none = len(silent) == len(figures.probes)
    found = []
    for one in silent:
        cure = _reach_cure(one, names_of(one.model))
        what = f"{one.model} gave no answer: {_without_cure(one.message, cure)}"
        found.append(Finding(what, cure, none, WORDS, one.model))
    return found


def _reach_cure(one: Probe | ContextProbe, names: SettingNames) -> str:
    """Return what to change so that a question is answered."""
    if one.error_code == "model_refused":
        return refused_cure(one.message.partition(REFUSED_HELP)[0], names)
    if one.error_code == "deadline_exceeded" or "took longer" in one.message:
        return slow_cure(names)
    cures = (status_cure(status, names) for status in (401, 403, 404))
    fitting = next((cure for cure in cures if one.message.endswith(cure)), reach_cure(names))
    return ALIKE_CURES.get(one.error_code, fitting)


def _without_cure(message: str, cure: str) -> str:
    """Return an error's message without the cure, which stands beside it."""
    return message.partition(REFUSED_HELP)[0].removesuffix(cure).strip()


def _form(figures: CheckFigures) -> list[Finding]:
    found = []
    for one in figures.probes:
        if one.thought_only:
            server = one.context.server if one.context else ""
            change = THINKING_CURES.get(server, less_thinking_cure(names_of(one.model)))
            what = f"{one.model} thought until its output was used up."
            found.append(Finding(what, change, True, WORDS, one.model))
        elif one.reached and not one.in_form:
            change = "Reviews and wishes need JSON: take a model that keeps to a form."
            what = f"{one.model} did not answer in the form asked for: {one.message}"
            found.append(Finding(what, change, True, WORDS, one.model))
        elif one.reached and not one.right:
            change = "Take a larger model if readers are to write in their own words."
            what = f"{one.model} misread a reader's own words."
            found.append(Finding(what, change, False, WORDS, one.model))
    return found


def _context(figures: CheckFigures) -> list[Finding]:
    """Return the findings about the long prompts."""
    asked = [(probe, probe.context) for probe in figures.probes if probe.context]
    return [
        Finding(*_context_problem(probe.model, one), True, PROMPT, probe.model)
        for probe, one in asked
        if not (one.recalled or probe.thought_only)
    ]


def _context_problem(model: str, one: ContextProbe) -> tuple[str, str]:
    """Return what is wrong with the answer to a long prompt, and the cure."""
    names = names_of(model)
    cure = CONTEXT_CURES.get(one.server, context_cure(names))
    if one.thought_only:
        what = f"{model} thought about a long prompt until its output was used up."
        return what, THINKING_CURES.get(one.server, less_thinking_cure(names))
    if not one.answered:
        reached = _reach_cure(one, names)
        is_length = one.error_code in AT_FAULT and reached != slow_cure(names)
        words = _without_cure(one.message, reached)
        what = f"{model} did not answer a prompt of {one.sent_tokens:,} tokens: {words}"
        return what, cure if is_length else reached
    if one.cut:
        what = (
            f"{model} lost the beginning of a prompt of {one.sent_tokens:,} tokens: its server read "
            f"{one.read_tokens:,} and said nothing."
        )
        return what, cure
    what = f"{model} read {one.read_tokens:,} tokens, and could not repeat a word of their first line."
    return what, f"Take a larger model. If its context is short: {cure}"


def _thinking(figures: CheckFigures) -> list[Finding]:
    """Return the models behind servers of one's own that answer, and think before it."""
    found = []
    for probe in figures.probes:
        long = probe.context
        if long is None or not long.server_words or not probe.in_form:
            continue
        if tokens := probe.thought_tokens + long.thought_tokens:
            what = f"{probe.model} thinks before it answers: about {tokens:,} tokens for two short answers."
            cure = THINKING_CURES.get(long.server, less_thinking_cure(names_of(probe.model)))
            found.append(Finding(what, cure, False, PROMPT, probe.model))
    return found


def _tools(figures: CheckFigures) -> list[Finding]:
    calls = figures.calls
    if not figures.turns:
        change = "Change the model or the parameter that its message names."
        return [Finding(f"It took no turn of a run: {figures.message}", change, True)]
    if not calls.total:
        return [Finding("No tool calls.", tools_cure(names_of(figures.model)), True)]
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
    elif figures.calls.total and not figures.has_finished:
        found.append(Finding("It ended without a call of finish.", "Nothing is lost but the reasons."))
    if figures.calls.total and figures.by_planner and not figures.suggested:
        what = f"It suggested nothing; the planner found {len(figures.by_planner)}, for nothing."
        found.append(Finding(what, "The planner alone does better: leave the model out, or take a larger."))
    if (seconds := figures.seconds_per_turn * figures.turns) > interactive_s:
        what = f"Its turns took {seconds:.0f} s; a reader who waits has {interactive_s:.0f}."
        change = "Raise ADVISOR_TIMEOUT_S, or leave it to scheduled runs; readers get the planner's advice."
        found.append(Finding(what, change))
    if figures.votes_missing:
        change = "A missing vote counts against a suggestion: set LLM_CHAIN_REVIEW to a model that answers."
        what = f"{figures.votes_missing} reviewers' votes are missing."
        found.append(Finding(what, change, question=REVIEW))
    return found
