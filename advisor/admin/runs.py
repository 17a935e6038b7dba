"""The advisor in the admin, read-only: runs with timelines, votes, judgments, KPIs, autonomy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import chain, groupby
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from advisor.audit.autonomy import autonomy_record, goals_of
from advisor.audit.kpis import kpis, sparkline, value_format
from advisor.audit.makers import makers_compared
from advisor.conversation import WRITE_TOOL, json_object_or_empty
from advisor.guidance.situations import Level, why_words
from advisor.models import Decision, GuidanceEvent, Heartbeat, Judgment, PanelVote, Run, Step
from advisor.result_size import as_json
from advisor.run.request import run_request
from advisor.run.status_words import operator_message, status_message
from advisor.run_values import ASKED_BY, BY_OPERATOR, LEFT_OUT, PLANNER_MODEL, RULES_MODEL, StopReason
from advisor.selectors import ACTIVE_STATUSES, run_reason
from digest.items.selectors import source_titles
from digest.models import Reader, Source
from ranking.common.admin import Fact, FactsAdmin, OperatorAdmin, ReadOnlyAdmin, money_words, recent_values
from suggestions.admin import EXTRA_PANELS, STATE_WORDS, change_words
from suggestions.changes.registry import KINDS
from suggestions.models import Suggestion
from suggestions.planner.left_out import left_out_words
from suggestions.sentences import headline

ARGUMENTS_CHARS = 600
STEP, VOTE, JUDGMENT, DECISION, SUGGESTION = "step", "vote", "judgment", "decision", "suggestion"
GUIDANCE = "guidance"
MAY_RUN = "advisor.change_run"
CANDIDATES_SHOWN = 8
# The tool that has the planner weigh every change.
FEEDBACK_TOOL = "query_user_feedback"
# The order of entries with the same time: guidance before a step, a review inside it.
ORDER = {GUIDANCE: -1, VOTE: 1, JUDGMENT: 0, STEP: 2, SUGGESTION: 3, DECISION: 4}
# A call that got nothing, without a fault and not by chance, is no event of the run.
QUIET = Q(level=Level.SILENT, error_code="", holdout=False)
CostlyRow = Step | PanelVote | Judgment


def votes_table(suggestion: Suggestion) -> SafeString:
    """Return a table of the votes on a suggestion, by round, with reasons and cost, or "" without any.

    The voters' words are escaped, because they may come from a model that read strangers' text.
    """
    votes = PanelVote.objects.filter(run_id=suggestion.run_id, target_key=suggestion.target_key)
    rows = [
        (
            vote.round,
            _voter(vote),
            vote.verdict,
            "" if _is_rule(vote) else f"{vote.confidence:.0%}",
            vote.error_code,
            "; ".join(vote.issues) or vote.reasoning,
            "; ".join(vote.suggestions),
            vote.model,
            money_words(vote.cost_usd),
        )
        for vote in votes.order_by("round", "pk")
    ]
    if not rows:
        return SafeString("")
    names = ("Round", "By", "Vote", "Sure", "Missing", "Why", "To do", "Model", "Cost")
    head = format_html_join("", "<th scope='col'>{}</th>", ((name,) for name in names))
    cells = "".join(["<td>{}</td>"] * len(names))
    body = format_html_join("", f"<tr>{cells}</tr>", rows)
    return format_html(
        "<section class='wide'><h2>Votes</h2>"
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></section>",
        head,
        body,
    )


class NamedTargetAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Rows about a proposal, which say it as its reader would read it: a source by its title."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows with the titles of sources."""
        titles = Source.objects.filter(pk=OuterRef("target_key")).values("title")[:1]
        rows: QuerySet[Any] = super().get_queryset(request)
        named: QuerySet[Any] = rows.annotate(source_title=Subquery(titles))
        return named

    @admin.display(description="about", ordering="target_key")
    def about(self, row: Any) -> str:
        """Return the proposal in words."""
        return proposal_words(row, {row.target_key: row.source_title or row.target_key})


