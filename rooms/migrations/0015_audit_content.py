from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0014_key_scopes"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="chain",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="content",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="link",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="previous",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="room",
            name="audit_head",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="room",
            name="audit_previous",
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
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
    ]
