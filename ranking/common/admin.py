"""Base classes for every room's admin: lists that stay fast, and read-only records."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cache, reduce
from operator import or_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth.models import AbstractUser
from django.core.paginator import Paginator
from django.db.models import DateTimeField, Field, FloatField, ForeignObject, Model, Q, QuerySet, UUIDField
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

# The end of the name of each column in dollars, which has six decimals, and the least amount that is shown.
MONEY, SMALLEST = "_usd", Decimal("0.0001")
# Columns of codes that are no choices of a model.
CODES = frozenset(
    ("tool", "suggestion_type", "error_code", "code", "action", "purpose", "phase", "level", "reason")
)
# Before a deletion so many rows of a list are shown.
DELETED_SHOWN = 10
# A list shows this many rows at most. Search and filters reach the others.
NEWEST = 10_000
# The filter over a column without choices offers the values of this many newest rows.
RECENT_ROWS = 2_000
# Up to this many related rows go into a query by their keys. More are found by a subquery.
NAMED = 100
# Up to this many rows a search looks inside texts. In a million rows that takes seconds.
WHOLE = 100_000


class NamedDateTime(AdminSplitDateTime):
    """The admin's fields for date and time, each with a label for screen readers."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        for widget, name in zip(self.widgets, ("Date", "Time"), strict=True):
            widget.attrs["aria-label"] = name


class NewestPaginator(_Paginator):
    """Page through the first 10,000 rows of a list, without counting all rows."""

    @cached_property
    def found(self) -> list[Any]:
        """Return the keys of up to 10,000 rows, in any order."""
        rows = cast("QuerySet[Any]", self.object_list)
        return list(rows.order_by().values_list("pk", flat=True)[:NEWEST])

    @cached_property
    def count(self) -> int:
        """Return the number of rows, at most 10,000."""
        return len(self.found)


class QuickChangeList(ChangeList):
    """A list with fewer queries: if all rows fit on one page, it fetches them by the counted keys."""

    def get_results(self, request: HttpRequest) -> None:
        """Page through the rows. If there is one page, fetch it by the keys that counting found."""
        super().get_results(request)
        if self.result_count <= self.list_per_page:
            self.result_list = self.queryset.filter(pk__in=cast("NewestPaginator", self.paginator).found)


def recent_values(
    column: str, words: Mapping[str, str] = MappingProxyType({})
) -> type[admin.SimpleListFilter]:
    """Return a filter for `column` with the values of the newest 2,000 rows, in these `words`.

    Django's own filter for a column without choices reads the whole table.
    """

    class RecentValuesFilter(admin.SimpleListFilter):
        title = parameter_name = column

        def __init__(
            self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any
        ) -> None:
            self.title = str(label_for_field(column, model, model_admin))
            super().__init__(request, params, model, model_admin)

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            rows = model_admin.model._default_manager.order_by(*model_admin.ordering)
            values = {str(value) for value in rows.values_list(column, flat=True)[:RECENT_ROWS]}
            values = (values | {self.value() or ""}) - {""}
            return [(value, words.get(value, value.replace("_", " "))) for value in sorted(values)]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{column: self.value()}) if self.value() else queryset

    return RecentValuesFilter


def recent_days(column: str) -> type[admin.SimpleListFilter]:
    """Return a filter by time: the last 1, 7 or 30 days of `column`, an indexed time."""

    class LatelyFilter(admin.SimpleListFilter):
        title, parameter_name = "time", "lately"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [("1", "last 24 hours"), ("7", "last 7 days"), ("30", "last 30 days")]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            days = {"1": 1, "7": 7, "30": 30}.get(self.value() or "")
            since = timezone.now() - timedelta(days=days or 0)
            return queryset.filter(**{f"{column}__gt": since}) if days else queryset

    return LatelyFilter


