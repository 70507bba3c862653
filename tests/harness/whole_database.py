"""Search the whole database for a text: every column of every table, also of other apps and of indexes."""

import json
from typing import Any

from django.db import connection


def places_of(text: str) -> list[str]:
    """`table.column` of every place that has this text, in whatever type and case."""
    wanted = {text.lower(), json.dumps(text)[1:-1].lower()}
    found = []
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor, include_views=False)
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            columns = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                found += [
                    f"{table}.{column}"
                    for column, value in zip(columns, row, strict=True)
                    if any(each in _as_text(value) for each in wanted)
                ]
    return sorted(set(found))


def _as_text(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("utf-8", "replace").lower()
    return str(value).lower()
