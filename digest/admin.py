"""The admin pages of the digest room: feeds and their health, sources and their moves, readers, ledgers."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.html import format_html

from digest.account_admin import is_below
from digest.accounts.invitations import VALID, invitation_issue
from digest.accounts.services import reader_delete
from digest.errors import DigestError
from digest.feeds.health import QUIET_AFTER, FeedCondition, feed_condition
from digest.feeds.identity import SOURCE_KEY_MAX_CHARS
from digest.feeds.selectors import feed_facts, in_trouble, is_read
from digest.feeds.services import SourceMove, feeds_check, feeds_pause, source_move, source_move_plan
from digest.items.search import items_with_words
from digest.models import (
    ApiToken,
    Delivery,
    Digest,
    Feed,
    Feedback,
    FeedbackTag,
    Impression,
    Invitation,
    Item,
    Notification,
    Reader,
    ReasonTag,
    Source,
    Spend,
    SpendRefusal,
    Subscription,
    SuggestedReasons,
    Summary,
)
from digest.requests import operators_remain
from ranking.common.admin import OperatorAdmin, OperatorInline, ReadOnlyAdmin, recent_days, recent_values
from ranking.selectors import key_current


@admin.register(Subscription)
class SubscriptionAdmin(OperatorAdmin):
    """Readers' feeds."""

    list_display = ["reader", "feed", "created_at"]
    list_select_related = ["reader", "feed"]
    raw_id_fields = ["reader", "feed"]
    search_fields = ["reader", "feed__url"]


@admin.register(Item)
class ItemAdmin(OperatorAdmin):
    """Items as they were ingested."""

    list_display = ["title", "source", "dated_at", "first_seen_at", "language"]
    list_select_related = ["source"]
    raw_id_fields = ["source"]
    # This only shows the search field. `get_search_results` does the search.
    search_fields = ["url"]
    search_help_text = "Words in title or text, or the beginning of an address."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Item], search_term: str
    ) -> tuple[QuerySet[Item], bool]:
        """Search the readers' full-text index. Scanning all titles takes seconds at a million items."""
        if not search_term or "://" in search_term:
            return super().get_search_results(request, queryset, search_term)
        return queryset & items_with_words(query=search_term), False


class ImpressionInline(ReadOnlyAdmin, OperatorInline):
    """The items of a digest by rank."""

    model = Impression
    fields = ["rank", "item", "score", "parts", "propensity"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Impression]:
        """Return the impressions with their items."""
        return super().get_queryset(request).select_related("item")


@admin.register(Digest)
class DigestAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Digests with their impressions."""

    list_display = ["reader", "date", "config_version", "built_at"]
    list_select_related = ["reader"]
    inlines = [ImpressionInline]
    search_fields = ["reader"]


class FeedbackTagInline(ReadOnlyAdmin, OperatorInline):
    """The reasons of a rating."""

    model = FeedbackTag


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Readers' ratings."""

    list_display = ["reader", "item", "useful", "has_reason", "origin", "at"]
    list_filter = ["useful", "has_reason", "origin"]
    list_select_related = ["reader", "item"]
    inlines = [FeedbackTagInline]
    search_fields = ["reader"]


@admin.register(ReasonTag)
class ReasonTagAdmin(OperatorAdmin):
    """The taxonomy of reasons. A tag's synonyms are its other spellings."""

    list_display = ["slug", "label", "kind", "position"]
    ordering = ["kind", "position"]
    list_filter = ["kind"]


@admin.register(Spend)
class SpendAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The ledger of model spend."""

    list_display = ["created_at", "surface", "purpose", "model", "reserved_usd", "settled_usd"]
    list_display += ["reader", "run_id"]
    list_filter = [recent_days("created_at"), "surface", recent_values("purpose")]
    list_select_related = ["reader"]


@admin.register(Summary)
class SummaryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Summaries with their citations, repairs and refusals."""

    list_display = ["created_at", "model", "repaired", "refusal", "cost_usd", "text"]
    list_filter = [recent_values("model"), "repaired", "refusal"]
    search_fields = ["fingerprint"]


