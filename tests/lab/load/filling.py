"""A table filled with made rows by the database itself: a value for each column by its kind."""

from typing import Any

from django.db import connection, models

# More than asked for, since a combination that must be unique may come twice.
SURPLUS = 1.02


def fill(model: Any, rows: int) -> int:
    """Bring the model's table (of a proxy, its concrete model's) up to `rows`; how many it has then."""
    meta = model._meta.concrete_model._meta
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT count(*) FROM "{meta.db_table}"')
        there = cursor.fetchone()[0]
        missing = int((rows - there) * SURPLUS)
        if missing > 0:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(_insert(cursor, model, there, missing))
            there += cursor.rowcount
            cursor.execute("SET LOCAL session_replication_role = origin")
    return int(there)


def _insert(cursor: Any, model: Any, there: int, missing: int) -> str:
    meta = model._meta.concrete_model._meta
    columns, values, joins, spread = [], [], [], 1
    for field in meta.concrete_fields:
        if field.primary_key and isinstance(field, models.AutoField | models.BigAutoField):
            continue
        columns.append(f'"{field.column}"')
        if field.remote_field:
            count, join, value = _reference(cursor, field, len(joins), spread)
            spread, joins = spread * max(1, count if count < 1000 else 1), [*joins, join]
            values.append(value)
        else:
            values.append(_value(model, field))
    joined = " ".join(join for join in joins if join)
    return (
        f'INSERT INTO "{meta.db_table}" ({", ".join(columns)}) SELECT {", ".join(values)} '
        f"FROM generate_series({there + 1}, {there + missing}) n {joined} ON CONFLICT DO NOTHING"
    )


def _reference(cursor: Any, field: Any, place: int, spread: int) -> tuple[int, str, str]:
    """How many rows it may point to, the join that numbers them, and the value."""
    table, key = field.remote_field.model._meta.db_table, field.target_field.column
    if table == field.model._meta.db_table:
        return 1, "", "NULL"
    cursor.execute(f'SELECT count(*) FROM (SELECT 1 FROM "{table}" LIMIT 200000) there')
    count = cursor.fetchone()[0]
    if not count:
        return 1, "", "NULL"
    if field.unique:
        count = 10**9
    some = f'(SELECT "{key}" AS k, row_number() OVER (ORDER BY "{key}") - 1 AS r FROM "{table}") f{place}'
    # One to one, and never empty: there are as many rows as there are others to point to.
    kind = "JOIN" if field.unique and not field.null else "LEFT JOIN"
    join = f"{kind} {some} ON f{place}.r = (n / {spread}) % {count}"
    return count, join, f"f{place}.k"


def _value(model: Any, field: Any) -> str:
    """SQL for one column of row `n`."""
    if field.null and not isinstance(field, models.DateTimeField):
        return "NULL"
    if field.choices:
        words = [str(value).replace("'", "''") for value, _ in field.flatchoices if value != ""]
        fixed = getattr(getattr(model, "form_kind", None), "value", "")
        return (
            f"'{fixed}'"
            if fixed and field.name == "kind"
            else f"(ARRAY[{_quoted(words)}])[1 + n % {len(words)}]::{field.db_type(connection)}"
        )
    if isinstance(field, models.UUIDField):
        return "gen_random_uuid()"
    if isinstance(field, models.DateTimeField):
        return "now() - n * interval '7 seconds'"
    if isinstance(field, models.DateField):
        return "current_date - (n / 20000)::int"
    if isinstance(field, models.BooleanField):
        return "n % 2 = 0"
    if isinstance(field, models.JSONField):
        return {list: "'[]'", dict: "'{}'"}.get(field.default, """'{"name": "made"}'""") + "::jsonb"
    if isinstance(field, models.BinaryField):
        return "'\\x00'::bytea"
    if isinstance(field, models.CharField | models.TextField):
        return _words(field)
    if isinstance(field, models.SmallIntegerField | models.PositiveSmallIntegerField):
        return "n % 20"
    if isinstance(field, models.FloatField | models.DecimalField):
        return "(n % 1000) / 1000.0"
    return "n"


def _words(field: Any) -> str:
    """Return a text: unique if the field must be, else one of about a hundred, longer if the field allows
    it."""
    most = field.max_length or 400
    if field.unique or field.primary_key or any(field.name in names for names in _together(field.model)):
        return f"left('made-' || n, {most})"
    return f"left('made ' || n % 97 || repeat(' words of some length', {min(10, most // 22)}), {most})"


def _together(model: Any) -> list[tuple[str, ...]]:
    return [tuple(c.fields) for c in model._meta.constraints if isinstance(c, models.UniqueConstraint)]


def _quoted(words: list[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)
