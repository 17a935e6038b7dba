"""The bases of every room's admin: quick lists, and records that nobody changes by hand."""

from datetime import timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.models import AbstractUser
from django.core.paginator import Paginator
from django.db.models import DateTimeField, ForeignObject, Model, Q, QuerySet, UUIDField
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import smart_split, unescape_string_literal

if TYPE_CHECKING:  # django-stubs makes these generic, Django does not.
    _ModelAdmin = admin.ModelAdmin[Any]
    _TabularInline = admin.TabularInline[Any, Any]
    _Paginator = Paginator[Any]
else:
    _ModelAdmin, _TabularInline = admin.ModelAdmin, admin.TabularInline
    _Paginator = Paginator

# A list shows this many rows at most; search and filters reach the others.
NEWEST = 10_000
# The values of a column that is no choice are those of its newest rows.
RECENT_ROWS = 2_000
# Rows that a search names by their keys; beyond that they are looked for in the same query.
NAMED = 100
# Rows up to which every part of a column is searched: to read and fold a million takes seconds.
WHOLE = 100_000


class NamedDateTime(AdminSplitDateTime):
    """The admin's day and hour, each with a label for screen readers."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        for widget, name in zip(self.widgets, ("Date", "Time"), strict=True):
            widget.attrs["aria-label"] = name


class NewestPaginator(_Paginator):
    """Pages through the first rows of a list, without counting all there are."""

    @cached_property
    def found(self) -> list[Any]:
        """Return the keys of up to 10,000 rows, in no order."""
        rows = cast("QuerySet[Any]", self.object_list)
        return list(rows.order_by().values_list("pk", flat=True)[:NEWEST])

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, up to 10,000."""
        return len(self.found)


class QuickChangeList(ChangeList):
    """A list that queries its rows once: where they fit on a page, counting has found them already."""

    def get_results(self, request: HttpRequest) -> None:
        """Page through the rows; take those of a single page by the keys that counting found."""
        super().get_results(request)
        if self.result_count <= self.list_per_page:
            self.result_list = self.queryset.filter(pk__in=cast("NewestPaginator", self.paginator).found)


def recent_values(column: str) -> type[admin.SimpleListFilter]:
    """Return a filter over the values that the newest 2,000 rows of a list have in `column`.

    Django's own filter over a column without choices reads the whole table.
    """

    class RecentValuesFilter(admin.SimpleListFilter):
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            rows = model_admin.model._default_manager.order_by(*model_admin.ordering)
            values = {str(value) for value in rows.values_list(column, flat=True)[:RECENT_ROWS]}
            values = (values | {self.value() or ""}) - {""}
            return [(value, value.replace("_", " ")) for value in sorted(values)]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{column: self.value()}) if self.value() else queryset

    RecentValuesFilter.title = column.replace("_", " ")
    return RecentValuesFilter


def lately(column: str) -> type[admin.SimpleListFilter]:
    """Return a filter by time over `column`, an indexed moment."""

    class LatelyFilter(admin.SimpleListFilter):
        title, parameter_name = "time", "lately"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [("1", "last 24 hours"), ("7", "last 7 days"), ("30", "last 30 days")]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            days = {"1": 1, "7": 7, "30": 30}.get(self.value() or "")
            since = timezone.now() - timedelta(days=days or 0)
            return queryset.filter(**{f"{column}__gt": since}) if days else queryset

    return LatelyFilter


def _among(name: str, related: type[Model], inner: Q | None) -> Q | None:
    """Return the condition that `name` is one of the rows with `inner`; `None` where there are none.

    A few are named, which leads PostgreSQL to an index.
    """
    if inner is None:
        return None
    rows = related._default_manager.filter(inner).order_by().values_list("pk", flat=True)
    found = list(rows[: NAMED + 1])
    return Q(**{f"{name}__in": found if len(found) <= NAMED else rows}) if found else None


def has_word(model: type[Model], path: str, word: str) -> Q | None:
    """Return the condition that `path` of `model` has `word` in it; `None` where none can.

    Of tables with more than `WHOLE` rows, that it begins with it, capital letters as they are, which an index
    finds. Identifiers are compared in full, and what is reached through other rows is looked for among those:
    a join would read all rows before it compares any.
    """
    name, _, rest = path.partition("__")
    field = model._meta.get_field(name)
    if isinstance(field, ForeignObject):
        related = field.related_model
        rest = rest or ("username" if issubclass(related, AbstractUser) else "")
        if rest:
            return _among(name, related, has_word(related, rest, word))
        field = related._meta.pk
        name = f"{name}__{field.name}"
    if isinstance(field, UUIDField):
        try:
            return Q(**{name: UUID(word)})
        except ValueError:
            return None
    many = model._default_manager.order_by("pk").values("pk")[WHOLE : WHOLE + 1].exists()
    return Q(**{f"{name}__{'startswith' if many else 'icontains'}": word})


class OperatorAdmin(_ModelAdmin):
    """A list that stays quick however many rows there are: newest first, never counted as a whole.

    A search finds what has each of its words in one of `search_fields` (`has_word`).
    """

    ordering = ["-pk"]
    paginator = NewestPaginator
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    search_help_text = (
        f"A part of it; among more than {WHOLE:,} rows how it begins, as spelt; an identifier as a whole."
    )
    formfield_overrides = {DateTimeField: {"form_class": forms.SplitDateTimeField, "widget": NamedDateTime}}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the class of the list."""
        return QuickChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows with each word of `search_term` in one of the columns, each row once."""
        for bit in smart_split(search_term):
            word = unescape_string_literal(bit) if bit[:1] in "\"'" and bit[:1] == bit[-1:] else bit
            found = [has_word(self.model, path, word) for path in self.search_fields]
            conditions = [condition for condition in found if condition is not None]
            queryset = queryset.filter(reduce(or_, conditions)) if conditions else queryset.none()
        return queryset, False


class ContextAdmin(OperatorAdmin):
    """An admin whose page of a row shows more than the row's own fields."""

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the template gets beside the row; `row` is `None` where there is no such row."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one row with what `row_context` returns."""
        more = self.row_context(request, self.get_object(request, object_id))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **more})


class OperatorInline(_TabularInline):
    """Rows shown with the row they belong to."""

    extra = 0


class ReadOnlyAdmin:
    """Rows to be read, never changed by hand. Mix in before `OperatorAdmin` or `OperatorInline`."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: nobody adds a record by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: nobody changes a record."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: a record is deleted with its reader."""
        return False
