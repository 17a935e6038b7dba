"""Rules and insights that operators write: tried on past calls before they are saved, never overwritten."""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from advisor.admin.forms import CuratedForm, InsightForm, RuleForm
from advisor.admin.guidance import ForceFilter
from advisor.guidance.preview import Preview, memory_preview
from advisor.models import GuidanceInsight, GuidanceRule, Memory
from advisor.services.guidance_rules import (
    CHANGED,
    CHANGED_WORDS,
    Refused,
    curated_retire,
    curated_save,
    remembered_draft,
)
from advisor.services.guidance_store import ADMIN
from ranking.readonly import OperatorAdmin, seen

PREVIEW = "_preview"


class CuratedAdmin(OperatorAdmin):
    """A list of memories of one kind; those made by hand can be replaced and retired, none can be deleted."""

    form: type[CuratedForm]
    change_form_template = "admin/advisor/curated/change_form.html"
    list_display = (
        "title",
        "in_force",
        "tool",
        "suggestion_type",
        "phase",
        "ceiling",
        "confidence",
        "updated_at",
    )
    list_filter = (ForceFilter, seen("suggestion_type", "type"), "ceiling")
    ordering = ["retired_at", "-updated_at", "-pk"]
    search_fields = ("title", "text", "key")
    actions = ("retire",)

    class Media:
        css = {"all": ["operators.css"]}

    @admin.display(boolean=True)
    def in_force(self, row: Memory) -> bool:
        """Whether runs may be told it."""
        return row.retired_at is None and (row.expires_at is None or row.expires_at > timezone.now())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        """The shared memories of this kind."""
        return super().get_queryset(request).filter(reader=None, kind=self.form.kind)

    def has_change_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """What comes from a file is changed in the file, and what is retired or replaced stays as it was."""
        by_hand = obj is None or (obj.source_ref == ADMIN and obj.retired_at is None)
        return by_hand and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        """Nothing is deleted: an audit still finds what runs were told."""
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
        """The form; with "Preview" the same form as it was typed, and what it would have done.

        What was replaced or retired since the form was opened is not saved; what was typed stays.
        """
        if request.method == "POST" and (row := self._overtaken(request, object_id)):
            return self._late(request, row, form_url)
        if request.method == "POST" and PREVIEW in request.POST:
            return self._previewed(request, object_id, form_url)
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Refused as refused:
            messages.error(request, f"Nothing was saved. {refused}")
            return self.response_post_save_change(request, Memory())

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Without "save and continue": what is saved is a new row, with an address of its own."""
        context["show_save_and_continue"] = False
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        """Store what was written in the place of `obj`, which from here on is the new row."""
        now = timezone.now()
        saved = curated_save(form.curated, replacing=obj.pk if change else None, now=now)
        obj.__dict__.update(type(obj).objects.get(pk=saved.pk).__dict__)
        preview = memory_preview(remembered_draft(form.curated, now=now), now=now)
        self.message_user(
            request,
            f"It would have touched {'at most ' if preview.at_most else ''}{_touched_words(preview)}.",
        )

    def _previewed(self, request: HttpRequest, object_id: str | None, form_url: str) -> HttpResponse:
        row = self.get_object(request, unquote(object_id)) if object_id else None
        allowed = self.has_change_permission(request, row) if row else self.has_add_permission(request)
        if (object_id and row is None) or not allowed:
            # As Django itself refuses what is not there or not allowed.
            return super().changeform_view(request, object_id, form_url)
        made = self.get_form(request, row, change=row is not None)
        form = cast(CuratedForm, made(request.POST, instance=row))
        preview = None
        if form.is_valid():
            now = timezone.now()
            preview = memory_preview(remembered_draft(form.curated, now=now), now=now)
        return self._typed_page(request, row, form, form_url, preview)

    def _overtaken(self, request: HttpRequest, object_id: str | None) -> Memory | None:
        """The row made by hand that was replaced or retired, for somebody who might have changed it."""
        row = self.get_object(request, unquote(object_id)) if object_id else None
        late = row is not None and row.source_ref == ADMIN and row.retired_at is not None
        return row if late and self.has_change_permission(request) else None

    def _late(self, request: HttpRequest, row: Memory, form_url: str) -> HttpResponse:
        # A form of what is new, as one of what cannot be changed any more would have no fields.
        form = cast(CuratedForm, self.get_form(request, None, change=False)(request.POST))
        form.add_error(None, ValidationError(f"Nothing was saved. {CHANGED_WORDS}", code=CHANGED))
        return self._typed_page(request, row, form, form_url, None)

    def _typed_page(
        self,
        request: HttpRequest,
        row: Memory | None,
        form: CuratedForm,
        form_url: str,
        preview: Preview | None,
    ) -> HttpResponse:
        """The form as it was typed, with what a preview found, if there is one."""
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
            "preview_words": _touched_words(preview) if preview else "",
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
        ("How it is told", {"fields": ["ceiling", "confidence", "expires_at"]}),
    ]


@admin.register(GuidanceInsight)
class GuidanceInsightAdmin(CuratedAdmin):
    """Insights of files and of operators: how to advise well."""

    form = InsightForm
    fieldsets = [
        (None, {"fields": ["title", "text", "polarity"]}),
        ("What it is about", {"fields": ["tool", "suggestion_type", "phase"]}),
        ("How it is told", {"fields": ["ceiling", "confidence", "expires_at"]}),
    ]


def _touched_words(preview: Preview) -> str:
    """What a preview comes to: "12 of the last 4,301 calls (10 note, 2 whisper)"."""
    levels = ", ".join(f"{times} {level.value}" for level, times in preview.levels.items())
    calls = f"{preview.touched} of the last {preview.looked_at:,} calls"
    return f"{calls} ({levels})" if levels else calls
