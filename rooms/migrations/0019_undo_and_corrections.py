"""A person's own undo window, and messages that correct an answer."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0018_inbox_indexes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="question",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="corrections",
                to="ask_bridge.question",
                verbose_name="question",
            ),
        ),
        migrations.AddField(
            model_name="preferences",
            name="undo_seconds",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("question__isnull", False)),
                fields=["question"],
                name="ask_bridge_m_correction",
            ),
        ),
    ]
