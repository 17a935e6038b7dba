"""Rules and insights that operators write: tried on past calls before they are saved, never overwritten."""

import json
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from advisor.admin.guidance import ForceFilter
from advisor.guidance.curated import (
    AS_WRITTEN,
    CHANGED,
    CHANGED_WORDS,
    Preview,
    Refused,
    curated_draft,
    curated_preview,
    curated_problems,
    curated_retire,
    curated_save,
)
from advisor.guidance.entities import Draft, Kind, Level, Phase
from advisor.guidance.retrieval import CONDITION
from advisor.guidance.store import ADMIN
from advisor.models import GuidanceInsight, GuidanceRule, Memory
from advisor.tools.registry import TOOLS
from ranking.common.admin import OperatorAdmin, seen
from suggestions.entities import FIELD_OF_TYPE

if TYPE_CHECKING:  # django-stubs makes it generic, Django does not.
    _MemoryForm = forms.ModelForm[Memory]
else:
    _MemoryForm = forms.ModelForm

PREVIEW = "_preview"
EXAMPLE = '{"fact": "thumbs_on_target", "op": "lt", "value": 20}'
POLARITIES = [(0, "neither: it informs"), (1, "do this"), (-1, "a caution: rather not")]
CEILINGS = [
    (Level.WHISPER, "whisper: its title only"),
    (Level.NOTE, "note: beside the tool's result"),
    (Level.WARNING, "warning: first in the tool's result"),
]
BLOCK = (Level.BLOCK, "block: the call is not made")
# Six conditions deep and twenty in a row of the longest facts stay far below.
CHARS_MAX = 10_000
UNREADABLE = {
    "too_long": f"The condition is longer than {CHARS_MAX:,} characters. Split the rule into several.",
    "too_deep": "This holds too many brackets inside one another. A condition is six deep at most.",
    "too_large": "This holds a number too long to be read. No fact is larger than 1e12.",
    "unstorable": "This holds a sign that is no text (\\u0000, or half a pair, as \\ud800). Leave it out.",
}