@admin.register(SuggestedReasons)
class SuggestedReasonsAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Suggested reasons as they were stored."""

    list_display = ["created_at", "model", "__str__"]
    list_filter = [recent_values("model")]
    search_fields = ["fingerprint"]


@admin.register(SpendRefusal)
class SpendRefusalAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Model calls that a spending cap prevented."""

    list_display = ["created_at", "surface", "purpose", "code", "model", "asked_usd", "reader", "run_id"]
    list_filter = ["surface", recent_values("purpose"), recent_values("code")]
    list_select_related = ["reader"]


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Mails with their status, and the mail server's message for failed ones."""

    list_display = ["date", "reader", "status", "attempts", "items", "error", "sent_at"]
    list_filter = ["status"]
    list_select_related = ["reader"]
    search_fields = ["reader"]


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Notifications with their status and failure code. Their content is hidden: it belongs to the reader."""

    list_display = ["created_at", "reader", "destination", "status", "attempts", "code", "sent_at"]
    list_filter = ["status", "destination__kind"]
    list_select_related = ["reader", "destination"]
    exclude = ["news", "uid"]
    search_fields = ["reader"]


_HEALTHY = Q(state=Feed.State.ACTIVE, failures=0, last_fetched_at__isnull=False)
# The conditions of `feed_condition`, as database filters.
CONDITIONS: dict[FeedCondition, Callable[[datetime], Q]] = {
    FeedCondition.FAILING: lambda now: Q(state=Feed.State.ACTIVE, failures__gt=0),
    FeedCondition.GONE: lambda now: Q(state=Feed.State.GONE),
    FeedCondition.REFUSED: lambda now: Q(state=Feed.State.REFUSED),
    FeedCondition.QUIET: lambda now: _HEALTHY & Q(last_new_at__lt=now - QUIET_AFTER),
    FeedCondition.NEW: lambda now: Q(state=Feed.State.ACTIVE, failures=0, last_fetched_at=None),
    FeedCondition.PAUSED: lambda now: Q(state=Feed.State.PAUSED),
    FeedCondition.IMPORTED: lambda now: Q(state=Feed.State.IMPORTED),
    FeedCondition.WAITING: lambda now: Q(state=Feed.State.WAITING),
    FeedCondition.FINE: lambda now: _HEALTHY & (Q(last_new_at=None) | Q(last_new_at__gte=now - QUIET_AFTER)),
}


# What readers' pages and the admin's first page count.
TROUBLE = "trouble"


class ConditionFilter(admin.SimpleListFilter):
    """Feeds by condition."""

    title, parameter_name = "condition", "condition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return those in trouble, then every condition, the worst first."""
        return [(TROUBLE, "in trouble"), *((condition.value, condition.value) for condition in CONDITIONS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Return the feeds in the chosen condition."""
        chosen = self.value()
        if chosen == TROUBLE:
            return queryset.filter(in_trouble(), is_read())
        if chosen not in set(CONDITIONS):
            return queryset
        return queryset.filter(CONDITIONS[FeedCondition(chosen)](timezone.now()))


class ErrorFilter(admin.SimpleListFilter):
    """Feeds by the error of their last fetch."""

    title, parameter_name = "error", "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return every error code of some feed, with its label."""
        failing = Feed.objects.exclude(error_code="").order_by("error_code")
        codes = failing.values_list("error_code", flat=True).distinct()
        return [(code, code.replace("_", " ")) for code in codes]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Return the feeds with the chosen code."""
        return queryset.filter(error_code=self.value()) if self.value() else queryset


@admin.register(Feed)
class FeedAdmin(OperatorAdmin):
    """Feeds and their fetches."""

    list_display = ["url", "source", "condition", "failures", "error_message", "last_fetched_at"]
    list_display += ["last_new_at", "check_minutes", "next_check", "owner"]
    list_filter = [ConditionFilter, ErrorFilter, ("owner", admin.EmptyFieldListFilter)]
    list_select_related = ["source", "owner"]
    raw_id_fields = ["source", "owner"]
    # The address of a private feed is its owner's own affair. No admin page shows its credentials.
    exclude = ["own_address"]
    readonly_fields = ["owner"]
    search_fields = ["url", "source", "title"]
    actions = ["check_soon", "pause", "resume"]

    @admin.display(description="condition")
    def condition(self, feed: Feed) -> str:
        """Return the feed's condition in a word."""
        return feed_condition(feed_facts(feed), now=timezone.now()).value

    @admin.display(description="next check", ordering="next_check_at")
    def next_check(self, feed: Feed) -> datetime | None:
        """Return when an active feed is fetched next; `None` for all others."""
        return feed.next_check_at if feed.state == Feed.State.ACTIVE else None

    @admin.action(
        description="Fetch the chosen feeds at the next round, given-up ones too, paused ones not",
        permissions=["change"],
    )
    def check_soon(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Make the chosen feeds due, except paused ones, because there was a reason to pause them."""
        rows = list(queryset.values_list("pk", "state"))
        unpaused = [pk for pk, state in rows if state != Feed.State.PAUSED]
        if due := feeds_check(feed_ids=unpaused, now=timezone.now()):
            self.message_user(request, f"{_feeds(due)} asked at the next round.", messages.SUCCESS)
        if paused := len(rows) - len(unpaused):
            text = f"{_feeds(paused)} still paused; “Resume the chosen feeds” takes paused ones up again."
            self.message_user(request, text, messages.WARNING)
        if imported := len(unpaused) - due:
            text = f"{_feeds(imported)} not asked: imported from a file, without an address."
            self.message_user(request, text, messages.WARNING)

    @admin.action(description="Pause the chosen feeds", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Stop fetching the chosen feeds."""
        paused = feeds_pause(feed_ids=list(queryset.values_list("pk", flat=True)))
        self.message_user(request, f"{_feeds(paused)} paused now.", messages.SUCCESS)

    @admin.action(description="Resume the chosen feeds", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Make the paused feeds among the chosen ones due at the next fetch batch."""
        paused = queryset.filter(state=Feed.State.PAUSED).values_list("pk", flat=True)
        resumed = feeds_check(feed_ids=list(paused), now=timezone.now())
        self.message_user(request, f"{_feeds(resumed)} taken up at the next round.", messages.SUCCESS)


def _feeds(count: int) -> str:
    return "1 feed is" if count == 1 else f"{count} feeds are"


READING = ("time_zone", "language", "ai_enabled", "peers_enabled", "suggestions_enabled")
RECORD = ("id", "last_login", "date_joined", "welcomed_at")
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


class ReaderForm(UserChangeForm):  # type: ignore[type-arg]
    """The form of a reader's page, in the words of the readers' own pages."""

    language = forms.ChoiceField(
        required=False, choices=[("", "the browser’s; English in mails"), *settings.LANGUAGES]
    )
    mail_hour = forms.TypedChoiceField(
        coerce=int,
        label="Mail at",
        choices=[(hour, f"{hour:02}:00") for hour in range(24)],
        help_text="In the reader’s time zone.",
    )
    mail_weekday = forms.TypedChoiceField(
        coerce=int, label="Day of a weekly mail", choices=[*WEEKDAYS.items()]
    )

    class Meta(UserChangeForm.Meta):
        model = Reader
        labels = {
            "is_active": "May sign in",
            "ai_enabled": "Models may read this reader’s texts",
            "peers_enabled": "Learns from other readers, and they from this one",
            "suggestions_enabled": "Gets suggestions",
            "mail_rhythm": "Mail",
            "is_staff": "Operator: may open these pages",
            "is_superuser": "Has all rights",
            "user_permissions": "Single rights",
        }
        help_texts = {
            "is_active": "Switch this off instead of deleting an account.",
            "is_staff": "",
            "is_superuser": "Without naming them one by one.",
        }


if TYPE_CHECKING:  # generic in the stubs only
    _UserAdmin = UserAdmin[Reader]
else:
    _UserAdmin = UserAdmin


@admin.register(Reader)
class ReaderAdmin(OperatorAdmin, _UserAdmin):
    """Accounts, with their settings for digest and mail."""

    list_display = [
        "username",
        "email",
        "time_zone",
        "ai_enabled",
        "is_active",
        "is_staff",
        "last_login",
        "id",
    ]
    list_filter = ["is_active", "is_staff", "ai_enabled", "mail_rhythm"]
    ordering = ["username"]
    search_fields = ["username", "email"]
    readonly_fields = [*RECORD]
    form = ReaderForm
    fieldsets = (
        (None, {"fields": ["username", "email", "password", "is_active"]}),
        ("Reading", {"fields": READING}),
        ("Mail", {"fields": ["mail_rhythm", "mail_hour", "mail_weekday"]}),
        ("Rights", {"fields": RIGHTS, "classes": ["collapse"]}),
        ("Record", {"fields": RECORD, "classes": ["collapse"]}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Reader | None = None) -> list[str]:
        """Let only operators with all rights give any."""
        return [*self.readonly_fields, *(() if request.user.is_superuser else RIGHTS)]

    def has_change_permission(self, request: HttpRequest, obj: Reader | None = None) -> bool:
        """Let only operators with all rights change others of the staff, their passwords too."""
        return super().has_change_permission(request, obj) and is_below(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Reader | None = None) -> bool:
        """Let only operators with all rights delete others of the staff."""
        return super().has_delete_permission(request, obj) and is_below(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """Allow deleting readers with all their records, but never the last operator."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        readers = list(objs)
        if any(reader.is_superuser for reader in readers) and not operators_remain(readers=readers):
            protected = [*protected, "the only operator"]
        if not all(is_below(request, reader) for reader in readers):
            protected = [*protected, "others of the staff"]
        return listed, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Reader) -> None:
        """Delete a reader exactly as the reader could, including summaries of their private feeds."""
        reader_delete(reader=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Reader]) -> None:
        """Delete each chosen reader as `delete_model` does."""
        for reader in queryset:
            reader_delete(reader=reader)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Personal tokens. An operator can revoke a token but cannot use it."""

    list_display = ["reader", "name", "hint", "scope", "created_at", "expires_at", "last_used_at"]
    list_filter = ["scope"]
    list_select_related = ["reader"]
    exclude = ["digest"]
    search_fields = ["reader", "name", "hint"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow operators with the permission to revoke a token."""
        return request.user.has_perm("digest.delete_apitoken")


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new invitation: the invited person, and its number of days."""

    days = forms.IntegerField(min_value=1, max_value=90, initial=VALID.days, help_text="Days until it ends.")

    class Meta:
        model = Invitation
        fields = ["note"]


SHOWN_ONCE = (
    'This link is for one person and is shown only now: <code id="invitation-link">{}</code> '
    '<button type="button" data-copy="invitation-link" data-copied="Copied" hidden>Copy</button>'
)


@admin.register(Invitation)
class InvitationAdmin(OperatorAdmin):
    """Invitations to sign up (`SIGNUP=invite`). The link is shown once. Delete an invitation to revoke it."""

    form = InvitationForm
    list_display = ["note", "created_at", "expires_at", "used_at", "reader"]
    list_select_related = ["reader"]
    search_fields = ["note", "reader"]

    class Media:
        js = [Script("copy.js", type="module")]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow no changes: an invitation is made or revoked."""
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Create the invitation and show its link to the operator, once."""
        days = timedelta(days=form.cleaned_data["days"])
        row, link = invitation_issue(note=obj.note, now=timezone.now(), valid=days)
        obj.pk = row.pk
        messages.warning(request, format_html(SHOWN_ONCE, link))


class MoveForm(forms.Form):
    """The form for the new key of a source."""

    into = forms.CharField(
        label="New key",
        max_length=SOURCE_KEY_MAX_CHARS,
        help_text="A key that exists joins the two; any other renames this one.",
    )


@admin.register(Source)
class SourceAdmin(OperatorAdmin):
    """Publishers.

    A title is edited in place. Changing a key moves everything that uses it, after confirmation.
    """

    list_display = ["key", "title"]
    ordering = ["key"]
    search_fields = ["key", "title"]

    def get_readonly_fields(self, request: HttpRequest, obj: Source | None = None) -> list[str]:
        """Forbid editing a key in the form: saving it would create a second source."""
        return ["key"] if obj else []

    def get_urls(self) -> list[URLPattern]:
        """Add the page that moves a source. It comes before the admin's own pages, which match any path."""
        move = self.admin_site.admin_view(self.move_view)
        return [path("<path:object_id>/move/", move, name="digest_source_move"), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one source. Redirect to its new key if it was moved."""
        if (key := key_current(key=unquote(object_id))) != unquote(object_id):
            return redirect("admin:digest_source_change", quote(key))
        return super().change_view(request, object_id, form_url, extra_context)

    def move_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the new key, show the effect of the move, and move the source after confirmation."""
        if not (self.has_change_permission(request) and self.has_delete_permission(request)):
            raise PermissionDenied
        source = self.get_object(request, key_current(key=unquote(object_id)))
        if source is None:
            raise Http404("There is no such source.")
        form, plan = MoveForm(request.POST or None), None
        if request.method == "POST" and form.is_valid():
            into = form.cleaned_data["into"]
            try:
                if request.POST.get("confirmed"):
                    return self._report(request, source_move(key=source.pk, into=into, now=timezone.now()))
                plan = source_move_plan(key=source.pk, into=into)
            except DigestError as error:
                form.add_error("into", error.message)
        context: dict[str, Any] = self.admin_site.each_context(request) | {
            "title": f"Move {source.pk}",
            "opts": self.opts,
            "source": source,
            "back": reverse("admin:digest_source_change", args=[quote(source.pk)]),
            "form": form,
            "plan": plan,
        }
        return render(request, "admin/digest/source/move.html", context, status=422 if form.errors else 200)

    def _report(self, request: HttpRequest, move: SourceMove) -> HttpResponse:
        self.log_change(request, Source.objects.get(pk=move.into), f"Took over everything of “{move.key}”.")
        counts = ((move.feeds, "feed"), (move.items, "item"), (move.configs, "setting"))
        moved = ", ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
        messages.success(request, f"“{move.key}” is now “{move.into}”: {moved}.")
        return redirect(f"{reverse('admin:digest_source_changelist')}?{urlencode({'q': move.into})}")
