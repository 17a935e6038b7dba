"""`manage.py check_model`: check the configured model by a run for a demo reader in a temporary database."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from advisor.guidance.store import memories_sync
from advisor.run.model_check import Wording, model_check
from advisor.run.model_verdict import GOOD, NOT_USABLE, USABLE
from config.demo.people import ADA
from config.demo.seed import DemoNotAllowed, demo_seed
from config.demo.throwaway import throwaway_run
from digest.llm.client import OUTPUT_TOKENS_MAX, REASONING_TOKENS_MAX, chain_configured
from digest.models import Reader
from ranking.common.start import SettingsCommand

CODES = {GOOD: 0, USABLE: 1, NOT_USABLE: 2}
TURNS_MAX = 20
WORDING = Wording("Gigawow wears me out with all its shouting.", "gigawow.example")
NO_MODEL = (
    "No model is configured, so there is none to check; Tidings works without. Set a provider's key "
    "(OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), or LOCAL_LLM_BASE_URL and "
    "LOCAL_LLM_MODEL for a server of your own. docs/models.md has the chain."
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
            raise CommandError(NO_MODEL, returncode=2)
        if options["here"]:
            report = _check_here()
        else:
            self.stderr.write(_limit_words(len(models)), style_func=str)
            report = _check_elsewhere()
        self.stdout.write(json.dumps(report, ensure_ascii=False) if options["json"] else _words(report))
        sys.exit(CODES[report["verdict"]])


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
        f"Asks {models} {asked} of the chain two questions each, then the chain for one run: at most {turns} "
        f"turns of {OUTPUT_TOKENS_MAX} output tokens ({REASONING_TOKENS_MAX} on the Responses wire), "
        f"{settings.ADVISOR_MAX_TOOL_CALLS} tool calls, {settings.ADVISOR_SCHEDULED_TIMEOUT_S:g} seconds and "
        f"${settings.ADVISOR_RUN_CAP_USD:g} for everything. Your readers and their budgets are left alone."
    )


def _check_here() -> dict[str, Any]:
    if Reader.objects.exists():
        raise CommandError("--here wants a database without readers; this one has some.", returncode=2)
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
    """Return the report as text."""
    figures, lines = report["figures"], []
    for one in figures["probes"]:
        form = "in form" if one["in_form"] else "not in the form asked for"
        right = "read a reader's words rightly" if one["right"] else "misread a reader's words"
        answered = f"answered in {one['seconds']:.1f} s, {form}, {right}"
        state = answered if one["reached"] else f"not reached: {one['message']}"
        lines.append(f"{one['model']}: {state}")
        if long := one["context"]:
            lines.append(_context_words(long, one["thought_tokens"]))
    calls = figures["calls"]
    refused = ", ".join(f"{code} {n}" for code, n in calls["refused"].items()) or "none"
    lines += [
        f"Run: {figures['turns']} turns of {figures['model'] or 'no model'}, "
        f"{figures['seconds_per_turn']:.1f} s each; ended: {figures['stop_reason'] or 'not begun'}",
        f"Tool calls: {calls['understood']} understood, {calls['malformed']} malformed, "
        f"{calls['unknown']} of unknown tools, {calls['repeated']} repeated. Refused by rules: {refused}",
        f"Suggested: {_list_words(figures['suggested'])}",
        f"The planner: {_list_words(figures['by_planner'])}; {len(report['shared'])} in common",
        f"Reviewers: {_votes(figures)}",
        f"Tokens: {figures['input_tokens']} in ({figures['cached_tokens']} cached), "
        f"{figures['output_tokens']} out; price: ${figures['usd']:.4f}",
        f"\nVerdict: {report['verdict']}",
    ]
    lines += [f"- {one['what']}\n  {one['change']}" for one in report["findings"]]
    return "\n".join(lines)


def _context_words(long: Mapping[str, Any], thought: int) -> str:
    """Return words for the server's context, time and thoughts."""
    recalled = "kept its first line" if long["recalled"] else "lost its first line"
    read = f"{recalled}, {long['read_tokens']:,} tokens counted" if long["answered"] else "no answer"
    tokens = thought + long["thought_tokens"]
    parts = [
        f"  a prompt of {long['sent_tokens']:,} tokens: {read}, {long['seconds']:.1f} s",
        f"thinking: {f'about {tokens:,} tokens' if tokens else 'none seen'}",
    ]
    if long["server_words"]:
        declared = long["declared_tokens"]
        says = f", which says it has a context of {declared:,}" if declared else ""
        parts.append(f"server: {long['server_words']}{says}")
    return "; ".join(parts)


def _list_words(suggested: list[Mapping[str, str]]) -> str:
    return ", ".join(f"{one['type']} {one['target']}" for one in suggested) or "nothing"


def _votes(figures: Mapping[str, Any]) -> str:
    votes = [f"{n} {verdict}" for verdict, n in figures["votes"].items()]
    missing = [f"{figures['votes_missing']} missing"] if figures["votes_missing"] else []
    return ", ".join([*votes, *missing]) or "no model voted"
