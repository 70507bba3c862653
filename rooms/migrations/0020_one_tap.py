"""Whether a tap on an option answers on a touch screen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ask_bridge", "0019_undo_and_corrections")]

    operations = [
        migrations.AddField(
            model_name="preferences",
            name="one_tap",
            field=models.BooleanField(default=False),
        ),
    ]
