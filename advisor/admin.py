"""The operators' view of the advisor: runs as timelines, decisions, signs of life. An audit: read-only."""

from collections.abc import Iterable

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from advisor.models import Decision, Heartbeat, Run, Step
from advisor.tools.budget import as_json
from ranking.readonly import OperatorAdmin, ReadOnlyAdmin

ARGUMENTS_CHARS = 600


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Runs, each with its steps from first to last."""

    list_display = (
        "created_at",
        "reader",
        "trigger",
        "status",
        "stop_reason",
        "turns",
        "tool_calls",
        "model",
        "cost_usd",
    )
    list_filter = ("status", "trigger", "stop_reason")
    ordering = ["-created_at"]
    list_select_related = ("reader",)
    search_fields = ("=id", "reader__username")
    fields = (
        *("reader", "day", "trigger", "status", "stop_reason", "message", "model", "turns", "tool_calls"),
        *("input_tokens", "output_tokens", "cost_usd", "meta", "summary", "attempt", "fence", "lease_until"),
        *("created_at", "started_at", "finished_at", "timeline"),
    )
    readonly_fields = ("timeline",)

    @admin.display(description="Timeline")
    def timeline(self, run: Run) -> SafeString:
        """Every step in order: who acted, with what, what came back, how long it took and what it cost."""
        rows = format_html_join("", "<li>{}</li>", ((step_html(step),) for step in run.steps.all()))
        return format_html("<ol>{}</ol>", rows) if rows else format_html("{}", "No step yet.")


def step_html(step: Step) -> SafeString:
    """One step as HTML; whatever a model or a feed wrote is escaped."""
    head = f"{step.at:%H:%M:%S} {step.kind}: {step.tool or step.model}"
    facts = f"{step.ms} ms, {step.input_tokens} + {step.output_tokens} tokens, ${step.cost_usd}"
    parts: Iterable[tuple[str, str]] = (
        ("error", step.error_code),
        ("says", step.reasoning),
        ("asks", as_json(step.arguments)[:ARGUMENTS_CHARS] if step.arguments else ""),
        ("gets", step.result),
    )
    shown = format_html_join("", "<br>{}: <code>{}</code>", (part for part in parts if part[1]))
    return format_html("<strong>{}</strong> <small>{}</small>{}", head, facts, shown)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin, OperatorAdmin):
    """What the machinery decided, and why."""

    list_display = ("at", "actor", "action", "reader", "reason")
    list_filter = ("actor", "action")
    ordering = ["-at"]
    list_select_related = ("reader",)
    search_fields = ("=run__id", "reader__username", "reason")


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The last sign of life of each embedded worker, and when it last began each job."""

    list_display = ("worker", "at")
    ordering = ["worker"]
