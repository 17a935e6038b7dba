"""`manage.py check_model`: check the configured model by a run for a demo reader in a temporary database."""

import json
import sys
import textwrap
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from advisor.guidance.store import memories_sync
from advisor.run.model_check import Wording, model_check, unreached_report
from advisor.run.model_probes import reach_probe
from advisor.run.model_verdict import (
    GOOD,
    NOT_USABLE,
    PROMPT,
    REVIEW,
    RUN,
    USABLE,
    WORDS,
    Probe,
    verdict_worst,
)
from config.demo.people import ADA
from config.demo.seed import DemoNotAllowed, demo_seed
from config.demo.throwaway import throwaway_run
from digest.llm.client import OUTPUT_TOKENS_MAX, REASONING_TOKENS_MAX, chain_configured
from digest.llm.cures import ask_cure
from digest.llm.entities import DeadlineExceeded, Model
from digest.llm.providers import chain_refs
from digest.models import Reader
from ranking.common.start import SettingsCommand
from suggestions.sentences import headline

CODES = {GOOD: 0, USABLE: 1, NOT_USABLE: 2}
TURNS_MAX = 20
WORDING = Wording("Gigawow wears me out with all its shouting.", "gigawow.example")
RUN_BEGINS = "Now the questions and the run, for an invented reader. This takes some minutes."
NO_MODEL = (
    "No model is configured, so there is none to check; Tidings works without. For the models of LLM_CHAIN "
    "set {}, or name other models there (docs/models.md)."
)


