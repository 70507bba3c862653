"""Compiled statements: querysets whose SQL is built once and then only run with new parameters.

For a short statement Django's ORM takes several times as long to build the SQL as the database to run it, and
each ask and each click runs the same few. They stay ordinary querysets, compiled at their first use:

    KEY = Select(lambda lookup: AgentKey.objects.select_related("room").filter(lookup=lookup))
    key = KEY.first(lookup="3k7q")

Like the ORM's own they work on every database, and query logs and execute wrappers see them. A datetime is
adapted to the database; the primary key of a user, whose model is the portal's, has to go through `key_of`.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from inspect import signature
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.db import connections, models
from django.db.models.expressions import Expression
from django.db.models.query import ModelIterable
from django.db.models.signals import post_save, pre_save
from django.db.models.sql import InsertQuery, UpdateQuery

from rooms.db.timezone import to_database
from rooms.db.transactions import alias

Found = TypeVar("Found")

# Fields whose Python values every database takes unconverted.
SAME_EVERYWHERE = {models.CharField, models.TextField, models.BooleanField, models.BigIntegerField}

# A placeholder as Django writes it.
PLACEHOLDER = re.compile(r"(?<!%)%s")


class Parameter(Expression):
    """A named parameter in a queryset; its value comes with each run."""

    def __init__(self, name: str) -> None:
        super().__init__(output_field=models.Field())
        self.name = name

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        return "%s", (self,)


class Sql:
    """A statement as Django writes it, to run with values in the order of its placeholders."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._for_sqlite = PLACEHOLDER.sub("?", sql).replace("%%", "%")

    def run(self, connection: Any, values: Sequence[Any]) -> tuple[list[Any], int]:
        """The rows that it returns, and how many it changed."""
        if (
            connection.vendor == "sqlite"
            and not connection.queries_logged
            and not connection.execute_wrappers
        ):
            # Without Django's cursors, whose logging and wrappers are off here: they take longer than SQLite.
            # With them an ask takes 8 % more of the CPU, and a click 12 %.
            connection.ensure_connection()
            connection.validate_no_broken_transaction()
            with connection.wrap_database_errors:
                found = connection.connection.execute(self._for_sqlite, values)
                return found.fetchall(), found.rowcount
        with connection.cursor() as cursor:
            cursor.execute(self._sql, values)
            return cursor.fetchall() if cursor.description else [], cursor.rowcount


class Statement:
    """The SQL of a compiler with its constant values and its parameters."""

    def __init__(self, compiler: Any, end: str = "") -> None:
        sql, self._values = compiler.as_sql()
        self._sql = Sql(sql + end)

    def run(self, connection: Any, given: dict[str, Any]) -> tuple[list[Any], int]:
        """Run it with these values for its parameters."""
        adapt = connection.ops.adapt_datetimefield_value
        values = [given[value.name] if type(value) is Parameter else value for value in self._values]
        return self._sql.run(
            connection,
            [
                adapt(to_database(value, connection)) if isinstance(value, datetime) else value
                for value in values
            ],
        )


def key_of(instance: Any) -> Any:
    """The primary key as its column stores it: a portal's user model may have any kind of key."""
    return instance._meta.pk.get_db_prep_value(instance.pk, connections[alias()])


def _parameters(build: Callable[..., Any]) -> dict[str, Parameter]:
    return {name: Parameter(name) for name in signature(build).parameters}


# ---- reading ---------------------------------------------------------------------------------------------


class Select(Generic[Found]):
    """The rows of a queryset: instances with their `select_related` ones, or tuples of values."""

    def __init__(self, build: Callable[..., "models.QuerySet[Any, Found]"], *values: str) -> None:
        self._build, self._values = build, values
        self._compiled = cache(self._compile)

    def first(self, **given: Any) -> Found | None:
        """The first row with these values for the parameters."""
        return next(iter(self._run(given, only_first=True)), None)

    def all(self, **given: Any) -> list[Found]:
        """All rows with these values for the parameters."""
        return self._run(given, only_first=False)

    def _run(self, given: dict[str, Any], *, only_first: bool) -> list[Found]:
        using = alias()
        statement, convert, make = self._compiled(using, only_first)
        connection = connections[using]
        rows, _ = statement.run(connection, given)
        return [make(convert(list(row), connection)) for row in rows]

    def _compile(
        self, using: str, only_first: bool
    ) -> tuple[Statement, Callable[..., list[Any]], Callable[..., Any]]:
        queryset: Any = self._build(**_parameters(self._build)).using(using)
        if self._values:
            queryset = queryset.values_list(*self._values)
        if only_first:
            queryset = queryset[:1]
        compiler = queryset.query.get_compiler(using)
        statement = Statement(compiler)
        convert = _converter(compiler, [column for column, _, _ in compiler.select])
        if queryset._iterable_class is not ModelIterable:
            return statement, convert, tuple
        return statement, convert, _maker(compiler.klass_info, compiler.select, using)


def _converter(compiler: Any, columns: list[Any]) -> Callable[[list[Any], Any], list[Any]]:
    """A function that converts the values of these columns in a row to Python's."""
    converters = list(compiler.get_converters(columns).items())

    def convert(row: list[Any], connection: Any) -> list[Any]:
        for index, (functions, column) in converters:
            for function in functions:
                row[index] = function(row[index], column, connection)
        return row

    return convert


