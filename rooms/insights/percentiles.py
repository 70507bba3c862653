"""Percentiles, counted where the rows are: between two neighbours in proportion, NULL where there is nothing.

PostgreSQL has them. SQLite is taught the same, as Django teaches it STDDEV and others.
"""

from typing import Any

from django.db.models import Aggregate, FloatField

NAME_ON_SQLITE = "ASK_BRIDGE_PERCENTILE"


class Percentile(Aggregate):
    """`Percentile("seconds", 0.9)`: nine in ten rows have no more. Rows without a value do not count.

    It takes no filter: what Django makes of one in a template of our own differs from version to version.
    """

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(fraction)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: Any, fraction: float) -> None:
        super().__init__(expression, fraction=float(fraction))

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        taught = self.copy()
        taught.function = NAME_ON_SQLITE
        taught.template = "%(function)s(%(expressions)s, %(fraction)s)"
        return taught.as_sql(compiler, connection, **context)


class _Percentile:
    """The aggregate as the `sqlite3` module wants it."""

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
        # Not by weights of both: two equal neighbours are exactly the percentile between them.
        step = values[min(index + 1, len(values) - 1)] - values[index]
        return values[index] + step * rest


def teach_sqlite(connection: Any, **signal: Any) -> None:
    """For every new connection."""
    if connection.vendor == "sqlite":
        connection.connection.create_aggregate(NAME_ON_SQLITE, 2, _Percentile)