class Command(SettingsCommand):
    """Check the configured model. Exit codes: 0 good, 1 usable, 2 not usable, no model, or a failed check."""

    help = "Check the configured model. It does one whole run for a made-up reader, beside the planner's."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json` and `--here`."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")
        parser.add_argument(
            "--here",
            action="store_true",
            help="Check in this database. It must have no reader, and has none afterwards.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the check and print its report."""
        try:
            models = chain_configured()
        except ValueError as error:
            raise CommandError(f"The settings name no usable model: {error}", returncode=2) from error
        if not models:
            needed = ask_cure([ref.provider.names for ref in chain_refs("advisor")])
            raise CommandError(_fill(NO_MODEL.format(needed)), returncode=2)
        if options["here"]:
            _readers_refuse()
        else:
            self._say(_limit_words(len(models)))
        probes = [self._probe(model) for model in models]
        if all(_is_unreached(probe) for probe in probes):
            report = unreached_report(probes).as_dict()
        elif options["here"]:
            report = _check_here()
        else:
            self._say(RUN_BEGINS)
            report = _check_elsewhere()
        self.stdout.write(json.dumps(report, ensure_ascii=False) if options["json"] else _words(report))
        sys.exit(CODES[report["verdict"]])

    def _probe(self, model: Model) -> Probe:
        """Ask one model for a word, and say at once what came."""
        probe = reach_probe(model)
        came = f"answers, {probe.seconds:.1f} s" if probe.reached else f"no answer: {probe.message}"
        self._say(f"{model.name}: {came}")
        return probe

    def _say(self, text: str) -> None:
        self.stderr.write(_fill(text), style_func=str)
        self.stderr.flush()


def _is_unreached(probe: Probe) -> bool:
    """Return whether longer questions are of no use. A late model may only have to be loaded first."""
    return not probe.reached and probe.error_code != DeadlineExceeded.code


def _limits() -> dict[str, str]:
    """Return settings that limit a check: all its calls together cost at most ADVISOR_RUN_CAP_USD."""
    cap = str(settings.ADVISOR_RUN_CAP_USD)
    return {
        "ADVISOR_ENABLED": "true",
        "ADVISOR_MAX_TURNS": str(min(settings.ADVISOR_MAX_TURNS, TURNS_MAX)),
        "ADVISOR_DAILY_CAP_USD": cap,
        "ADVISOR_READER_DAILY_CAP_USD": cap,
    }


def _limit_words(models: int) -> str:
    turns, asked = _limits()["ADVISOR_MAX_TURNS"], "model" if models == 1 else "models"
    return (
        f"Asks {models} {asked} of the chain for a word each and two questions, then the chain for one run: "
        f"at most {turns} turns of {OUTPUT_TOKENS_MAX} output tokens "
        f"({REASONING_TOKENS_MAX} on the Responses wire), "
        f"{settings.ADVISOR_MAX_TOOL_CALLS} tool calls, {settings.ADVISOR_SCHEDULED_TIMEOUT_S:g} seconds and "
        f"${settings.ADVISOR_RUN_CAP_USD:g} for everything. Your readers and their budgets are left alone."
    )


def _readers_refuse() -> None:
    if Reader.objects.exists():
        raise CommandError("--here wants a database without readers; this one has some.", returncode=2)


def _check_here() -> dict[str, Any]:
    now = timezone.now()
    try:
        seeded = demo_seed(now=now)
    except DemoNotAllowed as refused:
        raise CommandError(str(refused), returncode=2) from refused
    memories_sync(now=now)
    reader = Reader.objects.get(pk=seeded.reader_ids[ADA.name])
    return model_check(reader=reader, wording=WORDING, now=now).as_dict()


def _check_elsewhere() -> dict[str, Any]:
    ended = throwaway_run(["check_model", "--here", "--json"], environment=_limits())
    try:
        report: dict[str, Any] = json.loads(ended.output)
    except ValueError:
        message = f"The check broke off (exit code {ended.code}). The end of its log:\n{ended.log}"
        raise CommandError(message, returncode=2) from None
    return report


def _words(report: Mapping[str, Any]) -> str:
    """Return the report as text: a line per question with its verdict, and below it what to change."""
    figures = report["figures"]
    lines = []
    for probe in figures["probes"]:
        model = probe["model"]
        lines += [model, *_question(report, WORDS, "a reader’s words", _answer(probe), model)]
        if long := probe["context"]:
            lines += _question(report, PROMPT, "a long prompt", _recall(long), model)
            lines += _server(long, probe["thought_tokens"])
    lines += [
        "The chain",
        *_question(report, RUN, "a whole run", _run(figures)),
        *_question(report, REVIEW, "reviews", _votes(figures)),
        *_figures(report),
        f"\nVerdict: {report['verdict']}",
    ]
    return "\n".join(lines)


def _question(
    report: Mapping[str, Any], question: str, asked: str, came: str, model: str = ""
) -> Iterator[str]:
    """Yield the line of one question, and its findings, each with its cure. `came` is "" if nothing did."""
    found = [one for one in report["findings"] if (one["question"], one["model"]) == (question, model)]
    verdict = verdict_worst(one["fatal"] for one in found) if came or found else "–"
    yield f"  {asked:<17} {came or 'none':<47} {verdict}"
    for one in found:
        yield _fill(one["what"], "    ")
        yield _fill(f"To do: {one['change']}", "    ")


def _fill(text: str, indent: str = "") -> str:
    """Wrap text at 80 columns. A word that is longer, such as an address, is not broken."""
    width = 80 - len(indent)
    wrapped = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(wrapped, indent)


def _answer(probe: Mapping[str, Any]) -> str:
    if not probe["reached"]:
        return "no answer"
    form = "in form" if probe["in_form"] else "not in form"
    return f"{form}, {'right' if probe['right'] else 'misread'}, {probe['seconds']:.1f} s"


def _recall(long: Mapping[str, Any]) -> str:
    if not long["answered"]:
        return "no answer"
    recalled = "first line kept" if long["recalled"] else "first line lost"
    return f"{recalled}, {long['read_tokens']:,} tokens read, {long['seconds']:.1f} s"


def _server(long: Mapping[str, Any], thought: int) -> Iterator[str]:
    """Yield what is known of a server of one’s own, and of its thoughts."""
    tokens = thought + long["thought_tokens"]
    if long["server_words"]:
        context = f", context of {long['declared_tokens']:,}" if long["declared_tokens"] else ""
        thinks = f"about {tokens:,} tokens of thoughts" if tokens else "no thoughts seen"
        yield f"  {'its server':<17} {long['server_words']}{context}; {thinks}"


def _run(figures: Mapping[str, Any]) -> str:
    """Return what came of the run, or "" if the models took no turn."""
    calls = figures["calls"]
    total = calls["understood"] + calls["malformed"] + calls["unknown"]
    made = len(figures["suggested"])
    return f"{figures['turns']} turns, {total} tool calls, {made} suggested" if figures["turns"] else ""


def _votes(figures: Mapping[str, Any]) -> str:
    votes = [f"{n} {verdict}" for verdict, n in figures["votes"].items()]
    missing = [f"{figures['votes_missing']} missing"] if figures["votes_missing"] else []
    return ", ".join([*votes, *missing])


def _figures(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the run used and made, beside the planner."""
    figures = report["figures"]
    calls = figures["calls"]
    refused = ", ".join(f"{code} {n}" for code, n in calls["refused"].items())
    facts = (
        ("Answered by", figures["model"]),
        ("Each turn took", f"{figures['seconds_per_turn']:.1f} s" if figures["turns"] else ""),
        ("Ended", figures["stop_reason"].replace("_", " ")),
        ("Refused by rules", refused),
        ("Suggested", _suggested(figures["suggested"])),
        ("The planner did", f"{_suggested(figures['by_planner'])}; {len(report['shared'])} in common"),
        (
            "Tokens",
            f"{figures['input_tokens']:,} in ({figures['cached_tokens']:,} cached), "
            f"{figures['output_tokens']:,} out",
        ),
        ("Price", f"${figures['usd']:.4f}"),
    )
    for name, words in facts:
        if words:
            yield textwrap.fill(words, 80, initial_indent=f"  {name:<17} ", subsequent_indent=" " * 20)


def _suggested(suggested: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"“{headline(one['type'], one['target'])}”" for one in suggested) or "nothing"
