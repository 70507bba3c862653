"""Endings of questions without an answer as entries of the timeline."""

from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import rooms.contract.ids

# Few enough for the parameters of one statement on SQLite, and for the memory of a small machine.
BATCH = 500


def add_endings(apps: Any, schema_editor: Any) -> None:
    """One ending for each question that ended without an answer, at the position of its end."""
    using = schema_editor.connection.alias
    questions = apps.get_model("ask_bridge", "Question").objects.using(using)
    endings = apps.get_model("ask_bridge", "Ending").objects.using(using)
    audit = apps.get_model("ask_bridge", "AuditEntry").objects.using(using)
    ended = questions.filter(answer=None, settled_position__isnull=False).order_by("pk")
    fields = ("pk", "room_id", "status", "agent_name", "settled_at", "settled_position")
    last = ""
    while rows := list(ended.filter(pk__gt=last).values_list(*fields)[:BATCH]):
        last = rows[-1][0]
        withdrawn = audit.filter(subject__in=[row[0] for row in rows], action="withdrawn")
        actors = {entry.subject: (entry.actor_type, entry.actor) for entry in withdrawn}
        endings.bulk_create(
            endings.model(
                id=rooms.contract.ids.id_at("x", settled_at),
                question_id=pk,
                room_id=room_id,
                ended_at=settled_at,
                position=position,
                **_sender(status, agent_name, *actors.get(pk, ("", ""))),
            )
            for pk, room_id, status, agent_name, settled_at, position in rows
        )


def _sender(status: str, agent_name: str, actor_type: str, actor: str) -> dict[str, str]:
    """The actor from the audit; a withdrawal from before there was an audit counts as the agent's own."""
    if status != "withdrawn" or actor_type == "system":
        return {"sender": "", "sender_type": "system"}
    if actor_type == "person":
        return {"sender": actor, "sender_type": "human"}
    return {"sender": actor or agent_name, "sender_type": "agent"}


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0012_ending"),
    ]

    operations = [
        migrations.AddField(
            model_name="agentkey",
            name="refused_names",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="agentkey",
            name="refused_names_since",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name="Ending",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=rooms.contract.ids.new_ending_id,
                        editable=False,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("sender", models.CharField(blank=True, max_length=301, verbose_name="sender")),
                (
                    "sender_type",
                    models.CharField(
                        choices=[("human", "Human"), ("agent", "Agent"), ("system", "System")],
                        max_length=10,
                        verbose_name="sender type",
                    ),
                ),
                (
                    "ended_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="ended at"),
                ),
                ("position", models.BigIntegerField()),
                (
                    "question",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ending",
                        to="ask_bridge.question",
                        verbose_name="question",
                    ),
                ),
                (
                    "room",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="endings",
                        to="ask_bridge.room",
                        verbose_name="room",
                    ),
                ),
            ],
            options={
                "verbose_name": "ending",
                "verbose_name_plural": "endings",
                "ordering": ("room_id", "position"),
                "constraints": [
                    models.UniqueConstraint(fields=("room", "position"), name="ask_bridge_ending_position")
                ],
            },
        ),
        migrations.RunPython(add_endings, migrations.RunPython.noop),
    ]
