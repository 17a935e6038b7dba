"""Guidance for operators: memories, events of calls, the figures; and the rules and insights they write.

Rules and insights are tried on past calls before they are saved, and never overwritten.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst

from advisor.guidance import store
from advisor.guidance.events import UPLIFT_WINDOW, guidance_observed, uplift_report
from advisor.guidance.situations import Level, Phase, Why, why_words
from advisor.models import GuidanceEvent, GuidanceInsight, GuidanceRule, Memory
from advisor.tools.registry import TOOLS
from ranking.common.admin import OperatorAdmin, ReadOnlyAdmin, recent_days, recent_values
from ranking.common.charts import bars_stack
from suggestions.changes.registry import KINDS

if TYPE_CHECKING:  # django-stubs makes it generic, Django does not.
    _MemoryForm = forms.ModelForm[Memory]
else:
    _MemoryForm = forms.ModelForm

PREVIEW = "_preview"
NAMED = ("title", "text", "tool", "suggestion_type", "phase", "polarity", "ceiling")
FIELDS = (*NAMED, "confidence", "expires_at")
EXAMPLE = '{"fact": "thumbs_on_target", "op": "lt", "value": 20}'
POLARITIES = [(0, "neither: it informs"), (1, "do this"), (-1, "a caution: rather not")]
CEILINGS = [
    (Level.NOTE, "note: beside the tool's result"),
    (Level.WARNING, "warning: first in the tool's result"),
    (Level.BLOCK, "block: the call is not made"),
]
ADVICE = "What to do and why, in one or two sentences, of nobody in particular."
CONFIDENCE = "0 to 1; halves each 90 days until readers bear it out."
# Six conditions deep and twenty in a row of the longest facts stay far below.
CHARS_MAX = 10_000
UNREADABLE = f"This cannot be read or stored: JSON of at most {CHARS_MAX:,} characters, without \\u0000."
CHANGED = "Nothing was saved: somebody else has changed or retired this meanwhile. Open it again and look."
# How many colours operators.css has for the series of a chart.
COLOURS = 10


@admin.register(Memory)
class MemoryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """All that was learnt, whosever it is; rules and insights are written in lists of their own."""

    list_display = (
        *("kind", "key", "title", "reader", "suggestion_type", "confidence", "evidence"),
        *("helpful", "unhelpful", "updated_at", "retired_at"),
    )
    list_filter = (
        "kind",
        ("reader", admin.EmptyFieldListFilter),
        ("retired_at", admin.EmptyFieldListFilter),
        recent_values("suggestion_type"),
        "ceiling",
    )
    ordering = ["-updated_at", "-pk"]
    list_select_related = ("reader",)
    search_fields = ("key", "title", "text", "reader")


@admin.register(GuidanceEvent)
class GuidanceEventAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The guidance of each call, or why there was none, and figures over all calls."""

    list_display = (
        *("at", "level", "reason", "tool", "suggestion_type", "reader", "holdout"),
        *("followed", "helpful", "ms", "error_code"),
    )
    list_filter = (
        recent_days("at"),
        recent_values("level"),
        recent_values("why", {why.value: why.words for why in Why}),
        recent_values("phase"),
    )
    ordering = ["-at", "-pk"]
    list_select_related = ("reader",)
    raw_id_fields = ("run", "reader")
    search_fields = ("run", "reader", "rule")

    class Media:
        css = {"all": ["operators.css"]}

    @admin.display(description="why", ordering="why")
    def reason(self, row: GuidanceEvent) -> str:
        """Return why guidance was so loud, in words."""
        return why_words(row.why)

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's own addresses, and that of the figures."""
        page = path("figures/", self.admin_site.admin_view(self.figures_view), name="advisor_guidance")
        return [page, *super().get_urls()]

    def figures_view(self, request: HttpRequest) -> HttpResponse:
        """Show recent guidance: levels and silence by day, errors, and its measured worth."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        now: datetime = timezone.now()
        seen, uplift = guidance_observed(now=now), uplift_report(since=now - UPLIFT_WINDOW, now=now)
        context = {
            **self.admin_site.each_context(request),
            **{"title": "Guidance", "opts": self.opts, "now": now, "seen": seen},
            **{"uplift": uplift, "uplift_days": UPLIFT_WINDOW.days},
            "courses": [
                _course("How loud guidance was", seen.levels, seen.days),
                _course(
                    "Why calls got nothing", {why_words(why): n for why, n in seen.reasons.items()}, seen.days
                ),
            ],
        }
        return TemplateResponse(request, "admin/advisor/guidance.html", context)


def _course(title: str, series: Any, days: Sequence[date]) -> dict[str, Any]:
    """Return one chart with its table: a row a day, newest first, without the days of nothing."""
    used = {name: counts for name, counts in series.items() if any(counts)}
    table = [(day, [counts[n] for counts in used.values()]) for n, day in enumerate(days)]
    names = [(name, f"series-{n % COLOURS}") for n, name in enumerate(series) if name in used]
    sums = ", ".join(f"{sum(counts)} {name}" for name, counts in used.items())
    return {
        "title": title,
        "chart": bars_stack([counts for _, counts in table], width=600, height=160) if used else None,
        "words": f"{len(days)} days: {sums}.",
        "names": names,
        "classes": [style for _, style in names],
        "rows": [row for row in reversed(table) if any(row[1])],
    }


class ConditionField(forms.JSONField):
    """JSON as it was typed, or a field error; nothing that is typed raises anything else."""

    def to_python(self, value: Any) -> Any:
        """Return the value. Raises `ValidationError` if it cannot be read, shown again or stored."""
        try:
            found = super().to_python(value)
            text = json.dumps(found, ensure_ascii=False)
            if len(str(value)) <= CHARS_MAX and "\\u0000" not in text.replace("\\\\", "") and text.encode():
                return found
        except (RecursionError, ValueError):
            pass
        raise ValidationError(UNREADABLE, code="unreadable")

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the text exactly as it was typed, even if it cannot be read."""
        return None if data is None else InvalidJSONInput(data)

    def prepare_value(self, value: Any) -> Any:
        """Return the text to show: none for no condition."""
        return "" if value is None else super().prepare_value(value)


