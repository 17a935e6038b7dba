"""Readers for operators: accounts to look after, and the tokens that act for them."""

from typing import TYPE_CHECKING, Any

from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import Model
from django.http import HttpRequest

from digest.models import ApiToken, Reader
from digest.selectors.readers import operators_without
from ranking.readonly import OperatorAdmin, ReadOnlyAdmin

if TYPE_CHECKING:  # generic in the stubs only
    _UserAdmin = UserAdmin[Reader]
else:
    _UserAdmin = UserAdmin


@admin.register(Reader)
class ReaderAdmin(OperatorAdmin, _UserAdmin):
    """Accounts, with what a digest needs to know of them."""

    list_display = [
        "username",
        "email",
        "id",
        "time_zone",
        "ai_enabled",
        "is_active",
        "is_staff",
        "last_login",
    ]
    list_filter = ["is_active", "is_staff", "ai_enabled", "mail_rhythm"]
    ordering = ["username"]
    readonly_fields = ["id", "last_login", "date_joined", "welcomed_at"]
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        (
            "Digest",
            {
                "fields": [
                    "id",
                    "time_zone",
                    "ai_enabled",
                    "peers_enabled",
                    "suggestions_enabled",
                    "welcomed_at",
                ]
            },
        ),
        ("Mail", {"fields": ["mail_rhythm", "mail_hour", "mail_weekday"]}),
    )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """A reader's records go with the reader, although nobody may delete one by itself; the last operators
        do not go together."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        going = list(objs)
        if any(reader.is_superuser for reader in going) and not operators_without(readers=going):
            protected = [*protected, "the only operator"]
        return listed, counts, set(), protected


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Whose scripts may do what. An operator can take a token away, and cannot use one."""

    list_display = ["reader", "name", "hint", "scope", "created_at", "expires_at", "last_used_at"]
    list_filter = ["scope"]
    list_select_related = ["reader"]
    exclude = ["digest"]
    search_fields = ["reader__username", "name", "hint"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whoever may delete tokens may revoke them here."""
        return request.user.has_perm("digest.delete_apitoken")


# The library's own page shows the key itself, with which anybody could make codes.
admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnlyAdmin, OperatorAdmin):
    """Second factors and recovery codes, to be deleted for a reader who lost the phone. Never their keys."""

    list_display = ["user", "type", "created_at", "last_used_at"]
    list_filter = ["type"]
    list_select_related = ["user"]
    exclude = ["data"]
    search_fields = ["user__username", "user__email"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whoever may delete them may help a reader in."""
        return request.user.has_perm("mfa.delete_authenticator")
