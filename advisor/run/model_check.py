"""The check of a configured chain on a reader made for it: questions, a run, the planner beside it.

It works on any database and leaves its rows there. `config.demo.throwaway` gives it its own, so that a site's
budgets, figures and nightly jobs are not affected.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Coalesce

from advisor.conversation import WRITE_TOOL, json_object_or_empty
from advisor.models import Judgment, PanelVote, Run, Step
from advisor.run.model_probes import context_probe, form_probe
from advisor.run.model_verdict import Calls, CheckFigures, Finding, Probe, Suggested, verdict_of
from advisor.run.request import run_request
from advisor.run_values import PLANNER_MODEL, RULES_MODEL
from digest.llm.client import chain_configured
from digest.llm.entities import Model
from digest.models import Reader, Spend
from suggestions.models import Suggestion

MALFORMED, UNKNOWN, NOT_EXECUTED = "invalid_arguments", "unknown_tool", "not_executed"
OURS = ("tool_failed", "database_failed")


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check: the verdict, why, and all figures."""

    verdict: str
    findings: Sequence[Finding]
    figures: CheckFigures

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "shared": [asdict(one) for one in self.figures.shared]}


@dataclass(frozen=True, slots=True)
class Wording:
    """A sentence that no grammar reads, and the key of the source that it wants less of."""

    words: str
    source: str


def model_check(*, reader: Reader, wording: Wording, now: datetime) -> CheckReport:
    """Check the configured chain on `reader`, who must exist for nothing else. Return the findings.

    Every model of the chain is asked for the meaning of `wording`, and for a word at the start of a long
    prompt. Then a whole run goes to the chain, unless no model can do one. Each call is paid from the
    advisor's caps of the settings. Must be called outside any transaction.
    """
    probes = [_probe(model, reader, wording, now) for model in chain_configured()]
    by_planner = _planner_suggested(reader, now)
    reader.refresh_from_db()
    run, reason = None, "No model of the chain reads a prompt of a run's length."
    if any(probe.can_run for probe in probes):
        result = run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=now, force=True, inline=True)
        run = Run.objects.filter(pk=result.run_id).first() if result.run_id else None
        reason = result.reason
    figures = _figures(reader, run, reason, probes, by_planner)
    verdict, findings = verdict_of(figures, interactive_s=settings.ADVISOR_TIMEOUT_S)
    return CheckReport(verdict, findings, figures)


def unreached_report(probes: Sequence[Probe]) -> CheckReport:
    """Return the report of a chain none of whose models answered."""
    figures = CheckFigures(
        probes,
        message="No model of the chain answered.",
        input_tokens=sum(probe.input_tokens for probe in probes),
        output_tokens=sum(probe.output_tokens for probe in probes),
        usd=sum(probe.usd for probe in probes),
    )
    verdict, findings = verdict_of(figures, interactive_s=settings.ADVISOR_TIMEOUT_S)
    return CheckReport(verdict, findings, figures)


def _probe(model: Model, reader: Reader, wording: Wording, now: datetime) -> Probe:
    """Ask one model a short question, then a long one if it answered."""
    probe = form_probe(model, reader, wording.words, wording.source, now)
    return replace(probe, context=context_probe(model, reader.pk, now)) if probe.reached else probe


def _planner_suggested(reader: Reader, now: datetime) -> list[Suggested]:
    """Return the planner's suggestions for the same reader. No model is asked, and nothing is stored."""
    with transaction.atomic():
        Reader.objects.filter(pk=reader.pk).update(ai_enabled=False)
        reader.refresh_from_db()
        result = run_request(reader=reader, trigger=Run.Trigger.COMMAND, now=now, force=True, inline=True)
        suggested = _suggestions(result.suggestion_ids)
        transaction.set_rollback(True)
    return suggested


