"""The version of the rules that a question needs: old processes leave questions of later versions alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ask_bridge", "0023_retention")]

    operations = [
        migrations.AddField(
            model_name="question",
            name="needs_version",
            field=models.PositiveSmallIntegerField(default=1, db_default=1, editable=False),
        ),
    ]
