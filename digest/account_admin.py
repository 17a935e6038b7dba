"""The admin pages of what opens an account: addresses, second factors, providers, assistants, and groups.

A member of the staff may help readers by these rows, but never gets into the account of another member of the
staff by them. Only operators with all rights can do that, or give rights.
"""

from typing import Any

import allauth.account.admin
import allauth.idp.oidc.admin
import allauth.mfa.admin  # these register what is replaced below
from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client, Token
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group
from django.db.models import ForeignKey, Model, Q, QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest

from digest.models import Reader
from ranking.common.admin import OperatorAdmin, ReadOnlyAdmin


def is_below(request: HttpRequest, reader: Reader | None) -> bool:
    """Return whether who asks has as many rights as `reader`. Somebody may always change themselves."""
    return bool(reader is None or request.user.is_superuser or not reader.is_staff or reader == request.user)


def owners_below(request: HttpRequest) -> Q:
    """Return the condition that the owner of a row (`user`) is below who asks."""
    return Q() if request.user.is_superuser else Q(user__is_staff=False) | Q(user=request.user.pk)


class AccountRowAdmin(OperatorAdmin):
    """Rows that open the account of their `user`: they follow the rights over that account."""

    list_select_related = ["user"]
    raw_id_fields = ["user"]
    search_fields = ["user"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let only operators with all rights change rows of others of the staff."""
        return super().has_change_permission(request, obj) and is_below(request, obj and obj.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let only operators with all rights delete rows of others of the staff."""
        return super().has_delete_permission(request, obj) and is_below(request, obj and obj.user)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """Return what is deleted with `objs`. Rows of others of the staff are protected."""
        listed, counts, needed, protected = super().get_deleted_objects(objs, request)
        if not all(is_below(request, one.user) for one in objs):
            protected = [*protected, "rows of others of the staff"]
        return listed, counts, needed, protected

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> "ModelChoiceField[Any] | None":
        """Return the field of a form. It takes no row for an account of others of the staff."""
        if db_field.name == "user" and not request.user.is_superuser:
            below = Q(is_staff=False) | Q(pk=request.user.pk)
            kwargs["queryset"] = Reader.objects.filter(below)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class DeletedOnlyAdmin(ReadOnlyAdmin, AccountRowAdmin):
    """Rows that operators look at, and delete to take back what they open."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow operators with the permission to delete a row, as in `AccountRowAdmin`."""
        return AccountRowAdmin.has_delete_permission(self, request, obj)


for replaced in (EmailAddress, Authenticator, Client, Token, Group):
    admin.site.unregister(replaced)


@admin.register(EmailAddress)
class EmailAddressAdmin(AccountRowAdmin, allauth.account.admin.EmailAddressAdmin):  # type: ignore[misc]
    """Mail addresses. A confirmed one opens an account, by a link for a new password or by a provider."""

    search_fields = ["email", "user"]
    actions = ["make_verified"]

    def make_verified(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Confirm the chosen addresses, except those of others of the staff."""
        super().make_verified(request, queryset.filter(owners_below(request)))

    make_verified.short_description = "Confirm the chosen addresses"  # type: ignore[attr-defined]
    make_verified.allowed_permissions = ("change",)  # type: ignore[attr-defined]


@admin.register(Authenticator)
class AuthenticatorAdmin(DeletedOnlyAdmin):
    """Second factors and recovery codes, without their keys. Delete one for a reader who lost the phone."""

    list_display = ["user", "type", "created_at", "last_used_at"]
    list_filter = ["type"]
    exclude = ["data"]
    search_fields = ["user__username", "user__email"]


@admin.register(Token)
class AssistantTokenAdmin(DeletedOnlyAdmin):
    """What readers allowed their assistants. Delete a token to take that back."""

    list_display = ["client", "type", "user", "created_at", "expires_at"]
    list_filter = ["type"]
    list_select_related = ["user", "client"]
    exclude = ["hash", "data"]


@admin.register(Client)
class AssistantAdmin(ReadOnlyAdmin, OperatorAdmin):
    """The assistants that registered themselves. Deleting one disconnects it from all its readers."""

    list_display = ["name", "id", "created_at"]
    ordering = ["-created_at"]
    exclude = ["secret", "data"]
    search_fields = ["name", "id"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow operators with the permission to delete a client."""
        return request.user.has_perm("allauth_idp_oidc.delete_client")


@admin.register(Group)
class RightsAdmin(GroupAdmin):
    """Groups of permissions. Only operators with all rights can change one, because it gives rights."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let only operators with all rights make a group."""
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Let only operators with all rights change a group."""
        return request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Let only operators with all rights delete a group."""
        return request.user.is_superuser


if settings.OIDC_ISSUER:  # else the library's tables do not exist
    from allauth.socialaccount import admin as _library  # noqa: F401  # registers what is replaced
    from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken

    # The provider is in the settings: another one could name any reader. No token of it is stored.
    for replaced in (SocialAccount, SocialApp, SocialToken):
        admin.site.unregister(replaced)

    @admin.register(SocialAccount)
    class ProviderAccountAdmin(DeletedOnlyAdmin):
        """Accounts at the provider that sign readers in. Delete one to disconnect it."""

        list_display = ["user", "uid", "provider", "last_login"]
        exclude = ["extra_data"]
        search_fields = ["uid", "user"]
