"""Collation of the text columns on MariaDB: texts are equal only if they are the same.

The usual collations of MariaDB take `Deploy`, `deploy` and `déploy ` for the same text: two agents would
become one, and a lookup would find the wrong session. PostgreSQL and SQLite compare exactly by themselves.

Primary keys and the columns that refer to them keep the collation of the database: a foreign key, also one of
the portal's, needs the same on both sides. Their values are ours, all in lower case.
"""

from typing import Any

from django.apps import AppConfig
from django.db import connections, router

from rooms.db.transactions import alias

# Without padding: with it, texts with and without spaces at the end are the same.
EXACT = "utf8mb4_nopad_bin"

INEXACT = """
    SELECT table_name, column_name, column_type, is_nullable
    FROM information_schema.columns AS texts
    WHERE table_schema = DATABASE() AND table_name IN %s AND collation_name <> %s
        AND collation_name <> 'utf8mb4_bin' AND column_key <> 'PRI'
        AND NOT EXISTS (
            SELECT 1 FROM information_schema.key_column_usage AS used
            WHERE used.table_schema = texts.table_schema AND used.table_name = texts.table_name
                AND used.column_name = texts.column_name AND used.referenced_table_name IS NOT NULL
        )
    ORDER BY table_name, ordinal_position
"""


def compare_texts_exactly(sender: AppConfig, using: str, **signal: Any) -> None:
    """Receiver of `post_migrate`: one statement for each table with columns that are new or were changed."""
    connection = connections[using]
    models = [model for model in sender.get_models() if router.allow_migrate_model(using, model)]
    if connection.vendor != "mysql" or using != alias() or not models:
        return
    changes: dict[str, list[str]] = {}
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(INEXACT, [[model._meta.db_table for model in models], EXACT])
        for table, column, kind, is_nullable in cursor.fetchall():
            null = "NULL" if is_nullable == "YES" else "NOT NULL"
            changes.setdefault(table, []).append(
                f"MODIFY {quote(column)} {kind} CHARACTER SET utf8mb4 COLLATE {EXACT} {null}"
            )
        for table, columns in changes.items():
            cursor.execute(f"ALTER TABLE {quote(table)} {', '.join(columns)}")
