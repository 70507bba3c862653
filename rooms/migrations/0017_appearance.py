from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ask_bridge", "0016_receivers"),
    ]

    operations = [
        migrations.AddField(
            model_name="preferences",
            name="theme",
            field=models.CharField(
                blank=True,
                choices=[("", "Like the system"), ("light", "Light"), ("dark", "Dark")],
                default="",
                max_length=5,
            ),
        ),
    ]