class ConditionField(forms.JSONField):
    """JSON as it was typed, or a field error; nothing that is typed raises anything else."""

    def to_python(self, value: Any) -> Any:
        """Return the value; raises `ValidationError` for what cannot be read, shown again or stored."""
        code = "too_long" if isinstance(value, str) and len(value) > CHARS_MAX else ""
        try:
            found = None if code else super().to_python(value)
            text = json.dumps(found, ensure_ascii=False)
            if "\\u0000" in text.replace("\\\\", "") or any("\ud800" <= char <= "\udfff" for char in text):
                code = "unstorable"
        except RecursionError:
            code = "too_deep"
        except ValueError:
            # The interpreter reads no integer of more than some thousand digits.
            code = "too_large"
        if code:
            raise ValidationError(UNREADABLE[code], code=code)
        return found

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return what was typed, letter by letter, whether or not it can be read."""
        return initial if self.disabled else None if data is None else InvalidJSONInput(data)

    def prepare_value(self, value: Any) -> Any:
        """Return the text to show: none for no condition."""
        return "" if value is None else super().prepare_value(value)


class CuratedForm(_MemoryForm):
    """What rules and insights have in common; it refuses what guidance would never say."""

    kind = Kind.INSIGHT
    title = forms.CharField(max_length=80, help_text="A few words; all that a whisper shows.")
    text = forms.CharField(
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 80}),
        help_text="What to do and why, in one or two sentences, of nobody in particular.",
    )
    tool = forms.ChoiceField(required=False, choices=[("", "any"), *((name, name) for name in TOOLS)])
    suggestion_type = forms.ChoiceField(
        required=False, choices=[("", "any"), *((kind, kind) for kind in FIELD_OF_TYPE)]
    )
    phase = forms.ChoiceField(
        required=False, choices=[("", "any"), *((phase.value, phase.value) for phase in Phase)]
    )
    polarity = forms.TypedChoiceField(choices=POLARITIES, coerce=int, initial=0)
    ceiling = forms.ChoiceField(choices=CEILINGS, initial=Level.NOTE, help_text="The loudest it may be.")
    confidence = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=0.7,
        help_text="0 to 1; halves each 90 days until readers bear it out.",
    )
    expires_at = forms.SplitDateTimeField(
        required=False,
        widget=forms.SplitDateTimeWidget(
            date_attrs={"type": "date", "aria-label": "Expires on"},
            time_attrs={"type": "time", "aria-label": "Expires at"},
        ),
        help_text="UTC; empty for never.",
    )

    class Meta:
        model = Memory
        fields = (
            *("title", "text", "tool", "suggestion_type", "phase", "polarity"),
            *("ceiling", "confidence", "expires_at"),
        )

    @property
    def draft(self) -> Draft:
        """Return what was written, as the service takes it; only once the form is valid."""
        target = self.instance.target_key
        return curated_draft(self.cleaned_data, kind=self.kind, now=timezone.now(), target_key=target)

    def clean(self) -> dict[str, Any] | None:
        """Refuse what speaks against storing it, each problem at its field with its code."""
        cleaned = super().clean()
        if not self.errors:
            for problem in curated_problems(self.draft, replacing=self.instance.pk, now=timezone.now()):
                error = forms.ValidationError(problem.message, code=problem.code)
                self.add_error(problem.field or None, error)
        return cleaned


class RuleForm(CuratedForm):
    """A rule: it holds where its condition certainly does, and then it may also block."""

    kind = Kind.RULE
    ceiling = forms.ChoiceField(
        choices=[*CEILINGS, BLOCK], initial=Level.NOTE, help_text="The loudest it may be."
    )
    when = ConditionField(
        label="Condition",
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80, "spellcheck": "false"}),
        help_text=f"JSON of all, any, not and facts (docs/guidance.md), such as {EXAMPLE}",
    )

    class Meta(CuratedForm.Meta):
        pass

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        data = self.instance.data if isinstance(self.instance.data, dict) else {}
        if self.instance.pk:
            self.initial["when"] = data.get(AS_WRITTEN, data.get(CONDITION))


class CuratedAdmin(OperatorAdmin):
    """A list of memories of one kind; those made by hand can be replaced and retired, none can be deleted."""

    form: type[CuratedForm]
    change_form_template = "admin/advisor/curated/change_form.html"
    list_display = (
        *("title", "in_force", "tool", "suggestion_type", "phase", "ceiling", "confidence", "updated_at"),
    )
    list_filter = (ForceFilter, seen("suggestion_type", "type"), "ceiling")
    ordering = ["retired_at", "-updated_at", "-pk"]
    search_fields = ("title", "text", "key")
    actions = ("retire",)

    class Media:
        css = {"all": ["operators.css"]}

    @admin.display(boolean=True)
    def in_force(self, row: Memory) -> bool:
        """Return whether runs may use it."""
        return row.retired_at is None and (row.expires_at is None or row.expires_at > timezone.now())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        """Return the shared memories of this kind."""
        return super().get_queryset(request).filter(reader=None, kind=self.form.kind)

    def has_change_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """What comes from a file is changed in the file, and what is retired or replaced stays as it was."""
        by_hand = obj is None or (obj.source_ref == ADMIN and obj.retired_at is None)
        return by_hand and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """Nothing is deleted: an audit still finds what runs read."""
        return False

    @admin.action(description="Retire: take out of force", permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        """Take those made by hand out of force."""
        rows = list(queryset.filter(source_ref=ADMIN, retired_at=None))
        retired = curated_retire(ids=[row.pk for row in rows], now=timezone.now())
        for row in rows:
            self.log_change(request, row, "Retired.")
        self.message_user(request, f"{retired} retired. Those from files are retired by removing the file.")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the form; with "Preview" as it was typed, with what it would have done.

        What was replaced or retired since the form was opened is not saved; what was typed stays.
        """
        row = self.get_object(request, unquote(object_id)) if object_id else None
        if request.method == "POST":
            late = row is not None and row.source_ref == ADMIN and row.retired_at is not None
            if late and self.has_change_permission(request):
                # A form of what is new, as one of what cannot be changed any more would have no fields.
                form = cast(CuratedForm, self.get_form(request, None, change=False)(request.POST))
                words = f"Nothing was saved. {CHANGED_WORDS}"
                form.add_error(None, ValidationError(words, code=CHANGED))
                return self._typed_page(request, row, form, form_url, None)
            allowed = self.has_change_permission(request, row) if row else self.has_add_permission(request)
            if PREVIEW in request.POST and allowed and (row or not object_id):
                made = self.get_form(request, row, change=row is not None)
                form = cast(CuratedForm, made(request.POST, instance=row))
                found = curated_preview(form.draft, now=timezone.now()) if form.is_valid() else None
                return self._typed_page(request, row, form, form_url, found)
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Refused as refused:
            messages.error(request, f"Nothing was saved. {refused}")
            return self.response_post_save_change(request, Memory())

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show no "save and continue": what is saved is a new row, with an address of its own."""
        context["show_save_and_continue"] = False
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        """Store what was written in the place of `obj`, which from here on is the new row."""
        now = timezone.now()
        saved = curated_save(form.draft, replacing=obj.pk if change else None, now=now)
        obj.__dict__.update(type(obj).objects.get(pk=saved.pk).__dict__)
        preview = curated_preview(form.draft, now=now)
        most = "at most " if preview.at_most else ""
        self.message_user(request, f"It would have touched {most}{preview.words}.")

    def _typed_page(
        self,
        request: HttpRequest,
        row: Memory | None,
        form: CuratedForm,
        form_url: str,
        preview: Preview | None,
    ) -> HttpResponse:
        """Show the form as it was typed, with what a preview found, if there is one."""
        fieldsets: Any = self.get_fieldsets(request, row)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{str(self.opts.verbose_name).capitalize()}: not saved yet",
            "adminform": AdminForm(form, fieldsets, {}, [], model_admin=self),
            "original": row,
            "is_popup": False,
            "to_field": None,
            "media": self.media + form.media,
            "inline_admin_formsets": [],
            "errors": form.errors,
            "preview": preview,
        }
        return self.render_change_form(
            request, context, add=row is None, change=row is not None, form_url=form_url, obj=row
        )


@admin.register(GuidanceRule)
class GuidanceRuleAdmin(CuratedAdmin):
    """Operators' rules, each with the condition it holds under."""

    form = RuleForm
    fieldsets = [
        (None, {"fields": ["title", "text", "polarity"]}),
        ("When it holds", {"fields": ["when", "tool", "suggestion_type", "phase"]}),
        ("How loud it may be", {"fields": ["ceiling", "confidence", "expires_at"]}),
    ]


@admin.register(GuidanceInsight)
class GuidanceInsightAdmin(CuratedAdmin):
    """Insights of files and of operators: how to advise well."""

    form = CuratedForm
    fieldsets = [
        (None, {"fields": ["title", "text", "polarity"]}),
        ("What it is about", {"fields": ["tool", "suggestion_type", "phase"]}),
        ("How loud it may be", {"fields": ["ceiling", "confidence", "expires_at"]}),
    ]
