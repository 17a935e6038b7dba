"""The bases of every room's admin: quick lists, and records that nobody changes by hand."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:  # django-stubs makes these generic, Django does not.
    _ModelAdmin = admin.ModelAdmin[Any]
    _TabularInline = admin.TabularInline[Any, Any]
else:
    _ModelAdmin, _TabularInline = admin.ModelAdmin, admin.TabularInline


class OperatorAdmin(_ModelAdmin):
    """A list that stays quick however many rows there are: newest first, never counted as a whole."""

    ordering = ["-pk"]
    show_full_result_count = False


class ContextAdmin(OperatorAdmin):
    """One whose page of a row shows more than the row's own fields."""

    def beside(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the template gets besides; `row` is `None` where there is no such row."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one row with what stands `beside` it."""
        more = self.beside(request, self.get_object(request, object_id))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **more})


class OperatorInline(_TabularInline):
    """Rows shown with the row they belong to."""

    extra = 0


class ReadOnlyAdmin:
    """Mix in before `OperatorAdmin` or `OperatorInline`: to be looked at, never changed by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody adds a record by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody changes a record."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody deletes a record; it goes with its reader."""
        return False