def _maker(selected: dict[str, Any], columns: list[Any], using: str) -> Callable[[list[Any]], Any]:
    """A function that makes the instance, with its related ones, of a converted row; None without a row."""
    model, indexes = selected["model"], selected["select_fields"]
    own = slice(indexes[0], indexes[-1] + 1)
    names = [column.target.attname for column, _, _ in columns[own]]
    key_index = indexes[0] + names.index(model._meta.pk.attname)
    related = [
        (_maker(other, columns, using), other["local_setter"], other["remote_setter"])
        for other in selected.get("related_klass_infos", ())
    ]

    def make(row: list[Any]) -> Any:
        if row[key_index] is None:
            return None
        instance = model.from_db(using, names, row[own])
        for make_other, set_other, set_back in related:
            other = make_other(row)
            set_other(instance, other)
            if other is not None:
                set_back(other, instance)
        return instance

    return make


# ---- writing ---------------------------------------------------------------------------------------------


class Update:
    """An UPDATE of all rows of a queryset: sets `fields` to given values and `expressions` to SQL ones.

    `expressions` come first in the statement: MariaDB evaluates assignments from left to right, so
    that an expression sees the old values of `fields`. With `returning`, the queryset has a parameter `id`
    for its primary key: MariaDB has no UPDATE … RETURNING, so the row is read after the update.
    """

    def __init__(
        self,
        build: Callable[..., "models.QuerySet[Any]"],
        *fields: str,
        returning: Sequence[str] = (),
        **expressions: Any,
    ) -> None:
        self._build, self._fields = build, fields
        self._returning, self._expressions = returning, expressions
        self._compiled = cache(self._compile)
        self._changed_row: Select[tuple[Any, ...]] = Select(self._by_key, *returning)

    def run(self, **given: Any) -> int:
        """Run it with these values for fields and parameters; returns how many rows it changed."""
        _, changed = self._run(given)
        return changed

    def first(self, **given: Any) -> list[Any] | None:
        """Run it and return the `returning` columns of the first row that it changed, or None."""
        rows, changed = self._run(given)
        if rows or not changed:
            return rows[0] if rows else None
        # Without RETURNING. The update has locked the row, so this is what it wrote.
        found = self._changed_row.first(id=given["id"])
        return None if found is None else list(found)

    def _by_key(self, id: Any) -> "models.QuerySet[Any]":
        return self._build(**_parameters(self._build)).model._default_manager.filter(pk=id)

    def _run(self, given: dict[str, Any]) -> tuple[list[Any], int]:
        using = alias()
        connection = connections[using]
        statement, fields, convert = self._compiled(using)
        for field in fields:
            given[field.name] = _as_stored(field, given[field.name], connection)
        rows, changed = statement.run(connection, given)
        return [convert(list(row), connection) for row in rows], changed

    def _compile(self, using: str) -> tuple[Statement, list[Any], Callable[..., list[Any]]]:
        query: Any = self._build(**_parameters(self._build)).query.chain(UpdateQuery)
        query.add_update_values(self._expressions | {name: Parameter(name) for name in self._fields})
        compiler = query.get_compiler(using)
        meta = query.get_meta()
        returned = [meta.get_field(name).get_col(meta.db_table) for name in self._returning]
        connection = connections[using]
        names = [connection.ops.quote_name(column.target.column) for column in returned]
        if connection.vendor == "mysql":
            names = []
        statement = Statement(compiler, f" RETURNING {', '.join(names)}" if names else "")
        return statement, list(map(meta.get_field, self._fields)), _converter(compiler, returned)


def insert(instance: models.Model) -> None:
    """Like `save(force_insert=True)`, with its signals, for a model that makes its own primary key.

    Fields that are set when they are saved, such as those with `auto_now`, are not supported. With `save`, an
    ask takes 17 % more of the CPU and a click 10 %: most of it to build the SQL.
    """
    using = alias()
    model, connection = type(instance), connections[using]
    sent = {"instance": instance, "raw": False, "using": using, "update_fields": None}
    pre_save.send(model, **sent)
    sql, fields, values_of = _insertion(model, using)
    values = values_of(instance)
    sql.run(connection, [_as_stored(*pair, connection) for pair in zip(fields, values, strict=True)])
    instance._state.adding, instance._state.db = False, using
    post_save.send(model, created=True, **sent)


def _as_stored(field: Any, value: Any, connection: Any) -> Any:
    if value is None or type(field) in SAME_EVERYWHERE:
        return value
    return field.get_db_prep_save(value, connection)


@cache
def _insertion(
    model: type[models.Model], using: str
) -> tuple[Sql, tuple[Any, ...], Callable[[models.Model], tuple[Any, ...]]]:
    fields = model._meta.concrete_fields
    values_of = attrgetter(*(field.attname for field in fields))
    query = InsertQuery(model)
    query.insert_values(fields, [model()], raw=True)
    ((sql, _),) = query.get_compiler(using).as_sql()
    return Sql(sql), fields, values_of
