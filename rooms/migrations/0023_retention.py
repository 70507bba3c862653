"""Retention, deletion without copies, and people who are anonymised."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models, router

ENTRIES = "ask_bridge_auditentry"
TRIGGER = "ask_bridge_append_only"
HISTORY = "ask_bridge_historyentry"
INDEX = "ask_bridge_historyindex"
COLUMNS = "text, labels, likeness"

# The columns of an entry in which a person can be named.
REDACTABLE = ("actor", "subject", "details", "content", "redaction", "redacted_by")

# Rows per statement: on a busy site the others write in between.
BATCH = 500


def is_here(apps, schema_editor):
    """A portal may have several databases; the tables of this app are in one of them."""
    return router.allow_migrate_model(schema_editor.connection.alias, apps.get_model("ask_bridge", "Room"))


def allow_redaction(apps, schema_editor):
    """On PostgreSQL the trigger lets names be replaced, with a digest of the change, and nothing else."""
    if schema_editor.connection.vendor == "postgresql" and is_here(apps, schema_editor):
        entry = apps.get_model("ask_bridge", "AuditEntry")
        kept = [field.column for field in entry._meta.concrete_fields if field.column not in REDACTABLE]
        old, new = (", ".join(f'{row}."{column}"' for column in kept) for row in ("OLD", "NEW"))
        schema_editor.execute(f"""
            CREATE OR REPLACE FUNCTION {TRIGGER}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND NEW.redaction <> '' AND NEW.redacted_by <> ''
                    AND ROW({new}) IS NOT DISTINCT FROM ROW({old}) THEN
                    RETURN NEW;
                END IF;
                RAISE EXCEPTION 'Audit entries are never changed or removed.' USING ERRCODE = 'restrict_violation';
            END $$
        """)


def forbid_redaction(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql" and is_here(apps, schema_editor):
        schema_editor.execute(f"""
            CREATE OR REPLACE FUNCTION {TRIGGER}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'Audit entries are never changed or removed.' USING ERRCODE = 'restrict_violation';
            END $$
        """)


DELETE = f"INSERT INTO {INDEX}({INDEX}, rowid, {COLUMNS}) VALUES ('delete', old.id, old.text, old.labels, old.likeness);"  # noqa: S608 - constants only
INSERT = f"INSERT INTO {INDEX}(rowid, {COLUMNS}) VALUES (new.id, new.text, new.labels, new.likeness);"  # noqa: S608


def restore_index(apps, schema_editor):
    """SQLite has rebuilt the table of the history, without the triggers of its full-text index."""
    if schema_editor.connection.vendor != "sqlite" or not is_here(apps, schema_editor):
        return
    for event, body in (
        ("insert", f"AFTER INSERT ON {HISTORY} BEGIN {INSERT} END"),
        ("delete", f"AFTER DELETE ON {HISTORY} BEGIN {DELETE} END"),
        ("update", f"AFTER UPDATE OF id, {COLUMNS} ON {HISTORY} BEGIN {DELETE} {INSERT} END"),
    ):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {INDEX}_{event}", params=None)
        schema_editor.execute(f"CREATE TRIGGER {INDEX}_{event} {body}", params=None)


def forget_figures(apps, schema_editor):
    """Backwards: entries of removed questions have no place in the older table."""
    if is_here(apps, schema_editor):
        entries = apps.get_model("ask_bridge", "HistoryEntry").objects.using(schema_editor.connection.alias)
        entries.filter(question=None).delete()


def forget_settled_memories(apps, schema_editor):
    """Only the cards of open questions show earlier answers; the copies of settled ones are removed."""
    if not is_here(apps, schema_editor):
        return
    questions = apps.get_model("ask_bridge", "Question").objects.using(schema_editor.connection.alias)
    settled = questions.exclude(status="open").filter(memories__isnull=False)
    last = ""
    while found := list(settled.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        questions.filter(pk__in=found).update(memories=None)
        last = found[-1]


class Migration(migrations.Migration):
    dependencies = [("ask_bridge", "0022_groups")]

    operations = [
        # First: later steps lock whole tables until the migration ends.
        migrations.RunPython(forget_settled_memories, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="auditentry",
            name="action",
            field=models.CharField(
                choices=[
                    ("asked", "Asked"),
                    ("answered", "Answered"),
                    ("declined", "Declined"),
                    ("asked_back", "Asked back"),
                    ("voted", "Voted"),
                    ("undone", "Undone"),
                    ("escalated", "Escalated"),
                    ("expired", "Expired"),
                    ("withdrawn", "Withdrawn"),
                    ("question_deleted", "Question deleted"),
                    ("old_removed", "Old entries removed"),
                    ("person_anonymised", "Person anonymised"),
                    ("key_created", "Key created"),
                    ("key_revoked", "Key revoked"),
                    ("key_rotated", "Key rotated"),
                    ("member_added", "Member added"),
                    ("member_removed", "Member removed"),
                    ("member_changed", "Member changed"),
                    ("invitation_created", "Invitation created"),
                    ("invitation_revoked", "Invitation revoked"),
                    ("invitation_used", "Invitation used"),
                    ("webhook_added", "Webhook added"),
                    ("webhook_changed", "Webhook changed"),
                    ("webhook_removed", "Webhook removed"),
                    ("room_created", "Room created"),
                    ("room_changed", "Room changed"),
                    ("room_archived", "Room archived"),
                    ("room_restored", "Room restored"),
                    ("room_deleted", "Room deleted"),
                    ("audit_began", "Audit began"),
                ],
                max_length=20,
                verbose_name="action",
            ),
        ),
        migrations.AddField(
            model_name="room",
            name="keep_days",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Settled questions, messages and notifications that are older are removed for good. 0 keeps them forever; empty: as the site does.",
                null=True,
                validators=[django.core.validators.MaxValueValidator(36500)],
                verbose_name="keep for days",
            ),
        ),
        migrations.AddField(
            model_name="room",
            name="removed_until",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="redacted_by",
            field=models.CharField(blank=True, editable=False, max_length=32),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="redaction",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        # Backwards this one runs after the table was rebuilt, forwards the one below.
        migrations.RunPython(migrations.RunPython.noop, restore_index),
        migrations.AlterField(
            model_name="historyentry",
            name="question",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="history",
                to="ask_bridge.question",
            ),
        ),
        migrations.RunPython(restore_index, forget_figures),
        migrations.RunPython(allow_redaction, forbid_redaction),
    ]
