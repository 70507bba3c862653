"""History: settled questions in a form that is fast to search and count, and bookmarks of its readers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models, router

TABLE = "ask_bridge_historyentry"
INDEX = "ask_bridge_historyindex"

POSTGRESQL = [
    f"""ALTER TABLE {TABLE} ADD COLUMN search tsvector GENERATED ALWAYS AS
        (to_tsvector('simple', text || ' ' || labels || ' ' || likeness)) STORED""",
    # Entries are written in the background: a slower write is better than a slower search.
    f"CREATE INDEX ask_bridge_h_search ON {TABLE} USING gin (search) WITH (fastupdate = off)",
]
COLUMNS = "text, labels, likeness"
DELETE = f"INSERT INTO {INDEX}({INDEX}, rowid, {COLUMNS}) VALUES ('delete', old.id, old.text, old.labels, old.likeness);"  # noqa: S608 - constants only
INSERT = f"INSERT INTO {INDEX}(rowid, {COLUMNS}) VALUES (new.id, new.text, new.labels, new.likeness);"  # noqa: S608
SQLITE = [
    f"""CREATE VIRTUAL TABLE {INDEX} USING fts5({COLUMNS}, content='{TABLE}', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2', prefix='2 3')""",
    f"CREATE TRIGGER {INDEX}_insert AFTER INSERT ON {TABLE} BEGIN {INSERT} END",
    f"CREATE TRIGGER {INDEX}_delete AFTER DELETE ON {TABLE} BEGIN {DELETE} END",
    f"CREATE TRIGGER {INDEX}_update AFTER UPDATE OF id, {COLUMNS} ON {TABLE} BEGIN {DELETE} {INSERT} END",
]


MARIADB = [f"CREATE FULLTEXT INDEX ask_bridge_h_search ON {TABLE} ({COLUMNS})"]


def make_index(apps, schema_editor):
    """A column and index on PostgreSQL; on SQLite a virtual table that refers to the history."""
    if has_table(apps, schema_editor):
        statements = {"postgresql": POSTGRESQL, "sqlite": SQLITE, "mysql": MARIADB}
        for statement in statements.get(schema_editor.connection.vendor, []):
            schema_editor.execute(statement, params=None)


def drop_index(apps, schema_editor):
    """Except on SQLite it is dropped with the table."""
    if has_table(apps, schema_editor) and schema_editor.connection.vendor == "sqlite":
        for event in ("insert", "delete", "update"):
            schema_editor.execute(f"DROP TRIGGER {INDEX}_{event}", params=None)
        schema_editor.execute(f"DROP TABLE {INDEX}", params=None)


def has_table(apps, schema_editor):
    """A portal may have several databases; the tables of this app are in one of them."""
    entry = apps.get_model("ask_bridge", "HistoryEntry")
    return router.allow_migrate_model(schema_editor.connection.alias, entry)


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0006_indexes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Bookmark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reader", models.CharField(max_length=20)),
                ("revision", models.BigIntegerField(default=0)),
                (
                    "room",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bookmarks",
                        to="ask_bridge.room",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="bookmark",
            constraint=models.UniqueConstraint(fields=("room", "reader"), name="ask_bridge_bookmark_once"),
        ),
        migrations.CreateModel(
            name="HistoryEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("answered", "Answered"),
                            ("declined", "Declined"),
                            ("expired", "Expired"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        max_length=10,
                        verbose_name="status",
                    ),
                ),
                (
                    "via",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("web", "Web"),
                            ("terminal", "Terminal"),
                            ("api", "API"),
                            ("default", "Default"),
                        ],
                        max_length=10,
                        verbose_name="via",
                    ),
                ),
                ("asks_back", models.BooleanField(default=False)),
                ("agent_name", models.CharField(max_length=80, verbose_name="agent name")),
                ("person_name", models.CharField(blank=True, max_length=301, verbose_name="person name")),
                ("asked_at", models.DateTimeField(verbose_name="asked at")),
                ("settled_at", models.DateTimeField(verbose_name="settled at")),
                ("seconds", models.FloatField()),
                ("blocked_seconds", models.FloatField()),
                ("text", models.TextField()),
                ("labels", models.TextField(blank=True)),
                ("likeness", models.TextField(blank=True)),
                (
                    "question",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="history",
                        to="ask_bridge.question",
                    ),
                ),
                (
                    "room",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="history",
                        to="ask_bridge.room",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "history entry",
                "verbose_name_plural": "history",
                "ordering": ("-settled_at", "-id"),
            },
        ),
        migrations.AddIndex(
            model_name="historyentry",
            index=models.Index(fields=["user"], name="ask_bridge_h_person"),
        ),
        # MariaDB takes no DDL in a transaction; on the others the whole migration is in one.
        migrations.RunPython(make_index, drop_index, atomic=False),
    ]