def _choice(names: Iterable[str]) -> forms.ChoiceField:
    choices = [("", "any"), *((name, name.replace("_", " ")) for name in names)]
    return forms.ChoiceField(required=False, choices=choices)


class CuratedForm(_MemoryForm):
    """The form of rules and insights. It refuses a text that guidance would never show."""

    kind = Memory.Kind.INSIGHT
    preview = ""
    text = forms.CharField(
        max_length=500, widget=forms.Textarea(attrs={"rows": 4, "cols": 80}), help_text=ADVICE
    )
    tool, suggestion_type, phase = _choice(TOOLS), _choice(KINDS), _choice(Phase)
    polarity = forms.TypedChoiceField(choices=POLARITIES, coerce=int, initial=0)
    ceiling = forms.ChoiceField(choices=CEILINGS[:-1], initial=Level.NOTE)
    confidence = forms.FloatField(min_value=0, max_value=1, initial=0.7, help_text=CONFIDENCE)

    class Meta:
        model = Memory
        fields = FIELDS
        help_texts = {"title": "A few words.", "expires_at": "UTC; or never."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The columns get their names after this class is made.
        for column in Memory._meta.fields:
            if column.name in self.fields:
                self.fields[column.name].label = capfirst(column.verbose_name)

    def draft(self) -> Memory:
        """Return the form as a new memory. Call it only after the fields are valid."""
        typed = {name: self.cleaned_data[name] for name in FIELDS}
        row = Memory(kind=self.kind, source_ref=store.ADMIN, valid_from=timezone.now(), **typed)
        row.text, row.target_key = " ".join(row.text.split()), self.instance.target_key
        if "when" in self.cleaned_data:
            row.data = store.condition_of(row, self.cleaned_data["when"])
        return row

    def clean(self) -> dict[str, Any] | None:
        """Refuse a form that may not be stored. Each problem is at its field, with its code."""
        cleaned = super().clean()
        if not self.errors:
            replaced, now = self.instance.pk, timezone.now()
            for field, code, words in store.curated_problems(self.draft(), replacing=replaced, now=now):
                self.add_error(field, ValidationError(words, code=code))
        return cleaned

    def is_valid(self) -> bool:
        """Return whether the form may be saved. If only a preview was asked for, make it and return False."""
        valid = super().is_valid()
        if valid and PREVIEW in self.data:
            self.preview = store.curated_preview(self.draft(), now=timezone.now())
        return valid and not self.preview


class RuleForm(CuratedForm):
    """A rule of an operator. It holds if its condition certainly holds, and may then block the call."""

    kind = Memory.Kind.RULE
    when = ConditionField(
        label="Condition",
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80, "spellcheck": "false"}),
        help_text=f"JSON of all, any, not and facts (docs/guidance.md), such as {EXAMPLE}",
    )
    ceiling = forms.ChoiceField(choices=CEILINGS, initial=Level.NOTE)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["when"] = self.instance.data.get(store.AS_WRITTEN, self.instance.predicate)


