"""The admin pages of the digest room but for feeds and sources: items, digests, readers, ledgers."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.db.models import Model, QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.html import format_html
from django.utils.safestring import SafeString

from digest.account_admin import is_below
from digest.accounts.invitations import LOCAL_HOSTS, VALID, invitation_issue
from digest.accounts.services import reader_delete
from digest.feed_admin import feed_named
from digest.items.search import items_with_words
from digest.models import (
    ApiToken,
    Delivery,
    Digest,
    Feedback,
    FeedbackTag,
    Impression,
    Invitation,
    Item,
    Notification,
    Reader,
    ReasonTag,
    Spend,
    SpendRefusal,
    Subscription,
    SuggestedReasons,
    Summary,
)
from digest.requests import operators_remain
from ranking.common.admin import OperatorAdmin, OperatorInline, ReadOnlyAdmin, recent_days, recent_values


@admin.register(Subscription)
class SubscriptionAdmin(OperatorAdmin):
    """Readers' feeds."""

    list_display = ["reader", "of", "created_at"]
    list_select_related = ["reader", "feed__source"]
    raw_id_fields = ["reader", "feed"]
    search_fields = ["reader", "feed__url"]

    @admin.display(description="feed", ordering="feed")
    def of(self, row: Subscription) -> SafeString:
        """Return the feed's title, address and number."""
        return feed_named(row.feed)


@admin.register(Item)
class ItemAdmin(OperatorAdmin):
    """Items as they were ingested."""

    list_display = ["title", "source", "dated_at", "first_seen_at", "language"]
    list_select_related = ["source"]
    raw_id_fields = ["source", "feed", "story"]
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
    """A new invitation: the invited person, who invites, and its number of days."""

    days = forms.IntegerField(min_value=1, max_value=90, initial=VALID.days, help_text="Days until it ends.")

    class Meta:
        model = Invitation
        fields = ["note", "invited_by"]


SHOWN_ONCE = (
    'This link is for one person and is shown only now: <code id="invitation-link">{}</code> '
    '<button type="button" data-copy="invitation-link" data-copied="Copied" hidden>Copy</button>'
)
LOCAL_LINK = "This link works on this machine alone. Set SITE_URL to the address that readers use."
SIGNUP_WORDS = {
    "open": "SIGNUP=open: anybody may sign up anyway, without an invitation.",
    "closed": "SIGNUP=closed: nobody may sign up, with an invitation neither.",
}


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

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the operator's own name for a new invitation."""
        return {"invited_by": request.user.get_username()}

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Show the invitations, and say if the setting makes them useless."""
        _signup_say(request)
        return super().changelist_view(request, *args, **options)

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Show the form of a new invitation, and say if the setting makes it useless."""
        _signup_say(request)
        return super().add_view(request, *args, **options)

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Create the invitation and show its link to the operator, once.

        If SITE_URL names this machine alone, the link leads to the address that the operator came to.
        """
        days = timedelta(days=form.cleaned_data["days"])
        row, link = invitation_issue(note=obj.note, now=timezone.now(), valid=days, invited_by=obj.invited_by)
        obj.pk = row.pk
        if urlsplit(link).hostname in LOCAL_HOSTS:
            link = request.build_absolute_uri(urlsplit(link).path)
        messages.warning(request, format_html(SHOWN_ONCE, link))
        if urlsplit(link).hostname in LOCAL_HOSTS:
            messages.warning(request, LOCAL_LINK)


def _signup_say(request: HttpRequest) -> None:
    if request.method == "GET" and settings.SIGNUP in SIGNUP_WORDS:
        messages.info(request, SIGNUP_WORDS[settings.SIGNUP])
