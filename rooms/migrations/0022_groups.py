"""Groups of the portal as members of rooms."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from rooms.conf import group_model
from rooms.db.dependencies import created_in


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0021_invitations"),
        created_in(group_model()),
    ]

    operations = [
        migrations.CreateModel(
            name="GroupMembership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("member", "Member"), ("manager", "Manager")],
                        default="member",
                        max_length=10,
                        verbose_name="role",
                    ),
                ),
                (
                    "joined_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="added at"
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=group_model(),
                        verbose_name="group",
                    ),
                ),
                (
                    "room",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="group_memberships",
                        to="ask_bridge.room",
                        verbose_name="room",
                    ),
                ),
            ],
            options={
                "verbose_name": "group of a room",
                "verbose_name_plural": "groups of rooms",
                "constraints": [
                    models.UniqueConstraint(fields=("room", "group"), name="ask_bridge_group_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ("member", "manager"))), name="ask_bridge_group_role"
                    ),
                ],
            },
        ),
    ]
