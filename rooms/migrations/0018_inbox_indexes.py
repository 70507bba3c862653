from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0017_appearance"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("is_attended", True)),
                fields=["asked_at", "room"],
                name="ask_bridge_q_inbox",
            ),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("care__isnull", False)),
                fields=["room", "status"],
                name="ask_bridge_q_careful",
            ),
        ),
    ]