def proposal_words(row: PanelVote | Judgment, titles: Mapping[str, str]) -> str:
    """Return the proposal that a vote or judgment is about, as its reader would read it."""
    label = titles.get(row.target_key, row.target_key)
    return headline(row.suggestion_type, label) if row.suggestion_type in KINDS else label


def _is_rule(vote: PanelVote) -> bool:
    return vote.model.startswith(RULES_MODEL)


def _voter(vote: PanelVote) -> str:
    """Return who voted, in words: a check is no reviewer. Earlier versions stored one vote of rules each."""
    if not _is_rule(vote):
        return f"Reviewer {vote.reviewer}"
    check = vote.model.partition(":")[2]
    return f"Rule of {vote.reviewer}" if check == vote.reviewer else f"Check “{check}” of {vote.reviewer}"


# Drafts are decided in the admin of suggestions, which shows the votes too.
EXTRA_PANELS.append(votes_table)


TRIGGER_WORDS: Mapping[str, str] = {
    Run.Trigger.UI: "the reader",
    Run.Trigger.SCHEDULED: "the schedule",
    Run.Trigger.COMMAND: "a command",
    Run.Trigger.MCP: "an assistant",
}
STATUS_WORDS: Mapping[str, str] = {
    Run.Status.QUEUED: "waiting",
    Run.Status.RUNNING: "running",
    Run.Status.COMPLETED: "done",
    Run.Status.BUDGET_EXCEEDED: "stopped for money",
    Run.Status.AGENT_TIMEOUT: "stopped for time",
    Run.Status.AGENT_ERROR: "failed",
}
# Why a run, or its models’ part, ended early. The status says the rest.
STOP_WORDS: Mapping[str, str] = {
    StopReason.DONE: "",
    StopReason.DEADLINE: "the time was up",
    StopReason.BUDGET: "the money was used up",
    StopReason.TURN_LIMIT: "all turns were used up",
    StopReason.TOOL_CALL_LIMIT: "all tool calls were used up",
    StopReason.REPEATED_FAILURE: "the same step failed again and again",
    StopReason.MODELS_EXHAUSTED: "no model answered",
    StopReason.RATE_LIMITED: "the provider asked to wait",
    StopReason.MODEL_REFUSED: "the provider refused the request",
    StopReason.PROMPT_UNUSABLE: "the prompt cannot be read",
    StopReason.FENCE_LOST: "another worker took it over",
    StopReason.DATABASE: "the database failed",
    StopReason.CRASHED: "Tidings itself failed",
}


