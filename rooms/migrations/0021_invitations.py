"""Invitation links of rooms, and their audit entries."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0020_one_tap"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                    ("audit_began", "Audit began"),
                ],
                max_length=20,
                verbose_name="action",
            ),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("lookup", models.CharField(editable=False, max_length=16, unique=True)),
                ("digest", models.CharField(editable=False, max_length=64)),
                (
                    "created_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="created at"
                    ),
                ),
                ("ends_at", models.DateTimeField(verbose_name="ends at")),
                ("max_uses", models.PositiveIntegerField(verbose_name="most uses")),
                ("uses", models.PositiveIntegerField(default=0, editable=False, verbose_name="uses")),
                (
                    "revoked_at",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="revoked at"),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="created by",
                    ),
                ),
                (
                    "room",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="ask_bridge.room",
                        verbose_name="room",
                    ),
                ),
            ],
            options={
                "verbose_name": "invitation",
                "verbose_name_plural": "invitations",
                "ordering": ("-created_at",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("uses__lte", models.F("max_uses"))),
                        name="ask_bridge_invitation_uses",
                    )
                ],
            },
        ),
    ]
