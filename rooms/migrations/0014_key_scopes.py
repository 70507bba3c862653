from django.db import migrations, models

import rooms.contract.scopes


def continue_lineages(apps, schema_editor):
    """Give each rotated key the lineage of the key that it replaced, which is in the audit."""
    database = schema_editor.connection.alias
    keys = apps.get_model("ask_bridge", "AgentKey").objects.using(database)
    for lookup in keys.values_list("lookup", flat=True):
        keys.filter(lookup=lookup).update(lineage=lookup)
    rotated = apps.get_model("ask_bridge", "AuditEntry").objects.using(database).filter(action="key_rotated")
    for old, details in rotated.order_by("id").values_list("subject", "details"):
        before = keys.filter(lookup=old).values_list("lineage", flat=True).first()
        if before:
            keys.filter(lookup=details.get("successor", "")).update(lineage=before)


class Migration(migrations.Migration):
    dependencies = [("ask_bridge", "0013_contract")]

    operations = [
        migrations.AddField(
            model_name="agentkey",
            name="scopes",
            field=models.JSONField(default=rooms.contract.scopes.default_scopes, verbose_name="scopes"),
        ),
        migrations.AddField(
            model_name="agentkey",
            name="lineage",
            field=models.CharField(default="", editable=False, max_length=16),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="answer",
            name="through",
            field=models.CharField(blank=True, default="", max_length=80, verbose_name="through"),
            preserve_default=False,
        ),
        migrations.RunPython(continue_lineages, migrations.RunPython.noop),
    ]
