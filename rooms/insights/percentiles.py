"""Percentile aggregate for the ORM: interpolates between neighbours, NULL for no rows.

PostgreSQL has one. On SQLite it is registered as a Python function, as Django does with STDDEV and others.
MariaDB returns the values, and Python computes it.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import Aggregate, FloatField

NAME_ON_SQLITE = "ASK_BRIDGE_PERCENTILE"


# Of each connection to MariaDB, whose default cuts a list after some 50,000 values.
LONGEST_LIST = 2**30


class Percentile(Aggregate):
    """`Percentile("seconds", 0.9)`: nine in ten rows have at most this value. NULLs do not count.

    It supports no filter: Django versions differ in how they add one to a custom template.
    """

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(fraction)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: Any, fraction: float) -> None:
        super().__init__(expression, fraction=float(fraction))

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        copy = self.copy()
        copy.function = NAME_ON_SQLITE
        copy.template = "%(function)s(%(expressions)s, %(fraction)s)"
        return copy.as_sql(compiler, connection, **context)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """All values as one text; `get_db_converters` makes the percentile of it."""
        copy = self.copy()
        copy.function = "GROUP_CONCAT"
        copy.template = "%(function)s(%(expressions)s)"
        return copy.as_sql(compiler, connection, **context)

    def get_db_converters(self, connection: Any) -> list[Any]:
        if connection.vendor == "mysql":
            return [self._of_list]
        return super().get_db_converters(connection)

    def _of_list(self, values: str | None, *context: Any) -> float | None:
        if values is None:
            return None
        return percentile_of(map(float, values.split(",")), self.extra["fraction"])


class _Percentile:
    """The aggregate class for `sqlite3`."""

    def __init__(self) -> None:
        self._values: list[float] = []
        self._fraction = 0.0

    def step(self, value: float | None, fraction: float) -> None:
        if value is not None:
            self._values.append(value)
            self._fraction = fraction

    def finalize(self) -> float | None:
        return percentile_of(self._values, self._fraction)


def percentile_of(values: Iterable[float], fraction: float) -> float | None:
    ordered = sorted(values)
    if not ordered:
        return None
    lower, rest = divmod(fraction * (len(ordered) - 1), 1)
    index = int(lower)
    # Not a weighted sum of both, which may differ by rounding from two equal neighbours.
    step = ordered[min(index + 1, len(ordered) - 1)] - ordered[index]
    return ordered[index] + step * rest


def prepare_connection(connection: Any, **signal: Any) -> None:
    """Receiver of `connection_created`."""
    if connection.vendor == "sqlite":
        connection.connection.create_aggregate(NAME_ON_SQLITE, 2, _Percentile)
    elif connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION group_concat_max_len = {LONGEST_LIST}")