def run_state(run: Run) -> str:
    """Return how far a run is or how it ended, with the reason of an end that is not the usual one."""
    words = STATUS_WORDS.get(run.status, run.status)
    why = STOP_WORDS.get(run.stop_reason, run.stop_reason)
    return f"{words}: {why}" if why else words


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin, FactsAdmin):
    """Runs, each with its outcome and timeline; and the pages of KPIs and autonomy over all runs."""

    change_form_template = "admin/advisor/run/change_form.html"

    list_display = ("created_at", "reader", "asked_by", "ended", "work", "made", "maker", "cost_usd")
    list_filter = (
        recent_values("status", STATUS_WORDS),
        recent_values("trigger", {**TRIGGER_WORDS, Run.Trigger.COMMAND: "a command, or an operator"}),
        recent_values("stop_reason", {**STOP_WORDS, StopReason.DONE: "by itself"}),
    )
    ordering = ["-created_at"]
    list_select_related = ("reader",)
    search_fields = ("id", "reader")
    # The work and its end. The rest is folded, because the timeline below tells it in words.
    SHOWN = ("reader", "maker", "cost_usd", "created_at", "finished_at")
    readonly_fields = ("maker",)
    FOLDED = (
        "message",
        *("day", "status", "trigger", "stop_reason", "turns", "tool_calls", "input_tokens", "output_tokens"),
        *("attempt", "lease_until", "started_at", "meta", "summary"),
    )
    fieldsets = ((None, {"fields": SHOWN}), ("As stored", {"fields": FOLDED, "classes": ["collapse"]}))

    class Media:
        css = {"all": ["operators.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Return the runs with how many suggestions each made."""
        rows = Suggestion.objects.filter(run_id=OuterRef("pk")).order_by().values("run_id")
        made = rows.annotate(n=Count("pk")).values("n")
        runs: QuerySet[Run] = super().get_queryset(request)
        return runs.annotate(made=Coalesce(Subquery(made), 0))

    @admin.display(description="asked by", ordering="trigger")
    def asked_by(self, row: Run) -> str:
        """Return who asked for the run."""
        by_operator = row.meta.get(ASKED_BY) == BY_OPERATOR
        return "an operator" if by_operator else TRIGGER_WORDS.get(row.trigger, row.trigger)

    @admin.display(description="status", ordering="status")
    def ended(self, row: Run) -> str:
        """Return how far the run is, or how it ended."""
        return run_state(row)

    @admin.display(description="work", ordering="tool_calls")
    def work(self, row: Run) -> str:
        """Return how many turns and tool calls the run took."""
        turns = "turn" if row.turns == 1 else "turns"
        calls = "call" if row.tool_calls == 1 else "calls"
        return f"{row.turns} {turns}, {row.tool_calls} {calls}"

    @admin.display(description="model", ordering="model")
    def maker(self, row: Run) -> str:
        """Return the last model that answered, or that the planner did."""
        return "the planner" if row.model == PLANNER_MODEL else row.model or "–"

    @admin.display(description="suggestions")
    def made(self, row: Run) -> SafeString:
        """Return how many suggestions the run made, as a link to them."""
        count = getattr(row, "made", 0)
        href = f"{reverse('admin:suggestions_suggestion_changelist')}?run_id={row.pk}"
        return format_html('<a href="{}">{}</a>', href, count) if count else SafeString("0")

    def get_urls(self) -> list[URLPattern]:
        """Add the two pages about all runs, and the one that runs for a reader."""
        pages = [
            path("for/<uuid:reader_id>/", self.admin_site.admin_view(self.for_view), name="advisor_run_for"),
            path("kpis/", self.admin_site.admin_view(self.kpis_view), name="advisor_kpis"),
            path("autonomy/", self.admin_site.admin_view(self.autonomy_view), name="advisor_autonomy"),
        ]
        return [*pages, *super().get_urls()]

    def facts(self, request: HttpRequest, row: Run) -> Iterator[Fact]:
        """Yield who asked, how the run ended, what its reader is told, and its suggestions. One query."""
        yield Fact("Asked by", self.asked_by(row))
        yield Fact("Status", run_state(row))
        made = list(Suggestion.objects.filter(run_id=row.pk).order_by("pk"))
        if row.status not in ACTIVE_STATUSES:
            shown = sum(one.status not in Suggestion.UNSEEN for one in made)
            words = status_message(row.status, shown, run_reason(row))
            yield Fact("Its reader is told", f"“{words}”")
        if row.status not in (*ACTIVE_STATUSES, Run.Status.COMPLETED) and row.message:
            yield Fact("The error itself", row.message)
        for one in made:
            href = reverse("admin:suggestions_suggestion_change", args=[one.pk])
            yield Fact("Suggests", f"{change_words(one).rstrip('.')}. {STATE_WORDS[one.status]}", href)

    def row_context(self, request: HttpRequest, row: Run | None) -> dict[str, Any]:
        """Return the facts and the run's timeline for users who may see the run."""
        timeline = timeline_of(row) if row and self.has_view_permission(request, row) else None
        return super().row_context(request, row) | {"timeline": timeline}

    def for_view(self, request: HttpRequest, reader_id: UUID) -> HttpResponse:
        """GET: ask for confirmation. POST: run the advisor for a reader, and show the run."""
        if not request.user.has_perm(MAY_RUN):
            raise PermissionDenied
        reader = Reader.objects.filter(pk=reader_id, is_active=True).first()
        if reader is None:
            raise Http404("There is no such active reader.")
        if request.method != "POST":
            return self._page(request, "run_for", "Run for this reader?", {"reader": reader})
        result = run_request(
            reader=reader,
            trigger=Run.Trigger.COMMAND,
            now=timezone.now(),
            force=True,
            asked_by=BY_OPERATOR,
        )
        self.log_change(request, reader, f"Ran the advisor: {result.status}")
        made = result.suggestions_created
        messages.info(request, operator_message(str(reader), result.status, made, result.reason))
        if result.run_id is None:
            return redirect("admin:digest_reader_change", reader.pk)
        return redirect("admin:advisor_run_change", result.run_id)

    def kpis_view(self, request: HttpRequest) -> HttpResponse:
        """Render the KPIs with thresholds, states and sparklines."""
        now = timezone.now()
        rows = [
            (kpi, sparkline(kpi.measured.by_day, partial(value_format, unit=kpi.definition.unit)))
            for kpi in kpis(now=now)
        ]
        return self._page(request, "kpis", "Key figures", {"rows": rows, "now": now})

    def autonomy_view(self, request: HttpRequest) -> HttpResponse:
        """Render the autonomy report over all time."""
        record = autonomy_record(now=timezone.now())
        goals = goals_of(record)
        context = {"record": record, "goals": goals, "met": sum(goal.met for goal in goals)}
        context["makers"] = makers_compared(now=timezone.now())
        return self._page(request, "autonomy", "How good models’ reviews were", context)

    def _page(self, request: HttpRequest, name: str, title: str, context: dict[str, Any]) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        base = self.admin_site.each_context(request) | {"title": title, "opts": self.opts}
        return TemplateResponse(request, f"admin/advisor/{name}.html", base | context)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Decisions of the code or an operator, with their reasons."""

    list_display = ("at", "actor", "action", "reader", "reason")
    list_filter = (recent_values("actor"), recent_values("action"))
    ordering = ["-pk"]
    list_select_related = ("reader",)
    search_fields = ("run", "reader", "reason")


@admin.register(PanelVote)
class PanelVoteAdmin(NamedTargetAdmin):
    """Every vote of every reviewer."""

    list_display = (
        "at",
        "reviewer",
        "verdict",
        "about",
        "round",
        "model",
        "cost_usd",
    )
    list_filter = ("reviewer", "verdict", recent_values("suggestion_type"))
    ordering = ["-pk"]
    search_fields = ("run", "target_key")


@admin.register(Judgment)
class JudgmentAdmin(NamedTargetAdmin):
    """Every round of the reflector."""

    list_display = (
        "at",
        "about",
        "round",
        "helps",
        "accepts",
        "flipped",
        "likely",
    )
    list_filter = ("helps", "accepts", "flipped", recent_values("round"))
    ordering = ["-pk"]
    search_fields = ("run", "target_key")

    @admin.display(description="likely to help", ordering="p_helpful")
    def likely(self, row: Judgment) -> str:
        """Return the probability that the change helps, in percent."""
        return f"{row.p_helpful:.0%}"


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Heartbeats of embedded workers, and when each scheduled job last began."""

    list_display = ("worker", "at")
    ordering = ["worker"]


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One entry, in plain text that a template must escape.

    `facts` are time, tokens and money; `lines` are pairs of a label and a text; `error` is a code or empty.
    """

    kind: str
    at: datetime
    title: str
    facts: str = ""
    error: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    cost: Decimal = Decimal(0)
    n: int = 0
    href: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """All entries in order, with their counts and cost."""

    entries: Sequence[TimelineEntry]
    counts: str
    cost: Decimal


def timeline_of(run: Run) -> Timeline:
    """Return everything stored about `run`, oldest first, steps in the order of their numbers."""
    steps = list(run.steps.all())
    written = {
        json_object_or_empty(step.result).get("suggestion_id"): step.at
        for step in steps
        if step.tool == WRITE_TOOL
    }
    suggestions = Suggestion.objects.filter(run_id=run.pk).order_by("pk")
    votes, judgments = list(run.votes.order_by("at", "pk")), list(run.judgments.order_by("at", "pk"))
    titles = source_titles(keys={row.target_key for row in votes} | {row.target_key for row in judgments})
    checks = [vote for vote in votes if _is_rule(vote)]
    left_out = [_left_out(run, rows, steps)] if (rows := run.meta.get(LEFT_OUT)) else []
    groups: list[list[TimelineEntry]] = [
        [_step(step) for step in steps],
        [_vote(vote, titles) for vote in votes if not _is_rule(vote)],
        [_checks([*group], titles) for _key, group in groupby(checks, key=_round_of)],
        [_judgment(judgment, titles) for judgment in judgments],
        # A suggestion has the time of its run's start. Here it gets the time of its write.
        [_suggestion(row, written.get(row.pk, row.created_at)) for row in suggestions],
        [_decision(row) for row in run.decisions.order_by("at", "pk")],
        left_out,
        [_guidance(row) for row in run.guidance.exclude(QUIET).defer("facts").order_by("at", "pk")],
    ]
    entries = sorted(chain(*groups), key=lambda entry: (entry.at, ORDER[entry.kind], entry.n))
    names = ("steps", "votes", "rounds of checks", "judgments", "suggestions", "decisions")
    more = ("list of other changes", "guidance events")
    counts = ", ".join(
        f"{len(group)} {name}" for name, group in zip((*names, *more), groups, strict=True) if group
    )
    return Timeline(entries, counts, sum((entry.cost for entry in entries), Decimal(0)))


def _step(step: Step) -> TimelineEntry:
    return TimelineEntry(
        kind=STEP,
        at=step.at,
        title=f"{step.n}. {step.kind}: {step.tool or step.model}",
        facts=_facts(step),
        error=step.error_code,
        lines=_lines(
            ("reasoning", step.reasoning),
            ("arguments", as_json(step.arguments)[:ARGUMENTS_CHARS] if step.arguments else ""),
            ("result", step.result),
        ),
        cost=step.cost_usd,
        n=step.n,
    )


def _round_of(vote: PanelVote) -> tuple[str, str, int]:
    return vote.suggestion_type, vote.target_key, vote.round


def _checks(votes: Sequence[PanelVote], titles: Mapping[str, str]) -> TimelineEntry:
    """Return one entry for the checks of one round; it counts those that passed and quotes the others."""
    failed = [vote for vote in votes if vote.verdict != PanelVote.Verdict.APPROVE]
    findings = [(f"{_voter(vote)}: {vote.verdict}", words) for vote in failed for words in _vote_words(vote)]
    about = f"{proposal_words(votes[0], titles)}, round {votes[0].round}"
    return TimelineEntry(
        kind=VOTE,
        at=votes[-1].at,
        title=f"{len(votes) - len(failed)} of {len(votes)} checks passed: {about}",
        error=next((vote.error_code for vote in failed if vote.error_code), ""),
        lines=_lines(*findings),
    )


def _vote_words(vote: PanelVote) -> list[str]:
    """Return the findings of a check and how to mend them, or its reasoning if it names none."""
    return [*map(str, vote.issues), *map(str, vote.suggestions)] or [vote.reasoning or vote.verdict]


def _vote(vote: PanelVote, titles: Mapping[str, str]) -> TimelineEntry:
    about = f"{proposal_words(vote, titles)}, round {vote.round}"
    return TimelineEntry(
        kind=VOTE,
        at=vote.at,
        title=f"{_voter(vote)}: {vote.verdict} ({vote.confidence:.0%} sure): {about}",
        facts=f"{vote.model}, {_facts(vote)}",
        error=vote.error_code,
        lines=_lines(
            ("reasoning", vote.reasoning),
            *(("issue", str(issue)) for issue in vote.issues),
            *(("to do", str(todo)) for todo in vote.suggestions),
        ),
        cost=vote.cost_usd,
    )


def _judgment(row: Judgment, titles: Mapping[str, str]) -> TimelineEntry:
    helps, accepts = "helps" if row.helps else "does not help", "accepted" if row.accepts else "declined"
    flipped = ", changed its mind" if row.flipped else ""
    about = f"{proposal_words(row, titles)}, attempt {row.attempt}, round {row.round}"
    return TimelineEntry(
        kind=JUDGMENT,
        at=row.at,
        title=f"reflector: {helps}, would be {accepts} ({row.confidence:.0%} sure{flipped}): {about}",
        facts=f"{row.p_helpful:.0%} likely to help, {row.model}, {_facts(row)}",
        error=row.error_code,
        lines=_lines(
            ("reasoning", row.reasoning),
            ("evidence", as_json(row.evidence)[:ARGUMENTS_CHARS] if row.evidence else ""),
        ),
        cost=row.cost_usd,
    )


def _suggestion(row: Suggestion, at: datetime) -> TimelineEntry:
    return TimelineEntry(
        kind=SUGGESTION,
        at=at,
        title=change_words(row),
        href=reverse("admin:suggestions_suggestion_change", args=[row.pk]),
        facts=f"{row.p_helpful:.0%} likely to help ({row.confidence} confidence). {STATE_WORDS[row.status]}",
        lines=_lines(("reason", row.reason), *(("note", str(note)) for note in row.validation_notes)),
        n=row.pk,
    )


def _decision(row: Decision) -> TimelineEntry:
    data = as_json(row.data)[:ARGUMENTS_CHARS] if row.data else ""
    return TimelineEntry(
        kind=DECISION,
        at=row.at,
        title=f"{row.actor}: {row.action}",
        lines=_lines(("reason", row.reason), ("data", data)),
        n=row.pk,
    )


def _left_out(run: Run, rows: Sequence[Mapping[str, Any]], steps: Sequence[Step]) -> TimelineEntry:
    """Return one entry with the changes that the planner weighed and left out, each with its reason."""
    asked = [step.at for step in steps if step.tool == FEEDBACK_TOOL]
    return TimelineEntry(
        kind=DECISION,
        at=asked[-1] if asked else run.finished_at or run.created_at,
        title="Why not another change? The nearest that the planner weighed and left out",
        lines=_lines(
            *((headline(str(row["suggestion_type"]), str(row["label"])), left_out_words(row)) for row in rows)
        ),
    )


def _guidance(row: GuidanceEvent) -> TimelineEntry:
    followed = {None: "", True: ", followed", False: ", not followed"}[row.followed]
    candidates = "\n".join(
        f"{one.get('kind')}: {one.get('title')} ({one.get('score')}, {one.get('level')}) "
        f"{why_words(one.get('why', ''))}"
        for one in row.candidates[:CANDIDATES_SHOWN]
    )
    return TimelineEntry(
        kind=GUIDANCE,
        at=row.at,
        title=f"{row.level} before {row.tool or 'the first call'}: {why_words(row.why)}{followed}",
        facts=f"{row.ms:,} ms, {row.tokens:,} tokens",
        error=row.error_code,
        lines=_lines(("rule", row.rule), ("text", row.text), ("candidates", candidates)),
        n=row.n,
    )


def _facts(row: CostlyRow) -> str:
    cost = f"${row.cost_usd:.4f}" if row.cost_usd else "free"
    return f"{row.ms:,} ms, {row.input_tokens:,} + {row.output_tokens:,} tokens, {cost}"


def _lines(*pairs: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in pairs if pair[1])
