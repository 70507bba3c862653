"""Statements that are put together once and from then on only filled in.

For a short statement Django's ORM takes several times as long to write the SQL as the database to run it, and
each ask and each click runs the same few. They stay ordinary querysets, compiled when they are first used:

    KEY = Select(lambda lookup: AgentKey.objects.select_related("room").filter(lookup=lookup))
    key = KEY.first(lookup="3k7q")

Like the ORM's own they work on every database, and whoever counts queries sees them. Times may be given as
they are; of somebody whose table is not ours, `key_of` gives the key as a parameter takes it.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from inspect import signature
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.db import connections, models
from django.db.models.expressions import Expression
from django.db.models.query import ModelIterable
from django.db.models.sql import InsertQuery, UpdateQuery

from rooms.database import alias

Found = TypeVar("Found")

# Fields whose values every database takes as Python has them.
SAME_EVERYWHERE = {models.CharField, models.TextField, models.BooleanField, models.BigIntegerField}


class Parameter(Expression):
    """Where a value is going to stand."""

    def __init__(self, name: str) -> None:
        super().__init__(output_field=models.Field())
        self.name = name

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        return "%s", (self,)


class Statement:
    """The SQL of a compiler, and what stands in it: values and parameters."""

    def __init__(self, compiler: Any) -> None:
        self._sql, self._values = compiler.as_sql()

    def run(self, cursor: Any, given: dict[str, Any]) -> None:
        """Run it with what was given for its parameters."""
        adapt = cursor.db.ops.adapt_datetimefield_value
        values = [given[value.name] if type(value) is Parameter else value for value in self._values]
        cursor.execute(
            self._sql, [adapt(value) if isinstance(value, datetime) else value for value in values]
        )


def key_of(instance: Any) -> Any:
    """The primary key as its column has it: the users of a portal may have any kind."""
    return instance._meta.pk.get_db_prep_value(instance.pk, connections[alias()])


def _parameters(build: Callable[..., Any]) -> dict[str, Parameter]:
    return {name: Parameter(name) for name in signature(build).parameters}


# ---- reading ---------------------------------------------------------------------------------------------


class Select(Generic[Found]):
    """The rows of a queryset: instances with all that it selects along, or their values."""

    def __init__(self, build: Callable[..., "models.QuerySet[Any, Found]"]) -> None:
        self._build = build
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
        with connection.cursor() as cursor:
            statement.run(cursor, given)
            rows = cursor.fetchall()
        return [make(convert(list(row), connection)) for row in rows]

    def _compile(
        self, using: str, only_first: bool
    ) -> tuple[Statement, Callable[..., list[Any]], Callable[..., Any]]:
        queryset = self._build(**_parameters(self._build)).using(using)
        if only_first:
            queryset = queryset[:1]
        compiler: Any = queryset.query.get_compiler(using)
        statement = Statement(compiler)
        if queryset._iterable_class is not ModelIterable:
            return statement, _converter(compiler), tuple
        return statement, _converter(compiler), _maker(compiler.klass_info, compiler.select, using)


def _converter(compiler: Any) -> Callable[[list[Any], Any], list[Any]]:
    """Makes of a row what Python calls these values."""
    converters = list(compiler.get_converters([column for column, _, _ in compiler.select]).items())

    def convert(row: list[Any], connection: Any) -> list[Any]:
        for place, (converting, column) in converters:
            for converter in converting:
                row[place] = converter(row[place], column, connection)
        return row

    return convert


def _maker(selected: dict[str, Any], columns: list[Any], using: str) -> Callable[[list[Any]], Any]:
    """Makes of a converted row an instance and those that belong to it; None where there is none."""
    model, places = selected["model"], selected["select_fields"]
    own = slice(places[0], places[-1] + 1)
    names = [column.target.attname for column, _, _ in columns[own]]
    key_place = places[0] + names.index(model._meta.pk.attname)
    related = [
        (_maker(other, columns, using), other["local_setter"], other["remote_setter"])
        for other in selected.get("related_klass_infos", ())
    ]

    def make(row: list[Any]) -> Any:
        if row[key_place] is None:
            return None
        instance = model.from_db(using, names, row[own])
        for make_other, refer_to_other, refer_back in related:
            other = make_other(row)
            refer_to_other(instance, other)
            if other is not None:
                refer_back(other, instance)
        return instance

    return make


# ---- writing ---------------------------------------------------------------------------------------------


class Update:
    """Sets these fields of all rows of a queryset."""

    def __init__(self, build: Callable[..., "models.QuerySet[Any]"], *fields: str) -> None:
        self._build, self._fields = build, fields
        self._compiled = cache(self._compile)

    def run(self, **given: Any) -> int:
        """How many rows these values for fields and parameters changed."""
        using = alias()
        with connections[using].cursor() as cursor:
            self._compiled(using).run(cursor, given)
            changed: int = cursor.rowcount
        return changed

    def _compile(self, using: str) -> Statement:
        query: Any = self._build(**_parameters(self._build)).query.chain(UpdateQuery)
        query.add_update_values({name: Parameter(name) for name in self._fields})
        return Statement(query.get_compiler(using))


def insert(instance: models.Model) -> None:
    """As `save(force_insert=True)` of a model that makes its own primary key, without Django's signals.

    Fields that fill themselves in when they are saved, such as those with `auto_now`, are not for this.
    """
    using = alias()
    connection = connections[using]
    sql, fields, values_of = _insertion(type(instance), using)
    values = [
        value
        if value is None or type(field) in SAME_EVERYWHERE
        else field.get_db_prep_save(value, connection)
        for field, value in zip(fields, values_of(instance), strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
    instance._state.adding, instance._state.db = False, using


@cache
def _insertion(
    model: type[models.Model], using: str
) -> tuple[str, tuple[Any, ...], Callable[[models.Model], tuple[Any, ...]]]:
    fields = model._meta.concrete_fields
    values_of = attrgetter(*(field.attname for field in fields))
    query = InsertQuery(model)
    query.insert_values(fields, [model()], raw=True)
    ((sql, _),) = query.get_compiler(using).as_sql()
    return sql, fields, values_of