def _related_condition(name: str, related: type[Model], inner: Q | None) -> Q | None:
    """Return the condition that `name` is one of the rows that match `inner`, or `None` if none match.

    Up to 100 rows are listed by key, because PostgreSQL then uses an index.
    """
    if inner is None:
        return None
    rows = related._default_manager.filter(inner).order_by().values_list("pk", flat=True)
    found = list(rows[: NAMED + 1])
    return Q(**{f"{name}__in": found if len(found) <= NAMED else rows}) if found else None


def has_word(model: type[Model], path: str, word: str) -> Q | None:
    """Return the condition that the column `path` of `model` contains `word`, or `None` if none can match.

    In tables with more than `WHOLE` rows the column must begin with `word` in the same case, so that an index
    can find it. Identifiers must be equal. A column of a related model is searched in that model first,
    because a join would read all rows before it compares any.
    """
    name, _, rest = path.partition("__")
    field = model._meta.get_field(name)
    if isinstance(field, ForeignObject):
        related = field.related_model
        rest = rest or ("username" if issubclass(related, AbstractUser) else "")
        if rest:
            return _related_condition(name, related, has_word(related, rest, word))
        field = related._meta.pk
        name = f"{name}__{field.name}"
    if isinstance(field, UUIDField):
        try:
            return Q(**{name: UUID(word)})
        except ValueError:
            return None
    many = model._default_manager.order_by("pk").values("pk")[WHOLE : WHOLE + 1].exists()
    return Q(**{f"{name}__{'startswith' if many else 'icontains'}": word})


def _names_of(field: Any) -> tuple[str, str]:
    """Return the names by which a query names a field: `reader` and `reader_id`."""
    return field.name, getattr(field, "attname", field.name)


def money_words(value: Decimal | None) -> str:
    """Return an amount of dollars as an operator reads it; a dash if it is not known yet."""
    if value is None:
        return "–"
    if 0 < value < SMALLEST:
        return f"under ${SMALLEST}"
    return f"${value:,.4f}" if value else "$0"


@cache
def money_column(name: str) -> Callable[[Any], str]:
    """Return the column `name`, in dollars, for a list or a page of the admin."""

    @admin.display(description=name.removesuffix(MONEY).replace("_", " "), ordering=name)
    def shown(row: Any) -> str:
        return money_words(getattr(row, name))

    return shown


def figure_words(value: float | None) -> str:
    """Return a measured number with three decimals at most; a dash if there is none."""
    return "–" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")


def code_words(value: str) -> str:
    """Return a code without its underscores; a dash if there is none."""
    return value.replace("_", " ") or "–"


@cache
def _worded(shown_as: Callable[[Any], str], field: "Field[Any, Any]") -> Callable[[Any], str]:
    """Return the column of `field`, in words."""

    @admin.display(description=field.verbose_name, ordering=field.name)
    def shown(row: Any) -> str:
        return shown_as(getattr(row, field.attname))

    shown.__name__ = field.name
    return shown


def _in_words(owner: "admin.options.BaseModelAdmin[Any]", names: Iterable[Any]) -> list[Any]:
    """Return the columns of an admin as operators read them: money, measured numbers, and codes."""
    fields = {field.name: field for field in owner.opts.fields}
    found: list[Any] = []
    for name in names:
        field = None if hasattr(owner, str(name)) else fields.get(name)
        if str(name).endswith(MONEY):
            found.append(money_column(name))
        elif isinstance(field, FloatField):
            found.append(_worded(figure_words, field))
        elif name in CODES and field is not None and not field.choices:
            found.append(_worded(code_words, field))
        else:
            found.append(name)
    return found


def _cut(listed: list[Any]) -> list[Any]:
    """Return nested lists of rows, each with its first rows and a count of the others.

    A row is followed by the list of what hangs on it.
    """
    ends = [n for n, one in enumerate(listed) if not isinstance(one, list)][DELETED_SHOWN:]
    shown = listed[: ends[0]] if ends else listed
    cut = [_cut(one) if isinstance(one, list) else one for one in shown]
    return [*cut, f"… and {len(ends):,} more"] if ends else cut