class CuratedAdmin(OperatorAdmin):
    """A list of memories of one kind; those made by hand can be replaced and retired, none can be deleted."""

    form: type[CuratedForm]
    change_form_template = "admin/advisor/curated/change_form.html"
    list_display = ("title", "tool", "suggestion_type", "phase", "ceiling", "updated_at", "retired_at")
    list_filter = (("retired_at", admin.EmptyFieldListFilter), recent_values("suggestion_type"), "ceiling")
    ordering = ["retired_at", "-updated_at", "-pk"]
    search_fields = ("title", "text", "key")
    actions = ("retire",)

    class Media:
        css = {"all": ["operators.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        """Return the shared memories of this kind."""
        return super().get_queryset(request).filter(reader=None, kind=self.form.kind)

    def has_change_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """Allow changes of memories in force that were written here; a file changes its own."""
        by_hand = obj is None or (obj.source_ref == store.ADMIN and obj.retired_at is None)
        return by_hand and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """Forbid deletion, so that an audit still finds every memory that a run has read."""
        return False

    @admin.action(description="Retire: take out of force", permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        """Take those made by hand out of force."""
        rows = list(queryset.filter(source_ref=store.ADMIN, retired_at=None))
        retired = store.curated_retire(ids=[row.pk for row in rows], now=timezone.now())
        for row in rows:
            self.log_change(request, row, "Retired.")
        self.message_user(request, f"{retired} retired. Those from files are retired by removing the file.")

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show or save the form. A row that was replaced or retired since it was opened is not saved."""
        row = self.get_object(request, unquote(object_id)) if object_id else None
        try:
            if request.method == "POST" and row and row.source_ref == store.ADMIN and row.retired_at:
                raise store.ChangedMeanwhile
            return super().changeform_view(request, object_id, *args, **kwargs)
        except store.ChangedMeanwhile:
            messages.error(request, CHANGED)
            return HttpResponseRedirect(reverse(f"admin:advisor_{self.opts.model_name}_changelist"))

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        """Store the form as a new row that replaces `obj`. `obj` becomes the new row."""
        saved = store.curated_save(form.draft(), replacing=obj.pk if change else None, now=timezone.now())
        obj.__dict__.update(type(obj).objects.get(pk=saved.pk).__dict__)


@admin.register(GuidanceRule)
class GuidanceRuleAdmin(CuratedAdmin):
    """Operators' rules, each with the condition it holds under."""

    form = RuleForm


@admin.register(GuidanceInsight)
class GuidanceInsightAdmin(CuratedAdmin):
    """Insights of files and of operators: how to advise well."""

    form = CuratedForm
