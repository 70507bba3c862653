"""Indexes in which the inbox and the badges find and count questions, however many are open."""

from django.db import migrations, models, router

TABLE = "ask_bridge_question"
# MariaDB ignores the condition of an index: its columns have to come first instead. Without them badges, inbox
# and sweeps read the whole history.
BY_CONDITION = {
    "ask_bridge_q_attended": "is_attended, room_id",
    "ask_bridge_q_inbox": "is_attended, asked_at, room_id, agent_name",
    "ask_bridge_q_unattended": "settled_at, is_attended, asked_at, room_id, agent_name",
    "ask_bridge_q_lease": "is_attended, waiting_until",
    "ask_bridge_q_careful": "status, room_id, care(1)",
    "ask_bridge_q_due": "status, expires_at",
    "ask_bridge_q_closes": "status, closes_at",
    "ask_bridge_q_held": "status, held_until",
    "ask_bridge_q_escalate": "status, escalates_at",
    "ask_bridge_q_asker": "key_id, status, asked_at",
}
AS_DJANGO_MADE_THEM = {
    "ask_bridge_q_attended": "room_id, is_attended",
    "ask_bridge_q_inbox": "asked_at, room_id, agent_name, is_attended, id",
    "ask_bridge_q_unattended": "asked_at, room_id, agent_name, is_attended, settled_at, id",
    "ask_bridge_q_lease": "waiting_until",
    "ask_bridge_q_careful": "room_id, status",
    "ask_bridge_q_due": "expires_at",
    "ask_bridge_q_closes": "closes_at",
    "ask_bridge_q_held": "held_until",
    "ask_bridge_q_escalate": "escalates_at",
    "ask_bridge_q_asker": "key_id, asked_at",
}


def put_conditions_first(apps, schema_editor):
    replace(apps, schema_editor, BY_CONDITION)


def put_conditions_back(apps, schema_editor):
    replace(apps, schema_editor, AS_DJANGO_MADE_THEM)


def replace(apps, schema_editor, indexes):
    """One statement, so that the table is never without them. The tables may be in another database."""
    if schema_editor.connection.vendor == "mysql" and router.allow_migrate_model(
        schema_editor.connection.alias, apps.get_model("ask_bridge", "Question")
    ):
        changes = [f"DROP INDEX {name}, ADD INDEX {name} ({columns})" for name, columns in indexes.items()]
        schema_editor.execute(f"ALTER TABLE {TABLE} {', '.join(changes)}", params=None)


class Migration(migrations.Migration):
    dependencies = [("ask_bridge", "0024_version_guard")]

    operations = [
        migrations.RemoveIndex(model_name="question", name="ask_bridge_q_attended"),
        migrations.RemoveIndex(model_name="question", name="ask_bridge_q_inbox"),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("is_attended", True)),
                fields=["room", "is_attended"],
                name="ask_bridge_q_attended",
            ),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("is_attended", True)),
                fields=["asked_at", "room", "agent_name", "is_attended", "id"],
                name="ask_bridge_q_inbox",
            ),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("is_attended", False), ("settled_at", None)),
                fields=["asked_at", "room", "agent_name", "is_attended", "settled_at", "id"],
                name="ask_bridge_q_unattended",
            ),
        ),
        # MariaDB takes no DDL in a transaction; on the others the whole migration is in one.
        migrations.RunPython(put_conditions_first, put_conditions_back, atomic=False),
    ]
