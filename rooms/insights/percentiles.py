"""Percentile aggregate for the ORM: interpolates between neighbours, NULL for no rows.

PostgreSQL has one. On SQLite it is registered as a Python function, as Django does with STDDEV and others.
"""

from typing import Any

from django.db.models import Aggregate, FloatField

NAME_ON_SQLITE = "ASK_BRIDGE_PERCENTILE"


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
        values = sorted(self._values)
        if not values:
            return None
        lower, rest = divmod(self._fraction * (len(values) - 1), 1)
        index = int(lower)
        # Not a weighted sum of both, which may differ by rounding from two equal neighbours.
        step = values[min(index + 1, len(values) - 1)] - values[index]
        return values[index] + step * rest


def register_on_sqlite(connection: Any, **signal: Any) -> None:
    """Receiver of `connection_created`."""
    if connection.vendor == "sqlite":
        connection.connection.create_aggregate(NAME_ON_SQLITE, 2, _Percentile)
