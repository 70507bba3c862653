from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0015_audit_content"),
    ]

    operations = [
        migrations.AddField(
            model_name="pushsubscription",
            name="is_slow",
            field=models.BooleanField(default=False, editable=False),
        ),
        migrations.AddField(
            model_name="pushsubscription",
            name="paused_until",
            field=models.DateTimeField(editable=False, null=True, verbose_name="paused until"),
        ),
        migrations.AddField(
            model_name="webhook",
            name="failures",
            field=models.PositiveIntegerField(default=0, verbose_name="failures"),
        ),
        migrations.AddField(
            model_name="webhook",
            name="is_slow",
            field=models.BooleanField(default=False, editable=False),
        ),
        migrations.AddField(
            model_name="webhook",
            name="paused_until",
            field=models.DateTimeField(editable=False, null=True, verbose_name="paused until"),
        ),
    ]