class OperatorAdmin(_ModelAdmin):
    """A list that stays fast with any number of rows: newest first, and never counted in full.

    A search finds rows with each of its words in one of `search_fields` (see `has_word`).
    """

    ordering = ["-pk"]
    paginator = NewestPaginator
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    search_help_text = (
        f"Any part of a name or title, or a whole identifier. In a table of more than {WHOLE:,} rows: the "
        "beginning of it, with the same capital letters."
    )
    formfield_overrides = {DateTimeField: {"form_class": forms.SplitDateTimeField, "widget": NamedDateTime}}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the class of the list."""
        return QuickChangeList

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Return the columns of the list, in words."""
        return _in_words(self, super().get_list_display(request))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return the parts of a row's page, in words if nobody changes it."""
        parts = super().get_fieldsets(request, obj)
        if not isinstance(self, ReadOnlyAdmin):
            return list(parts)
        return [(name, {**part, "fields": _in_words(self, part["fields"])}) for name, part in parts]

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """Return what is deleted with `objs`, the first rows of each list and the number of the others."""
        listed, counts, needed, protected = super().get_deleted_objects(objs, request)
        return _cut(listed), counts, needed, protected

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Return whether the list may be filtered by `lookup`: only by columns that its pages show.

        Filtered by the beginning of a hidden column, a list tells that column letter by letter.
        """
        fields = flatten_fieldsets(self.fieldsets or self.get_fieldsets(request))
        shown = {*fields, *self.list_display, *self._filtered, self.opts.pk.name}
        hidden = {name for one in self.opts.get_fields() if one.name not in shown for name in _names_of(one)}
        is_shown = lookup.partition("__")[0] not in hidden
        return is_shown and super().lookup_allowed(lookup, value, request)

    @property
    def _filtered(self) -> set[str]:
        """Return the columns of the filters beside the list."""
        named = (one[0] if isinstance(one, tuple) else one for one in self.list_filter)
        return {name.partition("__")[0] for name in named if isinstance(name, str)}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows with each word of `search_term` in one of the columns, without duplicates."""
        for bit in smart_split(search_term):
            word = unescape_string_literal(bit) if bit[:1] in "\"'" and bit[:1] == bit[-1:] else bit
            found = [has_word(self.model, path, word) for path in self.search_fields]
            conditions = [condition for condition in found if condition is not None]
            queryset = queryset.filter(reduce(or_, conditions)) if conditions else queryset.none()
        return queryset, False


class ContextAdmin(OperatorAdmin):
    """An admin whose page of a row shows more than the row's own fields."""

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return extra context for the template. `row` is `None` if it does not exist."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one row with the context of `row_context`."""
        more = self.row_context(request, self.get_object(request, object_id))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **more})


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact about a row in words, and the address of the row or list behind it, or ""."""

    name: str
    value: str
    href: str = ""


class FactsAdmin(ContextAdmin):
    """An admin whose page of a row begins with facts in plain words. The stored fields come after them."""

    change_form_template = "admin/facts_form.html"

    def facts(self, request: HttpRequest, row: Any) -> Iterable[Fact]:
        """Return the facts that the operator who asks may know."""
        raise NotImplementedError

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return the facts for operators who may see the row."""
        may_see = row is not None and self.has_view_permission(request, row)
        return {"facts": list(self.facts(request, row)) if may_see else []}


class OperatorInline(_TabularInline):
    """Rows shown on the page of the row that they belong to."""

    extra = 0

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return the columns, in words if they are named and nobody changes them."""
        names = super().get_fields(request, obj)
        return _in_words(self, names) if self._is_worded else list(names)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return the columns that are no part of a form."""
        return list(
            self.get_fields(request, obj) if self._is_worded else super().get_readonly_fields(request, obj)
        )

    @property
    def _is_worded(self) -> bool:
        return bool(self.fields) and isinstance(self, ReadOnlyAdmin)


class ReadOnlyAdmin:
    """Rows that cannot be changed by hand. Mix in before `OperatorAdmin` or `OperatorInline`."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse, because operators do not add records by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse, because records do not change."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse, because a record is deleted together with its reader."""
        return False