def _suggestions(ids: Sequence[int]) -> list[Suggested]:
    rows = Suggestion.objects.filter(pk__in=ids).order_by("pk").values_list("suggestion_type", "target_key")
    return [Suggested(kind, target) for kind, target in rows]


def _figures(
    reader: Reader, run: Run | None, reason: str, probes: Sequence[Probe], by_planner: Sequence[Suggested]
) -> CheckFigures:
    """Return the figures of the run's rows and of the probes. `reason` is why there was no run."""
    steps = list(Step.objects.filter(run=run).order_by("n")) if run else []
    turns = [step for step in steps if step.kind == Step.Kind.MODEL and not step.error_code]
    asked = [step for step in turns if step.model != PLANNER_MODEL]
    called = _calls(steps)
    ids = [json_object_or_empty(step.result).get("suggestion_id") for step in called if _has_written(step)]
    votes = PanelVote.objects.filter(run=run).exclude(model__startswith=RULES_MODEL) if run else ()
    spent_in, spent_out = _tokens(run)
    spend = Spend.objects.filter(reader=reader).aggregate(
        cached=Coalesce(Sum("cached_tokens"), 0), usd=Sum(Coalesce("settled_usd", "reserved_usd"))
    )
    return CheckFigures(
        probes=probes,
        model=asked[-1].model if asked else "",
        turns=len(asked),
        seconds_per_turn=round(sum(step.ms for step in asked) / 1000 / max(1, len(asked)), 1),
        stop_reason=run.stop_reason if run else "",
        message=run.message if run else reason,
        has_finished=bool(run and run.summary is not None),
        planner_took_over=bool(asked) and turns[-1].model == PLANNER_MODEL,
        calls=calls_count(called),
        suggested=_suggestions([pk for pk in ids if isinstance(pk, int)]),
        by_planner=by_planner,
        votes=dict(Counter(vote.verdict for vote in votes if not vote.error_code)),
        votes_missing=sum(bool(vote.error_code) for vote in votes),
        input_tokens=spent_in + sum(probe.tokens[0] for probe in probes),
        cached_tokens=spend["cached"],
        output_tokens=spent_out + sum(probe.tokens[1] for probe in probes),
        usd=round(float(spend["usd"] or 0), 6),
    )


def _calls(steps: Sequence[Step]) -> list[Step]:
    """Return the tool calls that followed a model's turn and not the planner's."""
    called, model = [], PLANNER_MODEL
    for step in steps:
        if step.kind == Step.Kind.MODEL:
            model = model if step.error_code else step.model
        elif model != PLANNER_MODEL:
            called.append(step)
    return called


def _has_written(step: Step) -> bool:
    return step.tool == WRITE_TOOL and not step.error_code


def calls_count(called: Sequence[Step]) -> Calls:
    """Return the results of these tool calls. Calls that a cap left out are not counted."""
    run = [step for step in called if step.error_code != NOT_EXECUTED]
    codes = Counter(step.error_code for step in run)
    wrong = codes[MALFORMED] + codes[UNKNOWN]
    seen = Counter((step.tool, repr(step.arguments)) for step in run)
    left_out = {"", MALFORMED, UNKNOWN, *OURS}
    refused: Mapping[str, int] = {code: n for code, n in codes.items() if code not in left_out}
    repeated = sum(n - 1 for n in seen.values())
    return Calls(len(run) - wrong, codes[MALFORMED], codes[UNKNOWN], repeated, refused)


def _tokens(run: Run | None) -> tuple[int, int]:
    """Return the tokens in and out of a run's turns and reviews."""
    counted = [0, 0]
    for rows in (Step.objects, PanelVote.objects, Judgment.objects) if run else ():
        found = rows.filter(run=run).aggregate(
            taken=Coalesce(Sum("input_tokens"), 0), given=Coalesce(Sum("output_tokens"), 0)
        )
        counted = [counted[0] + found["taken"], counted[1] + found["given"]]
    return counted[0], counted[1]
