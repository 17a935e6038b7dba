"""Operators' admin of suggestions, outcomes and profiles: read only, but drafts can be settled."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ranking.common.admin import Fact, FactsAdmin, OperatorAdmin, OperatorInline, ReadOnlyAdmin
from suggestions.models import (
    Evidence,
    Outcome,
    OutcomeArchive,
    PreferenceProfile,
    Question,
    Suggestion,
    UntakenVerdict,
)
from suggestions.notes import PROBLEMS, note_shown
from suggestions.outcomes.check import decisions_unchecked
from suggestions.proposals import NEVER, Refusal
from suggestions.sentences import headline, measured_words, reason_shown, sentence, weight_step
from suggestions.services.drafts import draft_discard, draft_release

# Functions by which rooms above add HTML to the page of a suggestion.
EXTRA_PANELS: list[Callable[[Suggestion], SafeString]] = []
MAY_SETTLE = "suggestions.change_suggestion"


def run_href(row: Suggestion) -> str:
    """Return the address of the admin's page of the run that made a suggestion, or "" if there is none."""
    try:
        return reverse("admin:advisor_run_change", args=[row.run_id])
    except NoReverseMatch:
        return ""


def run_link(row: Suggestion) -> str:
    """Return a link to the run that made a suggestion, or a dash if there is none."""
    href = run_href(row)
    return format_html('<a href="{}">its run</a>', href) if href else "–"


def outcome_words(row: Outcome) -> str:
    """Return a decision, or the finding of the check two weeks later, in words."""
    if row.kind == Outcome.Kind.EFFECT:
        return f"{row.get_outcome_display()}. {measured_words(row.measured)}".strip()
    chosen = f", with {row.edited_value} instead" if row.edited_value else ""
    return f"{row.get_outcome_display()}{chosen}"


def reader_reason(row: Outcome) -> str:
    """Return why the reader decided so, in their own words; "never again" if they said that."""
    return "never again" if row.user_reason == NEVER else row.user_reason


def change_words(row: Suggestion) -> str:
    """Return a suggestion as its reader reads it: the headline, and what would be different."""
    words = headline(row.suggestion_type, row.label)
    effect = sentence(row.suggestion_type, row.label, row.suggested_value)
    if not effect and row.suggested_value:
        effect = " → ".join(weight_step(row.current_value or "–", row.suggested_value))
    return f"{words}: {effect}" if effect else words


class EvidenceInline(ReadOnlyAdmin, OperatorInline):
    """The rated items behind a suggestion, as copied with it."""

    model = Evidence
    fields = ["title", "url", "source_key", "useful", "reason_tags", "rated_at"]


class OutcomeInline(ReadOnlyAdmin, OperatorInline):
    """The outcomes of a suggestion."""

    model = Outcome
    fields = ["kind", "outcome", "user_reason", "edited_value", "decided_at"]


# What an operator reads about the state of a suggestion.
STATE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        Suggestion.Status.PENDING: "It waits for its reader.",
        Suggestion.Status.ACCEPTED: "Its reader accepted it.",
        Suggestion.Status.REJECTED: "Its reader declined it.",
        Suggestion.Status.SNOOZED: "Its reader put it off.",
        Suggestion.Status.SUPERSEDED: "A later change took its place.",
        Suggestion.Status.EXPIRED: "Its reader did not answer in time.",
        Suggestion.Status.WITHDRAWN: "Its reader rated headlines to check it, and they spoke against it.",
        Suggestion.Status.DRAFT: "Its reviewers disagreed. Release it to its reader, or discard it.",
        Suggestion.Status.DISCARDED: "An operator discarded it.",
        Suggestion.Status.TAKEN_BACK: "Its reader took the answer back. A copy of it waits.",
    }
)


