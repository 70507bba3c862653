from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("teams", "0001_members")]

    operations = [
        migrations.CreateModel(
            name="Team",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100, unique=True)),
            ],
        ),
        migrations.AddField("Member", "groups", models.ManyToManyField(blank=True, to="teams.team")),
    ]