@admin.register(Suggestion)
class SuggestionAdmin(ReadOnlyAdmin, FactsAdmin):
    """All suggestions; a draft can be released or discarded, nothing else can be changed."""

    change_form_template = "admin/suggestions/suggestion/change_form.html"
    WORDED = ("note_state", "likely")
    # The facts above say the rest in words.
    SHOWN = ("reader", "created_at", "expected_impact", "model_note", "note_state")

    list_display = ["proposes", "reader", "likely", "confidence", "status", "created_at", "run"]
    list_filter = ["status", "suggestion_type", "confidence"]
    list_select_related = ["reader"]
    search_fields = ["target_key", "label", "reader"]
    inlines = [EvidenceInline, OutcomeInline]

    @admin.display(description="suggestion", ordering="label")
    def proposes(self, row: Suggestion) -> str:
        """Return the suggestion as its reader reads it."""
        return change_words(row)

    @admin.display(description="run")
    def run(self, row: Suggestion) -> str:
        """Return a link to the run that made the suggestion; a dash if no run is known."""
        return run_link(row)

    @admin.display(description="likely to help", ordering="p_helpful")
    def likely(self, row: Suggestion) -> str:
        """Return the probability that the change helps, in percent."""
        return f"{row.p_helpful:.0%}"

    @admin.display(description="note as shown")
    def note_state(self, row: Suggestion) -> str:
        """Say whether the reader's page shows the model's note, and why not."""
        note = note_shown(row)
        if note.problem:
            return f"Not shown to the reader: {PROBLEMS[note.problem]}."
        return "Shown to the reader as written by a model." if note.text else "There is no note."

    def facts(self, request: HttpRequest, row: Suggestion) -> Iterator[Fact]:
        """Yield the suggestion, its state, the reason its reader is told, decisions about it, and its run.

        One query.
        """
        yield Fact("Suggests", self.proposes(row))
        yield Fact("State", STATE_WORDS[row.status])
        yield Fact("Its reader is told", f"“{reason_shown(row.reason)}”")
        yield Fact("Likely to help", f"{self.likely(row)}, {row.confidence} confidence")
        for outcome in row.outcomes.order_by("pk"):
            yield Fact(outcome.get_kind_display(), outcome_words(outcome))
        if href := run_href(row):
            yield Fact("Made by", "its run", href)

    def get_fieldsets(self, request: HttpRequest, obj: Suggestion | None = None) -> list[Any]:
        """Return what one looks for, and the rest folded, with the probability in percent."""
        fields = ["likely" if name == "p_helpful" else name for name in self.get_fields(request, obj)]
        rest = list(dict.fromkeys(name for name in fields if name not in self.SHOWN))
        return [(None, {"fields": self.SHOWN}), ("As stored", {"fields": rest, "classes": ["collapse"]})]

    def get_readonly_fields(self, request: HttpRequest, obj: Suggestion | None = None) -> list[Any]:
        """Return all fields, because they are all read-only."""
        return [*super().get_readonly_fields(request, obj), *self.WORDED]

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's own URLs, and those that release and discard a draft."""
        settle = [
            path(
                f"<int:suggestion_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"suggestions_suggestion_{name}",
            )
            for name, view in (("release", self.release_view), ("discard", self.discard_view))
        ]
        return [*settle, *super().get_urls()]

    def row_context(self, request: HttpRequest, row: Suggestion | None) -> dict[str, Any]:
        """Return the HTML of other rooms, and whether the draft buttons are shown."""
        return super().row_context(request, row) | {
            "beside": [shown for show in EXTRA_PANELS if (shown := show(row))] if row else [],
            "draft": row and row.status == Suggestion.Status.DRAFT and request.user.has_perm(MAY_SETTLE),
        }

    def release_view(self, request: HttpRequest, suggestion_id: int) -> HttpResponse:
        """POST: make a draft visible to its reader."""
        row = self._draft(request, suggestion_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        refusal = draft_release(
            suggestion_id=row.pk, operator=request.user.get_username(), now=timezone.now()
        )
        return self._show_result(request, row, "Released to its reader.", refusal)

    def discard_view(self, request: HttpRequest, suggestion_id: int) -> HttpResponse:
        """GET: ask for confirmation. POST: discard a draft for good."""
        row = self._draft(request, suggestion_id)
        if request.method != "POST":
            context = {**self.admin_site.each_context(request), "title": "Discard this draft?", "row": row}
            return TemplateResponse(request, "admin/suggestions/suggestion/discard.html", context)
        refusal = draft_discard(
            suggestion_id=row.pk, operator=request.user.get_username(), now=timezone.now()
        )
        return self._show_result(request, row, "Discarded.", refusal)

    def _draft(self, request: HttpRequest, suggestion_id: int) -> Suggestion:
        """Return the suggestion to a user who may settle drafts. Raises `PermissionDenied` and `Http404`."""
        if not request.user.has_perm(MAY_SETTLE):
            raise PermissionDenied
        row = Suggestion.objects.filter(pk=suggestion_id).first()
        if row is None:
            raise Http404
        return row

    def _show_result(
        self, request: HttpRequest, row: Suggestion, done: str, refusal: Refusal | None
    ) -> HttpResponseRedirect:
        """Show and log the result, and go back to the suggestion."""
        if refusal is None:
            self.log_change(request, row, done)
            messages.success(request, done)
        else:
            messages.error(request, refusal.message)
        return HttpResponseRedirect(reverse("admin:suggestions_suggestion_change", args=[row.pk]))


class WaitingFilter(admin.SimpleListFilter):
    """Accepted changes whose outcome is due to be checked."""

    title, parameter_name = "outcome check", "waiting"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the one choice."""
        return [("due", "due")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Outcome]) -> QuerySet[Outcome]:
        """Return the decisions that the next night checks."""
        if self.value() != "due":
            return queryset
        return queryset.filter(pk__in=decisions_unchecked(now=timezone.now()).values("pk"))


@admin.register(Outcome)
class OutcomeAdmin(ReadOnlyAdmin, FactsAdmin):
    """The append-only record of decisions, effects and reverts."""

    SHOWN = ("reader", "decided_at")

    list_display = ["decided_at", "reader", "about", "what", "reader_words", "run"]
    list_filter = [WaitingFilter, "kind", "outcome", "suggestion_type"]
    list_select_related = ["reader", "suggestion"]
    ordering = ["-pk"]
    search_fields = ["target_key", "reader"]

    def facts(self, request: HttpRequest, row: Outcome) -> Iterator[Fact]:
        """Yield what happened to which suggestion, why, and the run that made it. No query."""
        about = headline(row.suggestion_type, row.suggestion.label or row.target_key)
        yield Fact("About", about, reverse("admin:suggestions_suggestion_change", args=[row.suggestion_id]))
        yield Fact("What happened", outcome_words(row))
        if words := reader_reason(row):
            yield Fact("The reader’s words", f"“{words}”")
        if href := run_href(row.suggestion):
            yield Fact("Made by", "its run", href)

    def get_fieldsets(self, request: HttpRequest, obj: Outcome | None = None) -> list[Any]:
        """Return who decided when, and the rest folded."""
        rest = [name for name in self.get_fields(request, obj) if name not in self.SHOWN]
        return [(None, {"fields": self.SHOWN}), ("As stored", {"fields": rest, "classes": ["collapse"]})]

    @admin.display(description="about", ordering="suggestion__label")
    def about(self, row: Outcome) -> str:
        """Return the suggestion as its reader read it, as a link to it."""
        words = headline(row.suggestion_type, row.suggestion.label or row.target_key)
        href = reverse("admin:suggestions_suggestion_change", args=[row.suggestion_id])
        return format_html('<a href="{}">{}</a>', href, words)

    @admin.display(description="what happened", ordering="outcome")
    def what(self, row: Outcome) -> str:
        """Return the decision, or the finding of the check two weeks later."""
        return outcome_words(row)

    @admin.display(description="reader’s words", ordering="user_reason")
    def reader_words(self, row: Outcome) -> str:
        """Return why the reader decided so, in their own words; "never again" if they said that."""
        return reader_reason(row)

    @admin.display(description="run")
    def run(self, row: Outcome) -> str:
        """Return a link to the run that made the suggestion; a dash if no run is known."""
        return run_link(row.suggestion)


@admin.register(OutcomeArchive)
class OutcomeArchiveAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The configs and evidence that compaction moved out of old outcomes."""

    list_display = ["outcome", "archived_at"]
    list_select_related = ["outcome"]
    search_fields = ["outcome__target_key", "outcome__reader"]


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The questions of runs, in a model's words, and the readers' answers."""

    list_display = ["text", "reader", "answer", "asked_at", "answered_at"]
    list_select_related = ["reader"]
    search_fields = ["text", "reader"]


@admin.register(UntakenVerdict)
class UntakenVerdictAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The would-be effects of refused and expired suggestions."""

    list_display = ["suggestion", "reader", "verdict", "judged_at"]
    list_filter = ["verdict", "suggestion__suggestion_type", "suggestion__status"]
    list_select_related = ["suggestion", "reader"]
    search_fields = ["suggestion__target_key", "reader"]


@admin.register(PreferenceProfile)
class PreferenceProfileAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The summary of each reader's decisions."""

    list_display = ["reader", "total_outcomes", "last_outcome_at", "computed_at"]
    list_select_related = ["reader"]
    search_fields = ["reader"]
